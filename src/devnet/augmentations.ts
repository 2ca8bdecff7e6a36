import { type Builder, Cell, type Slice } from '../chain/builder.ts';
import type { Augmentation } from '../chain/dictionary.ts';
import { DecodeError } from '../chain/errors.ts';
import { earlierLt, laterLt } from './lt.ts';

/** Key bits of the dictionaries of blocks and states (block.tlb). */
export const KEY_BITS = {
  account: 256,
  message: 256,
  lt: 64,
  queue: 352,
  processed: 96,
  config: 32,
  workchain: 32,
  shardFees: 96,
  mcBlocks: 32,
} as const;

/** `currencies$_ grams:Grams other:ExtraCurrencyCollection` without extra currencies: the devnet has none. */
export function writeCoins(builder: Builder, coins: bigint): Builder {
  return builder.grams(coins).bit(0);
}

/** Nanotons of a `CurrencyCollection`. Throws DecodeError for extra currencies, which nobody can have here. */
export function readCoins(slice: Slice): bigint {
  const coins = slice.grams();
  if (slice.bit()) throw new DecodeError('extra currencies on a chain without any');
  return coins;
}

/** `CurrencyCollection`: transactions of an account, account blocks, out messages. */
export const coinSum: Augmentation<bigint> = {
  read: readCoins,
  write: writeCoins,
  join: (left, right) => left + right,
  empty: 0n,
};

/** `import_fees$_ fees_collected:Grams value_imported:CurrencyCollection`. */
export interface ImportFees {
  fees: bigint;
  value: bigint;
}

export const importFees: Augmentation<ImportFees> = {
  read: (slice) => ({ fees: slice.grams(), value: readCoins(slice) }),
  write: (builder, { fees, value }) => writeCoins(builder.grams(fees), value),
  join: (left, right) => ({ fees: left.fees + right.fees, value: left.value + right.value }),
  empty: { fees: 0n, value: 0n },
};

/** `depth_balance$_ split_depth:(#<= 30) balance:CurrencyCollection`. */
export interface DepthBalance {
  depth: number;
  balance: bigint;
}

export const depthBalance: Augmentation<DepthBalance> = {
  read: (slice) => ({ depth: slice.u(5), balance: readCoins(slice) }),
  write: (builder, { depth, balance }) => writeCoins(builder.u(depth, 5), balance),
  join: (left, right) => ({ depth: Math.max(left.depth, right.depth), balance: left.balance + right.balance }),
  empty: { depth: 0, balance: 0n },
};

/** The least creation lt of an out-message queue (`OutMsgQueue`), 0 of an empty one. */
export const leastLt: Augmentation<bigint> = {
  read: (slice) => slice.big(64),
  write: (builder, lt) => builder.big(lt, 64),
  join: earlierLt,
  empty: 0n,
};

/** `ShardFeeCreated`: `fees:CurrencyCollection create:CurrencyCollection`. Nothing is created here. */
export const shardFees: Augmentation<bigint> = {
  read: (slice) => {
    const fees = readCoins(slice);
    readCoins(slice);
    return fees;
  },
  write: (builder, fees) => writeCoins(writeCoins(builder, fees), 0n),
  join: (left, right) => left + right,
  empty: 0n,
};

/** `KeyMaxLt`: `key:Bool max_end_lt:uint64` of the old masterchain blocks. */
export interface KeyMaxLt {
  key: boolean;
  endLt: bigint;
}

export const keyMaxLt: Augmentation<KeyMaxLt> = {
  read: (slice) => ({ key: slice.bit(), endLt: slice.big(64) }),
  write: (builder, { key, endLt }) => builder.bit(key).big(endLt, 64),
  join: (left, right) => ({
    key: left.key || right.key,
    endLt: laterLt(left.endLt, right.endLt),
  }),
  empty: { key: false, endLt: 0n },
};

/** The empty cell. */
export const EMPTY = new Cell(Buffer.alloc(0), 0, []);
