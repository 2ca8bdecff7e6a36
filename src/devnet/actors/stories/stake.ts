/** Stakers who put coins into a pool, for its jetton, and take them out again. */
import { toNano } from '@ton/core';
import { jettonBurn, jettonWalletAddress, readJettonWallet } from '../../contracts/jettons.ts';
import {
  DEPOSIT_FEE,
  readStakingPool,
  setStakingMaster,
  stakeDeposit,
  stakingMasterAddress,
  stakingMasterCode,
  stakingMasterData,
  stakingPoolAddress,
  stakingPoolCode,
  stakingPoolData,
} from '../../contracts/staking.ts';
import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Act, Story } from './story.ts';

const SMALLEST = toNano('1');
const GREATEST = toNano('3');
/** Staked coins from which on a staker takes them all out. */
const ENOUGH = toNano('4');

export function createStake({ stakers, stake }: Cast): Story {
  const [founder] = stakers;
  const pool = stakingPoolAddress(founder.address);
  const master = stakingMasterAddress(pool, stake.content);
  let turn = 0;

  async function found({ ledger, random }: Scene): Promise<Act | null> {
    const account = await ledger.account(pool);
    if (!account?.data) {
      const init = { code: stakingPoolCode, data: stakingPoolData(founder.address) };
      return { by: founder, messages: [{ to: pool, value: toNano('1'), bounce: false, init }] };
    }
    if ((await ledger.account(master))?.status !== 'active') {
      const init = { code: stakingMasterCode, data: stakingMasterData(pool, stake.content) };
      return { by: founder, messages: [{ to: master, value: toNano('0.2'), bounce: false, init }] };
    }
    if (readStakingPool(account.data).master !== null) return null;
    const body = setStakingMaster(random.bits64(), master);
    return { by: founder, messages: [{ to: pool, value: toNano('0.05'), bounce: true, body }] };
  }

  async function next(scene: Scene): Promise<Act | null> {
    const founding = await found(scene);
    if (founding !== null) return founding;
    const { ledger, random } = scene;
    const by = stakers[turn++ % stakers.length];
    const wallet = jettonWalletAddress(by.address, master);
    const account = await ledger.account(wallet);
    const amount = account?.data ? readJettonWallet(account.data).balance : 0n;
    if (amount >= ENOUGH) {
      const body = jettonBurn({ queryId: random.bits64(), amount, responseDestination: by.address });
      return { by, messages: [{ to: wallet, value: toNano('0.1'), bounce: true, body }] };
    }
    const value = random.between(SMALLEST, GREATEST) + DEPOSIT_FEE;
    return { by, messages: [{ to: pool, value, bounce: true, body: stakeDeposit(random.bits64()) }] };
  }

  return { next };
}
