import { levelMask } from './boc.ts';
import { Builder } from './builder.ts';
import type { Cursor } from './cursor.ts';
import { plain, updateDictionary } from './dictionary.ts';
import { hashAt } from './hash.ts';
import { walkHashmap } from './hashmap.ts';
import type { CurrencyCollection, ExtraCurrencies, Hash } from './model.ts';

const none: ExtraCurrencies = Object.freeze({});

/** `currencies$_ grams:Grams other:ExtraCurrencyCollection`. */
export function readCurrencies(cursor: Cursor): CurrencyCollection {
  return { grams: cursor.grams(), extra: readExtra(cursor) };
}

/** `ExtraCurrencyCollection`: a HashmapE from currency id to VarUInteger 32. Empty ones share a frozen object. */
export function readExtra(cursor: Cursor): ExtraCurrencies {
  const root = cursor.maybeRef();
  if (root < 0) return none;
  const { boc } = cursor;
  const known = boc.decoded.currencies?.get(root);
  if (known !== undefined) return known;
  const extra: ExtraCurrencies = {};
  const leaf = (value: Cursor, key: Buffer): void => {
    extra[key.readUInt32BE(0).toString()] = value.varUint(5);
  };
  walkHashmap(boc, root, { keyBits: 32, leaf }, boc);
  boc.decoded.currencies ??= new Map();
  boc.decoded.currencies.set(root, extra);
  return extra;
}

export interface ShownCurrencies extends CurrencyCollection {
  /** Hash of the dictionary of extra currencies, where it is not shown as a whole: then `extra` is empty. */
  pruned: Hash | null;
}

/** The currencies of an account in a state update, which prunes what did not change of a dictionary. */
export function readShownCurrencies(cursor: Cursor): ShownCurrencies {
  const grams = cursor.grams();
  const { at, ref } = cursor;
  const root = cursor.maybeRef();
  if (root >= 0 && levelMask(cursor.boc, root) !== 0)
    return { grams, extra: none, pruned: hashAt(cursor.boc, root, 0) };
  cursor.at = at;
  cursor.ref = ref;
  return { grams, extra: readExtra(cursor), pruned: null };
}

/** Passes over an ExtraCurrencyCollection without reading its dictionary. */
export function skipCurrencies(cursor: Cursor): void {
  cursor.skip(cursor.u(4) * 8);
  cursor.maybeRef();
}

const CURRENCY_BITS = 32;
/** `VarUInteger 32`: the length in bytes. */
const AMOUNT_LENGTH_BITS = 5;

/** Hash of the dictionary of these extra currencies; null of none. */
export function hashOfExtra(extra: ExtraCurrencies): Hash | null {
  const changes = Object.entries(extra).map(([id, amount]) => {
    const key = Buffer.alloc(CURRENCY_BITS / 8);
    key.writeUInt32BE(Number(id));
    return { key, leaf: { extra: null, value: new Builder().varUint(BigInt(amount), AMOUNT_LENGTH_BITS).cell() } };
  });
  return updateDictionary(null, CURRENCY_BITS, plain, changes).root?.hash() ?? null;
}
