/** States of accounts and jetton wallets that were told: none again behind a later one, and back when its block is gone. */
import { LRUCache } from 'lru-cache';
import { stateJson } from '../api/v3/render/account.ts';
import { atMost } from '../at-most.ts';
import { rawAddress } from '../chain/address.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { Decimal } from '../chain/model.ts';
import type { OpenTrace } from '../pending/store.ts';
import { idOf, type StateEvent, type WalletEvent } from './events.ts';
import type { Prospect } from './heard-traces.ts';
import { accountKey } from './hearing.ts';
import type { Line } from './line.ts';
import { partsOf } from './pending-events.ts';

export interface ToldStates {
  /** Of an account's states none is told again behind a later one. It counts as told from now on. */
  isNewest(event: StateEvent | WalletEvent): boolean;
  /** A line is told of a state that is confirmed. */
  heard(prospect: Pick<Prospect, 'states'>, event: StateEvent | WalletEvent, line: Line): void;
  /**
   * Tells who heard of them, and asked for it, that states of confirmed transactions are in no block any more.
   * @param now how the trace stands; null when it does not come
   */
  takeBack(prospect: Pick<Prospect, 'states'>, before: OpenTrace, now: OpenTrace | null): void;
}

const KEPT_ACCOUNTS = 65_536;

export function createToldStates(): ToldStates {
  /** Lt of the newest state that was told of an account, and of a jetton wallet. */
  const newest = {
    account_state_change: new LRUCache<string, Decimal>(atMost(KEPT_ACCOUNTS)),
    jettons_change: new LRUCache<string, Decimal>(atMost(KEPT_ACCOUNTS)),
  };

  return {
    isNewest({ type, record: { transaction } }) {
      const key = accountKey(transaction.account);
      const last = newest[type].get(key);
      if (last !== undefined && compareDecimal(transaction.lt, last) <= 0) return false;
      newest[type].set(key, transaction.lt);
      return true;
    },
    heard({ states }, event, line) {
      const key = hashKey(event.record.transaction.hash);
      const lines = states.get(key) ?? new Set();
      states.set(key, lines.add(line));
    },
    takeBack({ states }, before, now) {
      if (states.size === 0) return;
      // Another transaction may have received the message: then its state is told.
      const received = new Set(
        (now === null ? [] : partsOf(now).records).flatMap(({ finality, transaction: { inMsg } }) =>
          inMsg === null || finality === 'pending' ? [] : [hashKey(inMsg.hash)],
        ),
      );
      for (const record of partsOf(before).records) {
        const { account, hash, inMsg, lt, stateBefore } = record.transaction;
        const lines = states.get(hashKey(hash));
        if (lines === undefined || (inMsg !== null && received.has(hashKey(inMsg.hash)))) continue;
        states.delete(hashKey(hash));
        // Something later was told of the account.
        if (newest.account_state_change.get(accountKey(account)) !== lt) continue;
        newest.account_state_change.delete(accountKey(account));
        newest.jettons_change.delete(accountKey(account));
        const state: unknown = JSON.parse(stateJson(stateBefore, record.before));
        const message = { type: 'state_invalidated', finality: 'confirmed', account: rawAddress(account), state };
        for (const line of lines) {
          if (line.state !== 'live' || !line.subscription.statesBack) continue;
          line.takeBack(message, idOf('state_invalidated ', [hash]));
        }
      }
    },
  };
}
