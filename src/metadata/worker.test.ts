/** From URIs that tokens name over the log into the table, and back to who asks. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { createQueryGate } from '../../clickhouse/gate.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { documentQueries } from '../../clickhouse/queries/documents.ts';
import { createHead } from '../../clickhouse/queries/head.ts';
import { createReading } from '../../clickhouse/queries/reading.ts';
import { jettonMasters } from '../../clickhouse/tables/jettons.ts';
import { insertRows, silent, startTestServer, type TestServer } from '../../clickhouse/test-server.ts';
import { decodeDocument, encodeDocument } from '../../streams/document-record.ts';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import type { EventLog } from '../../streams/log.ts';
import { projectDocuments } from '../../streams/project/documents.ts';
import { topicNames } from '../../streams/topics.ts';
import { processStart } from '../../streams/writer-lock.ts';
import { tableHashes } from '../../test/table-hashes.ts';
import { addressOf } from '../chain/address.ts';
import type { Fetched } from './fetcher.ts';
import { type Fetched as Stale, staleDocuments } from './stale.ts';
import { createWanted } from './wanted.ts';
import { fetchDocuments } from './worker.ts';

const topic = topicNames().documents;
const IPFS = 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG';
const GATEWAYS = ['https://one.example/ipfs/', 'https://two.example/ipfs/'];
const URIS = [
  'https://good.example',
  'https://absent.example',
  'https://slow.example',
  IPFS,
  'ftp://nowhere',
  "it's \\ odd",
];
/** All that the tests write is below it. */
const HEAD = { seqno: 1_000, refresh: async () => undefined };
const { signal } = new AbortController();
let folder: string;
let log: EventLog;
let server: TestServer;
let clickhouse: ClickHouse;

async function tables(database: string): Promise<ClickHouse> {
  const made = createClickHouse({ url: server.server.url, database, logger: silent });
  await migrate({ clickhouse: made, logger: silent });
  return made;
}

/** A jetton for each of the URIs, in the tables of these steps. */
async function nameAll(uris: readonly string[], firstStep: number): Promise<void> {
  const rows = uris.map((uri, i) => ({
    address: addressOf(0, Buffer.alloc(32, firstStep + i)),
    id: String(firstStep + i),
    mcSeqno: firstStep + Math.floor(i / 2),
    lastTransactionLt: '1',
    codeHash: Buffer.alloc(32, 1),
    dataHash: Buffer.alloc(32, 2),
    totalSupply: '0',
    mintable: false,
    adminAddress: null,
    jettonContent: JSON.stringify({ uri, symbol: 'X' }),
    jettonWalletCodeHash: Buffer.alloc(32, 3),
  }));
  await insertRows(clickhouse, jettonMasters, rows);
}

const requests = new Map<string, number>();

/** A web of which only some is there: slow.example answers the second time. */
async function web(url: string): Promise<Fetched> {
  const times = (requests.get(url) ?? 0) + 1;
  requests.set(url, times);
  if (url === 'https://slow.example/' && times === 1) return { kind: 'away', reason: 'not yet' };
  if (url.includes('absent') || url.startsWith(GATEWAYS[0])) return { kind: 'lost', reason: 'answered 404' };
  return { kind: 'found', content: { name: url } };
}

let stale: (signal: AbortSignal) => Promise<Stale[]> = async () => [];

/** Works until so many documents are in the log. */
async function work(until: number): Promise<string[]> {
  const stop = new AbortController();
  const events: string[] = [];
  const options = {
    log,
    topic,
    wanted: createWanted(clickhouse, HEAD),
    stale: (aborted: AbortSignal) => stale(aborted),
    fetcher: { fetch: web, close: () => undefined },
    gateways: GATEWAYS,
    concurrency: 3,
    logger: silent,
    pausesMs: [1],
    pollMs: 5,
    stalePollMs: 5,
    onEvent: (event: string) => events.push(event),
  };
  const working = fetchDocuments(options, stop.signal);
  while ((await log.end(topic)) < until) await Promise.race([working, new Promise((done) => setTimeout(done, 5))]);
  stop.abort();
  await working;
  return events.sort();
}

const logged = async () =>
  new Map(
    (await log.last(topic, 100)).map((record) => decodeDocument(record, topic)).map((one) => [one.uri, one.content]),
  );
const project = (into: ClickHouse) =>
  projectDocuments(
    { log, topic, clickhouse: into, continuous: false, onTrouble: () => undefined, onUnreadable: () => undefined },
    signal,
  );

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-documents-'));
  log = openEmbeddedLog({ folder });
  server = await startTestServer();
  clickhouse = await tables('documents');
});

afterAll(async () => {
  await clickhouse?.close();
  await server?.remove();
  await log?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('documents of tokens', () => {
  it('are fetched into the log, those that nobody has as none', async () => {
    await nameAll([...URIS, URIS[0]], 10);
    expect(await work(URIS.length)).toEqual(['away', 'found', 'found', 'found', 'lost', 'lost', 'lost']);
    expect(await logged()).toEqual(
      new Map([
        ['https://good.example', { name: 'https://good.example/' }],
        ['https://absent.example', null],
        ['https://slow.example', { name: 'https://slow.example/' }],
        [IPFS, { name: `${GATEWAYS[1]}${IPFS.slice(7)}` }],
        ['ftp://nowhere', null],
        ["it's \\ odd", null],
      ]),
    );
  });

  it('are not fetched again once the tables have them, and new ones are', async () => {
    await project(clickhouse);
    requests.clear();
    await nameAll(['https://new.example', 'https://good.example'], 30);
    expect(await work(URIS.length + 1)).toEqual(['found']);
    expect([...requests]).toEqual([['https://new.example/', 1]]);
  });

  it('follow from the log alone, however often they are projected, past a record that is none', async () => {
    await log.append(topic, [{ key: 'x', headers: {}, value: Buffer.from('x') }]);
    const newer = { uri: 'https://good.example', content: { name: 'newer' }, fetchedAt: 7, failures: 0 };
    await log.append(topic, [encodeDocument(newer)]);
    await project(clickhouse);
    await project(clickhouse);
    const again = await tables('documents_again');
    await project(again);
    const hashes = (await tableHashes(again)).documents;
    expect(hashes).toMatch(/^7 rows/);
    expect((await tableHashes(clickhouse)).documents).toBe(hashes);
    await again.close();
  });

  it('come again where the tables have lost them, whatever they remember of the insert', async () => {
    const losing = await tables('documents_lost');
    await project(losing);
    const hashes = (await tableHashes(losing)).documents;
    // A mutation leaves the tokens, as a kill between token and rows does.
    await losing.command('ALTER TABLE documents DELETE WHERE true SETTINGS mutations_sync = 1');
    expect((await tableHashes(losing)).documents).toMatch(/^0 rows/);
    await project(losing);
    expect((await tableHashes(losing)).documents).toBe(hashes);
    await losing.close();
  });

  it('are inserted again at once where a killed server loses them, for a rebuild reads them but once', async () => {
    const losing = await tables('documents_lost_at_once');
    let inserts = 0;
    await project({
      ...losing,
      async insert(...asked) {
        if (++inserts > 1) await losing.insert(...asked);
      },
    });
    expect(inserts).toBe(2);
    expect((await tableHashes(losing)).documents).toBe((await tableHashes(clickhouse)).documents);
    await losing.close();
  });

  it('are told to who asks', async () => {
    const gate = createQueryGate({ maxConcurrent: 4, maxQueued: 10 });
    const { documents } = documentQueries(createReading(clickhouse, gate, createHead(clickhouse)));
    const context = { signal, timeoutMs: 10_000 };
    const expected = new Map([
      ['https://good.example', { content: '{"name":"newer"}' }],
      ['https://absent.example', { content: null }],
    ]);
    const uris = ['https://good.example', 'https://absent.example', 'https://never.example'];
    expect(await documents(uris, context)).toEqual(expected);
    expect(await documents(uris, context)).toEqual(expected);
  });
});

describe('of two that fetch into one log in a folder', () => {
  it('the later one is refused before it asks anybody, and the other one keeps its lock', async () => {
    const topicOfOther = topicNames('other').documents;
    const lock = join(folder, `${topicOfOther}.writer`);
    const other = JSON.stringify({ pid: process.ppid, started: processStart(process.ppid), threads: [0] });
    writeFileSync(lock, other);
    const asked: string[] = [];
    const wanted = [['https://good.example']];
    const fetching = fetchDocuments(
      {
        log,
        topic: topicOfOther,
        wanted: { next: async () => wanted.shift() ?? [] },
        stale: async () => [],
        fetcher: {
          async fetch(url) {
            asked.push(url);
            return { kind: 'found', content: {} };
          },
          close: () => undefined,
        },
        gateways: GATEWAYS,
        concurrency: 3,
        logger: silent,
        onEvent: () => undefined,
      },
      signal,
    );
    await expect(fetching).rejects.toMatchObject({
      code: 'writer_busy',
      message: `topic ${topicOfOther} of ${folder} is being written by process ${process.ppid}; stop it first`,
    });
    expect(asked).toEqual([]);
    expect(readFileSync(lock, 'utf8')).toBe(other);
  });
});

describe('hosts', () => {
  it('that do not answer hold up nobody else: neither who waits behind them nor who is named later', async () => {
    const logOfThem = topicNames('slow').documents;
    const stop = new AbortController();
    const dead = Array.from({ length: 1_000 }, (_, n) => `https://dead.example/${n}`);
    const batches = [[...dead, 'https://behind.example'], ['https://later.example']];
    const old = [[{ uri: 'https://old.example', content: null, failures: 1 }]];
    const asked: string[] = [];
    let most = 0;
    let open = 0;
    const answers = async (url: string, aborted: AbortSignal): Promise<Fetched> => {
      asked.push(url);
      if (!url.startsWith('https://dead')) return { kind: 'found', content: {} };
      most = Math.max(most, ++open);
      await new Promise((resolve) => aborted.addEventListener('abort', resolve));
      return { kind: 'away', reason: 'over' };
    };
    const working = fetchDocuments(
      {
        log,
        topic: logOfThem,
        wanted: { next: async () => batches.shift() ?? [] },
        stale: async () => old.shift() ?? [],
        fetcher: { fetch: answers, close: () => undefined },
        gateways: GATEWAYS,
        concurrency: 16,
        logger: silent,
        pollMs: 5,
        stalePollMs: 5,
        onEvent: () => undefined,
      },
      stop.signal,
    );
    const others = () => asked.filter((url) => !url.startsWith('https://dead'));
    await expect.poll(others).toHaveLength(3);
    expect(others()).toEqual(['https://behind.example/', 'https://later.example/', 'https://old.example/']);
    expect(most).toBe(4);
    stop.abort();
    await working;
  });
});

describe('URIs that tokens name', () => {
  it('are told once each, however many a step or the tables have, up to the head', async () => {
    const many = await tables('wanted');
    const [IN_ONE_STEP, OTHERS, HEAD_STEP, LAST] = [12_000, 15_000, 2_000_000, 3_000_000];
    const insert = (count: number, name: string, step: string): Promise<void> =>
      many.command(`INSERT INTO nft_items (address, id, mc_seqno, content)
        SELECT toFixedString(concat(unhex('80000000'), SHA256('${name}' || toString(number))), 36), number, ${step},
          '{"uri":"${name}' || toString(intDiv(number, 2)) || '"}' FROM numbers(${count})`);
    await insert(2 * IN_ONE_STEP, 'one-', '77');
    await insert(2 * OTHERS, 'other-', `toUInt32(100 + intDiv(number, 2) * 100)`);
    await insert(1, 'last-', String(LAST));
    let refreshed = 0;
    const head = { seqno: HEAD_STEP, refresh: async () => void refreshed++ };
    const wanted = createWanted(many, head);
    const told: string[] = [];
    const batches: number[] = [];
    for (;;) {
      const some = await wanted.next(signal);
      if (some.length === 0) break;
      batches.push(some.length);
      told.push(...some);
    }
    const expected = [
      ...Array.from({ length: IN_ONE_STEP }, (_, n) => `one-${n}`),
      ...Array.from({ length: OTHERS }, (_, n) => `other-${n}`),
    ];
    expect(told.toSorted()).toEqual(expected.toSorted());
    expect(batches.filter((size) => size > 10_000)).toEqual([IN_ONE_STEP]);
    expect(refreshed).toBe(batches.length + 1);
    head.seqno = LAST;
    expect(await wanted.next(signal)).toEqual(['last-0']);
    expect(await wanted.next(signal)).toEqual([]);
    await many.close();
  });
});

describe('documents that were fetched long ago', () => {
  const DAY = 86_400;
  const AGE = 30 * DAY;
  const uris = ['https://good.example', 'https://absent.example', 'https://gone.example', IPFS];
  const at = (days: number) => staleDocuments(clickhouse, AGE, 1_000 + days * DAY, signal);
  const due = async (days: number) => (await at(days)).map(({ uri }) => uri).filter((uri) => uris.includes(uri));

  /** In the log and the table, of that day. */
  async function fetched(uri: string, content: Record<string, unknown> | null, failures: number, day: number) {
    await log.append(topic, [encodeDocument({ uri, content, failures, fetchedAt: 1_000 + day * DAY })]);
    await project(clickhouse);
  }

  it('are due at their age, those that failed sooner, what ipfs names never', async () => {
    await fetched(uris[0], { name: 'good' }, 0, 0);
    await fetched(uris[1], null, 1, 0);
    await fetched(uris[2], { name: 'gone' }, 3, 0);
    await fetched(IPFS, { name: 'ipfs' }, 0, 0);
    expect(await due(0.9)).toEqual([]);
    expect(await due(1)).toEqual([uris[1]]);
    expect((await due(4)).sort()).toEqual([uris[1], uris[2]].sort());
    expect((await due(30)).sort()).toEqual(uris.slice(0, 3).sort());
    await fetched(uris[2], { name: 'gone' }, 255, 0);
    expect((await due(29)).includes(uris[2])).toBe(false);
    expect((await due(30)).includes(uris[2])).toBe(true);
    expect((await at(30)).find(({ uri }) => uri === uris[2])).toMatchObject({
      content: { name: 'gone' },
      failures: 255,
    });
  });

  it('are fetched once more: new content counts, and what is gone stays as it was', async () => {
    const before = await log.end(topic);
    stale = async () => [
      { uri: uris[0], content: { name: 'old' }, failures: 2 },
      { uri: uris[1], content: { name: 'was there' }, failures: 0 },
    ];
    expect(await work(before + 2)).toEqual(['found', 'lost']);
    const records = (await log.last(topic, 2)).map((record) => decodeDocument(record, topic));
    expect(Object.fromEntries(records.map(({ uri, content, failures }) => [uri, { content, failures }]))).toEqual({
      [uris[0]]: { content: { name: `${uris[0]}/` }, failures: 0 },
      [uris[1]]: { content: { name: 'was there' }, failures: 1 },
    });
  });
});
