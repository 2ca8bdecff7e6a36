/**
 * The writer process that the conformance suite kills: appends numbered records and prints each acknowledged range.
 * Arguments: `embedded FOLDER TOPIC` or `kafka BROKERS TOPIC`, then optionally the number of the last record.
 */
import { createHash } from 'node:crypto';
import { openEmbeddedLog } from '../streams/embedded.ts';
import type { EventLog, LogRecord } from '../streams/log.ts';

const BATCH = 20;

/** Record number n: 20 to 80 KB that depend on n alone. */
export function numberedRecord(n: number): LogRecord {
  const seed = createHash('sha256').update(String(n)).digest();
  return { key: String(n), headers: { n: String(n) }, value: Buffer.alloc(20_000 + ((n * 7919) % 60_000), seed) };
}

async function openLog(kind: string, place: string): Promise<EventLog> {
  if (kind === 'embedded') return openEmbeddedLog({ folder: place });
  const { openKafkaLog } = await import('../streams/kafka.ts');
  return openKafkaLog({ brokers: place.split(','), clientId: 'conformance-writer' });
}

/** Continues where the log ends, up to record number `until`. */
export async function writeNumbered(log: EventLog, topic: string, until: number, acknowledged: (last: number) => void) {
  await log.ensureTopic(topic);
  let n = Number((await log.last(topic, 1)).at(0)?.key ?? -1) + 1;
  while (n <= until) {
    const records = Array.from({ length: Math.min(BATCH, until - n + 1) }, (_, index) => numberedRecord(n + index));
    const { last } = await log.append(topic, records);
    acknowledged(last);
    n += records.length;
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [kind, place, topic, until] = process.argv.slice(2);
  const log = await openLog(kind, place);
  await writeNumbered(log, topic, Number(until ?? Number.MAX_SAFE_INTEGER), (last) => {
    process.stdout.write(`${last}\n`);
  });
  await log.close();
}
