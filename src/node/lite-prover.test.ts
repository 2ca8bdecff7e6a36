/** The pool's prover over a devnet, and liteservers that lie to it: each is named, counted and left out. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestWallet } from '../../test/devnet-wallets.ts';
import { type LyingServer, serveLies } from '../../test/lying-server.ts';
import type { BlockIdExt } from '../chain/model.ts';
import { createChain } from '../devnet/chain.ts';
import type { Chain, ProducedStep } from '../devnet/model.ts';
import { blockIdExtToTl, type LiteAnswer, type LiteRequest, type TlBlockLink } from './lite-api.ts';
import { createLitePool, type LitePool, type LitePoolOptions } from './lite-pool.ts';
import type { LiteHandlers } from './lite-server.ts';
import { openTrustedBlock } from './trusted-block.ts';

type Proof = LiteAnswer<'getBlockProof'>;
type Forward = Extract<TlBlockLink, { kind: 'liteServer.blockLinkForward' }>;

const never = new AbortController().signal;
const START = 1_700_000_000;
const STEPS = 20;
const KEY_BLOCK_EVERY = 3;

interface Made {
  chain: Chain;
  steps: ProducedStep[];
}

/** Two with the same seed and genesis have the same validators; what differs is who pays whom from `forkAt` on. */
async function make(seed: string, forkAt = Number.POSITIVE_INFINITY, count = STEPS): Promise<Made> {
  const wallet = createTestWallet(1, 0);
  const chain = await createChain({
    ...{ folder: null, seed, genesis: [wallet.genesis(10n ** 15n)], blockTimeMs: 1000, startUtime: START },
    ...{ keyBlockEvery: KEY_BLOCK_EVERY, limits: { keepStates: 1000 } },
  });
  const steps: ProducedStep[] = [];
  for (let n = 1; n <= count; n++) steps.push(chain.produce(START + n + (n >= forkAt ? 1000 : 0)));
  return { chain, steps };
}

let honest: Made;
let fork: Made;
let foreign: Made;
const servers: LyingServer[] = [];
const pools: LitePool[] = [];

beforeAll(async () => {
  [honest, fork, foreign] = [await make('proofs'), await make('proofs', 11), await make('others')];
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  await Promise.all(servers.splice(0).map((server) => server.close()));
});
afterAll(() => {
  for (const { chain } of [honest, fork, foreign]) chain.close();
});

const idOf = ({ chain, steps }: Made, seqno: number): BlockIdExt => {
  const { workchain, shard, rootHash, fileHash } = seqno === 0 ? chain.zeroState.mc : steps[seqno - 1].mc;
  return { workchain, shard, seqno, rootHash, fileHash };
};

async function serve(made: Made, lie?: (truth: LiteHandlers) => LiteHandlers): Promise<LyingServer> {
  const server = await serveLies(made.chain, lie);
  servers.push(server);
  return server;
}

function open(chosen: readonly LyingServer[], changed: Partial<LitePoolOptions> = {}, folder: string | null = null) {
  const config = {
    liteservers: chosen.map(({ address }) => address),
    zeroState: idOf(honest, 0),
    initBlock: idOf(honest, 1),
  };
  const quick = { timeoutMs: 15_000, attemptMs: 4_000, hedgeMs: 3_000, backoffMs: 5, maxLagBlocks: 10 };
  const options = { lieRestMs: 60_000, logger: pino({ level: 'silent' }), trusted: openTrustedBlock(config, folder) };
  const pool = createLitePool(config, { ...quick, ...options, ...changed });
  pools.push(pool);
  return pool;
}

function proverOf(pool: LitePool) {
  if (pool.prover === null) throw new Error('a pool without a prover');
  return pool.prover;
}

const ready = (pool: LitePool, count: number): Promise<unknown> =>
  expect.poll(() => pool.servers().filter(({ state }) => state === 'ready').length).toBe(count);

describe('proofs', () => {
  test('newer blocks by signatures, older ones out of the newest', async () => {
    const pool = open([await serve(honest)]);
    const prover = proverOf(pool);
    await ready(pool, 1);
    expect(prover.keyBlock).toEqual(idOf(honest, 1));
    expect(await prover.prove(idOf(honest, 8), never)).toMatchObject({ id: { seqno: 8 }, genUtime: START + 8 });
    expect(prover.keyBlock).toEqual(idOf(honest, 6));
    for (const seqno of [9, 20, 19, 2, 1, 18, 20]) {
      expect((await prover.prove(idOf(honest, seqno), never)).id).toEqual(idOf(honest, seqno));
    }
    expect([prover.keyBlock.seqno, prover.newest?.id.seqno]).toEqual([18, 20]);
    const forged = { ...idOf(honest, 20), rootHash: Buffer.alloc(32, 1) };
    await expect(prover.prove(forged, never)).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/fork/),
    });
  });

  test('an old block first: the head is proven before it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'trust-'));
    try {
      const server = await serve(honest);
      const before = open([server], {}, folder);
      await ready(before, 1);
      await proverOf(before).prove(idOf(honest, STEPS), never);
      const prover = proverOf(open([server], {}, folder));
      expect(prover.keyBlock).toEqual(idOf(honest, 18));
      await prover.prove(idOf(honest, 5), never);
      expect(prover.newest?.id).toEqual(idOf(honest, STEPS));
      const [file] = readdirSync(folder);
      writeFileSync(join(folder, file), '{}');
      expect(() => open([server], {}, folder)).toThrow(/no key block kept by tonstream/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('from the zero state where the config has no init block', async () => {
    const { address } = await serve(honest);
    const config = { liteservers: [address], zeroState: idOf(honest, 0), initBlock: null };
    const logger = pino({ level: 'silent' });
    const pool = createLitePool(config, { logger, trusted: openTrustedBlock(config, null) });
    pools.push(pool);
    await proverOf(pool).prove(idOf(honest, STEPS), never);
    expect(proverOf(pool).keyBlock.seqno).toBe(18);
  });
});

/** What a server says that has a head, be it so or not. */
function claim(head: BlockIdExt): LiteAnswer<'getMasterchainInfo'> {
  const { workchain, rootHash, fileHash } = idOf(honest, 0);
  return { last: blockIdExtToTl(head), stateRootHash: Buffer.alloc(32), init: { workchain, rootHash, fileHash } };
}

type Change = (proof: Proof) => Proof;

const proofOf = (handlers: LiteHandlers, request: Omit<LiteRequest<'getBlockProof'>, 'method'>): Proof => {
  const { getBlockProof } = handlers;
  if (getBlockProof === undefined) throw new Error('no such handler');
  return getBlockProof({ method: 'getBlockProof', ...request }, { signal: never, peer: 'none' }) as Proof;
};

/** Changes the last step of each proof. */
const lastStep =
  (change: (link: Forward) => Forward): Change =>
  (proof) => ({
    ...proof,
    steps: proof.steps.map((step, at) =>
      at === proof.steps.length - 1 && step.kind === 'liteServer.blockLinkForward' ? change(step) : step,
    ),
  });
const signedBy = (change: (list: Forward['signatures']['signatures']) => Forward['signatures']['signatures']): Change =>
  lastStep((link) => ({
    ...link,
    signatures: { ...link.signatures, signatures: change(link.signatures.signatures) },
  }));
const flip = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  copy[copy.length >> 1] ^= 1;
  return copy;
};
/** The proof that a server of another chain gives for its own block of the same seqno. */
const otherProof = (made: Made, from: number, to: number): Proof => {
  const [knownBlock, targetBlock] = [blockIdExtToTl(idOf(made, from)), blockIdExtToTl(idOf(made, to))];
  return proofOf(truthOf(made), { mode: 1, knownBlock, targetBlock });
};
let truthOf: (made: Made) => LiteHandlers = () => ({});

const TARGET = STEPS;
const lies: [string, RegExp, Change][] = [
  [
    'a flipped bit in a signature',
    /bad signature/,
    signedBy(([first, ...rest]) => [{ ...first, signature: flip(first.signature) }, ...rest]),
  ],
  ['a signer twice', /signs twice/, signedBy((list) => [...list, list[0]])],
  ['too little weight', /signatures of \d+ of \d+ weight/, signedBy((list) => list.slice(1))],
  ['no steps', /proof without steps/, (proof) => ({ ...proof, steps: [] })],
  [
    'too many steps',
    /proof of 17 steps/,
    (proof) => ({ ...proof, steps: Array.from({ length: 17 }, () => proof.steps[0]) }),
  ],
  [
    'steps left out',
    /does not begin where the one before ended/,
    (proof) => ({ ...proof, steps: [proof.steps[0], ...proof.steps.slice(2)] }),
  ],
  [
    'a proof that ends early',
    /on whether it is complete/,
    (proof) => ({ ...proof, to: proof.steps[0].to, steps: proof.steps.slice(0, 1) }),
  ],
  [
    'a configuration of another block',
    /configuration proof is of something else/,
    (proof) => lastStep((link) => ({ ...link, configProof: (proof.steps[0] as Forward).configProof }))(proof),
  ],
  [
    'a forged key block with another set',
    /block of other validators/,
    lastStep((link) => {
      const forged = otherProof(foreign, 18, TARGET).steps[0] as Forward;
      return { ...link, to: forged.to, destProof: forged.destProof, signatures: forged.signatures };
    }),
  ],
  ['the proof of another network', /from another block than asked for/, () => otherProof(foreign, 1, TARGET)],
  [
    'the proof of another block',
    /proof of another block/,
    lastStep((link) => {
      const other = otherProof(fork, 18, TARGET).steps[0] as Forward;
      return { ...link, to: other.to, destProof: other.destProof, signatures: other.signatures };
    }),
  ],
];

describe('liars', () => {
  beforeAll(async () => {
    // The true handlers of each chain, taken off a server that is never asked.
    const truths = new Map<Made, LiteHandlers>();
    for (const made of [honest, fork, foreign]) {
      const server = await serveLies(made.chain, (truth) => {
        truths.set(made, truth);
        return {};
      });
      await server.close();
    }
    truthOf = (made) => truths.get(made) ?? {};
  });

  test.each(lies)('%s', async (_, reason, change) => {
    const liar = await serve(honest, (truth) => ({
      getBlockProof: (request) => change(proofOf(truth, request)),
    }));
    const alone = open([liar]);
    await ready(alone, 1);
    const stop = new AbortController();
    const proof = proverOf(alone).prove(idOf(honest, TARGET), stop.signal);
    proof.catch(() => undefined);
    await expect.poll(() => alone.servers()[0].lastFault).toMatch(reason);
    expect(alone.servers()[0].faults.lie).toBe(1);
    stop.abort();
    await expect(proof).rejects.toMatchObject({ code: 'aborted' });
    expect(proverOf(alone).newest).toBeNull();
    const pool = open([liar, await serve(honest)]);
    await ready(pool, 2);
    await proverOf(pool).prove(idOf(honest, TARGET), never);
    expect(pool.servers()[1].faults.lie).toBe(0);
  });

  test('steps back and forth, each of them true', async () => {
    const liar = await serve(honest, (truth) => ({
      getBlockProof: ({ knownBlock, targetBlock }) => {
        const isBack = knownBlock.seqno === 18;
        const target = isBack ? blockIdExtToTl(idOf(honest, 3)) : targetBlock;
        const { steps, ...proof } = proofOf(truth, { mode: 1, knownBlock, ...(target ? { targetBlock: target } : {}) });
        const some = isBack ? steps : steps.slice(0, -1);
        return { ...proof, steps: some, to: some[some.length - 1].to, complete: false };
      },
    }));
    const trusted = { first: idOf(honest, 18), keep: () => undefined };
    const pool = open([liar], { trusted });
    await ready(pool, 1);
    const stop = new AbortController();
    const proof = proverOf(pool).prove(idOf(honest, TARGET), stop.signal);
    proof.catch(() => undefined);
    await expect.poll(() => pool.servers()[0].lastFault).toMatch(/step back within a proof forward/);
    stop.abort();
    await expect(proof).rejects.toMatchObject({ code: 'aborted' });
  });

  test('a valid fork of an earlier block: signatures are not enough where newer blocks are known', async () => {
    const server = await serve(honest);
    const liar = await serve(fork, (truth) => ({
      getMasterchainInfo: () => claim(idOf(honest, STEPS)),
      getBlockProof: ({ targetBlock }) =>
        proofOf(truth, { mode: 1, knownBlock: blockIdExtToTl(idOf(fork, 9)), ...(targetBlock ? { targetBlock } : {}) }),
    }));
    const pool = open([server]);
    await ready(pool, 1);
    const prover = proverOf(pool);
    await prover.prove(idOf(honest, STEPS), never);
    // The honest server does not know it.
    await expect(prover.prove(idOf(fork, 11), never)).rejects.toMatchObject({ code: 'not_found' });
    const both = open([server, liar]);
    await ready(both, 2);
    await proverOf(both).prove(idOf(honest, STEPS), never);
    await expect(proverOf(both).prove(idOf(fork, 11), never)).rejects.toMatchObject({ code: 'not_found' });
    await expect.poll(() => both.servers()[1].lastFault).toMatch(/lie: fork/);
    expect(both.servers()[0].faults.lie).toBe(0);
  });

  test('a head that nobody can prove is held against who claimed it', async () => {
    const forged = { ...idOf(honest, STEPS), seqno: STEPS + 1, rootHash: Buffer.alloc(32, 9) };
    const liar = await serve(honest, () => ({
      getMasterchainInfo: () => claim(forged),
    }));
    const pool = open([liar, await serve(honest)]);
    await ready(pool, 2);
    await expect(proverOf(pool).prove(forged, never)).rejects.toMatchObject({ code: 'not_found' });
    expect(pool.servers()[0]).toMatchObject({
      faults: { lie: 1 },
      lastFault: expect.stringMatching(/told of block 21/),
    });
    expect(pool.servers()[1].faults.lie).toBe(0);
    expect((await pool.head(never)).seqno).toBe(STEPS);
  });

  test('a head of the same seqno, or one far ahead with a header of its own, is proven by signatures or not at all', async () => {
    const liar = await serve(foreign, () => ({
      getMasterchainInfo: () => claim(idOf(foreign, STEPS)),
    }));
    const pool = open([liar, await serve(honest)]);
    await expect.poll(() => pool.servers()[0].faults.lie).toBe(1);
    expect(await pool.head(never)).toEqual(idOf(honest, STEPS));
    expect(pool.servers()[1].faults).toMatchObject({ lie: 0, stale: 0 });
  });

  test('an old head replayed is far behind one that is proven', async () => {
    const liar = await serve(honest, () => ({
      getMasterchainInfo: () => claim(idOf(honest, 4)),
    }));
    const pool = open([liar, await serve(honest)]);
    await expect.poll(() => pool.servers()[0].faults.stale).toBe(1);
    expect(pool.servers()[0].lastFault).toMatch(/its head is 4, others have 20/);
    expect(await pool.head(never)).toEqual(idOf(honest, STEPS));
  });
});
