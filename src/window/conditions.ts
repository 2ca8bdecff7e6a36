/** Conditions as tests of rows and as bounds of keys. All of it compares bytes: columns sort as bytes. */
import type { Plain } from '../../clickhouse/queries/conditions.ts';
import type { Ordered } from '../../clickhouse/tables/columns.ts';
import type { Candidate } from './candidate.ts';
import { codecOf, type Kind } from './kind.ts';

const LEAST = Buffer.alloc(8);
const GREATEST = Buffer.alloc(8, 0xff);
const MAX_U32 = 0xffff_ffff;
const MAX_LT = '18446744073709551615';

/** What is outside of the column's range stands for its end. */
function clamped({ bytes, get }: Ordered<unknown>, value: unknown): unknown {
  if (typeof value === 'string' && value.length >= MAX_LT.length && value > MAX_LT) return MAX_LT;
  if (typeof value !== 'number' || bytes !== 4) return value;
  return Math.min(Math.max(value, Number(get(LEAST, 0))), Number(get(GREATEST, 0) ?? MAX_U32));
}

export function encode(kind: Kind, column: string, value: unknown): Buffer {
  const codec = codecOf(kind, column);
  const bytes = Buffer.alloc(codec.bytes);
  codec.put(bytes, 0, clamped(codec, value));
  return bytes;
}

export type Test = (row: Candidate) => boolean;

/** Values of which the column has one, or has none; null for a range. */
function valuesOf(condition: Exclude<Plain, { any: unknown }>): { wanted: boolean; values: readonly unknown[] } | null {
  if ('is' in condition) return { wanted: true, values: [condition.is] };
  if ('isNot' in condition) return { wanted: false, values: [condition.isNot] };
  if ('in' in condition) return { wanted: true, values: condition.in };
  return 'notIn' in condition ? { wanted: false, values: condition.notIn } : null;
}

export function testOf(kind: Kind, condition: Plain): Test {
  if ('any' in condition) {
    const tests = condition.any.map((one) => testOf(kind, one));
    return (row) => tests.some((test) => test(row));
  }
  const { column } = condition;
  const told = valuesOf(condition);
  if (told === null) {
    const { low, high } = boundsOf(kind, column, [condition]);
    return (row) =>
      (low === null || row.compareTo(column, low) >= 0) && (high === null || row.compareTo(column, high) <= 0);
  }
  const { wanted } = told;
  const values = told.values.map((value) => encode(kind, column, value));
  if (kind.list?.name === column) {
    const listed = new Set(values.map((value) => value.toString('latin1')));
    return (row) => row.listHasAny(listed) === wanted;
  }
  if (values.length === 1) {
    const [only] = values;
    return (row) => (row.compareTo(column, only) === 0) === wanted;
  }
  const all = new Set(values.map((value) => value.toString('latin1')));
  const { bytes } = codecOf(kind, column);
  return (row) => all.has(row.locate(column).toString('latin1', row.at, row.at + bytes)) === wanted;
}

/** Values of which the column must have one; null where any will do. */
export function wantedOf(column: string, where: readonly Plain[]): readonly unknown[] | null {
  for (const condition of where) {
    if ('any' in condition || condition.column !== column) continue;
    const told = valuesOf(condition);
    if (told?.wanted) return told.values;
  }
  return null;
}

export interface Bounds {
  low: Buffer | null;
  high: Buffer | null;
}

/** The least and greatest value that a column may have. */
export function boundsOf(kind: Kind, column: string, where: readonly Plain[]): Bounds {
  const bounds: Bounds = { low: null, high: null };
  const between = (low: Buffer | null, high: Buffer | null): void => {
    if (low && (bounds.low === null || low.compare(bounds.low) > 0)) bounds.low = low;
    if (high && (bounds.high === null || high.compare(bounds.high) < 0)) bounds.high = high;
  };
  for (const condition of where) {
    if ('any' in condition || condition.column !== column) continue;
    const told = valuesOf(condition);
    if (told === null) {
      const { from, to } = condition as { from?: unknown; to?: unknown };
      between(
        from === undefined ? null : encode(kind, column, from),
        to === undefined ? null : encode(kind, column, to),
      );
    } else if (told.wanted && told.values.length > 0) {
      const sorted = told.values.map((value) => encode(kind, column, value)).sort(Buffer.compare);
      between(sorted[0], sorted[sorted.length - 1]);
    }
  }
  return bounds;
}
