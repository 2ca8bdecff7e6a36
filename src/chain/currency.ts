import { levelMask } from './boc.ts';
import type { Cursor } from './cursor.ts';
import { walkHashmap } from './hashmap.ts';
import type { CurrencyCollection, ExtraCurrencies } from './model.ts';

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

/**
 * The currencies of an account in a state update, which prunes a dictionary that did not change: then the extra
 * currencies are empty and `complete` is false.
 */
export function readShownCurrencies(cursor: Cursor): CurrencyCollection & { complete: boolean } {
  const grams = cursor.grams();
  const { at, ref } = cursor;
  const root = cursor.maybeRef();
  if (root >= 0 && levelMask(cursor.boc, root) !== 0) return { grams, extra: none, complete: false };
  cursor.at = at;
  cursor.ref = ref;
  return { grams, extra: readExtra(cursor), complete: true };
}

/** Passes over an ExtraCurrencyCollection without reading its dictionary. */
export function skipCurrencies(cursor: Cursor): void {
  cursor.skip(cursor.u(4) * 8);
  cursor.maybeRef();
}
