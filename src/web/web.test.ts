import { connect } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type ApiServer, serveApi } from '../../test/api-server.ts';
import { createFakeSource } from '../../test/fake-source.ts';
import { commentBody, madeBlock, madeHead, madeMessage, madeTransaction } from '../../test/made-chain.ts';
import { contracts } from '../../test/made-contracts.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Status } from '../status.ts';
import { createWeb, type Web, type WebLimits } from './web.ts';

/** Longest wait for what comes by itself, on a machine that is busy with other tests. */
const PATIENCE = { timeout: 180_000, interval: 5 };

const STATUS: Status = {
  log: { mc_seqno: 7 },
  projected: { mc_seqno: 7 },
  lag_steps: 0,
  rows: {},
  waiting_contracts: 0,
  gaps: [],
};

let server: ApiServer;
let web: Web;
afterEach(async () => {
  web.close();
  await server.close();
});

async function start(limits: Partial<WebLimits> = {}, answers: Partial<ChainSource> = {}, network = 'none') {
  const { source } = createFakeSource({
    blocks: async () => ({ rows: [madeBlock({ mcSeqno: 7 })], nextCursor: null }),
    ...answers,
  });
  const head = madeHead(7);
  web = createWeb({
    source,
    status: async () => STATUS,
    head,
    globalId: () => -3,
    testnet: () => false,
    network,
    queryTimeoutMs: 1_000,
    maxRows: 7,
    report: () => undefined,
    limits: { chainEveryMs: 5, ...limits },
  });
  server = await serveApi(source, { web: web.router });
  return head;
}

const get = (path: string, init: RequestInit = {}) => fetch(server.url + path, init);

/** Reads events until one matches. */
async function readUntil(response: Response, pattern: RegExp): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (pattern.test(text)) return text;
  }
  throw new Error(`the events ended without ${pattern}:\n${text}`);
}

describe('page', () => {
  it.each([
    '/',
    '/tx/00',
    '/account/0:00',
    '/jetton/0:00',
    '/block/1',
    '/top/jettons',
    '/charts/hour',
    '/sql/editor',
    '/pipeline/now',
  ])('loads nothing from elsewhere, and every part of it is there, at %s', async (path) => {
    await start();
    const response = await get(path);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const page = await response.text();
    const asked = [...page.matchAll(/(?:src|href)="((?:\.\.\/)?web\/[^"]+)"/g)].map(([, part]) => part);
    expect(asked.length).toBeGreaterThan(3);
    const parts = new Set(asked.map((part) => new URL(part, `http://page${path}`).pathname));
    // Scripts that are found below are looked at in their turn.
    for (const part of parts) {
      const loaded = await get(part);
      expect(loaded.status, part).toBe(200);
      const text = await loaded.text();
      for (const [, imported] of text.matchAll(/from '\.\/(.*?)'/g)) parts.add(`/web/${imported}`);
      // The name of the SVG namespace is no address that is fetched.
      expect(text.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:\/\//);
      expect(text).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|\beval\b/);
    }
    expect(page).not.toMatch(/https?:\/\/|<style|<script>|\son[a-z]+=|style="/);
  });

  it('says how many rows its lists may ask for at once', async () => {
    await start();
    for (const path of ['/', '/block/7', '/top/jettons']) {
      expect(await (await get(path)).text()).toContain('<meta name="most-rows" content="7">');
    }
  });

  it('is at most 60 KB of script, all it loads together', async () => {
    await start();
    const scripts = new Set(['main.js']);
    let bytes = 0;
    for (const script of scripts) {
      const text = await (await get(`/web/${script}`)).text();
      bytes += Buffer.byteLength(text);
      for (const [, imported] of text.matchAll(/from '\.\/(.*?)'/g)) scripts.add(imported);
    }
    expect(scripts.size).toBeGreaterThan(5);
    expect(bytes).toBeLessThanOrEqual(60 * 1024);
  });

  it.each([
    ['/charts', 'charts/hour'],
    ['/charts/', 'hour'],
    ['/sql', 'sql/editor'],
    ['/top', 'top/accounts'],
    ['/pipeline', 'pipeline/now'],
    ['/block/7/', '../7'],
    ['/tx/a%2Fb%3D/', '../a%2Fb%3D'],
  ])('leads from %s to %s', async (path, target) => {
    await start();
    const response = await get(path, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([302, target]);
  });

  it('says the title and the facts without a script', async () => {
    await start(
      {},
      {
        accountStates: async () => {
          throw new Error('away');
        },
        contracts,
      },
    );
    expect(await (await get(`/jetton/0:${'7'.repeat(64)}`)).text()).toMatch(
      /<title>Jetton 0:7{64} · tonstream<\/title>.*<noscript>.*<dt>Mintable<\/dt><dd>(yes|no)<\/dd>.*<\/noscript>/s,
    );
    const page = await (await get('/block/7')).text();
    expect(page).toContain('<title>Masterchain block 7 · tonstream</title>');
    expect(page).toMatch(/<noscript>.*<dt>Time<\/dt><dd>2023-11-14 22:13:27 UTC<\/dd>.*<\/noscript>/s);
    for (const path of ['/block/x%3Cb%3E', '/tx/00', '/account/0:00', `/account/0:${'0'.repeat(64)}`, '/charts/hour']) {
      const response = await get(path);
      expect([path, response.status, (await response.text()).includes('<title>tonstream</title>')]).toEqual([
        path,
        200,
        true,
      ]);
    }
  });

  it('lets the browser run and load nothing but that', async () => {
    await start();
    const policy = (await get('/')).headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|data:|\*|https?:/);
  });

  it('is not sent again when the browser has it', async () => {
    await start();
    const tag = (await get('/web/main.js')).headers.get('etag') ?? '';
    const again = await get('/web/main.js', { headers: { 'if-none-match': tag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const other = await get('/web/main.js', { headers: { 'if-none-match': '"other"' } });
    expect(other.status).toBe(200);
  });

  it('leads to the pages of both APIs', async () => {
    await start();
    const text = await (await get('/')).text();
    for (const way of ['api/v3/', 'api/v2/']) {
      expect(text).toContain(`<a href="${way}">`);
      expect((await get(`/${way}`)).status).toBe(200);
    }
  });

  it.each(['/', '/live', '/web/main.js'])('refuses other methods at %s', async (path) => {
    await start();
    const response = await get(path, { method: 'POST' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  it('has nothing but its own files', async () => {
    await start();
    for (const path of ['/TX/00', '/web/', '/web/web.ts', '/web/..%2fweb.ts', '/web/nothing.js']) {
      expect((await get(path)).status, path).toBe(404);
    }
  });
});

describe('live events', () => {
  it('tell of the chain, and of the next step when it comes', async () => {
    const head = await start();
    const response = await get('/live');
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const reading = readUntil(response, /"head":8/);
    head.advance(8);
    const text = await reading;
    for (const kind of ['beat', 'service', 'status', 'chain']) expect(text).toContain(`event: ${kind}\n`);
  });

  it('stay one line each, whatever a comment says', async () => {
    const inMsg = madeMessage({ opcode: 0, bodyBoc: () => commentBody('a\n\nevent: status\ndata: {}\r\n\n<script>') });
    await start(
      {},
      {
        transactions: async () => ({
          rows: [madeTransaction({ name: 'a', mcSeqno: 7, transaction: { inMsg } })],
          nextCursor: null,
        }),
      },
    );
    const text = await readUntil(await get('/live'), /event: chain\ndata: .*\n\n/);
    expect(text).not.toContain('\nevent: status\ndata: {}\r');
    for (const line of text.split('\n')) expect(line).toMatch(/^(id: \d+|event: \w+|data: [{[].*[}\]]|)$/);
  });

  it('are refused to one too many, and given again when one has left', async () => {
    await start({ maxListeners: 1 });
    const leave = new AbortController();
    await get('/live', { signal: leave.signal });
    const refused = await get('/live');
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toEqual({ error: expect.stringContaining('as many pages') });
    leave.abort();
    await vi.waitFor(async () => {
      const again = await get('/live');
      expect(again.status).toBe(200);
      await again.body?.cancel();
    }, PATIENCE);
  });

  it.each([
    ['none', 'none'],
    ['devnet', 'devnet'],
    ['/etc/secret/network.json', 'custom'],
  ])('tell of the network %s as %s', async (network, told) => {
    await start({}, {}, network);
    const text = await readUntil(await get('/live'), /event: service\ndata: .*\n/);
    expect(text).toContain(`data: {"network":"${told}"}`);
    expect(text).not.toContain('secret');
  });

  it('do not count a HEAD request as a listener', async () => {
    await start({ maxListeners: 1 });
    for (let n = 0; n < 3; n++) {
      const response = await get('/live', { method: 'HEAD' });
      expect([response.status, await response.text()]).toEqual([200, '']);
    }
  });

  it('end when the service stops, and the server with them', async () => {
    await start();
    const response = await get('/live');
    const all = response.text();
    web.close();
    expect(await all).toContain('event: beat');
    expect((await get('/live')).status).toBe(503);
  });

  it('are taken from a reader that reads nothing', async () => {
    const transactions = Array.from({ length: 20 }, (_, n) => {
      const inMsg = madeMessage({ opcode: 0, bodyBoc: () => commentBody('…'.repeat(160)) });
      return madeTransaction({ name: `tx ${n}`, mcSeqno: 7, transaction: { inMsg } });
    });
    const blocks = Array.from({ length: 150 }, (_, n) => madeBlock({ workchain: 0, seqno: n, mcSeqno: 7 }));
    const head = await start(
      { maxListeners: 1, beatMs: 20, stallMs: 100, chainEveryMs: 0 },
      {
        blocks: async () => ({ rows: blocks, nextCursor: null }),
        transactions: async () => ({ rows: transactions, nextCursor: null }),
      },
    );
    const reader = connect(server.port, '127.0.0.1');
    reader.on('error', () => undefined);
    reader.pause();
    reader.write('GET /live HTTP/1.1\r\nHost: a\r\n\r\n');
    const room = async () => (await get('/live', { method: 'HEAD' })).status;
    await vi.waitFor(async () => expect(await room()).toBe(503), PATIENCE);
    // Steps go on until the buffers of the system are full.
    const steps = setInterval(() => head.advance(head.seqno + 1), 1);
    try {
      await vi.waitFor(async () => expect(await room()).toBe(200), { ...PATIENCE, interval: 50 });
    } finally {
      clearInterval(steps);
      reader.destroy();
    }
  });
});
