/**
 * Parameters as the TON Center service reads them: the last of several scalars wins, lists take repeated names,
 * `name[]` and commas, numbers follow Go.
 */
import { z } from 'zod';
import { parseAddress, parseHash, parseShard } from '../../chain/address.ts';
import type { Address } from '../../chain/model.ts';
import type { Sort } from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { list, type Shape, scalar, sent, sentLast } from '../parameters.ts';
import { parseBool } from '../request.ts';

const MAX_INT32 = 2 ** 31 - 1;
const MIN_INT32 = -(2 ** 31);
const MAX_UINT32 = 2 ** 32 - 1;
/** Of `action_type` and the like. */
const MAX_TYPES = 256;
const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_UINT256 = 2n ** 256n - 1n;

/** Go's 32-bit decimal; the empty text is zero, not absent. */
export function parseInt32(text: string): number | null {
  if (text === '') return 0;
  if (!/^[+-]?\d{1,40}$/.test(text)) return null;
  const value = Number(text);
  return value >= MIN_INT32 && value <= MAX_INT32 ? value + 0 : null;
}

/** Unsigned 64-bit decimal, without leading zeros in the result. */
function parseUint64(text: string): string | null {
  if (text === '') return '0';
  if (!/^\d{1,40}$/.test(text)) return null;
  const value = BigInt(text);
  return value <= MAX_UINT64 ? value.toString() : null;
}

/** Unsigned 256-bit decimal, without leading zeros in the result. */
function parseAmount(text: string): string | null {
  if (!/^\d{1,78}$/.test(text)) return null;
  const value = BigInt(text);
  return value <= MAX_UINT256 ? value.toString() : null;
}

/**
 * Unix seconds: a decimal or any float text, cut to whole seconds. Times beyond 32 bits become the last second of
 * 32 bits, which no block has yet.
 */
function parseUtime(text: string): number | null {
  if (!/^\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return null;
  return Math.min(Math.trunc(Number(text)), MAX_UINT32);
}

/** Go's bool plus `on`; the empty text is false. */
function parseFlag(text: string): boolean | null {
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
function parseSort(text: string): Sort | null {
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
/** An amount in the smallest units. */
export const amount = (description: string) =>
  scalar(parseAmount, { type: 'string', pattern: '^[0-9]+$', description });
export const utime = (description: string) => scalar(parseUtime, { type: 'number', minimum: 0, description });
export const flag = (description: string) => scalar(parseFlag, { type: 'boolean', description });
export const hash = (description: string, required = false) => scalar(parseHash, { ...HASH, description, required });
export const hashes = (description: string) => list(parseHash, { ...HASH, description }, null);
export const address = (description: string) => scalar(parseAddress, { ...ADDRESS, description });
export const addresses = (description: string, maxItems: number, required = false) =>
  list(parseAddress, { ...ADDRESS, description }, maxItems, required);
/** Several addresses where others take one: what cannot be read is named as of one. */
export const accountsOrOne = (description: string, maxItems: number) =>
  sent
    .transform((values, context): Address[] => {
      const items = values.flatMap((value) => (parseAddress(value) ? [value] : value.split(',')));
      const found = items.flatMap((item) => parseAddress(item) ?? []);
      if (found.length === items.length && found.length <= maxItems) return found;
      if (found.length < items.length) {
        context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
      } else context.addIssue({ code: 'custom', message: `maximum ${maxItems} addresses allowed` });
      return z.NEVER;
    })
    .default([])
    .meta({ type: 'array', items: ADDRESS, description, maxItems });
/** Our own, not of the contract. */
export const atStep = () =>
  int32('As this masterchain step left it; the address book and metadata are those of now (an extension).');
export const shard = (description: string) =>
  scalar(parseShard, { type: 'string', description, example: '8000000000000000' });
export const opcode = (description: string) =>
  scalar(parseOpcode, { type: 'string', description, example: '0x0f8a7ea5' });

export const opcodes = (description: string, maxItems: number) =>
  list(parseOpcode, { type: 'string', description, example: '0x0f8a7ea5' }, maxItems);

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

/** Names of action types and shortcuts. */
export const actionTypes = (name: string, description: string) =>
  sent
    .transform((values, context) => {
      if (values.length > MAX_TYPES)
        context.addIssue({ code: 'custom', message: `maximum ${MAX_TYPES} types allowed` });
      else if (values.every((value) => /^[A-Za-z0-9_.]*$/.test(value))) return values.filter((value) => value !== '');
      else context.addIssue({ code: 'custom', message: `${name} contains invalid characters` });
      return z.NEVER;
    })
    .default([])
    .meta({ type: 'array', items: { type: 'string' }, description, maxItems: MAX_TYPES });

/** Types and shortcuts that a client knows. */
export const supportedTypes = () =>
  sent
    .transform((values, context) => {
      if (values.length <= MAX_TYPES) return values;
      context.addIssue({ code: 'custom', message: `maximum ${MAX_TYPES} types allowed` });
      return z.NEVER;
    })
    .default([])
    .meta({
      type: 'array',
      items: { type: 'string' },
      description: 'Action types and shortcuts (`v1` to `v4`, `latest`) that the client knows; `latest` unless given.',
      maxItems: MAX_TYPES,
    });

/** A hash that is as if absent when it does not parse. */
export const lenientHash = (description: string) =>
  sentLast
    .transform((sentText) => parseHash(sentText) ?? undefined)
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
export const limit = ({ defaultRows, maxRows }: ApiLimits) => {
  const usual = Math.min(defaultRows, maxRows);
  return sentLast
    .transform((sentText, context): number => {
      const rows = parseInt32(sentText);
      if (rows !== null && rows <= maxRows) return Math.max(rows, 1);
      if (rows === null) context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
      else context.addIssue({ code: 'custom', message: `limit is not allowed: ${rows} > ${maxRows}` });
      return z.NEVER;
    })
    .default(usual)
    .meta({ type: 'integer', minimum: 1, maximum: maxRows, default: usual, description: 'Rows to return.' });
};

/** Rows to leave out: below 0 counts as 0. */
export const offset = () =>
  sentLast
    .transform((sentText, context): number => {
      const rows = parseInt32(sentText);
      if (rows !== null) return Math.max(rows, 0);
      context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
      return z.NEVER;
    })
    .default(0)
    .meta({ type: 'integer', minimum: 0, default: 0, description: 'Rows to skip.' });

export const sort = (absent: Sort = 'desc') =>
  sentLast
    .transform((sentText, context): Sort => {
      const order = parseSort(sentText);
      if (order !== null) return order;
      context.addIssue({ code: 'custom', message: 'wrong value for sort parameter' });
      return z.NEVER;
    })
    .default(absent)
    .meta({ type: 'string', enum: ['asc', 'desc'], default: absent, description: 'Order of the rows.' });

/** `in` or `out`. */
export const direction = (description: string) =>
  sentLast
    .transform((sentText, context): 'in' | 'out' => {
      const side = sentText;
      if (side === 'in' || side === 'out') return side;
      context.addIssue({ code: 'custom', message: 'direction should be one of: in, out' });
      return z.NEVER;
    })
    .optional()
    .meta({ type: 'string', enum: ['in', 'out'], description });

/** `in` or `out`; any other word is as if absent. */
export const lenientDirection = (description: string) =>
  sentLast
    .transform((sentText): 'in' | 'out' | undefined => {
      const side = sentText;
      return side === 'in' || side === 'out' ? side : undefined;
    })
    .optional()
    .meta({ type: 'string', enum: ['in', 'out'], description });

/** An address that is as if absent when it does not parse: the former name of a list. */
export const lenientAddress = (description: string) =>
  sentLast
    .transform((sentText) => parseAddress(sentText) ?? undefined)
    .optional()
    .meta({ ...ADDRESS, description, deprecated: true });

/** Which side of a transfer an owner is on; `both` is as if absent. */
export const transferDirection = (description: string) =>
  sentLast
    .transform((sentText, context): 'in' | 'out' | undefined => {
      if (sentText === 'in' || sentText === 'out') return sentText;
      if (sentText === 'both') return undefined;
      context.addIssue({ code: 'custom', message: 'direction should be one of: in, out, both' });
      return z.NEVER;
    })
    .optional()
    .meta({ type: 'string', enum: ['in', 'out', 'both'], description });

/** Order by something that is not ordered by unless asked for. */
export const optionalSort = (description: string) =>
  sentLast
    .transform((sentText, context): Sort => {
      const order = parseSort(sentText);
      if (order !== null) return order;
      context.addIssue({ code: 'custom', message: 'wrong value for sort parameter' });
      return z.NEVER;
    })
    .optional()
    .meta({ type: 'string', enum: ['asc', 'desc'], description });

/** Numbers of up to 256 bits in decimal; empty values are dropped. */
export const indexes = (description: string, maxItems: number) =>
  sent
    .transform((texts, context): string[] => {
      const values = texts.filter((text) => text !== '');
      if (values.length > maxItems) {
        context.addIssue({ code: 'custom', message: `maximum ${maxItems} indexes allowed` });
      } else if (values.every((value) => /^\d{1,78}$/.test(value) && BigInt(value) < 2n ** 256n)) {
        return values.map((value) => BigInt(value).toString());
      } else context.addIssue({ code: 'custom', message: 'index should contain digits only' });
      return z.NEVER;
    })
    .default([])
    .meta({ type: 'array', items: { type: 'string' }, description, maxItems });

/** Asks for keyset paging: empty for the first page, then what the page before gave as `next_cursor`. */
export const cursor = () =>
  text('Keyset paging: empty for the first page, afterwards the `next_cursor` of the page before.');

/**
 * 422 with the service's text. Values that do not parse come before rules that are broken, as it decodes before it
 * checks.
 */
export function refuse(issues: readonly z.core.$ZodIssue[]): ApiError {
  const unread = issues.find((issue) => issue.code === 'custom' && issue.params?.conversion === true);
  if (unread === undefined || unread.code !== 'custom') {
    const [{ code, path, message }] = issues;
    // Of what a body has in the place of a text.
    return new ApiError(422, code === 'custom' ? message : `${path.join('.')}: ${message}`);
  }
  const index = unread.params?.index;
  const place = index === undefined ? '' : `index ${index} of `;
  const name = String(unread.path[0]);
  return new ApiError(422, `failed to decode: schema: error converting value for ${place}"${name}"`);
}
