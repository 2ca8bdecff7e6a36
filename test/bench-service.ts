/** The HTTP service of the benchmarks, in processes of its own over the load and its tables. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Bench } from './bench-tables.ts';
import { childrenOf, processUsage } from './process-usage.ts';

export interface BenchService {
  url: string;
  /** The main process first. */
  pids: number[];
  /** CPU time of all of them so far, milliseconds. */
  cpuMs(): number;
  stop(): Promise<void>;
}

export interface BenchServiceOptions {
  workers: number;
  /** Default: on, with the window in the folder of the load. */
  window?: boolean;
  /** Bytes of answers that are kept. Default: none, as a case asks few things again and again. */
  answersBytes?: number;
}

const PROGRAM = fileURLToPath(new URL('../bin/tonstream.js', import.meta.url));

export async function startBenchService(
  { config, server }: Pick<Bench, 'config' | 'server'>,
  { workers, window = true, answersBytes = 0 }: BenchServiceOptions,
): Promise<BenchService> {
  const words = ['api', '--data-dir', config.dataDir, '--port', '0', '--log-level', 'warn'];
  words.push('--workers', String(workers), '--cached-answers-bytes', String(answersBytes));
  words.push('--clickhouse-url', server.url, ...(window ? [] : ['--window-bytes', '0']));
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.stdout === null || child.pid === undefined) throw new Error('the service did not start');
  for await (const text of createInterface({ input: child.stdout })) {
    const url = /API\s+(http:\/\/[^/\s]+)\//.exec(text)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    const pids = [child.pid, ...childrenOf(child.pid)];
    const cpuMs = (): number => pids.reduce((sum, pid) => sum + processUsage(pid).cpuMs, 0);
    return { url, pids, cpuMs, stop: () => stop(child) };
  }
  throw new Error('the service ended before it listened');
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'exit');
}
