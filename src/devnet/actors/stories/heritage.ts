/** A vesting wallet whose sender lists addresses and whose owner spends. */
import { type Address, beginCell, type Cell, internal, toNano } from '@ton/core';
import { addWhitelist, vestingAddress, vestingCode, vestingData, vestingSend } from '../../contracts/vesting.ts';
import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Wallet } from '../wallets.ts';
import type { Act, Story } from './story.ts';

/** 2025-01-01, so that part of it is free already. */
const START = 1_735_689_600;
const DAY_S = 86_400;
const AMOUNT = toNano('20');
const LEAST = toNano('10');
/** Traders that are listed, so that the list does not grow. */
const LISTED = 4;
const CALL_VALUE = toNano('0.05');

export function createHeritage(cast: Cast): Story {
  const { benefactor, heir } = cast.heritage;
  const vesting = {
    publicKey: heir.keys.publicKey,
    startTime: START,
    totalDuration: 3650 * DAY_S,
    unlockPeriod: 30 * DAY_S,
    cliffDuration: 90 * DAY_S,
    totalAmount: AMOUNT,
    sender: benefactor.address,
    owner: heir.address,
  };
  const address = vestingAddress(vesting);
  let turn = 0;

  function call(by: Wallet, body: Cell): Act {
    return { by, messages: [{ to: address, value: CALL_VALUE, bounce: true, body }] };
  }

  function spend({ random }: Scene, to: Address): Act {
    const body = beginCell().endCell();
    return call(heir, vestingSend(random.bits64(), internal({ to, value: toNano('0.05'), bounce: false, body })));
  }

  async function next(scene: Scene): Promise<Act | null> {
    const { random } = scene;
    const account = await scene.ledger.account(address);
    if (account?.status !== 'active') {
      const init = { code: vestingCode, data: vestingData(vesting) };
      return { by: benefactor, messages: [{ to: address, value: AMOUNT, bounce: false, init }] };
    }
    if (account.balance < LEAST) return { by: benefactor, messages: [{ to: address, value: AMOUNT, bounce: true }] };
    const listed = cast.traders.slice(0, LISTED).map((trader) => trader.address);
    switch (turn++ % 3) {
      case 0:
        return call(benefactor, addWhitelist(random.bits64(), [random.pick(listed), random.pick(listed)]));
      case 1:
        return spend(scene, random.pick(listed));
      default:
        return spend(scene, random.pick(cast.traders).address);
    }
  }

  return { next };
}
