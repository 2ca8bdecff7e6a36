import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLiteNetwork, type LiteNetwork, recordedMasterchain } from '../../test/lite-network.ts';
import { shelf } from '../../test/shelf.ts';
import { blockIdExtToTl } from './lite-api.ts';
import { createLitePool, type LitePool } from './lite-pool.ts';
import { LiteServerError } from './lite-server.ts';
import {
  answerLite,
  askLiteservers,
  type Liteservers,
  noLiteservers,
  packLiteError,
  unpackLiteError,
} from './liteservers.ts';

const signal = new AbortController().signal;

test('where no network is followed everything is refused', async () => {
  const none = noLiteservers();
  const refusal = { name: 'NoNetworkError', message: expect.stringMatching(/--network/) };
  await expect(none.query({ method: 'getTime' }, { signal })).rejects.toMatchObject(refusal);
  await expect(none.sendMessage(Buffer.alloc(1), signal)).rejects.toMatchObject(refusal);
});

describe.skipIf(shelf === null)('a pool that is asked from elsewhere', () => {
  const recorded = shelf === null ? [] : recordedMasterchain();
  const { id, bytes } = recorded[5] ?? {};
  let network: LiteNetwork;
  let pool: LitePool;

  beforeEach(() => {
    network = createLiteNetwork(recorded);
    network.advance(2690);
  });
  afterEach(async () => {
    await pool.close();
    await network.close();
  });

  /** As between two threads: everything is cloned on its way. */
  async function ask(servers: Parameters<LiteNetwork['config']>[0]): Promise<Liteservers> {
    const limits = { attemptMs: 3_000, hedgeMs: 60, minHedgeMs: 30, lieRestMs: 60_000 };
    pool = createLitePool(network.config(servers), { logger: pino({ level: 'silent' }), ...limits });
    await expect.poll(() => pool.servers().every(({ state }) => state === 'ready')).toBe(true);
    return askLiteservers(async (question, asked) => {
      try {
        return structuredClone(await answerLite(pool, structuredClone(question), asked));
      } catch (error) {
        throw unpackLiteError(structuredClone(packLiteError(error)));
      }
    });
  }

  test('answers what no server in good standing contradicts', async () => {
    const [liar, good] = [await network.serve('liar'), await network.serve('good')];
    const servers = await ask([liar, good]);
    for (let i = 0; i < 8; i++) {
      const { data } = await servers.query({ method: 'getBlock', id: blockIdExtToTl(id) }, { signal });
      expect(bytes.equals(data)).toBe(true);
    }
    const { id: found } = await servers.query(
      { method: 'lookupBlock', mode: 1, id: { workchain: -1, shard: -(2n ** 63n), seqno: id.seqno } },
      { signal, minMcSeqno: id.seqno },
    );
    expect(found).toMatchObject({ seqno: id.seqno, rootHash: id.rootHash });
    const { faults } = pool.servers()[0];
    expect(faults.lie).toBeLessThanOrEqual(liar.calls.getBlock ?? 0);
    expect(good.calls.getBlock).toBe(8);
  });

  test('tells why it has no answer, with the words and the code of the server', async () => {
    const refusing = await network.serve('good', {
      getTime: () => {
        throw new LiteServerError(602, 'cannot do that');
      },
      sendMessage: () => {
        throw new LiteServerError(0, 'cannot apply external message to current state');
      },
    });
    const servers = await ask([refusing]);
    await expect(servers.query({ method: 'getTime' }, { signal })).rejects.toMatchObject({
      name: 'NodeError',
      code: 'refused',
      cause: { name: 'LiteServerError', code: 602, message: 'cannot do that' },
    });
    await expect(servers.sendMessage(Buffer.from('message'), signal)).rejects.toMatchObject({
      code: 'refused',
      cause: { code: 0, message: 'cannot apply external message to current state' },
    });
    await refusing.close();
    await expect(servers.query({ method: 'getVersion' }, { signal, timeoutMs: 50 })).rejects.toMatchObject({
      code: 'unavailable',
    });
    const given = AbortSignal.abort(new Error('enough'));
    await expect(servers.query({ method: 'getVersion' }, { signal: given })).rejects.toMatchObject({ code: 'aborted' });
  });

  test('sends a message to several servers at once', async () => {
    const all = [await network.serve('good'), await network.serve('good'), await network.serve('good')];
    const servers = await ask(all);
    await servers.sendMessage(Buffer.from('message'), signal);
    await expect.poll(() => all.map(({ calls }) => calls.sendMessage)).toEqual([1, 1, 1]);
  });
});
