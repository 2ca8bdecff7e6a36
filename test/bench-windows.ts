/**
 * Windows over the load of the benchmarks: with all of its steps, with the newer half of them, with the newest twentieth
 * over an archive of all others, or none.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { z } from 'zod';
import { migrate } from '../clickhouse/migrate.ts';
import { connect } from '../clickhouse/open.ts';
import type { EventLog } from '../streams/log.ts';
import { openLog } from '../streams/open.ts';
import { project } from '../streams/project/projector.ts';
import { StepRecordError } from '../streams/projected-step.ts';
import { decodeStepPart, lastProjectedStep } from '../streams/steps-topic.ts';
import { topicNames } from '../streams/topics.ts';
import { type BenchService, startBenchService } from './bench-service.ts';
import { type Bench, print } from './bench-tables.ts';
import { metricOf } from './metrics.ts';
import { processUsage } from './process-usage.ts';

export const HELD = ['all', 'half', 'archived', 'nothing'] as const;
export type Held = (typeof HELD)[number];

const SHARE: Record<Held, number> = { all: 1, half: 0.5, archived: 0.05, nothing: 0 };
/** Room in the topic of steps for all of the load, several times over. */
const ROOM = 64 * 1024 ** 3;
/** An archive of three million transactions takes 24 minutes. */
const FILL_MS = 120 * 60_000;
const SCRATCH = 'bench_steps';
const logger = pino({ level: 'warn' });
const marker = z.object({ first: z.number(), head: z.number() });

/**
 * Makes the folder `window` of the load the one that holds this much; filled by the service itself the first time.
 * @returns its first step; null without a window
 */
export async function useWindow(bench: Bench, held: Held): Promise<number | null> {
  const { load } = bench;
  rmSync(join(load.folder, 'window'), { recursive: true, force: true });
  if (held === 'nothing') return null;
  const name = `window-${held}`;
  const folder = join(load.folder, name);
  const filled = `${folder}.json`;
  if (!existsSync(filled)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    symlinkSync(name, join(load.folder, 'window'));
    await publishSteps(bench, SHARE[held]);
    const state = await fill(bench);
    writeFileSync(filled, JSON.stringify(state));
  } else symlinkSync(name, join(load.folder, 'window'));
  const state = marker.parse(JSON.parse(readFileSync(filled, 'utf8')));
  await showShare(bench, state);
  if (held === 'archived') await fillArchive(bench);
  return state.first;
}

/** The folder `archive` of the load, filled by the service itself; goes on where a run before has left it. */
async function fillArchive(bench: Bench): Promise<void> {
  const service = await startBenchService(bench, { workers: 1, archive: true });
  const metric = async (name: string): Promise<number> =>
    metricOf(await (await fetch(`${service.url}/metrics`)).text(), `tonstream_archive_${name}`);
  const before = { node: service.cpuMs(), server: processUsage(bench.serverPid).cpuMs };
  const began = performance.now();
  try {
    // A metric that is not there yet is no number.
    const isWhole = async (): Promise<boolean> => (await metric('complete')) > 0 && (await metric('mc_seqno')) > 0;
    for (let told = began; !(await isWhole()); await sleep(500)) {
      if (performance.now() - began > FILL_MS) throw new Error(`no whole archive within ${FILL_MS / 60_000} minutes`);
      if (performance.now() - told < 10_000) continue;
      told = performance.now();
      print(`  the archive has steps down to ${await metric('first_mc_seqno')}`);
    }
    const { n: transactions } = await countUpTo(bench, await metric('mc_seqno'));
    const each = (value: number): string => (value / transactions).toFixed(0);
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    const cpu = [service.cpuMs() - before.node, processUsage(bench.serverPid).cpuMs - before.server];
    print(
      `archive: ${transactions} transactions, ${each(await metric('bytes'))} bytes each; filled in ${seconds} s, CPU of the service ${each(1000 * cpu[0])} us and of ClickHouse ${each(1000 * cpu[1])} us each`,
    );
  } finally {
    await service.stop();
  }
}

async function countUpTo({ clickhouse }: Bench, mcSeqno: number): Promise<{ n: number }> {
  const counted = z.object({ n: z.coerce.number() });
  const [row] = await clickhouse.json(`SELECT count() AS n FROM transactions WHERE mc_seqno <= ${mcSeqno}`, counted);
  return row ?? { n: 0 };
}

/** Puts this share of the load into the topic of steps, the newest of it. */
async function publishSteps(bench: Bench, share: number): Promise<void> {
  const log = await openLog(bench.config);
  const { steps } = topicNames(bench.config.topicPrefix);
  try {
    await log.ensureTopic(steps);
    if (share === 1 || !(await isPublished(log, steps))) await publishAll(bench, log);
    const all = (await lastProjectedStep(log, steps))?.sum ?? 0;
    let offset = await log.low(steps);
    for (; (await sumAt(log, steps, offset)) < all * (1 - share); offset++);
    await log.trim(steps, offset);
  } finally {
    await log.close();
  }
}

/** Records of another version are none. */
async function isPublished(log: EventLog, topic: string): Promise<boolean> {
  try {
    return (await lastProjectedStep(log, topic)) !== null;
  } catch (error) {
    if (error instanceof StepRecordError) return false;
    throw error;
  }
}

/** Nothing is published a second time: the load is projected again, into tables that are thrown away. */
async function publishAll({ config, server }: Bench, log: EventLog): Promise<void> {
  const topics = topicNames(config.topicPrefix);
  print('projecting the load again, to publish its steps');
  await log.trim(topics.steps, await log.end(topics.steps));
  const clickhouse = connect({ ...config, clickhouseDatabase: SCRATCH }, server.url, logger);
  try {
    await migrate({ clickhouse, logger });
    const publish = { retainBytes: ROOM, retainMs: 0 };
    const { signal } = new AbortController();
    await project({ log, topics, clickhouse, config, logger, stopAtEnd: true, publish }, signal);
  } finally {
    await clickhouse.command(`DROP DATABASE IF EXISTS ${SCRATCH}`);
    await clickhouse.close();
  }
}

/** Bytes of the topic up to this record. */
async function sumAt(log: EventLog, topic: string, offset: number): Promise<number> {
  const record = await log.get(topic, offset);
  return record === null ? Number.POSITIVE_INFINITY : decodeStepPart(record).sum;
}

async function fill(bench: Bench): Promise<z.output<typeof marker>> {
  const head = await lastStep(bench);
  const service = await startBenchService(bench, { workers: 1 });
  const began = performance.now();
  try {
    for (let told = 0; performance.now() - began < FILL_MS; await sleep(500)) {
      const state = {
        first: await windowMetric(service, 'first_mc_seqno'),
        head: await windowMetric(service, 'mc_seqno'),
      };
      if (state.head === head && (await windowMetric(service, 'filled')) === 1) {
        print(`window filled in ${((performance.now() - began) / 1000).toFixed(0)} s`);
        return state;
      }
      if (performance.now() - told < 10_000) continue;
      told = performance.now();
      print(`  the window has steps ${state.first} to ${state.head} of ${head}`);
    }
    throw new Error(`the window was not filled within ${FILL_MS / 60_000} minutes`);
  } finally {
    await service.stop();
  }
}

async function lastStep({ clickhouse }: Bench): Promise<number> {
  const [row] = await clickhouse.json('SELECT max(mc_seqno) AS n FROM blocks', z.object({ n: z.number() }));
  return row?.n ?? 0;
}

async function windowMetric({ url }: BenchService, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return metricOf(text, `tonstream_window_${name}`);
}

async function showShare({ clickhouse }: Bench, { first, head }: z.output<typeof marker>): Promise<void> {
  const counted = z.object({ here: z.coerce.number(), all: z.coerce.number() });
  const [row] = await clickhouse.json(
    `SELECT countIf(mc_seqno >= ${first}) AS here, count() AS all FROM transactions`,
    counted,
  );
  if (row) print(`window: steps ${first} to ${head}, ${((100 * row.here) / row.all).toFixed(0)} % of the transactions`);
}
