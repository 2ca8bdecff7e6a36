/**
 * How long a step is on its way: from the append that seals it in the log to published by the projector, to visible in
 * the window, to answered over HTTP, beside a real ClickHouse server. Run by `npm run bench:latency`: recorded steps,
 * appended one by one; with BENCH_NETWORK=devnet those of a devnet under traffic, followed by the ingester over the lite
 * protocol. BENCH_STEPS and BENCH_INTERVAL_MS set how many and how often, BENCH_RATE the devnet's messages a second.
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
import { type Config, readConfig } from '../src/config.ts';
import { startDevnetThread } from '../src/devnet/thread.ts';
import { createWindowFollower } from '../src/window/follow.ts';
import { createWindowSource } from '../src/window/source.ts';
import { openWindow } from '../src/window/window.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { decodeEnvelope } from '../streams/envelope.ts';
import { importFiles } from '../streams/ingest/import.ts';
import { startIngestThread } from '../streams/ingest/thread.ts';
import type { EventLog, LogRecord } from '../streams/log.ts';
import { openLog } from '../streams/open.ts';
import { startProjectorThread } from '../streams/project/thread.ts';
import { readSteps } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';
import { serveApi } from './api-server.ts';
import { processUsage, writtenBytes } from './process-usage.ts';
import { sequenceFile } from './recorded-sequence.ts';

const NETWORK = process.env.BENCH_NETWORK ?? 'recorded';
const STEPS = Number(process.env.BENCH_STEPS ?? 120);
const INTERVAL_MS = Number(process.env.BENCH_INTERVAL_MS ?? (NETWORK === 'devnet' ? 400 : 250));
const RATE = Number(process.env.BENCH_RATE ?? 20);
/** Steps at the start that are not counted: code gets compiled. */
const WARM_UP = 20;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const ignore = (): void => undefined;
const folder = mkdtempSync(join(tmpdir(), 'tonstream-latency-'));
const topics = topicNames();
const stopping = new AbortController();
const { signal } = stopping;

/** The records of each step. */
async function recorded(): Promise<LogRecord[][]> {
  const log = openEmbeddedLog({ folder: join(folder, 'recorded') });
  await importFiles(log, topics, [sequenceFile('mainnet-genesis_a')]);
  const steps: LogRecord[][] = [];
  for await (const some of readSteps(log, topics.blocks, 0, { signal, stopAtEnd: true })) {
    for (const { firstOffset, nextOffset } of some) {
      const records: LogRecord[] = [];
      for (let offset = firstOffset; offset < nextOffset; offset++) {
        const record = await log.get(topics.blocks, offset);
        if (record) records.push({ key: record.key, headers: record.headers, value: Buffer.from(record.value) });
      }
      steps.push(records);
    }
  }
  await log.close();
  if (steps.length < STEPS) throw new Error(`the recording has ${steps.length} steps, BENCH_STEPS asks for ${STEPS}`);
  return steps.slice(0, STEPS);
}

async function appendRecorded(log: EventLog): Promise<void> {
  const steps = await recorded();
  print(`${steps.length} recorded steps, one every ${INTERVAL_MS} ms`);
  for (const records of steps) {
    await log.append(topics.blocks, records);
    await sleep(INTERVAL_MS);
  }
}

/** Ends when the devnet's steps are enough. */
async function followDevnet(config: Config, enough: Promise<void>): Promise<void> {
  print(`a devnet of a block every ${INTERVAL_MS} ms with ${RATE} messages a second, ${STEPS} steps`);
  const { thread, ready } = await startDevnetThread({
    ...{ folder: join(folder, 'devnet'), seed: 'bench', blockTimeMs: INTERVAL_MS, rate: RATE },
    ...{ splitAt: 20, mergeAt: 40, host: '127.0.0.1', litePort: 0, logLevel: 'error' },
  });
  const metrics = { head: ignore, appended: ignore, fetched: ignore, stepLatency: ignore, refetched: ignore };
  const data = { config, globalConfig: ready.globalConfig, ingests: true };
  const proofs = { proven: ignore, unproven: ignore, serverFault: ignore };
  const ingest = { ...metrics, ...proofs, cells: ignore };
  const ingester = startIngestThread(data, { ingest, servers: ignore });
  try {
    await Promise.race([enough, ingester.done]);
  } finally {
    await ingester.stop();
    await thread.stop();
  }
}

/** When each step was appended: what the log notes of its sealing record, on the clock of `performance.now()`. */
async function watchLog(log: EventLog, sealed: Map<number, number>): Promise<void> {
  for await (const batch of log.read(topics.blocks, 0, { signal })) {
    for (const record of batch) {
      const { seal, mcSeqno } = decodeEnvelope(record, topics.blocks);
      if (seal !== null) sealed.set(mcSeqno, record.time - performance.timeOrigin);
    }
  }
}

const { config } = readConfig(['--data-dir', join(folder, 'data'), '--log-level', 'warn'], process.env);
const server = await startTestServer();
const clickhouse = connect(config, server.server.url, silent);
await migrate({ clickhouse, logger: silent });
const log = await openLog(config);
await log.ensureTopic(topics.blocks);
const head = createHead(clickhouse);
const tables = createClickHouseSource(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
const window = openWindow({ folder: join(folder, 'window'), maxBytes: config.windowBytes });
const sealed = new Map<number, number>();
const legs: Record<string, number[]> = { published: [], visible: [], answered: [], 'all of it': [] };
const asking: Promise<void>[] = [];
let published = 0;
let seen = 0;
let haveEnough = ignore;
const usageOf = (pid: number) => ({ cpuMs: processUsage(pid).cpuMs, bytes: writtenBytes(pid) });
/** Of ClickHouse, and of this process, which is chain, projector, window and API in one. */
const usage = () => ({ ClickHouse: usageOf(server.server.pid ?? 0), service: usageOf(process.pid) });
let began = usage();
let ended = began;
const enough = new Promise<void>((resolve) => {
  haveEnough = resolve;
});

/** Asks for the step and notes its times. */
async function ask(mcSeqno: number, counted: boolean, at: { published: number; visible: number }): Promise<void> {
  const answer = await fetch(`${api.url}/api/v3/transactionsByMasterchainBlock?seqno=${mcSeqno}`);
  await answer.text();
  const answered = performance.now();
  if (answer.status !== 200) throw new Error(`step ${mcSeqno} is not answered: ${answer.status}`);
  const began = sealed.get(mcSeqno);
  if (!counted || began === undefined) return;
  legs.published.push(at.published - began);
  legs.visible.push(at.visible - at.published);
  legs.answered.push(answered - at.visible);
  legs['all of it'].push(answered - began);
}

const follower = createWindowFollower({
  window,
  log,
  topic: topics.steps,
  clickhouse: tables,
  logger: silent,
  onSteps(steps) {
    const visible = performance.now();
    for (const { step } of steps) {
      if (++seen === WARM_UP) began = usage();
      asking.push(ask(step.mcSeqno, seen > WARM_UP && seen <= STEPS, { published, visible }));
      if (seen === STEPS) {
        ended = usage();
        haveEnough();
      }
    }
  },
});
const projector = startProjectorThread(
  { config, clickhouseUrl: server.server.url },
  {
    onProgress: ({ batch }) => head.advance(batch.mcSeqno),
    onPublished() {
      published = performance.now();
      follower.wake();
    },
  },
);
const working = [follower.run(signal), watchLog(log, sealed)];
const api = await serveApi(createWindowSource(follower, tables));

try {
  if (NETWORK === 'devnet') await followDevnet(config, enough);
  else await appendRecorded(log);
  await enough;
  await Promise.all(asking);
  for (const [leg, values] of Object.entries(legs)) {
    const sorted = values.toSorted((a, b) => a - b);
    const share = (part: number): string => sorted[Math.floor((sorted.length - 1) * part)].toFixed(1).padStart(8);
    print(`${leg.padEnd(10)}  p50 ${share(0.5)} ms   p99 ${share(0.99)} ms   most ${share(1)} ms`);
  }
  const steps = STEPS - WARM_UP;
  for (const name of ['ClickHouse', 'service'] as const) {
    const cpuMs = (ended[name].cpuMs - began[name].cpuMs) / steps;
    const kilobytes = (ended[name].bytes - began[name].bytes) / 1000 / steps;
    print(`${name.padEnd(10)}  ${cpuMs.toFixed(0)} ms CPU and ${kilobytes.toFixed(0)} KB to the disk a step`);
  }
} finally {
  await api.close();
  await projector.stop();
  stopping.abort();
  await Promise.all(working);
  await window.close();
  await log.close();
  await clickhouse.close();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
