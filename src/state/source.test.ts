import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silent } from '../../clickhouse/test-server.ts';
import { type ServedDevnet, serveDevnet } from '../../test/devnet-served.ts';
import { createMemoryChain, type MemoryChain } from '../../test/memory-source.ts';
import { addressOf, rawAddress } from '../chain/address.ts';
import { type Cell, parseBoc } from '../chain/builder.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import { shardContains } from '../chain/shard-ident.ts';
import { showAccount } from '../devnet/liteserver/proofs.ts';
import { configurationOf } from '../devnet/liteserver/settings.ts';
import type { BlockPlace, ProducedStep } from '../devnet/model.ts';
import { parseGlobalConfig } from '../node/global-config.ts';
import type { LiteMethod } from '../node/lite-api.ts';
import { createLitePool, type LitePool } from '../node/lite-pool.ts';
import { type Liteservers, NoNetworkError, noLiteservers } from '../node/liteservers.ts';
import { readAccount } from '../tvm/account.ts';
import { createStateSource, type StateSource } from './source.ts';

const context = { signal: new AbortController().signal, timeoutMs: 20_000 };
const FIRST = 4;

let devnet: ServedDevnet;
let pool: LitePool;
let chain: MemoryChain;
let states: StateSource;
let asked: LiteMethod[];
let origins: string[];

const blocksOf = ({ mc, shards }: ProducedStep) => [...shards, mc].map(({ bytes }) => ({ bytes, mcSeqno: mc.seqno }));

beforeAll(async () => {
  devnet = await serveDevnet();
  pool = createLitePool(parseGlobalConfig(JSON.parse(devnet.server.globalConfig)), { logger: silent });
});
afterAll(async () => {
  await pool.close();
  await devnet.close();
});

function open(liteservers: Liteservers): StateSource {
  const own = new Map(devnet.steps.map(({ mc }) => [mc.seqno, mc.bytes]));
  return createStateSource({
    source: chain.source,
    liteservers,
    masterBlock: async (seqno) =>
      chain.blocks.some(({ mcSeqno }) => mcSeqno === seqno) ? (own.get(seqno) ?? null) : null,
    metrics: { answered: (what, from) => origins.push(`${what} ${from}`) },
  });
}

/** The index begins at step 4, and has all but the newest two steps. */
beforeEach(() => {
  asked = [];
  origins = [];
  chain = createMemoryChain(devnet.steps.slice(FIRST - 1, -2).flatMap(blocksOf));
  states = open({
    query(request, options) {
      asked.push(request.method);
      return pool.query(request, options);
    },
    sendMessage: (boc, signal) => pool.sendMessage(boc, signal),
    servers: () => pool.servers(),
  });
});

const headSeqno = () => devnet.steps.length - 2;
const addressesOf = (): Address[] => devnet.wallets.map(({ address }) => addressOf(address.workChain, address.hash));

/** The account as the chain itself has it after a step. */
function truth(account: Address, seqno: number) {
  const { mc, shards } = devnet.steps[seqno - 1];
  const tops: BlockPlace[] = [mc, ...(devnet.chain.shards(seqno) ?? shards)];
  const workchain = (account.readUInt32BE(0) ^ 0x80000000) | 0;
  const top = tops.find((place) => place.workchain === workchain && shardContains(place.shard, account.subarray(4)));
  const state = top && devnet.chain.state(top);
  if (!state) throw new Error('the devnet keeps all states');
  const leaf = showAccount(state, account.subarray(4), () => undefined);
  return { top, cell: leaf?.account ?? null };
}

async function expectTrue(account: Address, seqno: number | undefined, cells = true): Promise<void> {
  const step = await states.step(seqno, context);
  const found = await states.account(account, step, { cells }, context);
  const { cell, top } = truth(account, step.header.seqno);
  const expected = cell && readAccount(cell);
  const name = `${rawAddress(account)} at ${step.header.seqno}`;
  expect(found.genUtime, name).toBe(top?.genUtime);
  if (expected === null) {
    expect(found.status, name).toBe('nonexist');
    return;
  }
  expect(found.hash.equals(cell?.hash() ?? Buffer.alloc(0)), name).toBe(true);
  expect(found, name).toMatchObject({ status: expected.status.type, balance: expected.balance });
  if (expected.status.type !== 'active' || !cells) return;
  const shown = (cell: Cell | null) => cell?.hash().toString('hex') ?? null;
  expect(shown(found.code && parseBoc(found.code)), name).toBe(shown(expected.status.code));
  expect(shown(found.data && parseBoc(found.data)), name).toBe(shown(expected.status.data));
}

describe('accounts', () => {
  it('have at the head, and at every step before it, the state that the chain has', async () => {
    const nobody = addressOf(0, Buffer.alloc(32, 7));
    for (const account of [...addressesOf(), nobody]) {
      for (const seqno of [undefined, 2, FIRST, 7, headSeqno() - 1]) {
        await expectTrue(account, seqno);
        await expectTrue(account, seqno, false);
      }
    }
    expect(new Set(origins)).toEqual(new Set(['account own', 'account kept', 'account liteserver']));
  });

  it('are asked for once while nothing happens to them', async () => {
    const untouched = addressOf(0, Buffer.alloc(32, 7));
    for (let i = 0; i < 3; i++) await expectTrue(untouched, undefined);
    await expectTrue(untouched, headSeqno());
    expect(asked).toEqual(['getAccountState']);
    chain.add(blocksOf(devnet.steps[headSeqno()]));
    const step = await states.step(undefined, context);
    expect(step.header.seqno).toBe(headSeqno() + 1);
    const found = await states.account(untouched, step, { cells: true }, context);
    expect(found.genUtime).toBe(truth(untouched, headSeqno() + 1).top?.genUtime);
    expect(asked).toEqual(['getAccountState']);
  });

  it('are asked for where the top of their shard is from before the index, and never in a workchain that is not there', async () => {
    const [first] = devnet.steps.slice(FIRST - 1);
    chain = createMemoryChain([{ bytes: first.mc.bytes, mcSeqno: first.mc.seqno }]);
    states = open(pool);
    const found = addressesOf().filter((account) => account[0] === 0x80);
    expect(found.length).toBeGreaterThan(3);
    for (const account of found) await expectTrue(account, undefined);
    const step = await states.step(undefined, context);
    const nowhere = addressOf(5, Buffer.alloc(32, 7));
    states = open(noLiteservers());
    expect(await states.account(nowhere, step, { cells: true }, context)).toMatchObject({ status: 'nonexist' });
    expect(await states.accountCell(nowhere, step, context)).toMatchObject({ boc: null });
  });

  it('are those of their own step before the index, as cells, and these count for no other step', async () => {
    for (const account of addressesOf()) {
      for (const seqno of [1, 2, 3]) {
        const { boc } = await states.accountCell(account, await states.step(seqno, context), context);
        const { cell } = truth(account, seqno);
        const name = `${rawAddress(account)} at ${seqno}`;
        expect(boc && parseBoc(boc).hash().toString('hex'), name).toBe(cell?.hash().toString('hex') ?? null);
      }
      await expectTrue(account, undefined);
    }
  });

  it('are answered without a network as far as they are known', async () => {
    states = open(noLiteservers());
    const step = await states.step(undefined, context);
    let answered = 0;
    for (const account of addressesOf()) {
      const found = await states.account(account, step, { cells: false }, context).catch((error: unknown) => error);
      if (found instanceof Error) expect(found).toBeInstanceOf(NoNetworkError);
      else answered++;
    }
    expect(answered).toBeGreaterThan(5);
    await expect(states.step(2, context)).rejects.toThrow(NoNetworkError);
  });
});

describe('steps', () => {
  it('are the newest, those before it, and none behind it', async () => {
    expect((await states.step(undefined, context)).header.seqno).toBe(headSeqno());
    for (const seqno of [1, 2, FIRST, headSeqno()]) {
      const { header } = await states.step(seqno, context);
      const { mc } = devnet.steps[seqno - 1];
      expect(header).toMatchObject({ seqno, genUtime: mc.genUtime });
      expect([header.rootHash, header.fileHash]).toEqual([mc.rootHash, mc.fileHash]);
    }
    for (const seqno of [headSeqno() + 1, 1_000_000]) {
      await expect(states.step(seqno, context)).rejects.toThrow('block not found');
    }
  });

  it('know the hash of their state and the zero state', async () => {
    const step = await states.step(undefined, context);
    const { mc } = devnet.steps[headSeqno() - 1];
    expect(await states.stateRootHash(step, context)).toEqual(devnet.chain.state(mc)?.hash());
    expect(asked).toEqual([]);
    const older = await states.step(2, context);
    expect(await states.stateRootHash(older, context)).toEqual(devnet.chain.state(devnet.steps[1].mc)?.hash());
    const { rootHash, fileHash } = devnet.chain.zeroState.mc;
    expect(await states.zeroState(context)).toMatchObject({ seqno: 0, rootHash, fileHash });
  });

  it('know the blocks before them', async () => {
    const found = await states.previousBlocks(await states.step(undefined, context), context);
    const head = headSeqno();
    const hash = (seqno: number) => (seqno === 0 ? devnet.chain.zeroState.mc : devnet.steps[seqno - 1].mc).rootHash;
    const seqnos = Array.from({ length: head + 1 }, (_, i) => head - i);
    expect(found.last.map(({ seqno }) => seqno)).toEqual(seqnos);
    expect(found.last.map(({ rootHash }) => rootHash)).toEqual(seqnos.map(hash));
    expect(found.hundreds.map(({ seqno }) => seqno)).toEqual([0]);
    expect(found.keyBlock.rootHash).toEqual(hash(found.keyBlock.seqno));
  });
});

it('reads the configuration out of key blocks, or asks for it', async () => {
  for (const seqno of [undefined, FIRST, 2]) {
    const step = await states.step(seqno, context);
    const { mc } = devnet.steps[step.header.seqno - 1];
    const state = devnet.chain.state(mc);
    if (state === null) throw new Error('the devnet keeps all states');
    const expected = configurationOf(state, () => undefined);
    expect((await states.config(step, context)).hash()).toEqual(expected.hash());
  }
  const [before, ...more] = asked;
  expect(before).toBe('getConfigAll');
  for (let i = 0; i < 3; i++) await states.config(await states.step(undefined, context), context);
  expect(asked).toEqual([before, ...more]);
});

it('names the shards that a step registers, those without a block included', async () => {
  for (const { mc } of devnet.steps) {
    // The first one alone: the chain before its shard has made a block.
    chain = createMemoryChain(devnet.steps.slice(0, mc.seqno).flatMap(blocksOf));
    states = open(noLiteservers());
    const told = await states.shards(await states.step(mc.seqno, context));
    const ids = told.map(({ workchain, shard, seqno, rootHash }) => ({ workchain, shard, seqno, rootHash }));
    const known = devnet.chain.shards(mc.seqno) ?? [];
    expect(ids).toEqual(known.map(({ workchain, shard, seqno, rootHash }) => ({ workchain, shard, seqno, rootHash })));
  }
});

it('tells the queues of all shards, also of those whose top is from before the index', async () => {
  const [first] = devnet.steps.slice(FIRST - 1);
  chain = createMemoryChain([{ bytes: first.mc.bytes, mcSeqno: first.mc.seqno }]);
  states = open(pool);
  const { shards } = await states.queueSizes(await states.step(undefined, context), context);
  const tops = [first.mc, ...(devnet.chain.shards(first.mc.seqno) ?? [])];
  expect(tops.length).toBeGreaterThan(1);
  expect(shards.map(({ id }) => id.rootHash.toString('hex'))).toEqual(
    tops.map(({ rootHash }) => rootHash.toString('hex')),
  );
});

it('waits for the first step of an index', async () => {
  const { source } = chain;
  let looks = 0;
  chain = {
    ...chain,
    source: { ...source, masterchainInfo: async (of) => (++looks < 3 ? null : source.masterchainInfo(of)) },
  };
  states = open(noLiteservers());
  expect((await states.step(undefined, context)).header.seqno).toBe(headSeqno());
  expect(looks).toBe(3);
  chain = { ...chain, source: { ...source, masterchainInfo: async () => null } };
  states = open(noLiteservers());
  await expect(states.step(undefined, { ...context, timeoutMs: 1 })).rejects.toMatchObject({ code: 'not_found' });
});

it('asks for libraries once', async () => {
  const hash = Buffer.alloc(32, 1);
  for (let i = 0; i < 3; i++) expect((await states.libraries([hash], context)).has(hashKey(hash))).toBe(false);
  expect(asked).toEqual(['getLibraries']);
  expect(await states.libraries([], context)).toEqual(new Map());
});

describe('a liar', () => {
  /** Answers through the pool, with one byte of the first long field changed on the way. */
  function lying(method: LiteMethod): StateSource {
    return open({
      async query(request, options) {
        const answer = await pool.query(request, options);
        if (request.method === method) flip(answer);
        return answer;
      },
      sendMessage: (boc, signal) => pool.sendMessage(boc, signal),
      servers: () => pool.servers(),
    });
  }

  function flip(answer: object): void {
    for (const value of Object.values(answer)) {
      if (Array.isArray(value) && value.length > 0) {
        flip(value[0]);
        return;
      }
      if (!Buffer.isBuffer(value) || value.length < 100) continue;
      value[value.length >> 1] ^= 1;
      return;
    }
    throw new Error('nothing to change');
  }

  const untouched = addressOf(0, Buffer.alloc(32, 7));
  it.each<[LiteMethod, (of: StateSource) => Promise<unknown>]>([
    [
      'getAccountState',
      async (of) => of.account(untouched, await of.step(undefined, context), { cells: true }, context),
    ],
    ['lookupBlockWithProof', (of) => of.step(2, context)],
    ['getConfigAll', async (of) => of.config(await of.step(2, context), context)],
    ['getBlockHeader', async (of) => of.stateRootHash(await of.step(2, context), context)],
    ['getBlockProof', async (of) => of.signatures(await of.step(7, context), context)],
    [
      'getShardBlockProof',
      async (of) => of.shardBlockProof(devnet.steps[7].shards[0], await of.step(undefined, context), context),
    ],
    ['getBlockOutMsgQueueSize', async (of) => of.queueSizes(await of.step(undefined, context), context)],
  ])('is not believed with %s', async (method, ask) => {
    await ask(states);
    await expect(ask(lying(method))).rejects.toThrow();
  });
});
