import { z } from 'zod';
import { EnvelopeError } from './envelope.ts';
import type { LogRecord, StoredRecord } from './log.ts';

const DEAD_LETTER = z.object({
  /** Topic and offsets (both inclusive) of what could not be projected. */
  topic: z.string().min(1),
  first: z.int().nonnegative(),
  last: z.int().nonnegative(),
  mcSeqno: z.int().nonnegative().nullable(),
  /** Projection that gave up, and its version. */
  projection: z.string().min(1),
  version: z.int().nonnegative(),
  error: z.object({ name: z.string(), message: z.string() }),
  /** Unix milliseconds. */
  atMs: z.int().nonnegative(),
});

/** Why records of a topic were passed over. The records themselves stay where they are. */
export type DeadLetter = z.infer<typeof DEAD_LETTER>;

/** The log record of a dead letter: key `topic:first`, value JSON, the place repeated in headers for tools. */
export function encodeDeadLetter(letter: DeadLetter): LogRecord {
  return {
    key: `${letter.topic}:${letter.first}`,
    headers: {
      v: '1',
      topic: letter.topic,
      first: String(letter.first),
      last: String(letter.last),
      ...(letter.mcSeqno === null ? {} : { mc: String(letter.mcSeqno) }),
      projection: letter.projection,
      pv: String(letter.version),
    },
    value: Buffer.from(JSON.stringify(DEAD_LETTER.parse(letter))),
  };
}

/** @throws {EnvelopeError} */
export function decodeDeadLetter(record: StoredRecord, topic: string): DeadLetter {
  if (record.headers.v !== '1') {
    throw new EnvelopeError(topic, record.offset, 'v', `version ${record.headers.v ?? '(none)'} is not 1`);
  }
  let json: unknown;
  try {
    json = JSON.parse(record.value.toString('utf8'));
  } catch (error) {
    throw new EnvelopeError(topic, record.offset, 'value', `not JSON: ${String(error)}`);
  }
  const parsed = DEAD_LETTER.safeParse(json);
  if (!parsed.success) throw new EnvelopeError(topic, record.offset, 'value', z.prettifyError(parsed.error));
  return parsed.data;
}
