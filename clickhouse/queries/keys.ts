import type { Address, Hash, Shard } from '../../src/chain/model.ts';
import type { Sort } from '../../src/chain/records.ts';
import { keySet } from '../literal.ts';

/** A cursor that this service did not make, or made for another order. The API answers 422. */
export class BadCursor extends Error {
  override name = 'BadCursor';
}

/** A shard as the signed number it is stored and sorted as. */
export function shardNumber(shard: Shard): string {
  return BigInt.asIntN(64, BigInt(`0x${shard}`)).toString();
}

export function shardOf(signed: string): Shard {
  return BigInt.asUintN(64, BigInt(signed)).toString(16).padStart(16, '0');
}

export const hashes: (values: readonly Hash[]) => string = keySet;
export const addresses: (values: readonly Address[]) => string = keySet;

/** Workchain of a stored address. */
export function workchainOf(account: Address): number {
  return account.readUInt32BE(0) - 0x8000_0000;
}

/** The first and the last address of a workchain. */
export function addressesOf(workchain: number): { from: Address; to: Address } {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(workchain + 0x8000_0000);
  return { from: Buffer.concat([prefix, Buffer.alloc(32)]), to: Buffer.concat([prefix, Buffer.alloc(32, 0xff)]) };
}

export const direction = (sort: Sort): string => (sort === 'asc' ? 'ASC' : 'DESC');

/** Opaque text of a place: the kind of the order and the values. */
export function makeCursor(kind: string, values: readonly string[]): string {
  return Buffer.from([kind, ...values].join('|'), 'latin1').toString('base64url');
}

/** The values of a cursor of this kind; null for the empty cursor, which starts at the beginning. */
export function readCursor(
  cursor: string,
  kind: string,
  patterns: readonly { test(text: string): boolean }[],
): string[] | null {
  if (cursor === '') return null;
  const [found, ...values] = Buffer.from(cursor, 'base64url').toString('latin1').split('|');
  const fits = values.length === patterns.length && values.every((value, i) => patterns[i].test(value));
  if (found !== kind || !fits) throw new BadCursor('cursor is not one of this listing: use next_cursor as it came');
  return values;
}

const DIGITS = /^\d{1,20}$/;
export const TIME = { test: (text: string): boolean => DIGITS.test(text) && Number(text) <= 0xffff_ffff };
export const LT = { test: (text: string): boolean => DIGITS.test(text) && BigInt(text) < 1n << 64n };
export const WORKCHAIN = {
  test: (text: string): boolean => /^-?\d{1,10}$/.test(text) && (Number(text) | 0) === Number(text),
};
export const SHARD = /^-?\d{1,19}$/;
export const HEX32 = /^[0-9a-f]{64}$/;
export const HEX36 = /^[0-9a-f]{72}$/;
