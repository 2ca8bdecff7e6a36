import type { Cell } from '@ton/core';
import type { Ledger, LedgerAccount, Moment } from './ledger.ts';
import { type OutMessage, seqnoOf, type Wallet } from './wallets.ts';

export type Sent = { sent: true; message: Cell } | { sent: false; reason: string };

/** A wallet that has at most one external message under way, as its seqno demands. */
export interface Sender {
  readonly wallet: Wallet;
  /** Whether the message before was executed or is out of date. */
  ready(now: Moment): Promise<boolean>;
  /**
   * Signs and submits. Only when ready; a message that the chain refuses leaves the wallet ready.
   * @param plugin instead of messages, what a wallet v4 does with a plugin
   * @throws {Error} when a message is under way
   */
  send(messages: readonly OutMessage[], now: Moment, plugin?: Cell): Promise<Sent>;
}

/** Seconds of chain time after which a message that was not executed is given up. */
const MESSAGE_LIFETIME_S = 60;

export interface SenderEvents {
  /** A message was executed: the seqno went past it. */
  executed(): void;
  /** A message was not executed within its lifetime. */
  expired(): void;
}

export function createSender(wallet: Wallet, ledger: Ledger, events: SenderEvents): Sender {
  let underWay: { seqno: number; validUntil: number } | null = null;

  async function ready({ nowMs }: Moment): Promise<boolean> {
    if (underWay === null) return true;
    const watched = underWay;
    const account = await ledger.account(wallet.address);
    if (underWay !== watched) return underWay === null;
    // A wallet that sent everything away is gone, and with it its seqno.
    if (account === null || seqnoNow(account) > watched.seqno) events.executed();
    else if (nowMs / 1000 > watched.validUntil) events.expired();
    else return false;
    underWay = null;
    return true;
  }

  function seqnoNow(account: LedgerAccount): number {
    return account.data === null ? 0 : seqnoOf(wallet.version, account.data);
  }

  async function send(messages: readonly OutMessage[], { nowMs }: Moment, plugin?: Cell): Promise<Sent> {
    if (underWay !== null) throw new Error(`${wallet.address.toString()} has a message under way`);
    const own = { seqno: 0, validUntil: Math.floor(nowMs / 1000) + MESSAGE_LIFETIME_S };
    // Taken before the first await, so that nobody else sends meanwhile.
    underWay = own;
    const account = await ledger.account(wallet.address);
    if (account === null) {
      underWay = null;
      return { sent: false, reason: 'the wallet has no coins' };
    }
    own.seqno = seqnoNow(account);
    const message = wallet.order({
      ...own,
      messages,
      deploy: account.status !== 'active',
      ...(plugin ? { plugin } : {}),
    });
    const result = await ledger.submit(message);
    if (result.accepted) return { sent: true, message };
    underWay = null;
    return { sent: false, reason: result.reason };
  }

  return { wallet, ready, send };
}
