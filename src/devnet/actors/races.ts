/** Messages that race with each other, for those who tell of messages before they are in a block. */
import { comment, toNano } from '@ton/core';
import type { Cast } from './cast.ts';
import type { Ledger, Moment } from './ledger.ts';
import { seqnoOf } from './wallets.ts';

/** Orders of races are soon out of date: then all who wait for the lost ones know. */
const LIFETIME_S = 25;
/** Blocks from one race to the next: by then the one before is decided. */
const EVERY = 3;

/**
 * To be called after each block. In turn a racer sends two messages for one seqno, of which one is executed, and one
 * that never reaches a block.
 * @returns external messages that were taken in
 */
export function createRaces(cast: Cast, ledger: Ledger): (now: Moment) => Promise<number> {
  return async ({ seqno: block, nowMs }) => {
    if (block % EVERY !== 0) return 0;
    const turn = block / EVERY;
    const racer = cast.racers[turn % cast.racers.length];
    const account = await ledger.account(racer.address);
    if (!account?.data) return 0;
    const seqno = seqnoOf(racer.version, account.data);
    const validUntil = Math.floor(nowMs / 1000) + LIFETIME_S;
    const order = (name: string) => {
      const to = cast.traders[turn % cast.traders.length].address;
      const messages = [{ to, value: toNano('0.02'), bounce: false, body: comment(`${name} of race ${turn}`) }];
      return racer.order({ seqno, validUntil, messages });
    };
    if (turn % 2 === 0) return (await ledger.submit(order('lost'), 'lost')).accepted ? 1 : 0;
    const first = await ledger.submit(order('first'));
    const rival = await ledger.submit(order('rival'), 'rival');
    return [first, rival].filter(({ accepted }) => accepted).length;
  };
}
