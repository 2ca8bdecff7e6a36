import { describe, expect, test } from 'vitest';
import { FIRST, LAST, poolStage } from '../../test/pool-stage.ts';
import { shelf } from '../../test/shelf.ts';
import { Builder, type Cell, toBoc } from '../chain/builder.ts';
import type { Hash } from '../chain/model.ts';
import { blockIdExtToTl } from './lite-api.ts';
import { type LiteHandlers, LiteServerError } from './lite-server.ts';

const never = new AbortController().signal;

describe.skipIf(shelf === null)('what a liteserver refuses, denies or makes up', () => {
  const stage = poolStage();
  const { recorded, open, fetchBlock, idAt, statusOf, ready } = stage;

  const refusing: LiteHandlers = {
    getTime: () => {
      throw new LiteServerError(602, 'cannot do that');
    },
  };

  test('a permanent error is not asked for once two servers agree, its code is kept', async () => {
    const servers = await Promise.all([1, 2, 3].map(() => stage.network.serve('good', refusing)));
    const node = open(servers, { hedgeMs: 5_000, minHedgeMs: 5_000, attemptMs: 10_000 });
    await ready(3);
    const failed = node.query({ method: 'getTime' }, { signal: never });
    await expect(failed).rejects.toMatchObject({ code: 'refused', cause: { code: 602, message: 'cannot do that' } });
    expect(servers.map(({ calls }) => calls.getTime ?? 0).sort()).toEqual([0, 1, 1]);
    expect(servers.map((server) => statusOf(server).state)).toEqual(['ready', 'ready', 'ready']);
  });

  /** Slower than those who refuse at once: asked last. */
  const slowly = async <T>(answer: T): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return answer;
  };

  test('what one server refuses another one answers', async () => {
    const good = await stage.network.serve('good', { getTime: () => slowly({ now: 5 }) });
    const node = open([await stage.network.serve('good', refusing), good]);
    await ready(2);
    for (let i = 0; i < 5; i++) {
      expect(await node.query({ method: 'getTime' }, { signal: never })).toEqual({ now: 5 });
    }
  });

  test('a library that one server denies another one is asked for', async () => {
    const [first, second, third] = [1, 2, 3].map((value) => new Builder().u(value, 8).cell());
    const entry = (cell: Cell) => ({ hash: cell.hash(), data: toBoc(cell) });
    const denying = await stage.network.serve('good', { getLibraries: () => ({ result: [] }) });
    const good = await stage.network.serve('good', {
      getLibraries: () => slowly({ result: [entry(first), entry(second)] }),
    });
    const node = open([denying, good]);
    await ready(2);
    const hashes = [first.hash(), second.hash(), third.hash()];
    const keys = hashes.slice(0, 2).map((hash) => hash.toString('hex'));
    for (let i = 0; i < 3; i++) {
      expect([...(await node.libraries(hashes, never)).keys()].sort()).toEqual(keys.toSorted());
      const { result } = await node.query({ method: 'getLibraries', libraryList: hashes }, { signal: never });
      expect(result.map(({ hash }) => hash.toString('hex')).sort()).toEqual(keys.toSorted());
    }
    expect(denying.calls.getLibraries).toBeGreaterThan(0);
    await good.close();
    await expect.poll(() => statusOf(good).state).not.toBe('ready');
    expect((await node.libraries(hashes, never)).size).toBe(0);
  });

  test('the zero state is that of the network, whatever a server says once it is asked for that alone', async () => {
    const foreign: { workchain: number; rootHash: Hash; fileHash: Hash } = {
      workchain: -1,
      rootHash: Buffer.alloc(32, 1),
      fileHash: Buffer.alloc(32, 2),
    };
    const { rootHash, fileHash } = stage.network.config([]).zeroState;
    const told = (init: typeof foreign) => ({
      last: blockIdExtToTl(idAt(LAST - 5)),
      stateRootHash: Buffer.alloc(32),
      init,
    });
    const truth = { workchain: -1, rootHash, fileHash };
    let asked = 0;
    const liar = await stage.network.serve('good', {
      getMasterchainInfo: () => told(asked++ === 0 ? truth : foreign),
    });
    const good = await stage.network.serve('good', { getMasterchainInfo: () => slowly(told(truth)) });
    const node = open([liar, good], { pollMs: 5_000 });
    await ready(2);
    for (let i = 0; i < 4; i++) {
      const { init } = await node.query({ method: 'getMasterchainInfo' }, { signal: never });
      expect(init.rootHash).toEqual(rootHash);
    }
  });

  test('blocks are to be had as long as one server gives them, whoever refuses', async () => {
    const refuses: LiteHandlers = {
      getBlock: () => {
        throw new LiteServerError(0, 'no');
      },
    };
    const bad = await Promise.all([1, 2, 3].map(() => stage.network.serve('good', refuses)));
    const good = await stage.network.serve('good', {
      getBlock: ({ id }) => slowly({ id, data: recorded[id.seqno - FIRST].bytes }),
    });
    const node = open([...bad, good]);
    await ready(4);
    for (let seqno = 2661; seqno < 2670; seqno++) await fetchBlock(node, seqno);
    await good.close();
    await expect(node.block(idAt(2661), never)).rejects.toMatchObject({ code: 'refused' });
  });
});
