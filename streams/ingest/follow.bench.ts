/**
 * Latency at the head and rate of the backfill: `npm run bench:ingest`. At the head over a devnet in a thread of its
 * own, through the lite protocol and the pool; BENCH_BLOCKS sets how many masterchain blocks, BENCH_RATE the messages
 * a second, BENCH_TRUST=none leaves proofs out. The rest over recorded blocks. First of all what proofs by signatures cost.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { startDevnetThread } from '../../src/devnet/thread.ts';
import { parseGlobalConfig } from '../../src/node/global-config.ts';
import { createLitePool } from '../../src/node/lite-pool.ts';
import { openTrustedBlock } from '../../src/node/trusted-block.ts';
import { measureBackfill, measureLatency, observeBlocks } from '../../test/follow-figures.ts';
import { measureProofs } from '../../test/proof-figures.ts';
import { recordedNode } from '../../test/recorded-node.ts';
import { openEmbeddedLog } from '../embedded.ts';
import type { EventLog } from '../log.ts';

const NAME = 'local-ton4j-2024_a';
const BLOCK_MS = 50;
/** Of each call to the node. */
const NODE_MS = 1;
const DEVNET_BLOCK_MS = 400;
const DEVNET_BLOCKS = Number(process.env.BENCH_BLOCKS ?? 150);
const DEVNET_RATE = Number(process.env.BENCH_RATE ?? 5);
const WARM_UP_BLOCKS = 20;
const MAINNET_BLOCKS_A_SECOND = 2.5;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function withLog<T>(work: (log: EventLog, folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-bench-ingest-'));
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  try {
    return await work(log, folder);
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

/** The devnet's masterchain blocks, at the pool's word of them. */
async function devnetLatency(log: EventLog, folder: string): Promise<void> {
  const { thread, ready } = await startDevnetThread({
    ...{ folder, seed: 'bench', blockTimeMs: DEVNET_BLOCK_MS, rate: DEVNET_RATE, splitAt: 20, mergeAt: 40 },
    ...{ host: '127.0.0.1', litePort: 0, logLevel: 'error' },
  });
  const config = parseGlobalConfig(JSON.parse(ready.globalConfig));
  const trusted = process.env.BENCH_TRUST === 'none' ? null : openTrustedBlock(config, null);
  const node = createLitePool(config, { logger: pino({ level: 'error' }), trusted });
  const stop = new AbortController();
  try {
    const { availableAt, ended } = await observeBlocks(node, stop.signal);
    const subject = { log, node, prover: node.prover, source: 'devnet', from: 'genesis' } as const;
    // The first blocks come while everything is being compiled.
    const warm = (seqno: number) => (seqno > WARM_UP_BLOCKS ? availableAt(seqno) : undefined);
    const figures = await measureLatency(subject, warm, WARM_UP_BLOCKS + DEVNET_BLOCKS);
    stop.abort();
    await ended;
    const [p50, p99, max] = [figures.p50Ms, figures.p99Ms, figures.maxMs].map((ms) => `${ms.toFixed(1)} ms`);
    print(
      `devnet, a block every ${DEVNET_BLOCK_MS} ms, ${DEVNET_RATE} messages/s, ${figures.steps} steps: ` +
        `server has it to sealed in the log p50 ${p50}, p99 ${p99}, max ${max}`,
    );
  } finally {
    stop.abort();
    await node.close();
    await thread.stop();
  }
}

/** What a core has to do for proofs at mainnet's rate, with a proof for each block and with one a second. */
async function proofCost(): Promise<void> {
  const { signatures, bytes, firstMs, nextMs } = await measureProofs();
  const share = (each: number) => `${((each * nextMs) / 10).toFixed(2)} %`;
  print(
    `proof of ${signatures} signatures, ${(bytes / 1000).toFixed(0)} KB: first from a key block ${firstMs.toFixed(1)} ms ` +
      `CPU, then ${nextMs.toFixed(1)} ms; of a core ${share(MAINNET_BLOCKS_A_SECOND)} at ${MAINNET_BLOCKS_A_SECOND} a ` +
      `second, ${share(1)} at one a second`,
  );
}

await proofCost();
await withLog((log, folder) => devnetLatency(log, join(folder, 'devnet')));
await withLog(latency);
for (const name of [NAME, 'mainnet-genesis_a']) {
  for (const latencyMs of [1, 20]) await withLog((log) => backfill(log, name, latencyMs));
}
