export { compareDecimal } from '../../src/chain/decimal.ts';

import type { Address, Decimal, Hash, Shard } from '../../src/chain/model.ts';
import type { Page, Sort } from '../../src/chain/records.ts';
import { bytes, list, u64 } from '../literal.ts';

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

export function hashes(values: readonly Hash[]): string {
  return list(values.map(bytes));
}

export const addresses: (values: readonly Address[]) => string = hashes;

/** Workchain of a stored address. */
export function workchainOf(account: Address): number {
  return account.readUInt32BE(0) - 0x8000_0000;
}

/** All accounts of a workchain as a range of the address column. */
export function inWorkchain(column: string, workchain: number): string {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(workchain + 0x8000_0000);
  const low = bytes(Buffer.concat([prefix, Buffer.alloc(32)]));
  const high = bytes(Buffer.concat([prefix, Buffer.alloc(32, 0xff)]));
  return `${column} >= ${low} AND ${column} <= ${high}`;
}

export const direction = (sort: Sort): string => (sort === 'asc' ? 'ASC' : 'DESC');

export function limits(page: Page): string {
  return `LIMIT ${page.limit}${page.offset > 0 ? ` OFFSET ${page.offset}` : ''}`;
}

/** A column of an order, with the value of the last row of the page before. */
export interface KeyColumn {
  column: string;
  sort: Sort;
  /** SQL literal. */
  value: string;
}

/** The rows behind a place in an order: `a < x OR (a = x AND (b > y OR …))`, with a range for the primary key. */
export function behind(columns: readonly KeyColumn[]): string {
  const [first, ...rest] = columns;
  const op = first.sort === 'asc' ? '>' : '<';
  if (rest.length === 0) return `${first.column} ${op} ${first.value}`;
  const strict = `${first.column} ${op} ${first.value}`;
  const equal = `(${first.column} = ${first.value} AND ${behind(rest)})`;
  return `(${first.column} ${op}= ${first.value} AND (${strict} OR ${equal}))`;
}

/** Opaque text of a place: the kind of the order and the values. */
export function makeCursor(kind: string, values: readonly string[]): string {
  return Buffer.from([kind, ...values].join('|'), 'latin1').toString('base64url');
}

/** The values of a cursor of this kind; null for the empty cursor, which starts at the beginning. */
export function readCursor(cursor: string, kind: string, patterns: readonly RegExp[]): string[] | null {
  if (cursor === '') return null;
  const [found, ...values] = Buffer.from(cursor, 'base64url').toString('latin1').split('|');
  const fits = values.length === patterns.length && values.every((value, i) => patterns[i].test(value));
  if (found !== kind || !fits) throw new BadCursor('cursor is not one of this listing: use next_cursor as it came');
  return values;
}

export const DECIMAL = /^\d{1,20}$/;
export const INTEGER = /^-?\d{1,19}$/;
export const HEX32 = /^[0-9a-f]{64}$/;
export const HEX36 = /^[0-9a-f]{72}$/;

export const ltLiteral = (lt: Decimal | undefined): string | undefined => (lt === undefined ? undefined : u64(lt));
