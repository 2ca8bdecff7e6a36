/**
 * Append and read rates of the event log: the embedded one on a temporary folder, and Kafka when `KAFKA_BROKERS` is
 * set. Run by `npm run bench:log`.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedLog } from './embedded.ts';
import { openKafkaLog } from './kafka.ts';
import type { EventLog } from './log.ts';

interface Load {
  name: string;
  valueBytes: number;
  batch: number;
  batches: number;
}

/** The two loads of the measurements that chose lmdb: small records, and blocks. */
const LOADS: Load[] = [
  { name: '1 KB x 500', valueBytes: 1_000, batch: 500, batches: 200 },
  { name: '300 KB x 4', valueBytes: 300_000, batch: 4, batches: 200 },
];

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function measure(label: string, log: EventLog, load: Load): Promise<void> {
  const topic = `bench-${randomUUID()}.v1`;
  await log.ensureTopic(topic);
  const headers = { v: '1', id: '(0,8000000000000000,1)', rh: 'f'.repeat(64), fh: 'f'.repeat(64), mc: '1' };
  const records = Array.from({ length: load.batch }, (_, n) => ({
    key: String(n),
    headers,
    value: randomBytes(load.valueBytes),
  }));
  const commits: number[] = [];
  const started = performance.now();
  for (let n = 0; n < load.batches; n++) {
    const before = performance.now();
    await log.append(topic, records);
    commits.push(performance.now() - before);
  }
  report(`${label} append ${load.name}`, load, performance.now() - started, commits);

  const reading = performance.now();
  let count = 0;
  const options = { signal: new AbortController().signal, stopAtEnd: true };
  for await (const batch of log.read(topic, 0, options)) count += batch.length;
  if (count !== load.batch * load.batches) throw new Error(`read ${count} records`);
  report(`${label} read   ${load.name}`, load, performance.now() - reading, []);
}

function report(label: string, load: Load, ms: number, commits: number[]): void {
  const count = load.batch * load.batches;
  const rate = Math.round((count / ms) * 1000).toLocaleString('en');
  const megabytes = Math.round((count * load.valueBytes) / ms / 1000);
  const sorted = commits.toSorted((a, b) => a - b);
  const at = (share: number): string => sorted[Math.floor(sorted.length * share)].toFixed(1);
  const latency = sorted.length === 0 ? '' : `  commit p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
  print(`${label.padEnd(28)} ${rate.padStart(9)} records/s ${String(megabytes).padStart(6)} MB/s${latency}`);
}

const folder = mkdtempSync(join(tmpdir(), 'tonstream-bench-log-'));
const embedded = openEmbeddedLog({ folder });
for (const load of LOADS) await measure('embedded', embedded, load);
await embedded.close();
rmSync(folder, { recursive: true, force: true });

const brokers = process.env.KAFKA_BROKERS;
if (brokers === undefined) {
  print('Kafka: not measured, KAFKA_BROKERS is not set');
} else {
  for (const compression of ['none', 'gzip'] as const) {
    const kafka = openKafkaLog({ brokers: brokers.split(','), clientId: 'bench', compression });
    for (const load of LOADS) await measure(`kafka ${compression}`, kafka, load);
    await kafka.close();
  }
}
