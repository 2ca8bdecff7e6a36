/**
 * Projects half a million transactions from an embedded log into an embedded ClickHouse server: rate, CPU time and
 * peak memory of both processes, the requests between them, and what the tables take on disk. Run by
 * `npm run bench:project`; BENCH_TRANSACTIONS sets another size, BENCH_LOAD=jettons a load
 * of which half the transactions are of jetton wallets, BENCH_PROJECTIONS names those projected beside the
 * chain itself (`contracts,traces`; an empty one for none).
 */
import { z } from 'zod';
import { type Bench, openBench, print, projectLoad } from '../../test/bench-tables.ts';
import { processUsage } from '../../test/process-usage.ts';
import type { Progress } from './options.ts';

const MB = 1024 * 1024;
const count = (n: number): string => Math.round(n).toLocaleString('en');
const table = z.object({
  table: z.string(),
  rows: z.coerce.number(),
  bytes: z.coerce.number(),
  parts: z.coerce.number(),
});

const bench = await openBench(true);
try {
  await measure(bench);
} finally {
  await bench.close();
}

async function measure({ load, serverPid }: Bench): Promise<void> {
  print(`${count(load.transactions)} transactions in ${count(load.steps)} steps, log ${count(load.bytes / MB)} MB`);
  const before = { node: processUsage(process.pid), server: processUsage(serverPid) };
  const began = performance.now();
  const counters = { batches: 0, messages: 0, transactions: 0 };
  let last: Progress | null = null;
  let ownBytes = 0;
  await projectLoad(bench, (progress) => {
    counters.batches++;
    counters.messages += progress.counts.messages;
    counters.transactions += progress.counts.transactions;
    last = progress;
    ownBytes = Math.max(ownBytes, processUsage(process.pid).ownBytes);
    if (counters.batches % 20 === 0) showRate(counters.transactions, performance.now() - began);
  });
  const seconds = (performance.now() - began) / 1000;
  const node = processUsage(process.pid);
  const server = processUsage(serverPid);
  print(
    `rate          ${count(counters.transactions / seconds)} tx/s, ${seconds.toFixed(1)} s, ${counters.batches} batches`,
  );
  showProcess('service', node.cpuMs - before.node.cpuMs, counters.transactions, node.peakBytes);
  print(`              of it ${count(ownBytes / MB)} MB at most its own, the rest mapped pages of the log`);
  showProcess('ClickHouse', server.cpuMs - before.server.cpuMs, counters.transactions, server.peakBytes);
  print(
    `messages      ${count(counters.messages)} sides; counters ${JSON.stringify((last as Progress | null)?.counters)}`,
  );
  showRequests();
  await showTables(counters.transactions);
}

function showRequests(): void {
  const most = [...bench.requests].sort(([, a], [, b]) => b.ms - a.ms);
  print(`${'requests'.padEnd(52)} ${'count'.padStart(8)} ${'ms'.padStart(9)}  KB answered`);
  for (const [label, { count: n, ms, bytes }] of most) {
    print(`${label.padEnd(52)} ${count(n).padStart(8)} ${count(ms).padStart(9)} ${count(bytes / 1024).padStart(12)}`);
  }
}

function showRate(transactions: number, ms: number): void {
  const memory = `${count(processUsage(process.pid).residentBytes / MB)} / ${count(processUsage(bench.serverPid).residentBytes / MB)} MB`;
  print(`  ${count(transactions).padStart(9)} tx  ${count((transactions / ms) * 1000).padStart(7)} tx/s  ${memory}`);
}

function showProcess(name: string, cpuMs: number, transactions: number, peakBytes: number): void {
  const each = ((cpuMs / transactions) * 1000).toFixed(1);
  print(
    `${name.padEnd(13)} ${(cpuMs / 1000).toFixed(1)} s CPU, ${each} us a transaction, peak ${count(peakBytes / MB)} MB resident`,
  );
}

async function showTables(transactions: number): Promise<void> {
  const rows = await bench.clickhouse.json(
    `SELECT table, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, count() AS parts FROM system.parts
     WHERE active AND database = currentDatabase() GROUP BY table ORDER BY bytes DESC`,
    table,
  );
  print(`${'table'.padEnd(28)} ${'rows'.padStart(10)} ${'parts'.padStart(6)} ${'MB'.padStart(8)}  bytes/row  bytes/tx`);
  for (const { table: name, rows: n, bytes, parts } of rows) {
    const each = (bytes / n).toFixed(1).padStart(10);
    const share = (bytes / transactions).toFixed(1).padStart(9);
    print(
      `${name.padEnd(28)} ${count(n).padStart(10)} ${String(parts).padStart(6)} ${(bytes / MB).toFixed(1).padStart(8)} ${each} ${share}`,
    );
  }
  const total = rows.reduce((sum, { bytes }) => sum + bytes, 0);
  print(
    `${'all'.padEnd(28)} ${' '.repeat(17)} ${(total / MB).toFixed(1).padStart(8)} ${' '.repeat(10)} ${(total / transactions).toFixed(1).padStart(9)}`,
  );
  const bytesOf = (of: RegExp): number =>
    rows.reduce((sum, { table: name, bytes }) => sum + (of.test(name) ? bytes : 0), 0);
  await showActions(bytesOf);
  const [{ wallets, transfers }] = await bench.clickhouse.json(
    'SELECT (SELECT count() FROM jetton_wallets FINAL) AS wallets, (SELECT count() FROM jetton_transfers FINAL) AS transfers',
    z.object({ wallets: z.coerce.number(), transfers: z.coerce.number() }),
  );
  if (wallets === 0 || transfers === 0) return;
  print(`${count(wallets)} jetton wallets, ${each(bytesOf(/^jetton_(wallet|holders)/), wallets)} bytes each`);
  print(
    `${count(transfers)} transfers, ${each(bytesOf(/^jetton_transfers/), transfers)} bytes each, and ${each(bytesOf(/^jetton_balances/), transfers)} for the balances they left`,
  );
}

/** Traces without the rows of those that began before the log: of these no actions are told. */
async function showActions(bytesOf: (of: RegExp) => number): Promise<void> {
  const [{ actions, rows, broken }] = await bench.clickhouse.json(
    `SELECT (SELECT count() FROM actions) AS actions, count() AS rows, countIf(state = 'broken') AS broken FROM traces`,
    z.object({ actions: z.coerce.number(), rows: z.coerce.number(), broken: z.coerce.number() }),
  );
  if (actions === 0) return;
  const own = bytesOf(/^action/);
  const traces = bytesOf(/^traces/) * (1 - broken / rows) + bytesOf(/^trace_accounts/);
  print(
    `${count(actions)} actions, ${each(own, actions)} bytes each in their own tables, ${each(own + traces, actions)} with those of their traces (${count(broken)} of ${count(rows)} rows of traces are of broken ones)`,
  );
}

function each(bytes: number, of: number): string {
  return (bytes / of).toFixed(0);
}
