/** The devnet's subscription, a plugin of a wallet v4: what it is made with, and what its data holds. */
import { type Address, beginCell, type Cell, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const SUBSCRIPTION_OPS = { requestFunds: 0x706c7567, fundsSent: 0xf06c7567, destruct: 0x64737472 } as const;

export const subscriptionCode: Cell = codeCell(CODES.subscription);

export interface Subscription {
  wallet: Address;
  beneficiary: Address;
  /** Nanotons each time. */
  amount: bigint;
  /** Seconds. */
  period: number;
  /** Unix seconds. */
  startTime: number;
  id: number;
}

export function subscriptionData(subscription: Subscription): Cell {
  const terms = beginCell()
    .storeAddress(subscription.wallet)
    .storeAddress(subscription.beneficiary)
    .storeCoins(subscription.amount)
    .storeUint(subscription.period, 32)
    .storeUint(subscription.startTime, 32)
    .storeUint(subscription.id, 32);
  return beginCell().storeRef(terms).storeUint(0, 32).storeUint(0, 32).endCell();
}

export function subscriptionAddress(subscription: Subscription): Address {
  return contractAddress(0, { code: subscriptionCode, data: subscriptionData(subscription) });
}

/** Unix seconds of the last payment, 0 before the first. */
export function readLastPayment(data: Cell): number {
  return data.beginParse().loadUint(32);
}

/** What a wallet v4 sends with the plugin that it deploys and installs: the first payment. */
export function firstPayment(queryId: bigint): Cell {
  return beginCell().storeUint(SUBSCRIPTION_OPS.fundsSent, 32).storeUint(queryId, 64).endCell();
}
