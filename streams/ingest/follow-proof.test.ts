/** Nothing goes into the log that signatures do not cover: an ingester over a pool of devnet servers, some of which lie. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createChain } from '../../src/devnet/chain.ts';
import type { Chain } from '../../src/devnet/model.ts';
import type { LiteAnswer } from '../../src/node/lite-api.ts';
import { createLitePool, type LitePool } from '../../src/node/lite-pool.ts';
import { type LiteHandlers, LiteServerError } from '../../src/node/lite-server.ts';
import { openTrustedBlock } from '../../src/node/trusted-block.ts';
import { type Followed, follow } from '../../test/followed.ts';
import { type LyingServer, serveLies } from '../../test/lying-server.ts';
import { allSteps } from '../../test/recorded-sequence.ts';
import { openEmbeddedLog } from '../embedded.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';

const START = 1_700_000_000;
const closers: (() => Promise<void> | void)[] = [];
let log: EventLog;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'proven-log-'));
  log = openEmbeddedLog({ folder });
  closers.push(() => rmSync(folder, { recursive: true }));
  closers.push(() => log.close());
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Opened {
  chain: Chain;
  produce: (upTo: number, laterBy?: number) => void;
}

async function openChain(): Promise<Opened> {
  const chain = await createChain({
    ...{ folder: null, seed: 'proven', genesis: [], blockTimeMs: 1000, startUtime: START, keyBlockEvery: 3 },
    limits: { keepStates: 1000 },
  });
  closers.push(() => chain.close());
  const produce = (upTo: number, laterBy = 0): void => {
    while (chain.head().mc.seqno < upTo) chain.produce(START + chain.head().mc.seqno + 1 + laterBy);
  };
  return { chain, produce };
}

async function serve(chain: Chain, lie?: (truth: LiteHandlers) => LiteHandlers): Promise<LyingServer> {
  const server = await serveLies(chain, lie);
  closers.push(server.close);
  return server;
}

function open(chain: Chain, servers: readonly LyingServer[]): LitePool {
  const config = { liteservers: servers.map(({ address }) => address), zeroState: chain.zeroState.mc, initBlock: null };
  const limits = { timeoutMs: 2_000, pollMs: 200, hedgeMs: 3_000, backoffMs: 5, lieRestMs: 120_000, leadMs: 500 };
  const pool = createLitePool(config, {
    logger: pino({ level: 'silent' }),
    trusted: openTrustedBlock(config, null),
    ...limits,
  });
  closers.push(() => pool.close());
  return pool;
}

/** Root hashes of the masterchain blocks in the log, and of the chain. */
async function logged(): Promise<string[]> {
  const steps = await allSteps(log, topicNames().blocks);
  return steps.map(({ masterBlock }) => masterBlock?.id.rootHash.toString('hex') ?? '');
}
const truth = (chain: Chain): string[] =>
  Array.from({ length: chain.head().mc.seqno }, (_, i) => {
    const found = chain.lookup({ workchain: -1, shard: '8000000000000000', seqno: i + 1 });
    return found?.rootHash.toString('hex') ?? '';
  });

test('steps come in when proofs cover them, each once, one proof for many while behind', async () => {
  const { chain, produce } = await openChain();
  produce(40);
  const pool = open(chain, [await serve(chain)]);
  const run = follow(log, pool, { proofIntervalMs: 0 }, pool.prover);
  await run.until(40);
  const catchUp = run.proven.length;
  for (let seqno = 41; seqno <= 50; seqno++) {
    produce(seqno);
    await run.until(seqno);
  }
  await run.stop();
  expect(await logged()).toEqual(truth(chain));
  expect(catchUp).toBeLessThan(20);
  expect(run.proven.slice(-10)).toEqual(Array.from({ length: 10 }, (_, i) => 41 + i));
  expect(run.unproven).toBe(0);
  expect(pool.prover?.keyBlock.seqno).toBe(48);
  // A second run goes on behind it.
  produce(55);
  const again = follow(log, pool, {}, pool.prover);
  await again.until(55);
  await again.stop();
  expect(await logged()).toEqual(truth(chain));
});

const absent = new LiteServerError(651, 'block is not in db');

function handler<M extends keyof LiteHandlers>(handlers: LiteHandlers, method: M): NonNullable<LiteHandlers[M]> {
  const found = handlers[method];
  if (found === undefined) throw new Error(`no handler of ${method}`);
  return found;
}

/** Blocks that both chains have. */
const COMMON = 8;

/** Two chains; the second one's later blocks follow those that both have, and it is further ahead. */
async function forked() {
  const [honest, made] = [await openChain(), await openChain()];
  honest.produce(COMMON);
  made.produce(COMMON);
  made.produce(COMMON + 5, 1_000);
  return [honest, made];
}

function flipped(proof: LiteAnswer<'getBlockProof'>): LiteAnswer<'getBlockProof'> {
  for (const step of proof.steps) {
    if (step.kind !== 'liteServer.blockLinkForward') continue;
    step.signatures.signatures = step.signatures.signatures.map(({ nodeIdShort }) => ({
      nodeIdShort,
      signature: Buffer.alloc(64, 7),
    }));
  }
  return proof;
}

/** Follows to where the liar ends and further, over it and a server that tells the truth. */
async function followed(
  honest: Opened,
  liar: LyingServer,
  first: (run: Followed) => Promise<void> = (run) => run.until(COMMON),
) {
  const pool = open(honest.chain, [liar, await serve(honest.chain)]);
  const run = follow(log, pool, { proofIntervalMs: 0, pollMs: 500 }, pool.prover);
  await first(run);
  for (let seqno = COMMON + 1; seqno <= COMMON + 6; seqno++) {
    honest.produce(seqno);
    await run.until(seqno);
  }
  await run.stop();
  expect(await logged()).toEqual(truth(honest.chain));
  return { pool, run };
}

test('a branch that a server made up is left out, from its first block on', async () => {
  const [honest, made] = await forked();
  const liar = await serve(made.chain, (truth) => ({
    getBlockProof: async (...call) => flipped(await handler(truth, 'getBlockProof')(...call)),
  }));
  const { pool } = await followed(honest, liar);
  expect(pool.servers()[0].faults.lie).toBeGreaterThan(0);
  expect(pool.servers()[1].faults.lie).toBe(0);
});

test('a branch whose blocks are not to be had is left out, too, though the server that made it up says no more', async () => {
  const [honest, made] = await forked();
  // Here the shard block that a masterchain block commits is one behind it.
  const liar = await serve(made.chain, (truth) => ({
    getBlock: (call, ...more) => {
      if (call.id.workchain === 0 && call.id.seqno >= COMMON) throw absent;
      return handler(truth, 'getBlock')(call, ...more);
    },
    getBlockProof: () => {
      throw absent;
    },
  }));
  const { pool, run } = await followed(honest, liar);
  expect(pool.servers()[1].faults.lie).toBe(0);
  expect(run.unproven).toBeGreaterThan(0);
});

test.each([
  ['says that it does not have it', 1, absent],
  ['has too much to do', 0, new LiteServerError(228, 'ratelimit exceeded')],
])('a head that a server made up is not waited for, where it %s', async (_, lies, answer) => {
  const honest = await openChain();
  honest.produce(COMMON);
  const ahead = COMMON + 20;
  const liar = await serve(honest.chain, (truth) => ({
    getMasterchainInfo: async (...call) => {
      const info = await handler(truth, 'getMasterchainInfo')(...call);
      const made = { seqno: ahead, rootHash: Buffer.alloc(32, 1), fileHash: Buffer.alloc(32, 2) };
      return { ...info, last: { ...info.last, ...made } };
    },
    getBlockHeader: () => {
      throw answer;
    },
  }));
  const { pool, run } = await followed(honest, liar, async (run) => {
    await run.until(COMMON);
    const said = new RegExp(`^the head was ${ahead}, and is ${COMMON}:`);
    await expect.poll(() => run.lines.some(({ text }) => said.test(text))).toBe(true);
  });
  expect(pool.servers()[0].faults.lie).toBe(lies);
  expect(pool.servers()[1].faults.lie).toBe(0);
  expect(run.latest?.headSeqno).toBe(honest.chain.head().mc.seqno);
});

test('blocks that do not follow what is known are not asked for again and again of who made them up', async () => {
  const [honest, made] = [await openChain(), await openChain()];
  honest.produce(14);
  made.produce(4);
  made.produce(14, 1_000);
  let ofMade: LiteHandlers = {};
  await serve(made.chain, (truth) => {
    ofMade = truth;
    return {};
  });
  const liar = await serve(honest.chain, (truth) => ({
    lookupBlock: (call, ...more) => handler(call.id.seqno > COMMON ? ofMade : truth, 'lookupBlock')(call, ...more),
    getBlock: (call, ...more) => handler(call.id.seqno > COMMON ? ofMade : truth, 'getBlock')(call, ...more),
    getBlockProof: () => {
      throw absent;
    },
  }));
  // The liar is the one that is asked first.
  const slow = await serve(honest.chain, (truth) => ({
    async lookupBlock(...call) {
      await delay(50);
      return handler(truth, 'lookupBlock')(...call);
    },
  }));
  const pool = open(honest.chain, [liar, slow]);
  const run = follow(log, pool, { proofIntervalMs: 0 }, pool.prover);
  await run.until(14);
  await run.stop();
  expect(await logged()).toEqual(truth(honest.chain));
  expect(pool.servers().map(({ faults }) => faults.lie)).toEqual([1, 0]);
});

test('an old head is told of at the head, not while older blocks are fetched', async () => {
  const { chain, produce } = await openChain();
  produce(12);
  const pool = open(chain, [await serve(chain)]);
  const run = follow(log, pool, { proofIntervalMs: 0, ahead: { steps: 2 } }, pool.prover);
  await run.until(12);
  await run.stop();
  expect(run.proven[0]).toBeLessThan(12);
  const told = run.lines.filter(({ text }) => text.includes('replay an old head'));
  expect(told).toMatchObject([{ level: 'warn', fields: { seqno: 12 } }]);
});

test('while nobody proves anything, nothing is written, and it is said', async () => {
  const { chain, produce } = await openChain();
  produce(5);
  let silent = true;
  const server = await serve(chain, (truth) => ({
    getBlockProof: (...call) => {
      if (silent || truth.getBlockProof === undefined) throw new LiteServerError(651, 'block is not in db');
      return truth.getBlockProof(...call);
    },
  }));
  const config = { liteservers: [server.address], zeroState: chain.zeroState.mc, initBlock: null };
  const logger = pino({ level: 'silent' });
  const pool = createLitePool(config, {
    logger,
    trusted: openTrustedBlock(config, null),
    lieRestMs: 100,
    maxRestMs: 200,
    pollMs: 200,
  });
  closers.push(() => pool.close());
  const run = follow(log, pool, { proofIntervalMs: 0 }, pool.prover);
  await expect.poll(() => run.unproven).toBeGreaterThan(1);
  expect(await logged()).toEqual([]);
  expect(run.lines.some(({ text }) => /nobody can prove masterchain block \d+ .*: left out/.test(text))).toBe(true);
  silent = false;
  await run.until(5);
  await run.stop();
  expect(await logged()).toEqual(truth(chain));
});
