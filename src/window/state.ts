import { z } from 'zod';
import type { Tables } from './tables.ts';

/** Version of what the window writes. Files of another one are emptied and filled again. */
export const WINDOW_VERSION = 1;

const decimal = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform((text) => BigInt(text));

const schema = z.object({
  version: z.literal(WINDOW_VERSION),
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
  /** Greatest lt and time of any block in a step before the first; null when the window begins where the chain does. */
  below: z.object({ lt: decimal, utime: z.number().int() }).nullable(),
});

export type WindowState = z.output<typeof schema>;

export const STATE_KEY = Buffer.from('state');

export function encodeWindowState(state: WindowState): Buffer {
  const below = state.below && { ...state.below, lt: state.below.lt.toString() };
  return Buffer.from(JSON.stringify({ ...state, below }));
}

/** Null for an empty window; `unknown` for one of another version. */
export function decodeWindowState(bytes: Buffer | undefined): WindowState | null | 'unknown' {
  if (bytes === undefined) return null;
  try {
    return schema.safeParse(JSON.parse(bytes.toString())).data ?? 'unknown';
  } catch (error) {
    if (error instanceof SyntaxError) return 'unknown';
    throw error;
  }
}

export function readWindowState(tables: Tables): WindowState | null | 'unknown' {
  return decodeWindowState(tables.meta.get(STATE_KEY));
}
