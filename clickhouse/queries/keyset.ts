/** Keyset paging of lists of contracts and of their events: where a page begins, and where the next one does. */

import { parseAddress, rawAddress } from '../../src/chain/address.ts';
import type {
  BehindBalance,
  BehindEvent,
  BehindId,
  BehindIndex,
  TokenEvent,
} from '../../src/chain/contract-records.ts';
import type { Address } from '../../src/chain/model.ts';
import { HEX32, LT, makeCursor, readCursor, TIME } from './keys.ts';

/** An order that a list can be paged in: the values that name a place of it. */
export interface Keyset<Row, Place> {
  /** The row behind which a page begins; undefined at the beginning. @throws {BadCursor} */
  read(cursor: string | undefined): Place | undefined;
  /** The cursor behind a page; null when it was the last. */
  next(rows: readonly Row[], limit: number): string | null;
}

/** Any that a contract may tell, below zero, too. */
const BALANCE = {
  test: (text: string): boolean => /^-?\d{1,77}$/.test(text) && BigInt.asIntN(256, BigInt(text)) === BigInt(text),
};
/** Of an item whose index is no number of 256 bits: those come last. */
const NO_INDEX = 'none';
const INDEX = {
  test: (text: string): boolean => text === NO_INDEX || (/^\d{1,78}$/.test(text) && BigInt(text) < 1n << 256n),
};
const RAW = { test: (text: string): boolean => parseAddress(text) !== null };

function keyset<Row, Place>(
  kind: string,
  patterns: readonly { test(text: string): boolean }[],
  place: { of(values: readonly string[]): Place; values(row: Row): readonly string[] },
): Keyset<Row, Place> {
  return {
    read(cursor) {
      const values = cursor === undefined ? null : readCursor(cursor, kind, patterns);
      return values === null ? undefined : place.of(values);
    },
    next(rows, limit) {
      const last = rows.length < limit ? undefined : rows[rows.length - 1];
      return last === undefined ? null : makeCursor(kind, place.values(last));
    },
  };
}

/** In the order of first detection. */
export const byId = keyset<{ id: string }, BehindId>('id', [LT], {
  of: ([id]) => ({ id }),
  values: ({ id }) => [id],
});

/** The wallets of a jetton in order of balance, either way. */
export const byBalance = keyset<BehindBalance, BehindBalance>('balance', [BALANCE, RAW], {
  of: ([balance, address]) => ({ balance, address: addressIn(address) }),
  values: ({ balance, address }) => [balance, rawAddress(address)],
});

/** The items of a collection; several have one index where its code was changed. */
export const byIndex = keyset<BehindIndex, BehindIndex>('index', [INDEX, RAW], {
  of: ([index, address]) => ({ nftIndex: index === NO_INDEX ? null : index, address: addressIn(address) }),
  values: ({ nftIndex, address }) => [nftIndex ?? NO_INDEX, rawAddress(address)],
});

/**
 * Transfers or burns by lt, those of one lt by hash: of another shard, or of a contract that is confirmed later, some
 * may come between those that were shown.
 */
export const byLt = keyset<TokenEvent, BehindEvent>('event_lt', [LT, HEX32], {
  of: ([lt, hash]) => ({ utime: null, lt, hash: Buffer.from(hash, 'hex') }),
  values: ({ transaction: { transaction } }) => [transaction.lt, transaction.hash.toString('hex')],
});

/** The same by time: a second goes on in the steps that follow. */
export const byTime = keyset<TokenEvent, BehindEvent>('event_time', [TIME, LT, HEX32], {
  of: ([utime, lt, hash]) => ({ utime: Number(utime), lt, hash: Buffer.from(hash, 'hex') }),
  values: ({ transaction: { transaction } }) => [
    String(transaction.now),
    transaction.lt,
    transaction.hash.toString('hex'),
  ],
});

function addressIn(text: string): Address {
  const address = parseAddress(text);
  if (address === null) throw new Error('the cursor was read with an address');
  return address;
}
