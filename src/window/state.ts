import { z } from 'zod';
import type { Engine, Noted, Snapshot } from './engine.ts';
import { formVersion, type TransactionForm } from './form.ts';

/** Version of what the window writes. Files of another one are emptied and filled again. */
export const WINDOW_VERSION = 11;

const decimal = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform((text) => BigInt(text));

const schema = z.object({
  version: z.literal(WINDOW_VERSION),
  /** Version of the forms of the transactions. */
  form: z.string(),
  /** Id of the tables that the steps were written to first. */
  tables: z.string().default(''),
  /** First and last step that are here; the steps between are all here. */
  first: z.number().int(),
  head: z.number().int(),
  globalId: z.number().int(),
  /** Root hash of the head in hex. */
  rootHash: z.string(),
  /** Offset in the topic of steps behind the head. */
  nextOffset: z.number().int(),
  /** Keys and values of the steps, and of codes, which stay when a step goes; and what they take on the disk, about. */
  stepBytes: z.number(),
  codeBytes: z.number(),
  bytes: z.number(),
  /** It answers, for all processes that read it: it has reached the head of the tables and is not far behind them. */
  speaks: z.boolean().default(false),
  /** Greatest lt and time of any block in a step before the first; null when the window begins where the chain does. */
  below: z.object({ lt: decimal, utime: z.number().int() }).nullable(),
});

export type WindowState = z.output<typeof schema>;

export function encodeWindowState(state: WindowState): Buffer {
  const below = state.below && { ...state.below, lt: state.below.lt.toString() };
  return Buffer.from(JSON.stringify({ ...state, below }));
}

function decodeWindowState(bytes: Buffer): WindowState | 'unknown' {
  try {
    return schema.safeParse(JSON.parse(bytes.toString())).data ?? 'unknown';
  } catch (error) {
    if (error instanceof SyntaxError) return 'unknown';
    throw error;
  }
}

/** Read with every view, and mostly the same as for the one before. */
const lastRead = new WeakMap<Engine, { version: number; state: WindowState | 'unknown' }>();

/** Null for an empty window; `unknown` for one of another version, or with other forms. */
export function readWindowState(
  engine: Engine,
  form: TransactionForm | null,
  snapshot?: Snapshot,
): { noted: Noted | null; state: WindowState | null | 'unknown' } {
  const noted = engine.note(snapshot);
  if (noted === null) return { noted, state: null };
  const last = lastRead.get(engine);
  if (last?.version === noted.version) return { noted, state: last.state };
  const decoded = decodeWindowState(noted.value);
  const state = decoded !== 'unknown' && decoded.form !== formVersion(form) ? 'unknown' : decoded;
  lastRead.set(engine, { version: noted.version, state });
  return { noted, state };
}
