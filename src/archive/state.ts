/** Where an archive stands, as it is noted with every commit. */
import { z } from 'zod';

/** Of what is written. Files of another version are emptied and filled again. */
export const ARCHIVE_VERSION = 8;

const stateSchema = z.object({
  version: z.literal(ARCHIVE_VERSION),
  /** Which tables it was filled from. */
  tables: z.string(),
  globalId: z.number().int(),
  /** First and last step that are here; what the tables have between is here. Behind the last when it is empty. */
  first: z.number().int(),
  head: z.number().int(),
  /** The head that it began with: what is up to here is written downwards, what is behind it upwards. */
  origin: z.number().int(),
  /** Greatest lt and time of any block before the first; null when the tables have none. */
  below: z
    .object({
      lt: z
        .string()
        .regex(/^\d{1,20}$/)
        .transform((text) => BigInt(text)),
      utime: z.number().int(),
    })
    .nullable(),
});

export type ArchiveState = z.output<typeof stateSchema>;

export function encodeState(state: ArchiveState): Buffer {
  const below = state.below && { ...state.below, lt: state.below.lt.toString() };
  return Buffer.from(JSON.stringify({ ...state, below }));
}

/** Null for one of another version, as for none. */
export function decodeState(bytes: Buffer): ArchiveState | null {
  try {
    return stateSchema.safeParse(JSON.parse(bytes.toString())).data ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
