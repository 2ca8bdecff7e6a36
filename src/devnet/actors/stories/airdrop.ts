/** A mintless jetton: each of those it lists claims with his first payment, and then they pay each other. */
import { toNano } from '@ton/core';
import { jettonTransfer } from '../../contracts/jettons.ts';
import {
  claimOf,
  mintlessMasterAddress,
  mintlessMasterCode,
  mintlessMasterData,
  mintlessWalletAddress,
  mintlessWalletInit,
  readMintlessWallet,
} from '../../contracts/mintless.ts';
import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Act, Story } from './story.ts';

const TRANSFER_VALUE = toNano('0.2');

export function createAirdrop({ mintless }: Cast): Story {
  const { listed, items, content } = mintless;
  const [founder] = listed;
  const master = mintlessMasterAddress(founder.address, content, items);
  let turn = 0;

  async function next({ ledger, random }: Scene): Promise<Act | null> {
    if ((await ledger.account(master))?.status !== 'active') {
      const init = { code: mintlessMasterCode, data: mintlessMasterData(founder.address, content, items) };
      return { by: founder, messages: [{ to: master, value: toNano('0.2'), bounce: false, init }] };
    }
    const by = listed[turn++ % listed.length];
    const to = mintlessWalletAddress(by.address, master, items);
    const account = await ledger.account(to);
    const { balance, isClaimed } = account?.data ? readMintlessWallet(account.data) : { balance: 0n, isClaimed: false };
    const mine = isClaimed ? balance : balance + (items.get(by.address) ?? 0n);
    if (mine === 0n) return null;
    const body = jettonTransfer({
      queryId: random.bits64(),
      amount: mine / 3n + 1n,
      destination: listed[turn % listed.length].address,
      responseDestination: by.address,
      forwardTonAmount: 0n,
      forwardPayload: null,
      ...(isClaimed ? {} : { customPayload: claimOf(items, by.address) }),
    });
    const init = account?.data ? {} : { init: mintlessWalletInit(by.address, master, items) };
    return { by, messages: [{ to, value: TRANSFER_VALUE, bounce: true, body, ...init }] };
  }

  return { next };
}
