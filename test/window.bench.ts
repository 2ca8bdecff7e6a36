/**
 * The window under the load of the benchmarks: bytes a transaction, transactions a second while it fills from empty and
 * while it is full and takes steps out, and bytes written for each transaction at the head, where every step is a commit
 * of its own. Run by `npm run bench:window`; BENCH_TRANSACTIONS sets another size (200,000).
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transactions } from '../clickhouse/tables/transactions.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { engineFile } from '../src/window/engine.ts';
import { type Arrival, openWindow } from '../src/window/window.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { logFolder } from '../streams/open.ts';
import { decodeProjectedStep, encodeProjectedStep } from '../streams/projected-step.ts';
import { readSteps } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';
import { prepareLoad } from './load.ts';
import { processUsage } from './process-usage.ts';
import { createSteps } from './recorded-steps.ts';

const MB = 1024 ** 2;
const TRANSACTIONS = Number(process.env.BENCH_TRANSACTIONS ?? 200_000);
/** As while following (follow.ts). */
const BATCH_BYTES = 256 * 1024;
/** Of the steps, those that a full window has room for. */
const FULL_SHARE = 0.4;
const HEAD_SHARE = 0.1;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const count = (n: number): string => Math.round(n).toLocaleString('en');

interface Recorded {
  bytes: Buffer;
  transactions: number;
}

const folder = mkdtempSync(join(tmpdir(), 'tonstream-bench-window-'));
try {
  const steps = await recorded();
  const total = sum(steps);
  print(`${count(total)} transactions in ${count(steps.length)} steps`);
  await measure(steps, total);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function recorded(): Promise<Recorded[]> {
  const load = await prepareLoad(TRANSACTIONS, print);
  const log = openEmbeddedLog({ folder: logFolder({ dataDir: load.folder }) });
  const project = createSteps();
  const steps: Recorded[] = [];
  for await (const some of readSteps(log, topicNames().blocks, 0, {
    signal: new AbortController().signal,
    stopAtEnd: true,
  })) {
    for (const one of some) {
      const step = await project(one);
      steps.push({
        bytes: encodeProjectedStep(step),
        transactions: step.rows.of(transactions).length,
      });
    }
  }
  await log.close();
  return steps;
}

async function measure(steps: readonly Recorded[], total: number): Promise<void> {
  const filling = await run('filling', steps, { maxBytes: 64 * 1024 * MB, batchBytes: BATCH_BYTES });
  print(
    `bytes         ${count(filling.fileBytes / total)} a transaction on disk, ${count(filling.estimated / total)} estimated`,
  );
  const maxBytes = filling.estimated * FULL_SHARE;
  const half = Math.floor(steps.length / 2);
  await run('full', steps, { maxBytes, batchBytes: BATCH_BYTES, from: half });
  await run('head', steps.slice(0, Math.floor(steps.length * (HEAD_SHARE + FULL_SHARE + 0.1))), {
    maxBytes,
    batchBytes: BATCH_BYTES,
    from: Math.floor(steps.length * (FULL_SHARE + 0.1)),
    single: true,
  });
}

interface Options {
  maxBytes: number;
  batchBytes: number;
  /** The measurement begins with this step. */
  from?: number;
  /** From there on every step is a commit of its own. */
  single?: boolean;
}

async function run(name: string, steps: readonly Recorded[], { maxBytes, batchBytes, from = 0, single }: Options) {
  const home = join(folder, name);
  const window = openWindow({ folder: home, maxBytes, form: transactionForm });
  await apply(window, steps, 0, from, batchBytes);
  const before = usage();
  const firstBefore = window.state?.first;
  await apply(window, steps, from, steps.length, single ? 0 : batchBytes);
  const after = usage();
  const measured = sum(steps.slice(from));
  const seconds = (after.at - before.at) / 1000;
  print(
    `${name.padEnd(13)} ${count(measured / seconds)} tx/s, ${count(((after.cpuMs - before.cpuMs) * 1000) / measured)} us CPU and ` +
      `${count((after.written - before.written) / measured)} bytes written a transaction` +
      (window.state?.first === firstBefore ? '' : `, evicting`),
  );
  const { bytes = 0 } = window.state ?? {};
  await window.close();
  const fileBytes = statSync(engineFile(home)).size;
  print(`              file ${count(fileBytes / MB)} MB, estimated ${count(bytes / MB)} MB`);
  rmSync(home, { recursive: true, force: true });
  return { fileBytes, estimated: bytes };
}

async function apply(
  window: ReturnType<typeof openWindow>,
  steps: readonly Recorded[],
  from: number,
  to: number,
  batchBytes: number,
): Promise<void> {
  let batch: Arrival[] = [];
  let bytes = 0;
  for (let i = from; i < to; i++) {
    batch.push({ step: decodeProjectedStep(steps[i].bytes), nextOffset: i + 1 });
    bytes += steps[i].bytes.length;
    if (bytes < batchBytes && i + 1 < to) continue;
    await window.apply(batch, async () => null);
    batch = [];
    bytes = 0;
  }
}

function usage() {
  const written = Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  return { at: performance.now(), cpuMs: processUsage(process.pid).cpuMs, written };
}

function sum(steps: readonly Recorded[]): number {
  return steps.reduce((n, { transactions }) => n + transactions, 0);
}
