/** `getBlockProof` and the calls beside it, by the checks that recorded links of mainnet pass. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServedDevnet, serveDevnet } from '../../../test/devnet-served.ts';
import { decodeBlock } from '../../chain/block.ts';
import { checkLink, createSignerCache } from '../../chain/block-proof.ts';
import { openBoc } from '../../chain/boc.ts';
import { parseBoc } from '../../chain/builder.ts';
import { DecodeError } from '../../chain/errors.ts';
import type { BlockIdExt } from '../../chain/model.ts';
import { parseGlobalConfig } from '../../node/global-config.ts';
import { blockIdExtFromTl, blockIdExtToTl, type LiteAnswer } from '../../node/lite-api.ts';
import { connectLite, type LiteConnection } from '../../node/lite-connection.ts';
import { linkFromTl } from '../../node/lite-links.ts';
import type { SignatureKind } from '../validators.ts';
import { showOldBlock } from './settings.ts';

const never = new AbortController().signal;
const STEPS = 120;
const KEY_BLOCK_EVERY = 3;
const KEPT_STATES = 5;

let devnet: ServedDevnet;
const connections: LiteConnection[] = [];

beforeAll(async () => {
  const chain = { keyBlockEvery: KEY_BLOCK_EVERY, limits: { keepStates: KEPT_STATES } };
  devnet = await serveDevnet({}, chain);
  while (devnet.chain.head().mc.seqno < STEPS) devnet.produce();
});
afterAll(async () => {
  for (const connection of connections) connection.close();
  await devnet.close();
});

async function connect({ port, publicKey } = devnet.server): Promise<LiteConnection> {
  const connection = await connectLite({ host: '127.0.0.1', port, publicKey }, never);
  connections.push(connection);
  return connection;
}

const master = (seqno: number): BlockIdExt => (seqno === 0 ? devnet.chain.zeroState.mc : devnet.steps[seqno - 1].mc);
const headerOf = (seqno: number) => decodeBlock(openBoc(devnet.steps[seqno - 1].mc.bytes)).header;

async function proof(connection: LiteConnection, from: number, to?: number): Promise<LiteAnswer<'getBlockProof'>> {
  const target = to === undefined ? {} : { targetBlock: blockIdExtToTl(master(to)) };
  const mode = to === undefined ? 0 : 1;
  const request = { method: 'getBlockProof', mode, knownBlock: blockIdExtToTl(master(from)), ...target } as const;
  return connection.query(request, { signal: never, timeoutMs: 10_000 });
}

/** Goes all the way, checking each link; the seqnos passed. */
async function walk(connection: LiteConnection, from: number, to?: number): Promise<number[]> {
  const signers = createSignerCache();
  const passed: number[] = [];
  for (let at = from; ; ) {
    const { complete, steps, ...ends } = await proof(connection, at, to);
    for (const step of steps) {
      const link = linkFromTl(step);
      expect(link.from.seqno).toBe(at);
      const led = checkLink(link, signers);
      expect(led.keyBlock).toBe(at === 0 || led.id.seqno === 0 || headerOf(led.id.seqno).keyBlock);
      at = led.id.seqno;
      passed.push(at);
    }
    expect(blockIdExtFromTl(ends.to)).toMatchObject({ seqno: at, rootHash: master(at).rootHash });
    if (complete) return passed;
    expect(steps).toHaveLength(16);
  }
}

const keyBlocks = Array.from({ length: STEPS / KEY_BLOCK_EVERY }, (_, i) => (i + 1) * KEY_BLOCK_EVERY);

describe('block proofs', () => {
  test('headers say who signs: another set from each key block on', () => {
    const sets = new Set<number>();
    for (const { mc } of devnet.steps) {
      const { header } = decodeBlock(openBoc(mc.bytes));
      const { keyBlock, prevKeyBlockSeqno, catchainSeqno, validatorListHashShort } = header;
      expect(keyBlock).toBe(mc.seqno === 1 || mc.seqno % KEY_BLOCK_EVERY === 0);
      expect(prevKeyBlockSeqno).toBe(keyBlocks.findLast((seqno) => seqno < mc.seqno) ?? Math.min(1, mc.seqno - 1));
      expect(validatorListHashShort).toBe(devnet.chain.validators.group(catchainSeqno).hash);
      sets.add(validatorListHashShort);
    }
    expect(sets.size).toBe(keyBlocks.length);
  });

  test.each<SignatureKind>(['ordinary', 'simplex'])('forward over all key blocks, %s', async (signatures) => {
    const server = signatures === 'ordinary' ? devnet.server : await devnet.open({ signatures });
    const connection = await connect(server);
    const toHead = keyBlocks.slice(0, -1);
    expect(await walk(connection, 0)).toEqual([1, ...toHead, STEPS]);
    expect(await walk(connection, 1)).toEqual([...toHead, STEPS]);
    expect(await walk(connection, 1, 20)).toEqual([3, 6, 9, 12, 15, 18, 20]);
    expect(await walk(connection, 0, 1)).toEqual([1]);
    if (signatures === 'simplex') await server.close();
  });

  test('from a block that is no key block: first back to the one before it', async () => {
    const connection = await connect();
    expect(await walk(connection, STEPS - 2, STEPS)).toEqual([STEPS - 3, STEPS]);
    // The state of that one is gone.
    expect(await walk(connection, 10, 14)).toEqual([9, 12, 14]);
  });

  test('back, from states that are kept and from those that are gone, and to itself', async () => {
    const connection = await connect();
    for (const from of [STEPS, STEPS - KEPT_STATES + 1, STEPS - KEPT_STATES, 33, 32, 17, 2]) {
      expect(devnet.chain.state(master(from)) === null).toBe(from <= STEPS - KEPT_STATES);
      for (const to of [0, 1, 2, 8, 16, 31, from - 1])
        if (to < from) expect(await walk(connection, from, to)).toEqual([to]);
    }
    expect(await walk(connection, 5, 5)).toEqual([]);
  });

  test('a block that is not of the chain is not proven', async () => {
    const connection = await connect();
    const forged = { ...blockIdExtToTl(master(10)), rootHash: Buffer.alloc(32, 1) };
    const request = { method: 'getBlockProof', mode: 1, knownBlock: blockIdExtToTl(master(9)) } as const;
    const options = { signal: never, timeoutMs: 10_000 };
    await expect(connection.query({ ...request, targetBlock: forged }, options)).rejects.toMatchObject({ code: 651 });
  });
});

test("the config's init block is the first key block", () => {
  const { initBlock, zeroState } = parseGlobalConfig(JSON.parse(devnet.server.globalConfig));
  const { workchain, shard, seqno, rootHash, fileHash } = master(1);
  expect(initBlock).toEqual({ workchain, shard, seqno, rootHash, fileHash });
  expect(zeroState).toEqual(devnet.chain.zeroState.mc);
});

test('a configuration with its surroundings shows the previous blocks that get-methods ask for', async () => {
  const connection = await connect();
  while (devnet.chain.head().mc.seqno < 217) devnet.produce();
  const { mc } = devnet.chain.head();
  const request = { method: 'getConfigAll', mode: 0xff, id: blockIdExtToTl(mc) } as const;
  const { configProof } = await connection.query(request, { signal: never, timeoutMs: 10_000 });
  const shown = parseBoc(configProof).refs[0];
  const isShown = (seqno: number): boolean => {
    try {
      return showOldBlock(shown, seqno, () => undefined);
    } catch (error) {
      // A pruned branch on the way.
      if (error instanceof DecodeError) return false;
      throw error;
    }
  };
  const last = Array.from({ length: 16 }, (_, i) => 216 - i);
  const visible = Array.from({ length: 217 }, (_, seqno) => seqno).filter(isShown);
  // Neighbours of what is shown come with it.
  expect(visible).toEqual(expect.arrayContaining([0, 100, 200, ...last]));
  expect(visible.length).toBeLessThan(40);
});
