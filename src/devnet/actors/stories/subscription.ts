/** A subscriber with a wallet v4, whose plugin pays a shop once a period until it is removed. */
import { beginCell, storeStateInit, toNano } from '@ton/core';
import {
  firstPayment,
  readLastPayment,
  subscriptionAddress,
  subscriptionCode,
  subscriptionData,
} from '../../contracts/subscriptions.ts';
import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Moment } from '../ledger.ts';
import { deployPlugin, removePlugin } from '../wallets.ts';
import { type Act, type Story, secondsOf } from './story.ts';

const PERIOD_S = 15;
const AMOUNT = toNano('0.2');
/** Payments after the first before the subscriber has had enough. */
const PAYMENTS = 3;

export function createSubscription(cast: Cast): Story {
  const { subscriber, shop } = cast.subscription;
  const subscription = {
    wallet: subscriber.address,
    beneficiary: shop.address,
    amount: AMOUNT,
    period: PERIOD_S,
    startTime: 0,
    id: 1,
  };
  const address = subscriptionAddress(subscription);
  const init = { code: subscriptionCode, data: subscriptionData(subscription) };
  let payments = 0;

  async function next({ ledger, random }: Scene, now: Moment): Promise<Act | null> {
    const account = await ledger.account(address);
    if (account?.status !== 'active' || account.data === null) {
      payments = 0;
      const stateInit = beginCell().store(storeStateInit(init)).endCell();
      // What the contract keeps for its fees, too.
      const plugin = deployPlugin({ value: AMOUNT + toNano('0.1'), stateInit, body: firstPayment(random.bits64()) });
      return { by: subscriber, messages: [], plugin };
    }
    if (payments >= PAYMENTS) {
      const plugin = removePlugin({ address, value: toNano('0.05'), queryId: random.bits64() });
      return { by: subscriber, messages: [], plugin };
    }
    if (secondsOf(now) <= readLastPayment(account.data) + PERIOD_S) return null;
    payments++;
    return { by: shop, messages: [{ to: address, value: toNano('0.05'), bounce: true }] };
  }

  return { next };
}
