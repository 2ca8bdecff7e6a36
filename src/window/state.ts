import type { Transaction } from 'lmdb';
import { z } from 'zod';
import { formVersion } from './form.ts';
import type { Table, Tables } from './tables.ts';

/** Version of what the window writes. Files of another one are emptied and filled again. */
export const WINDOW_VERSION = 2;

const decimal = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform((text) => BigInt(text));

const schema = z.object({
  version: z.literal(WINDOW_VERSION),
  /** Version of the forms of the transactions. */
  form: z.string(),
  /** First and last step that are here; the steps between are all here. */
  first: z.number().int(),
  head: z.number().int(),
  globalId: z.number().int(),
  /** Root hash of the head in hex. */
  rootHash: z.string(),
  /** Offset in the topic of steps behind the head. */
  nextOffset: z.number().int(),
  /** The number the next transaction gets. */
  nextNumber: z.number().int(),
  /** Estimated bytes of the steps, and of codes, which stay when a step goes. */
  bytes: z.number(),
  codeBytes: z.number(),
  /** It answers, for all processes that read it: it has reached the head of the tables and is not far behind them. */
  speaks: z.boolean().default(false),
  /** Greatest lt and time of any block in a step before the first; null when the window begins where the chain does. */
  below: z.object({ lt: decimal, utime: z.number().int() }).nullable(),
});

export type WindowState = z.output<typeof schema>;

export const STATE_KEY = Buffer.from('state');

export function encodeWindowState(state: WindowState): Buffer {
  const below = state.below && { ...state.below, lt: state.below.lt.toString() };
  return Buffer.from(JSON.stringify({ ...state, below }));
}

function decodeWindowState(bytes: Buffer | undefined): WindowState | null | 'unknown' {
  if (bytes === undefined) return null;
  try {
    return schema.safeParse(JSON.parse(bytes.toString())).data ?? 'unknown';
  } catch (error) {
    if (error instanceof SyntaxError) return 'unknown';
    throw error;
  }
}

/** Read with every view, and mostly the same as for the one before. */
const lastRead = new WeakMap<Table, { bytes: Buffer; state: WindowState | null | 'unknown' }>();

/** Null for an empty window; `unknown` for one of another version, or with other forms. */
export function readWindowState(
  { meta, form }: Pick<Tables, 'meta' | 'form'>,
  transaction?: Transaction,
): WindowState | null | 'unknown' {
  const bytes = meta.get(STATE_KEY, transaction ? { transaction } : undefined);
  const last = lastRead.get(meta);
  if (bytes && last && Buffer.compare(last.bytes, bytes) === 0) return last.state;
  const decoded = decodeWindowState(bytes);
  const state = decoded && decoded !== 'unknown' && decoded.form !== formVersion(form) ? 'unknown' : decoded;
  if (bytes) lastRead.set(meta, { bytes, state });
  return state;
}
