/**
 * How each kind of request grows with the history: the benchmark of the API (api.bench.ts) over loads of several sizes,
 * each made once and kept in the temporary folder, and its figures side by side. Run by `npm run bench:scale`. In the
 * environment: BENCH_SIZES (transactions, with commas; 300000,1000000,3000000), BENCH_WINDOW (archived,nothing), and what
 * api.bench.ts knows.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const SIZES = (process.env.BENCH_SIZES ?? '300000,1000000,3000000').split(',').map(Number);
const WINDOWS = process.env.BENCH_WINDOW ?? 'archived,nothing';
const API_BENCH = fileURLToPath(new URL('./api.bench.ts', import.meta.url));
const result = z.object({
  name: z.string(),
  held: z.string(),
  workers: z.number(),
  connections: z.number(),
  rate: z.number(),
  node: z.number(),
  server: z.number(),
});
type Result = z.output<typeof result>;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const folder = mkdtempSync(join(tmpdir(), 'tonstream-bench-scale-'));
try {
  const bySize: { size: number; results: Result[] }[] = [];
  for (const size of SIZES) bySize.push({ size, results: await measured(size) });
  show(bySize);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** In a process of its own: the size is the whole process's. */
async function measured(size: number): Promise<Result[]> {
  const results = join(folder, `${size}.ndjson`);
  print(`\n${size.toLocaleString('en')} transactions`);
  const env = {
    ...process.env,
    BENCH_TRANSACTIONS: String(size),
    BENCH_WINDOW: WINDOWS,
    BENCH_CONNECTIONS: process.env.BENCH_CONNECTIONS ?? '8',
    BENCH_RESULTS: results,
  };
  const child = spawn(process.execPath, [...process.execArgv, API_BENCH], { env, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the benchmark of ${size} transactions ended with ${code}`);
  return readFileSync(results, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => result.parse(JSON.parse(line)));
}

/** Requests a second and CPU milliseconds a request at each size, and how much dearer the last one is than the first. */
function show(bySize: readonly { size: number; results: readonly Result[] }[]): void {
  const keyOf = ({ name, held, workers, connections }: Result): string =>
    [held.padEnd(9), `${workers} worker(s)`, `${connections} connection(s)`, name].join('  ');
  const cpu = ({ node, server }: Result): number => node + server;
  const keys = new Set(bySize.flatMap(({ results }) => results.map(keyOf)));
  const width = Math.max(...[...keys].map(({ length }) => length)) + 2;
  const heads = bySize.map(({ size }) => `${size.toLocaleString('en')}: req/s, CPU ms`.padStart(28));
  print(`\n${'request'.padEnd(width)}${heads.join('')}${'growth of CPU'.padStart(16)}`);
  for (const key of keys) {
    const found = bySize.map(({ results }) => results.find((one) => keyOf(one) === key));
    const cells = found.map((one) => (one ? `${one.rate.toFixed(0)}, ${cpu(one).toFixed(2)}` : '-').padStart(28));
    const [first, last] = [found.at(0), found.at(-1)];
    const growth = first && last ? (cpu(last) / cpu(first)).toFixed(2) : '-';
    print(`${key.padEnd(width)}${cells.join('')}${growth.padStart(16)}`);
  }
}
