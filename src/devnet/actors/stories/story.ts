import type { Cell } from '@ton/core';
import type { Scene } from '../deeds.ts';
import type { Moment } from '../ledger.ts';
import type { OutMessage, Wallet } from '../wallets.ts';

/** Messages of one wallet call. */
export interface Act {
  by: Wallet;
  messages: OutMessage[];
  /** Of a wallet v4, instead of messages: what it does with a plugin. */
  plugin?: Cell;
}

/**
 * Something that wallets of its own do with contracts of its own, over and over. What is next follows from the
 * chain's state, so that it goes on after a restart; what it leaves in the state does not grow.
 */
export interface Story {
  /** What is done next; null while there is nothing to do. */
  next(scene: Scene, now: Moment): Promise<Act | null>;
}

/** Unix seconds of a moment. */
export function secondsOf({ nowMs }: Moment): number {
  return Math.floor(nowMs / 1000);
}

/** The one of the wallets that has this address. */
export function walletAt(wallets: readonly Wallet[], address: Wallet['address']): Wallet | undefined {
  return wallets.find((wallet) => wallet.address.equals(address));
}
