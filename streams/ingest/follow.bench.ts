/** Latency at the head and rate of the backfill, over recorded blocks: `npm run bench:ingest`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordedNode } from '../../test/recorded-node.ts';
import { openEmbeddedLog } from '../embedded.ts';
import type { EventLog } from '../log.ts';
import { measureBackfill, measureLatency } from './follow-figures.ts';

const NAME = 'local-ton4j-2024_a';
const BLOCK_MS = 50;
/** Of each call to the node. */
const NODE_MS = 1;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function withLog<T>(work: (log: EventLog) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-bench-ingest-'));
  const log = openEmbeddedLog({ folder });
  try {
    return await work(log);
  } finally {
    await log.close();
    rmSync(folder, { recursive: true });
  }
}

async function latency(log: EventLog): Promise<void> {
  const node = recordedNode(NAME, { head: 1, latencyMs: NODE_MS });
  const last = node.seqnos[node.seqnos.length - 1];
  const reveal = async (): Promise<void> => {
    for (let seqno = 2; seqno <= last; seqno++) {
      await sleep(BLOCK_MS);
      node.reveal(seqno);
    }
  };
  const availableAt = (seqno: number) => (seqno > 5 ? node.revealedAt(seqno) : undefined);
  const subject = { log, node, source: 'lite', from: 'genesis' } as const;
  const [figures] = await Promise.all([measureLatency(subject, availableAt, last), reveal()]);
  const [p50, p99, max] = [figures.p50Ms, figures.p99Ms, figures.maxMs].map((ms) => `${ms.toFixed(1)} ms`);
  print(`available to sealed, ${figures.steps} steps every ${BLOCK_MS} ms: p50 ${p50}, p99 ${p99}, max ${max}`);
}

async function backfill(log: EventLog, name: string, latencyMs: number): Promise<void> {
  const node = recordedNode(name, { latencyMs });
  const last = node.seqnos[node.seqnos.length - 1];
  const { blocks, bytes, seconds } = await measureBackfill({ log, node, source: 'lite', from: 'genesis' }, last);
  const rate = `${(blocks / seconds).toFixed(0)} blocks/s, ${(bytes / seconds / 1e6).toFixed(1)} MB/s`;
  print(`backfill of ${name}, a call takes ${latencyMs} ms: ${blocks} blocks, ${rate}`);
}

await withLog(latency);
for (const name of [NAME, 'mainnet-genesis_a']) {
  for (const latencyMs of [1, 20]) await withLog((log) => backfill(log, name, latencyMs));
}
