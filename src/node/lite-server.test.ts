import { LiteClient, LiteSingleEngine } from 'ton-lite-client';
import { afterEach, describe, expect, test } from 'vitest';
import { connectAdnl, listenAdnl } from './adnl.ts';
import { frames, MOST_UNASKED } from './adnl-channel.ts';
import { encodeEnvelope, encodeRequest, type TlBlockIdExt } from './lite-api.ts';
import { connectLite, type LiteConnection } from './lite-connection.ts';
import { judge } from './lite-faults.ts';
import { type LiteHandlers, LiteServerError, type LiteServerOptions, serveLite } from './lite-server.ts';
import { createLiteEngine } from './test-lite-engine.ts';

const SEED = Buffer.alloc(32, 11);
const never = new AbortController().signal;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const id: TlBlockIdExt = {
  workchain: -1,
  shard: -(1n << 63n),
  seqno: 77,
  rootHash: Buffer.alloc(32, 1),
  fileHash: Buffer.alloc(32, 2),
};
const zero = { workchain: -1, rootHash: Buffer.alloc(32, 3), fileHash: Buffer.alloc(32, 4) };

const handlers: LiteHandlers = {
  getMasterchainInfo: () => ({ last: id, stateRootHash: Buffer.alloc(32, 5), init: zero }),
  getTime: () => ({ now: 1_700_000_000 }),
  getVersion: () => ({ mode: 0, version: 0x101, capabilities: 7n, now: 5 }),
  lookupBlock: ({ mode, id: { seqno }, lt, utime }) => {
    if (seqno === 404) throw new LiteServerError(651, 'block is not in db');
    if (mode === 2 && lt === undefined) throw new Error('lt is missing');
    return { id: { ...id, seqno: mode === 4 ? (utime ?? 0) : seqno }, mode, headerProof: Buffer.alloc(0) };
  },
  getTransactions: () => ({ ids: [id], transactions: Buffer.from('transactions') }),
  listBlockTransactions: ({ count, after }) => ({
    id,
    reqCount: count,
    incomplete: after === undefined,
    ids: [{ mode: 7, account: Buffer.alloc(32, 6), lt: 1n << 62n, hash: Buffer.alloc(32, 7) }],
    proof: Buffer.alloc(0),
  }),
  getBlock: () => ({ id, data: Buffer.alloc(300_000, 9) }),
  sendMessage: async ({ body }) => {
    throw new Error(`cannot take ${body.length} bytes`);
  },
};

async function serve(options: LiteServerOptions = {}, served: LiteHandlers = handlers) {
  const server = await serveLite({ host: '127.0.0.1', port: 0, seed: SEED }, served, options);
  closers.push(() => server.close());
  return server;
}

async function client(server: { port: number; publicKey: Buffer }): Promise<LiteConnection> {
  const connection = await connectLite({ host: '127.0.0.1', port: server.port, publicKey: server.publicKey }, never);
  closers.push(() => connection.close());
  return connection;
}

const call = { signal: never, timeoutMs: 30_000 };

describe('the published client against our server', () => {
  async function published(options: LiteServerOptions = {}) {
    const server = await serve(options);
    const engine = new LiteSingleEngine({ host: `tcp://127.0.0.1:${server.port}`, publicKey: server.publicKey });
    closers.push(() => engine.close());
    await new Promise((resolve) => engine.once('ready', () => resolve(null)));
    return new LiteClient({ engine });
  }

  test('reads what the server answers', async () => {
    const lite = await published();
    const info = await lite.getMasterchainInfo();
    expect(info.last).toMatchObject({ seqno: 77, shard: '-9223372036854775808', rootHash: id.rootHash });
    expect(info.init.fileHash).toEqual(zero.fileHash);
    expect(await lite.getCurrentTime()).toBe(1_700_000_000);
    const found = await lite.lookupBlockByID({ workchain: 0, shard: '-9223372036854775808', seqno: 5 });
    expect(found.id.seqno).toBe(5);
    const list = await lite.listBlockTransactions({ ...info.last, shard: info.last.shard });
    expect(list.ids[0]).toMatchObject({ lt: (1n << 62n).toString(), hash: Buffer.alloc(32, 7) });
    await expect(lite.lookupBlockByID({ workchain: 0, shard: '1', seqno: 404 })).rejects.toThrow('not in db');
  });

  test('uses the wait prefix', async () => {
    const asked: number[] = [];
    const lite = await published({
      waitMasterchainSeqno: async (seqno) => {
        asked.push(seqno);
        return seqno < 100;
      },
    });
    expect((await lite.getMasterchainInfo({ awaitSeqno: 78 })).last.seqno).toBe(77);
    await expect(lite.getMasterchainInfo({ awaitSeqno: 178 })).rejects.toThrow('178 has not come');
    expect(asked).toEqual([78, 178]);
  });
});

describe('our engine under the published client', () => {
  test('typed calls work, error codes are kept', async () => {
    const server = await serve({ waitMasterchainSeqno: async () => true });
    const connection = await client(server);
    const engine = createLiteEngine({
      exchange: (body, { minMcSeqno, ...rest }) =>
        connection.exchange(body, {
          ...rest,
          wait: minMcSeqno === undefined ? undefined : { seqno: minMcSeqno, timeoutMs: rest.timeoutMs },
        }),
    });
    const lite = new LiteClient({ engine });
    expect((await lite.getMasterchainInfo({ awaitSeqno: 3 })).last.seqno).toBe(77);
    expect(await lite.getVersion()).toMatchObject({ version: 0x101, capabilities: '7' });
    const failed = lite.lookupBlockByID({ workchain: 0, shard: '1', seqno: 404 });
    await expect(failed).rejects.toMatchObject({ code: 651, message: 'block is not in db' });
    engine.close();
    await expect(lite.getCurrentTime()).rejects.toThrow('engine is closed');
  });
});

describe('connection', () => {
  test('answers come to their own calls, whatever their order', async () => {
    const server = await serve(
      {},
      {
        lookupBlock: async ({ id: { seqno } }) => {
          await new Promise((resolve) => setTimeout(resolve, (10 - seqno) * 5));
          return { id: { ...id, seqno }, mode: 0, headerProof: Buffer.alloc(0) };
        },
      },
    );
    const connection = await client(server);
    const ask = (seqno: number) =>
      connection.query({ method: 'lookupBlock', mode: 1, id: { workchain: 0, shard: 0n, seqno } }, call);
    const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(ask));
    expect(answers.map((answer) => answer.id.seqno)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(connection.inFlight).toBe(0);
  });

  test('time-outs, aborts and the end of the connection reach the calls', async () => {
    const server = await serve({}, { getTime: () => new Promise(() => undefined) });
    const connection = await client(server);
    const controller = new AbortController();
    await expect(connection.query({ method: 'getTime' }, { ...call, timeoutMs: 20 })).rejects.toMatchObject({
      name: 'LiteTimeoutError',
    });
    const aborted = connection.query({ method: 'getTime' }, { ...call, signal: controller.signal });
    controller.abort(new Error('not wanted any more'));
    await expect(aborted).rejects.toThrow('not wanted any more');
    const cut = connection.query({ method: 'getTime' }, call);
    const closing = server.close();
    await expect(cut).rejects.toMatchObject({ name: 'AdnlError', code: 'closed' });
    await closing;
    await expect(connection.query({ method: 'getTime' }, call)).rejects.toMatchObject({ name: 'AdnlError' });
    expect(connection.inFlight).toBe(0);
  });

  test('answers that nobody asked for end the connection, those that come late do not', async () => {
    const late: (() => void)[] = [];
    const server = await listenAdnl({ host: '127.0.0.1', port: 0, privateKey: SEED }, (channel) => {
      channel.onFrame((payload) => {
        const message = frames.decode(payload);
        if (message.kind !== 'adnl.message.query') return;
        const { queryId } = message;
        late.push(() => channel.send(frames.encode('adnl.message.answer', { queryId, answer: Buffer.alloc(8) })));
      });
    });
    closers.push(() => server.close());
    const connection = await client(server);
    const closed = new Promise<Error>((resolve) => connection.onClose(resolve));
    const ask = () => connection.query({ method: 'getTime' }, { ...call, timeoutMs: 20 }).catch((error) => error.name);
    const asked = await Promise.all(Array.from({ length: 2 * MOST_UNASKED }, ask));
    expect(new Set(asked)).toEqual(new Set(['LiteTimeoutError']));
    // Some are still on their way when nobody waits for them any more.
    await expect.poll(() => late.length).toBe(asked.length);
    for (const answer of late.splice(0)) answer();
    const again = connection.query({ method: 'getTime' }, call).catch((error) => error);
    await expect.poll(() => late.length).toBe(1);
    const [answer] = late;
    for (let n = 0; n < MOST_UNASKED + 2; n++) answer();
    await again;
    expect(await closed).toMatchObject({ code: 'flood' });
    expect(judge(await closed)).toEqual({ kind: 'fault', fault: 'flood' });
  });
});

describe('server', () => {
  test('tells unknown calls, malformed queries and its own faults apart', async () => {
    const faults: string[] = [];
    const server = await serve({ onFault: (error, method) => faults.push(`${method}: ${error}`) });
    const connection = await client(server);
    const state = connection.query({ method: 'getState', id }, call);
    await expect(state).rejects.toMatchObject({ code: 602, message: 'getState is not supported' });
    await expect(connection.exchange(Buffer.alloc(4), call)).rejects.toMatchObject({ code: 621 });
    const sent = connection.query({ method: 'sendMessage', body: Buffer.alloc(9) }, call);
    await expect(sent).rejects.toMatchObject({ code: 601, message: 'internal error: cannot take 9 bytes' });
    await expect(
      connection.query({ method: 'getTime' }, { ...call, wait: { seqno: 1, timeoutMs: 1 } }),
    ).rejects.toThrow('waiting is not supported');
    expect(faults).toEqual(['sendMessage: Error: cannot take 9 bytes']);
  });

  test('works on a limited number of calls of one connection at a time', async () => {
    let running = 0;
    let most = 0;
    const slow: LiteHandlers = {
      getTime: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 1));
        running--;
        return { now: 1 };
      },
    };
    const connection = await client(await serve({ maxInFlight: 3 }, slow));
    await Promise.all(Array.from({ length: 60 }, () => connection.query({ method: 'getTime' }, call)));
    expect(most).toBe(3);
  });

  test('takes up no more calls of a client that does not read', async () => {
    let served = 0;
    const server = await serve(
      { pauseAtBytes: 1 << 20 },
      {
        ...handlers,
        getBlock: () => {
          served++;
          return { id, data: Buffer.alloc(1 << 20) };
        },
      },
    );
    const address = { host: '127.0.0.1', port: server.port, publicKey: server.publicKey };
    const channel = await connectAdnl(address, never, { pingMs: 0 });
    closers.push(() => channel.close());
    channel.pause();
    const other = await client(server);
    const query = encodeEnvelope(encodeRequest({ method: 'getBlock', id }));
    for (let i = 0; i < 200; i++) {
      channel.send(frames.encode('adnl.message.query', { queryId: Buffer.alloc(32, i), query }));
    }
    // The other client's answers show that the server had its turns meanwhile.
    for (let i = 0; i < 20; i++) await other.query({ method: 'getTime' }, call);
    expect(served).toBeLessThan(100);
  });

  test('a frame that is no query ends the connection', async () => {
    const server = await serve();
    const address = { host: '127.0.0.1', port: server.port, publicKey: server.publicKey };
    const channel = await connectAdnl(address, never);
    const closed = new Promise<Error>((resolve) => channel.onClose(resolve));
    channel.onFrame(() => undefined);
    channel.send(Buffer.from('not a TL message'));
    expect(await closed).toMatchObject({ code: 'closed' });
  });
});
