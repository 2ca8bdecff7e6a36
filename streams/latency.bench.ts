/**
 * How long a step is on its way: from sealed in the log to published by the projector, to visible in the window, to
 * answered over HTTP. Recorded steps are appended one by one to an embedded log beside a real ClickHouse server. Run by
 * `npm run bench:latency`; BENCH_STEPS and BENCH_INTERVAL_MS set how many and how often.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createQueryGate } from '../clickhouse/gate.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { connect } from '../clickhouse/open.ts';
import { createHead } from '../clickhouse/queries/head.ts';
import { createClickHouseSource } from '../clickhouse/queries/source.ts';
import { silent, startTestServer } from '../clickhouse/test-server.ts';
import { readConfig } from '../src/config.ts';
import { createWindowFollower } from '../src/window/follow.ts';
import { createWindowSource } from '../src/window/source.ts';
import { openWindow } from '../src/window/window.ts';
import { serveApi } from '../test/api-server.ts';
import { openEmbeddedLog } from './embedded.ts';
import { importFiles } from './ingest/import.ts';
import { sequenceFile } from './ingest/recorded-sequence.ts';
import type { LogRecord } from './log.ts';
import { openLog } from './open.ts';
import { startProjectorThread } from './project/thread.ts';
import { readSteps } from './steps.ts';
import { topicNames } from './topics.ts';

const STEPS = Number(process.env.BENCH_STEPS ?? 120);
const INTERVAL_MS = Number(process.env.BENCH_INTERVAL_MS ?? 250);
/** Steps at the start that are not counted: code gets compiled. */
const WARM_UP = 20;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const folder = mkdtempSync(join(tmpdir(), 'tonstream-latency-'));
const topics = topicNames();
const stopping = new AbortController();
const { signal } = stopping;

/** The records of each step. */
async function recorded(): Promise<{ mcSeqno: number; records: LogRecord[] }[]> {
  const log = openEmbeddedLog({ folder: join(folder, 'recorded') });
  await importFiles(log, topics, [sequenceFile('mainnet-genesis_a')]);
  const steps: { mcSeqno: number; records: LogRecord[] }[] = [];
  for await (const some of readSteps(log, topics.blocks, 0, { signal, stopAtEnd: true })) {
    for (const { mcSeqno, firstOffset, nextOffset } of some) {
      const records: LogRecord[] = [];
      for (let offset = firstOffset; offset < nextOffset; offset++) {
        const record = await log.get(topics.blocks, offset);
        if (record) records.push({ key: record.key, headers: record.headers, value: Buffer.from(record.value) });
      }
      steps.push({ mcSeqno, records });
    }
  }
  await log.close();
  return steps;
}

const { config } = readConfig(['--data-dir', join(folder, 'data'), '--log-level', 'warn'], process.env);
const server = await startTestServer();
const clickhouse = connect(config, server.server.url, silent);
await migrate({ clickhouse, logger: silent });
const log = openLog(config);
await log.ensureTopic(topics.blocks);
const head = createHead(clickhouse);
const tables = createClickHouseSource(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
const window = openWindow({ folder: join(folder, 'window'), maxBytes: config.windowBytes });
const times = { published: 0, visible: new Map<number, number>(), waiting: new Map<number, () => void>() };
const follower = createWindowFollower({
  window,
  log,
  topic: topics.steps,
  clickhouse: tables,
  logger: silent,
  onSteps(steps) {
    for (const { step } of steps) {
      times.visible.set(step.mcSeqno, performance.now());
      times.waiting.get(step.mcSeqno)?.();
    }
  },
});
const projector = startProjectorThread(
  { config, clickhouseUrl: server.server.url },
  {
    onProgress: ({ batch }) => head.advance(batch.mcSeqno),
    onPublished() {
      times.published = performance.now();
      follower.wake();
    },
  },
);
const following = follower.run(signal);
const api = await serveApi(createWindowSource(follower, tables));
const legs: Record<string, number[]> = { published: [], visible: [], answered: [], 'all of it': [] };

try {
  const steps = (await recorded()).slice(0, STEPS);
  print(`${steps.length} steps, one every ${INTERVAL_MS} ms, batches wait ${config.batchMs} ms`);
  for (const [at, { mcSeqno, records }] of steps.entries()) {
    const visible = new Promise<void>((resolve) => times.waiting.set(mcSeqno, resolve));
    await log.append(topics.blocks, records);
    const sealed = performance.now();
    await visible;
    const seen = times.visible.get(mcSeqno) ?? Number.NaN;
    const answer = await fetch(`${api.url}/api/v3/transactionsByMasterchainBlock?seqno=${mcSeqno}`);
    await answer.text();
    const answered = performance.now();
    if (answer.status !== 200) throw new Error(`step ${mcSeqno} is not answered: ${answer.status}`);
    if (at >= WARM_UP) {
      legs.published.push(times.published - sealed);
      legs.visible.push(seen - times.published);
      legs.answered.push(answered - seen);
      legs['all of it'].push(answered - sealed);
    }
    await sleep(INTERVAL_MS);
  }
  for (const [leg, values] of Object.entries(legs)) {
    const sorted = values.toSorted((a, b) => a - b);
    const share = (part: number): string => sorted[Math.floor((sorted.length - 1) * part)].toFixed(1).padStart(8);
    print(`${leg.padEnd(10)}  p50 ${share(0.5)} ms   p99 ${share(0.99)} ms   most ${share(1)} ms`);
  }
} finally {
  await api.close();
  await projector.stop();
  stopping.abort();
  await following;
  await window.close();
  await log.close();
  await clickhouse.close();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
