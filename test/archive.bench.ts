/**
 * The archive over the tables of `npm run bench:project` (made when they are not there): the older half of the steps filled
 * in downwards, then the newer half as at the head, while the window in front of it moves on; CPU, bytes given to the
 * system and bytes that the disk gets for each transaction, and at the end what each table takes. Run by `npm run
 * bench:archive`; BENCH_TRANSACTIONS sets another size (500,000), BENCH_FORMS=0 keeps no
 * forms of transactions.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { z } from 'zod';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { type Archive, archiveTables, openArchive } from '../src/archive/archive.ts';
import { createFilling } from '../src/archive/fill.ts';
import { openEngine } from '../src/window/engine.ts';
import type { WindowState } from '../src/window/state.ts';
import { type Bench, isProjected, openBench, print, projectLoad } from './bench-tables.ts';
import { LOAD_GLOBAL_ID } from './load.ts';
import { processUsage, writtenBytes } from './process-usage.ts';

/** By which the window moves on before the archive is looked after again. */
const MOVED_SHARE = 1 / 50;
const FORM = process.env.BENCH_FORMS === '0' ? null : transactionForm;

const folder = mkdtempSync(join(tmpdir(), 'tonstream-bench-archive-'));
const bench = await openBench(false);
try {
  if (!isProjected(bench.load)) await projectLoad(bench, () => undefined);
  await measure(bench);
} finally {
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measure({ clickhouse }: Bench): Promise<void> {
  const [{ head } = { head: 0 }] = await clickhouse.json(
    'SELECT max(mc_seqno) AS head FROM blocks',
    z.object({ head: z.number() }),
  );
  const counted = z.object({ n: z.coerce.number() });
  const countIn = async (first: number, last: number): Promise<number> => {
    const sql = `SELECT count() AS n FROM transactions WHERE mc_seqno BETWEEN ${first} AND ${last}`;
    return (await clickhouse.json(sql, counted))[0]?.n ?? 0;
  };
  const archive = openArchive(folder, FORM);
  let first = Math.floor(head / 3);
  const window = {
    get state() {
      return { first, head, speaks: true, below: { lt: 0n, utime: 0 }, globalId: LOAD_GLOBAL_ID } as WindowState;
    },
  };
  const parts = { archive, folder, maxBytes: Number.POSITIVE_INFINITY, window, clickhouse };
  const { work } = createFilling({ ...parts, logger: pino({ level: 'warn' }), rest: 0 });
  const all = async (): Promise<void> => {
    const { signal } = new AbortController();
    while (await work(signal));
  };
  let before = usage();
  await all();
  const filled = spanOf(archive);
  tell('filled', before, await countIn(filled.first, filled.head));
  before = usage();
  for (; first < head; first += Math.ceil(head * MOVED_SHARE)) await all();
  const grown = spanOf(archive);
  tell('at the head', before, await countIn(filled.head + 1, grown.head));
  await archive.close();
  tellTables(await countIn(grown.first, grown.head));
}

function spanOf({ state }: Archive) {
  if (state === null) throw new Error('the archive is empty');
  return state;
}

function usage() {
  const given = Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  return { given, cpuMs: processUsage(process.pid).cpuMs, written: writtenBytes(process.pid) };
}

function tell(name: string, before: ReturnType<typeof usage>, transactions: number): void {
  const after = usage();
  const each = (value: number): string => Math.round(value / transactions).toLocaleString('en');
  print(
    `${name.padEnd(12)} ${transactions.toLocaleString('en')} transactions, each ${each(1000 * (after.cpuMs - before.cpuMs))} us CPU, ` +
      `${each(after.given - before.given)} bytes given to the system, ${each(after.written - before.written)} for the disk`,
  );
}

function tellTables(transactions: number): void {
  const engine = openEngine(folder, archiveTables(FORM), { lasting: true });
  const snapshot = engine.snapshot();
  print(`${(snapshot.bytes() / transactions).toFixed(0)} bytes a transaction`);
  for (const { name } of archiveTables(FORM)) {
    const each = snapshot.bytes(name) / transactions;
    if (each >= 1) print(`  ${name.padEnd(30)}${each.toFixed(0).padStart(6)}`);
  }
  snapshot.done();
}
