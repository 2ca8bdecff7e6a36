/** Parameters as v2 reads them: what cannot be read is refused by name. */
import { z } from 'zod';
import { isStandard, parseAddress, parseHash } from '../../chain/address.ts';
import type { Address, Decimal, Hash, Shard } from '../../chain/model.ts';
import { ApiError } from '../errors.ts';
import { scalar, sent } from '../parameters.ts';
import { ParameterError } from './route.ts';

/** An address with the form it was given in. */
export interface GivenAddress {
  address: Address;
  /** Null for the raw form. */
  friendly: { bounceable: boolean; testOnly: boolean } | null;
}

/** 48 characters of either base64 alphabet, or `workchain:64 hex digits`, the workchain one signed byte. */
function parseGiven(text: string): GivenAddress | null {
  const address = parseAddress(text);
  if (address === null || !isStandard(address)) return null;
  if (text.includes(':')) return { address, friendly: null };
  const tag = Buffer.from(text, 'base64url')[0];
  return { address, friendly: { bounceable: (tag & 0x40) === 0, testOnly: (tag & 0x80) !== 0 } };
}

/** 44 characters of padded base64, 43 of the url-safe alphabet, or 64 hex digits; empty for the empty text. */
function parseV2Hash(text: string): Hash | null {
  if (text === '') return Buffer.alloc(0);
  if (/^[A-Za-z0-9_-]{43}$/.test(text)) return Buffer.from(text, 'base64url');
  // Without `0x` before hex; base64 may begin so.
  return text.length > 64 ? null : parseHash(text);
}

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

function parseInt64(text: string): bigint | null {
  if (!/^-?\d{1,20}$/.test(text)) return null;
  const value = BigInt(text);
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : null;
}

function parseInt32(text: string): number | null {
  const value = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return value === (value | 0) ? value : null;
}

/** The words of TON Center for yes and no, in any case. */
function parseTruth(text: string): boolean | null {
  const word = text.toLowerCase();
  if (['y', 'yes', 't', 'true', 'on', '1'].includes(word)) return true;
  return ['n', 'no', 'f', 'false', 'off', '0'].includes(word) ? false : null;
}

export const address = (description = 'Account address: raw or user-friendly.') =>
  scalar(parseGiven, { type: 'string', description, required: true });
export const hash = (description: string) => scalar(parseV2Hash, { type: 'string', description });
/** Several, each as a value of its own: commas do not part them. */
export const hashes = (description: string) =>
  sent
    .transform((texts, context): Hash[] => {
      const found = texts.map(parseV2Hash);
      if (found.every((hash) => hash !== null)) return found;
      context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
      return z.NEVER;
    })
    .optional()
    .meta({ type: 'array', items: { type: 'string' }, description });
/** An account by its id alone or by a whole address. */
export const accountId = (description: string) =>
  scalar((text) => parseV2Hash(text) ?? parseGiven(text)?.address.subarray(4) ?? null, { type: 'string', description });
export const int32 = (description: string) => scalar(parseInt32, { type: 'integer', format: 'int32', description });
export const int64 = (description: string) => scalar(parseInt64, { type: 'string', description });
export const shard = (description = 'Shard as a signed number.') => {
  const shape = { type: 'string', description, example: '-9223372036854775808' } as const;
  const text = scalar<Shard>((sent) => {
    const value = parseInt64(sent);
    return value === null ? null : BigInt.asUintN(64, value).toString(16).padStart(16, '0');
  }, shape);
  return z
    .preprocess((value) => (typeof value === 'bigint' ? asMeant(value) : value), text)
    .optional()
    .meta(shape);
};
export const truth = (description: string) => scalar(parseTruth, { type: 'boolean', description });

/** JavaScript writes a number in the fewest digits that tell it apart: -2^63 as -9223372036854776000. */
function asMeant(digits: bigint): bigint {
  const double = Number(digits);
  return String(double) === String(digits) ? BigInt(double) : digits;
}

/** The empty text counts as no hash at all. */
export function given(hash: Hash | undefined): Hash | undefined {
  return hash === undefined || hash.length === 0 ? undefined : hash;
}

/** Throws ParameterError for a parameter that was not given. */
export function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new ParameterError(422, `${name} required`);
  return value;
}

/** Throws ApiError 422 for a value that breaks a rule. */
export function check(holds: boolean, rule: string): void {
  if (!holds) throw new ApiError(422, `failed to validate request: ${rule}`);
}

/** A non-negative int64 as decimal text. */
export function decimal(value: bigint): Decimal {
  return value.toString();
}
