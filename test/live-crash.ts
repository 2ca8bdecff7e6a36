/** A devnet under traffic whose processes are killed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import type { AgreedFigures } from './agreement.ts';
import { random, rounds } from './chance.ts';
import type { DevnetFolderOptions } from './devnet-folder.ts';
import { childrenOf, listProcesses } from './process-table.ts';
import { type Run, runTonstream } from './processes.ts';

/** A bound for machines that do much else; on a quiet one a round takes seconds. */
export const PATIENCE_MS = 240_000;
export const TEST_TIMEOUT_MS = 1_200_000;

export const home = mkdtempSync(join(tmpdir(), 'tonstream-live-crash-'));
const runs: Run[] = [];

export function run(...words: string[]): Run {
  const started = runTonstream(...words);
  runs.push(started);
  return started;
}

/** After all tests of a file. */
export async function killAll(): Promise<void> {
  for (const each of runs) await each.kill();
  rmSync(home, { recursive: true, force: true });
}

export function devnetOptions(splitAt: number, mergeAt: number): DevnetFolderOptions {
  return { seed: 'crash', blockTimeMs: rounds(400, 200), splitAt, mergeAt };
}

export function devnetFlags({ seed, blockTimeMs, splitAt, mergeAt }: DevnetFolderOptions): string[] {
  const scripted = ['--split-at', String(splitAt), '--merge-at', String(mergeAt)];
  return [
    '--devnet-seed',
    seed,
    '--block-time',
    `${blockTimeMs}ms`,
    '--devnet-rate',
    String(rounds(4, 15)),
    ...scripted,
  ];
}

/** In the command of a child. */
export const WORKER = 'bin/worker.js';
/** The window is so small that steps leave it all the time. */
export const WORKERS = ['--workers', '2', '--window-bytes', '512k'];

export const small = (): string[] => [
  ...['--batch-steps', String(1 + random(20))],
  ...['--batch-bytes', '64k', '--batch-ms', '20'],
];

/** Processes of ours that still run. */
export function leftBehind(): string[] {
  return listProcesses().flatMap(({ pid, command }) => (command.includes(home) ? [`${pid} ${command}`] : []));
}

export async function ended(part: Run): Promise<void> {
  await part.kill('SIGTERM');
  expect(part.child.exitCode, part.output()).toBe(0);
}

export function report(what: string, victims: readonly string[], agreed: AgreedFigures): void {
  const { steps, blocks, transactions, windows } = agreed;
  const figures = `${steps} steps, ${blocks} blocks, ${transactions} transactions, windows from steps ${windows}`;
  process.stdout.write(`${what}: killed ${victims.join(', ')}; agreed on ${figures}\n`);
}

const statusAnswer = z.object({
  log: z.object({ mc_seqno: z.number().nullable() }),
  projected: z.object({ mc_seqno: z.number().nullable() }),
});

/** Masterchain seqnos of the log's end and of the tables; null while the service cannot tell. */
export async function positionOf(service: Run): Promise<{ logged: number; projected: number } | null> {
  const url = /^ +Status +(http:\S+)$/m.exec(service.output())?.[1];
  if (url === undefined) return null;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    if (!response.ok) return null;
    const { log, projected } = statusAnswer.parse(await response.json());
    return { logged: log.mc_seqno ?? 0, projected: projected.mc_seqno ?? 0 };
  } catch (error) {
    // Its ClickHouse may be away, and then it may answer late or not at all.
    if (error instanceof z.ZodError) throw error;
    return null;
  }
}

/** Kills one child of a process; there must be one with these words in its command. */
export function killChild(service: Run, words: string): void {
  const own = childrenOf(service.child.pid);
  const child = own.find(({ command }) => command.includes(words));
  if (child === undefined) throw new Error(`no ${words} among ${JSON.stringify(own)}`);
  process.kill(child.pid, 'SIGKILL');
}

export function isOpen(devnet: Run): boolean {
  return /^ +Devnet +liteserver /m.test(devnet.output());
}
