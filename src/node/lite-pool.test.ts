import { LiteClient } from 'ton-lite-client';
import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../../test/lite-network.ts';
import { FIRST, LAST, poolStage } from '../../test/pool-stage.ts';
import { shelf } from '../../test/shelf.ts';
import { openBoc } from '../chain/boc.ts';
import { decodeHeader } from '../chain/header.ts';
import { NodeError } from './chain-node.ts';
import { blockIdExtToTl } from './lite-api.ts';
import type { FaultKind } from './lite-faults.ts';
import type { LitePool } from './lite-pool.ts';
import { type LiteHandlers, LiteServerError } from './lite-server.ts';
import { createLiteEngine } from './test-lite-engine.ts';

const never = new AbortController().signal;

describe.skipIf(shelf === null)('lite pool', () => {
  const stage = poolStage();
  const { recorded, open, fetchBlock, idAt, statusOf, ready } = stage;

  describe('with one good server', () => {
    test('head, blocks, lookups and the zero state are what was recorded', async () => {
      const node = open([await stage.network.serve('good')]);
      expect(await node.head(never)).toEqual(idAt(LAST - 5));
      await fetchBlock(node, 2670);
      const shard = '8000000000000000';
      expect(await node.lookupBlock({ workchain: -1, shard, seqno: 2675 }, never)).toEqual(idAt(2675));
      const { zeroState } = stage.network.config([]);
      expect(await node.zeroState(never)).toEqual({ rootHash: zeroState.rootHash, fileHash: zeroState.fileHash });
      const missing = node.lookupBlock({ workchain: -1, shard, seqno: 3000 }, never);
      await expect(missing).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringMatching(/lookupBlock.*not in db/),
      });
    });

    test('the newest block at or before a time', async () => {
      const node = open([await stage.network.serve('good')]);
      const times = recorded.map(({ bytes }) => decodeHeader(openBoc(bytes)).genUtime);
      const shard = { workchain: -1, shard: '8000000000000000' };
      for (const utime of [
        times[0],
        times[3] - 1,
        times[3],
        times[3] + 1,
        times[9],
        times[25] + 1,
        times[25] + 9_999,
      ]) {
        const expected = times.findLastIndex((time, i) => time <= utime && i <= LAST - 5 - FIRST);
        expect((await node.lookupByUtime(shard, utime, never)).seqno).toBe(FIRST + expected);
      }
      await expect(node.lookupByUtime(shard, times[0] - 1, never)).rejects.toMatchObject({ code: 'not_found' });
    });

    test('waits for a block that comes, and for one that does not', async () => {
      const node = open([await stage.network.serve('good')]);
      const coming = node.waitMasterchainBlock(LAST - 4, 3_000, never);
      await ready(1);
      stage.network.advance(LAST - 4);
      expect(await coming).toEqual(idAt(LAST - 4));
      expect(await node.waitMasterchainBlock(LAST - 6, 1_000, never)).toEqual(idAt(LAST - 6));
      expect(await node.waitMasterchainBlock(LAST, 50, never)).toBeNull();
      const controller = new AbortController();
      const aborted = node.waitMasterchainBlock(LAST, 5_000, controller.signal);
      controller.abort();
      await expect(aborted).rejects.toMatchObject({ code: 'aborted' });
    });

    test('a raw query waits for the masterchain block it needs', async () => {
      const node = open([await stage.network.serve('good')]);
      await ready(1);
      const answer = node.query({ method: 'getTime' }, { signal: never, minMcSeqno: LAST - 3 });
      await expect(Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, 'waits'))])).resolves.toBe(
        'waits',
      );
      stage.network.advance(LAST - 3);
      expect(await answer).toEqual({ now: 1_573_859_200 });
    });

    test('the published client works through the pool', async () => {
      const node = open([await stage.network.serve('good')]);
      const lite = new LiteClient({ engine: createLiteEngine({ exchange: node.queryBytes }) });
      expect((await lite.getMasterchainInfo()).last.rootHash).toEqual(idAt(LAST - 5).rootHash);
      expect(await lite.sendMessage(Buffer.from('message'))).toEqual({ status: 1 });
    });

    test('goes on where it was when the server comes back', async () => {
      const server = await stage.network.serve('good');
      const node = open([server], { breakerFaults: 100 });
      await ready(1);
      await server.close();
      await expect.poll(() => statusOf(server).faults.reset).toBeGreaterThan(0);
      expect(statusOf(server)).toMatchObject({ head: null, inFlight: 0 });
      const away = node.query({ method: 'getTime' }, { signal: never, timeoutMs: 50 });
      const why = new RegExp(`no server in 50 ms \\(127\\.0\\.0\\.1:${server.address.port} \\w+, \\w+: .+\\)$`);
      await expect(away).rejects.toMatchObject({ code: 'unavailable' });
      await expect(away).rejects.toThrow(why);
      const waiting = fetchBlock(node, 2665);
      await server.restart();
      await waiting;
      expect(await node.head(never)).toEqual(idAt(LAST - 5));
    });

    test('says of each server why there is no head', async () => {
      const server = await stage.network.serve('good');
      await server.close();
      const why = new RegExp(`^head: no server in 100 ms \\(127\\.0\\.0\\.1:${server.address.port} \\w+, \\w+: .+\\)$`);
      await expect(open([server], { timeoutMs: 100 }).head(never)).rejects.toThrow(why);
    });

    test('a value that does not fit a call is the mistake of the caller', async () => {
      const node = open([await stage.network.serve('good')]);
      const id = { ...blockIdExtToTl(idAt(2660)), rootHash: Buffer.alloc(3) };
      await expect(node.query({ method: 'getBlock', id }, { signal: never })).rejects.toThrow('does not fit int256');
    });
  });

  describe('errors', () => {
    test('what one server does not have another one is asked for', async () => {
      const [empty, good] = [await stage.network.serve('empty'), await stage.network.serve('good')];
      const node = open([empty, good]);
      await ready(2);
      for (let seqno = 2661; seqno < 2680; seqno++) {
        await fetchBlock(node, seqno);
      }
      expect(statusOf(empty)).toMatchObject({ state: 'ready', faults: { lie: 0, timeout: 0, garbage: 0 } });
    });

    test('an abort ends a call at once', async () => {
      const node = open([await stage.network.serve('staller')], { attemptMs: 4_000 });
      await ready(1);
      const controller = new AbortController();
      const failed = node.block(idAt(2661), controller.signal);
      setTimeout(() => controller.abort(new Error('enough')), 20);
      await expect(failed).rejects.toMatchObject({ code: 'aborted', cause: { message: 'enough' } });
      await expect.poll(() => node.servers()[0].inFlight).toBe(0);
    });

    test('closing the pool ends what is under way', async () => {
      const node = open([await stage.network.serve('staller')]);
      await ready(1);
      const calls = [node.block(idAt(2661), never), node.waitMasterchainBlock(9_999, 9_000, never)];
      const settled = Promise.allSettled(calls);
      await node.close();
      for (const outcome of await settled) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'aborted' } });
      }
      await expect(node.head(never)).rejects.toMatchObject({ code: 'aborted' });
    });

    test('calls beyond the queue are turned away', async () => {
      const node = open([await stage.network.serve('staller')], { maxInFlight: 1, maxQueued: 2 });
      await ready(1);
      const calls = [1, 2, 3, 4].map((i) => node.block(idAt(2660 + i), never));
      await expect(calls[3]).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/2 calls wait/),
      });
      await stage.pool?.close();
      await Promise.allSettled(calls);
    });
  });

  describe('hedging and messages', () => {
    test('a second server is asked when the first is slow', async () => {
      const hedged: string[] = [];
      const [staller, good] = [await stage.network.serve('staller'), await stage.network.serve('good')];
      const node = open([staller, good], { attemptMs: 3_000, metrics: { hedged: (name) => hedged.push(name) } });
      await ready(2);
      for (let seqno = 2661; seqno < 2667; seqno++) {
        await fetchBlock(node, seqno);
      }
      // One that was asked last may have heard of it after the answer of the other.
      await expect.poll(() => staller.calls.getBlock ?? 0).toBe(hedged.length);
      expect(good.calls.getBlock).toBe(6);
    });

    test('a message goes to several servers; one that takes it is enough', async () => {
      const refusing: LiteHandlers = {
        sendMessage: () => {
          throw new LiteServerError(0, 'cannot apply external message to current state');
        },
      };
      const servers = [
        await stage.network.serve('good'),
        await stage.network.serve('good', refusing),
        await stage.network.serve('staller'),
      ];
      const node = open(servers);
      await ready(3);
      await node.sendMessage(Buffer.from('message'), never);
      await expect.poll(() => servers.map((server) => server.calls.sendMessage)).toEqual([1, 1, 1]);
      await node.close();
      const refused = open([servers[1]]);
      await ready(1);
      await expect(refused.sendMessage(Buffer.from('message'), never)).rejects.toMatchObject({
        code: 'refused',
        message: expect.stringMatching(/cannot apply external message/),
      });
    });
  });

  describe('chaos', () => {
    /** Follows the chain to its end through the pool, as an ingester does. */
    async function follow(node: LitePool): Promise<void> {
      for (let seqno = LAST - 5; seqno <= LAST; seqno++) {
        stage.network.advance(seqno);
        const id = await node.waitMasterchainBlock(seqno, 5_000, never);
        expect(id).toEqual(idAt(seqno));
        await fetchBlock(node, seqno);
        for (const older of [seqno - 10, seqno - 20]) await fetchBlock(node, older);
      }
    }

    const expected: [Behaviour, FaultKind][] = [
      ['liar', 'lie'],
      ['foreigner', 'lie'],
      ['boaster', 'lie'],
      ['stale', 'stale'],
      ['staller', 'timeout'],
      ['resetter', 'reset'],
      ['babbler', 'garbage'],
      ['mute', 'timeout'],
      ['noise', 'garbage'],
      ['busy', 'busy'],
    ];

    /** Some are bad at blocks only, and may not be the first choice: asks for more than one server takes at a time. */
    const crowd = (node: LitePool): Promise<unknown> =>
      Promise.all(Array.from({ length: 40 }, (_, i) => fetchBlock(node, FIRST + (i % 20))));

    test.each(expected)(
      'beside a %s the chain goes on; it is noticed as %s and left alone',
      async (behaviour, fault) => {
        const bad = await stage.network.serve(behaviour);
        const good = await stage.network.serve('good');
        const node = open([bad, good], { maxInFlight: 4 });
        await follow(node);
        const noticed = async (): Promise<number> => {
          await crowd(node);
          return statusOf(bad).faults[fault];
        };
        await expect.poll(noticed).toBeGreaterThan(0);
        const resting = async (): Promise<number> => {
          await crowd(node);
          return statusOf(bad).restsMs;
        };
        await expect.poll(resting).toBeGreaterThan(0);
        expect(statusOf(good)).toMatchObject({ state: 'ready', head: LAST });
        const before = bad.calls.getBlock;
        await follow(node);
        expect(bad.calls.getBlock).toBe(before);
      },
    );

    test('all servers but one are bad, one of each kind', async () => {
      const bad = await Promise.all(expected.map(([behaviour]) => stage.network.serve(behaviour)));
      const good = await stage.network.serve('good');
      const node = open([...bad, good], { maxInFlight: 4 });
      await follow(node);
      expect(statusOf(good)).toMatchObject({ state: 'ready', head: LAST, faults: { lie: 0, garbage: 0, stale: 0 } });
      const noticed = async () => {
        await crowd(node);
        return bad.map((server) => [server.behaviour, Object.values(statusOf(server).faults).some((n) => n > 0)]);
      };
      const all = expected.map(([behaviour]) => [behaviour, true]);
      await expect.poll(noticed).toEqual(all);
    });

    test('after its rest a server that lied once is used again', async () => {
      let lies = true;
      const server = await stage.network.serve('good', {
        getBlock: ({ id }) => {
          const { bytes } = recorded[id.seqno - FIRST];
          return { id, data: lies ? bytes.subarray(1) : bytes };
        },
      });
      const node = open([server], { lieRestMs: 100, timeoutMs: 2_000 });
      await ready(1);
      await expect(node.block(idAt(2661), never)).rejects.toMatchObject({ code: 'unavailable' });
      expect(statusOf(server).faults.lie).toBeGreaterThan(0);
      lies = false;
      await expect
        .poll(() =>
          node.block(idAt(2661), never).then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
      expect(statusOf(server)).toMatchObject({ state: 'ready', head: LAST - 5 });
    });

    test('no call is lost when servers go and come under load', async () => {
      const servers = await Promise.all([1, 2, 3].map(() => stage.network.serve('good')));
      const node = open(servers, { breakerFaults: 100, restMs: 20, maxRestMs: 40, maxInFlight: 4 });
      await ready(3);
      const calls = Array.from({ length: 400 }, (_, i) => fetchBlock(node, FIRST + (i % 20)));
      for (const server of servers) {
        await server.close();
        await new Promise((resolve) => setTimeout(resolve, 20));
        await server.restart();
      }
      await Promise.all(calls);
    });

    test('only bad servers: the call ends with an error that says why', async () => {
      const node = open([await stage.network.serve('liar'), await stage.network.serve('mute')], { timeoutMs: 4_000 });
      const failure = await node.block(idAt(2661), never).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(NodeError);
      expect(failure).toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/SHA-256 is not its file hash/),
      });
    });

    test('a head that two servers tell differently is believed from the one that can show it', async () => {
      const forged = { ...idAt(LAST), rootHash: Buffer.alloc(32, 9), fileHash: Buffer.alloc(32, 8) };
      const [honest, forger] = [
        await stage.network.serve('good'),
        await stage.network.serve('good', {
          getMasterchainInfo: () => ({
            last: blockIdExtToTl(forged),
            stateRootHash: Buffer.alloc(32),
            init: { ...stage.network.config([]).zeroState },
          }),
        }),
      ];
      stage.network.advance(LAST);
      const node = open([honest, forger]);
      await expect.poll(() => statusOf(forger).faults.lie).toBe(1);
      expect(await node.head(never)).toEqual(idAt(LAST));
    });
  });
});
