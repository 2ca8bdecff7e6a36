/** Tags, packing and sharing as a client sees them. */
import { type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { Overloaded } from '../../clickhouse/gate.ts';
import { type ApiServer, serveApi } from '../../test/api-server.ts';
import { createFakeSource } from '../../test/fake-source.ts';
import { madeBlock, madeMessage, madeTransaction } from '../../test/made-chain.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { MessageRecord } from '../chain/records.ts';
import type { AppOptions } from './app.ts';

const HASH = 'ab'.repeat(32);
const ROW = madeTransaction({ name: 'a', mcSeqno: 1 });
const KEPT = { answers: 1024 * 1024, renderings: 0 };

let server: ApiServer;
afterEach(() => server.close());

async function start(answers: Partial<ChainSource>, options: Partial<AppOptions> = {}) {
  const fake = createFakeSource(answers);
  server = await serveApi(fake.source, options);
  return fake;
}

interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Without a client's own packing and unpacking. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Received> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}/api/v3/${path}`, { headers, method, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('tags', () => {
  const block = madeBlock({ mcSeqno: 7 });
  const found = { transactions: async () => ({ rows: [ROW], nextCursor: null }) };

  it.each(['masterchainInfo', `transactions?hash=${HASH}`, `blocks?root_hash=${HASH}`, `blocks?file_hash=${HASH}`])(
    '%s: 304 while it is the same',
    async (path) => {
      await start({
        ...found,
        masterchainInfo: async () => ({ first: block, last: block }),
        blocks: async () => ({ rows: [block], nextCursor: null }),
      });
      const { status, headers } = await get(path);
      expect(status).toBe(200);
      expect(headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
      const tag = headers.etag ?? '';
      for (const known of [tag, `"other", ${tag}`, tag.slice(2), '*']) {
        const again = await get(path, { 'If-None-Match': known });
        expect([again.status, again.headers.etag, again.body.length]).toEqual([304, tag, 0]);
        expect(again.headers['content-length']).toBeUndefined();
      }
      expect((await get(path, { 'If-None-Match': 'W/"other"' })).status).toBe(200);
      expect((await get(path, { 'If-None-Match': tag }, 'HEAD')).status).toBe(304);
    },
  );

  it('changes when a message is received later', async () => {
    const message: MessageRecord = { message: madeMessage(), globalVersion: 9, inTxHash: null, outTxHash: null };
    let received = message;
    await start({ messages: async () => ({ rows: [received], nextCursor: null }) });
    const path = `messages?msg_hash=${HASH}`;
    const { headers } = await get(path);
    received = { ...message, inTxHash: Buffer.alloc(32, 1) };
    const later = await get(path, { 'If-None-Match': headers.etag ?? '' });
    expect(later.status).toBe(200);
    expect(later.headers.etag).not.toBe(headers.etag);
    expect(later.body.toString()).toContain('in_msg_tx_hash');
  });

  it('is not on listings and failures', async () => {
    await start(found);
    for (const [path, status] of [
      ['transactions', 200],
      ['transactions?hash=nonsense', 422],
      [`adjacentTransactions?hash=${HASH}`, 404],
    ] as const) {
      const answer = await get(path, { 'If-None-Match': '*' });
      expect([answer.status, answer.headers.etag]).toEqual([status, undefined]);
    }
  });
});

describe('keeping', () => {
  it.each([0, 1, 1025])('goes by any number of bytes: %i', async (renderings) => {
    await start(
      { transactions: async () => ({ rows: [ROW], nextCursor: null }) },
      { kept: { answers: 0, renderings } },
    );
    for (let time = 0; time < 2; time++) expect((await get('transactions')).status).toBe(200);
  });
});

describe('packing', () => {
  const pageOf = (count: number) => ({
    transactions: async () => ({ rows: Array.from({ length: count }, () => ROW), nextCursor: null }),
  });

  it.each([
    ['gzip, deflate', 'gzip', gunzipSync],
    ['gzip, deflate, br', 'br', brotliDecompressSync],
  ] as const)('of a large answer for %j is %s', async (accepted, encoding, unpack) => {
    await start(pageOf(100));
    const plain = await get('transactions');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.body.length).toBeGreaterThan(64 * 1024);
    const packed = await get('transactions', { 'Accept-Encoding': accepted });
    expect(packed.headers).toMatchObject({
      'content-encoding': encoding,
      vary: 'Accept-Encoding',
      'content-type': 'application/json',
      'content-length': String(packed.body.length),
    });
    expect(packed.body.length).toBeLessThan(plain.body.length / 10);
    expect(unpack(packed.body).equals(plain.body)).toBe(true);
    const head = await get('transactions', { 'Accept-Encoding': accepted }, 'HEAD');
    expect(head.body.length).toBe(0);
    expect(head.headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(packed.body.length),
    });
  });

  it('of a small one, or for who refuses it, is not done', async () => {
    await start(pageOf(1));
    const small = await get('transactions', { 'Accept-Encoding': 'gzip, br' });
    expect(small.headers['content-encoding']).toBeUndefined();
    expect(small.headers.vary).toBe('Accept-Encoding');
    expect(JSON.parse(small.body.toString())).toMatchObject({ transactions: [{ lt: '1000000' }] });
    await server.close();
    await start(pageOf(100));
    const refused = await get('transactions', { 'Accept-Encoding': 'gzip;q=0, identity' });
    expect(refused.headers['content-length']).toBe(String(refused.body.length));
  });

  it('has one tag for all forms of an answer', async () => {
    await start(pageOf(100));
    const path = `transactions?hash=${HASH}`;
    const [plain, packed] = [await get(path), await get(path, { 'Accept-Encoding': 'gzip' })];
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.headers.etag).toBe(plain.headers.etag);
    // A tag of one form may be known to a client that asks for the other: it must be a weak one.
    expect(packed.headers.etag).toMatch(/^W\/"[\w-]+"$/);
  });

  it('of many at once leaves the rest plain, and every one whole', async () => {
    const { asked } = await start(pageOf(400));
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => get(`transactions?limit=${i + 1}`, { 'Accept-Encoding': 'gzip' })),
    );
    const bodies = answers.map(({ headers, body }) => (headers['content-encoding'] ? gunzipSync(body) : body));
    for (const body of bodies) expect(body.equals(bodies[0])).toBe(true);
    expect(asked.filter(({ method }) => method === 'transactions')).toHaveLength(12);
  });
});

describe('sharing', () => {
  /** A source that answers when told, and how often it was asked. */
  function slowSource() {
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let asked = 0;
    const answers: Partial<ChainSource> = {
      async transactions() {
        asked++;
        await opened;
        return { rows: [ROW], nextCursor: null };
      },
    };
    return { answers, open: () => open(), asked: () => asked };
  }

  it('asks the source once for the same question, however it is spelled', async () => {
    const slow = slowSource();
    const metrics = new Registry();
    await start(slow.answers, { version: () => '1', kept: KEPT, metrics });
    const spellings = ['limit=5&sort=desc', 'sort=desc&limit=5', 'x=1&limit=5&sort=desc', 'limit=5&sort=desc'];
    const answers = Promise.all(spellings.map((query) => get(`transactions?${query}`)));
    const other = get('transactions?limit=6&sort=desc');
    while (slow.asked() < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 50));
    slow.open();
    const bodies = (await answers).map(({ body }) => body.toString());
    expect(new Set(bodies).size).toBe(1);
    expect((await other).status).toBe(200);
    expect(slow.asked()).toBe(2);
    const text = await metrics.metrics();
    expect(text).toContain('tonstream_api_answers_total{outcome="made"} 2');
  });

  it('does not mix questions that differ', async () => {
    const { asked } = await start({}, { version: () => '1', kept: KEPT });
    const count = () => asked.filter(({ method }) => method === 'transactions').length;
    const paths = ['', '?limit=1', '?hash=', '?limit=1&limit=2', '?limit=2&limit=1', '?account=&limit=1'];
    for (const path of paths) await get(`transactions${path}`);
    expect(count()).toBe(paths.length);
    await get('transactions', { 'X-No-Address-Book': 'true' });
    await get('transactions', { 'X-Timeout': '50' });
    expect(count()).toBe(paths.length + 2);
    for (const path of paths) await get(`transactions${path}`);
    expect(count()).toBe(paths.length + 2);
  });

  it('asks again once the chain has moved on', async () => {
    let head = 1;
    let asked = 0;
    const masterchainInfo = async () => {
      asked++;
      const block = madeBlock({ mcSeqno: head });
      return { first: block, last: block };
    };
    await start({ masterchainInfo }, { version: () => String(head), kept: KEPT });
    const seqno = async (): Promise<unknown> => JSON.parse((await get('masterchainInfo')).body.toString()).last.seqno;
    expect([await seqno(), await seqno(), asked]).toEqual([1, 1, 1]);
    head = 2;
    expect([await seqno(), await seqno(), asked]).toEqual([2, 2, 2]);
  });

  it('goes on for the others when the one who asked first hangs up', async () => {
    const slow = slowSource();
    const metrics = new Registry();
    await start(slow.answers, { version: () => '1', kept: KEPT, metrics });
    const first = request(`${server.url}/api/v3/transactions`, { agent: false });
    first.on('error', () => undefined);
    first.end();
    while (slow.asked() < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    const second = get('transactions');
    const shares = 'tonstream_api_answers_total{outcome="shared"} 1';
    while (!(await metrics.metrics()).includes(shares)) await new Promise((resolve) => setTimeout(resolve, 5));
    first.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    slow.open();
    expect((await second).status).toBe(200);
    expect(slow.asked()).toBe(1);
    expect(server.reported).toEqual([]);
  });

  it('does not keep failures', async () => {
    let failing = true;
    const transactions = async () => {
      if (failing) throw new Overloaded(1, 1);
      return { rows: [], nextCursor: null };
    };
    await start({ transactions }, { version: () => '1', kept: KEPT });
    expect((await get('transactions')).status).toBe(429);
    failing = false;
    expect((await get('transactions')).status).toBe(200);
  });
});
