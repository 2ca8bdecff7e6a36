/**
 * Query parameters as the TON Center service reads them: the last of several scalars wins, lists take repeated names,
 * `name[]` and commas, numbers follow Go. Each kind is a zod type that also carries its description for OpenAPI.
 */
import { z } from 'zod';
import { parseAddress, parseHash, parseShard } from '../chain/address.ts';
import type { Address } from '../chain/model.ts';
import type { Sort } from '../chain/records.ts';
import { ApiError } from './errors.ts';
import type { ApiLimits } from './limits.ts';
import { parseBool, type Query } from './request.ts';

/** All values of one parameter in the order sent. */
const sent = z.custom<string[]>((value) => Array.isArray(value));

interface Shape {
  type: 'string' | 'integer' | 'number' | 'boolean';
  description: string;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  example?: string | number;
  required?: boolean;
}

/** A scalar of which `parse` gives null for text it does not take. */
function scalar<T>(parse: (text: string) => T | null, shape: Shape) {
  return sent
    .transform((values, context): T => {
      const value = parse(values[values.length - 1]);
      if (value !== null) return value;
      context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
      return z.NEVER;
    })
    .optional()
    .meta({ ...shape });
}

/**
 * A list: a value that is not valid as a whole is split at its commas; empty items are dropped. Errors name the
 * index of the value as sent, not of the item within it.
 */
function list<T>(parse: (text: string) => T | null, shape: Shape, maxItems: number | null, required = false) {
  const type = sent.transform((values, context): T[] => {
    const items: T[] = [];
    const fail = (issue: { message: string; params?: Record<string, unknown> }) => {
      context.addIssue({ code: 'custom', ...issue });
      return z.NEVER;
    };
    for (const [index, value] of values.entries()) {
      const whole = value === '' ? null : parse(value);
      if (whole !== null) {
        items.push(whole);
        continue;
      }
      for (const part of value.split(',')) {
        if (part === '') continue;
        const item = part === value ? null : parse(part);
        if (item === null) return fail({ message: 'conversion', params: { conversion: true, index } });
        items.push(item);
      }
    }
    if (maxItems !== null && items.length > maxItems) return fail({ message: `maximum ${maxItems} addresses allowed` });
    return items;
  });
  const { description, ...items } = shape;
  const meta = { type: 'array', items, description, ...(maxItems === null ? {} : { maxItems }) };
  return required ? type.default([]).meta({ ...meta, required: true }) : type.default([]).meta(meta);
}

const MAX_INT32 = 2 ** 31 - 1;
const MIN_INT32 = -(2 ** 31);
const MAX_UINT32 = 2 ** 32 - 1;
const MAX_UINT64 = 2n ** 64n - 1n;

/** Go's 32-bit decimal; the empty text is zero, not absent. */
export function parseInt32(text: string): number | null {
  if (text === '') return 0;
  if (!/^[+-]?\d{1,40}$/.test(text)) return null;
  const value = Number(text);
  return value >= MIN_INT32 && value <= MAX_INT32 ? value + 0 : null;
}

/** Unsigned 64-bit decimal, without leading zeros in the result. */
export function parseUint64(text: string): string | null {
  if (text === '') return '0';
  if (!/^\d{1,40}$/.test(text)) return null;
  const value = BigInt(text);
  return value <= MAX_UINT64 ? value.toString() : null;
}

/**
 * Unix seconds: a decimal or any float text, cut to whole seconds. Times beyond 32 bits become the last second of
 * 32 bits, which no block has yet.
 */
export function parseUtime(text: string): number | null {
  if (!/^\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return null;
  return Math.min(Math.trunc(Number(text)), MAX_UINT32);
}

/** Go's bool plus `on`; the empty text is false. */
export function parseFlag(text: string): boolean | null {
  if (text === '') return false;
  return text === 'on' ? true : parseBool(text);
}

/** Hex with or without `0x` first; what is not 32 bits of hex is read as signed 32-bit decimal. */
export function parseOpcode(text: string): number | null {
  const hex = /^(?:0[xX])?0*([0-9a-fA-F]{1,8})$/.exec(text);
  if (hex !== null) return Number.parseInt(hex[1], 16);
  const decimal = text === '' ? null : parseInt32(text);
  return decimal === null ? null : decimal >>> 0;
}

/** `asc`, `a`, `desc`, `d` in any case. */
export function parseSort(text: string): Sort | null {
  const word = text.toLowerCase();
  if (word === 'asc' || word === 'a') return 'asc';
  return word === 'desc' || word === 'd' ? 'desc' : null;
}

const ADDRESS: Shape = {
  type: 'string',
  description: 'Account address: raw or user-friendly, any spelling.',
};
const HASH: Shape = { type: 'string', description: 'Hash: hex, base64 or base64url.' };

export const int32 = (description: string) =>
  scalar(parseInt32, { type: 'integer', format: 'int32', description, minimum: MIN_INT32, maximum: MAX_INT32 });
export const uint64 = (description: string) =>
  scalar(parseUint64, { type: 'string', pattern: '^[0-9]+$', description });
export const utime = (description: string) => scalar(parseUtime, { type: 'number', minimum: 0, description });
export const flag = (description: string) => scalar(parseFlag, { type: 'boolean', description });
export const hash = (description: string, required = false) => scalar(parseHash, { ...HASH, description, required });
export const hashes = (description: string) => list(parseHash, { ...HASH, description }, null);
export const address = (description: string) => scalar(parseAddress, { ...ADDRESS, description });
export const addresses = (description: string, maxItems: number, required = false) =>
  list(parseAddress, { ...ADDRESS, description }, maxItems, required);
export const shard = (description: string) =>
  scalar(parseShard, { type: 'string', description, example: '8000000000000000' });
export const opcode = (description: string) =>
  scalar(parseOpcode, { type: 'string', description, example: '0x0f8a7ea5' });

/** An address, or the word `null` for messages that have no internal address on that side. */
export const addressOrNull = (description: string) =>
  scalar<Address | 'null'>((word) => (word === 'null' ? word : parseAddress(word)), { ...ADDRESS, description });

/** Plain text, kept as sent. */
export const text = (description: string) => scalar((value) => value, { type: 'string', description });

/** Texts, kept as sent and never split; the name is only repeated. */
export const texts = (description: string, maxItems: number) =>
  sent
    .transform((values, context) => {
      if (values.length <= maxItems) return values;
      context.addIssue({ code: 'custom', message: `maximum ${maxItems} addresses allowed` });
      return z.NEVER;
    })
    .default([])
    .meta({ type: 'array', items: { type: 'string' }, description, maxItems, required: true });

/** A hash that is as if absent when it does not parse. */
export const lenientHash = (description: string) =>
  sent
    .transform((values) => parseHash(values[values.length - 1]) ?? undefined)
    .optional()
    .meta({ ...HASH, description, deprecated: true });

/** The masterchain seqno of the three block endpoints: what is missing or not a number is 0, which no block has. */
export const lenientSeqno = () =>
  sent
    .default([])
    .transform((values) => {
      const value = values.at(-1) ?? '';
      return /^[+-]?\d{1,18}$/.test(value) ? Number(value) : 0;
    })
    .meta({ type: 'integer', format: 'int32', description: 'Masterchain seqno.', required: true });

/** Rows wanted: below 1 counts as 1, above the maximum is refused. */
export const limit = (limits: ApiLimits) =>
  sent
    .transform((values, context): number => {
      const rows = parseInt32(values[values.length - 1]);
      if (rows !== null && rows <= limits.maxRows) return Math.max(rows, 1);
      if (rows === null) context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
      else context.addIssue({ code: 'custom', message: `limit is not allowed: ${rows} > ${limits.maxRows}` });
      return z.NEVER;
    })
    .default(limits.defaultRows)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: limits.maxRows,
      default: limits.defaultRows,
      description: 'Rows to return.',
    });

/** Rows to leave out: below 0 counts as 0. */
export const offset = () =>
  sent
    .transform((values, context): number => {
      const rows = parseInt32(values[values.length - 1]);
      if (rows !== null) return Math.max(rows, 0);
      context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
      return z.NEVER;
    })
    .default(0)
    .meta({ type: 'integer', minimum: 0, default: 0, description: 'Rows to skip.' });

export const sort = (absent: Sort = 'desc') =>
  sent
    .transform((values, context): Sort => {
      const order = parseSort(values[values.length - 1]);
      if (order !== null) return order;
      context.addIssue({ code: 'custom', message: 'wrong value for sort parameter' });
      return z.NEVER;
    })
    .default(absent)
    .meta({ type: 'string', enum: ['asc', 'desc'], default: absent, description: 'Order of the rows.' });

/** `in` or `out`. */
export const direction = (description: string) =>
  sent
    .transform((values, context): 'in' | 'out' => {
      const side = values[values.length - 1];
      if (side === 'in' || side === 'out') return side;
      context.addIssue({ code: 'custom', message: 'direction should be one of: in, out' });
      return z.NEVER;
    })
    .optional()
    .meta({ type: 'string', enum: ['in', 'out'], description });

/** `in` or `out`; any other word is as if absent. */
export const lenientDirection = (description: string) =>
  sent
    .transform((values): 'in' | 'out' | undefined => {
      const side = values[values.length - 1];
      return side === 'in' || side === 'out' ? side : undefined;
    })
    .optional()
    .meta({ type: 'string', enum: ['in', 'out'], description });

/** Asks for keyset paging: empty for the first page, then what the page before gave as `next_cursor`. */
export const cursor = () =>
  text('Keyset paging: empty for the first page, afterwards the `next_cursor` of the page before.');

/** The parameters of one operation by name. */
export type Parameters = z.ZodObject<z.ZodRawShape>;

/** Reads the declared parameters; unknown ones are ignored. Throws ApiError 422 with the service's text. */
export function readParameters<T extends Parameters>(parameters: T, query: Query): z.output<T> {
  const values: Record<string, string[]> = {};
  for (const name of Object.keys(parameters.shape)) {
    const sentValues = query.get(name);
    if (sentValues !== undefined) values[name] = sentValues;
  }
  const result = parameters.safeParse(values);
  if (result.success) return result.data;
  throw new ApiError(422, refusalOf(result.error.issues));
}

/** Values that do not parse come before rules that are broken, as the service decodes before it checks. */
function refusalOf(issues: readonly z.core.$ZodIssue[]): string {
  const unread = issues.find((issue) => issue.code === 'custom' && issue.params?.conversion === true);
  if (unread === undefined || unread.code !== 'custom') return issues[0].message;
  const index = unread.params?.index;
  const place = index === undefined ? '' : `index ${index} of `;
  return `failed to decode: schema: error converting value for ${place}"${String(unread.path[0])}"`;
}
