/** A log that begins in the middle of a chain's life: masters and collections it never shows are asked of a liteserver. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cell, Address as CoreAddress } from '@ton/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { RowReader } from '../clickhouse/rowbinary.ts';
import { MIGRATED, startMigratedServer } from '../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../clickhouse/test-server.ts';
import { rawAddress } from '../src/chain/address.ts';
import type { Address } from '../src/chain/model.ts';
import { runVerify } from '../src/commands/verify.ts';
import { readConfig } from '../src/config.ts';
import { chainLedger } from '../src/devnet/chain-ledger.ts';
import { jettonWalletCode, readJettonWallet } from '../src/devnet/contracts/jettons.ts';
import { nftItemCode, readNftItem } from '../src/devnet/contracts/nfts.ts';
import { type OpenLiteserver, openLiteserver } from '../src/devnet/liteserver/open.ts';
import { parseGlobalConfig } from '../src/node/global-config.ts';
import { createLitePool, type LitePool } from '../src/node/lite-pool.ts';
import { decodeCellEnvelope } from '../streams/cell-record.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { ingest } from '../streams/ingest/follow.ts';
import { ingestOptions } from '../streams/ingest/options.ts';
import type { EventLog } from '../streams/log.ts';
import { decodeMissing } from '../streams/missing.ts';
import type { ProjectorOptions } from '../streams/project/options.ts';
import { project } from '../streams/project/projector.ts';
import { topicNames } from '../streams/topics.ts';
import { drawn, rounds } from './chance.ts';
import { cloneTables } from './cloned-tables.ts';
import { runCommand } from './command-line.ts';
import { createPeopledDevnet, type PeopledDevnet } from './peopled-devnet.ts';
import { until } from './stack.ts';
import { tableHashes } from './table-hashes.ts';

const topics = topicNames();
const SEED = 'learned contracts';
/** The database of which the others are made. */
/** Steps before the log begins; people send between the first and the last. */
const BEFORE = 6;
const BUSY_TO = 18;
let folder: string;
let devnet: PeopledDevnet;
let liteserver: OpenLiteserver;
let pool: LitePool;
let log: EventLog;
let server: TestServer;
let clickhouse: ClickHouse;
let running: { stop: AbortController; parts: Promise<void>[] };
const { config } = readConfig(['--batch-ms', '10'], {});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-devnet-learned-'));
  // Masters and collections are touched by none of these.
  const weights = { transfer: 1, jettonPayment: 4, giveItem: 3 } as const;
  devnet = await createPeopledDevnet(SEED, 8, { weights, rests: (mcSeqno) => mcSeqno > BUSY_TO });
  liteserver = await openLiteserver(devnet.chain, { host: '127.0.0.1', port: 0, seed: SEED });
  pool = createLitePool(parseGlobalConfig(JSON.parse(liteserver.globalConfig)), { logger: silent });
  log = openEmbeddedLog({ folder: join(folder, 'log') });
  server = await startMigratedServer();
  clickhouse = await emptyTables('learned');
  for (let n = 0; n < BEFORE; n++) await devnet.step();
  running = start();
  await follow(BUSY_TO);
});

afterAll(async () => {
  await stop();
  await clickhouse?.close();
  await server?.remove();
  await log?.close();
  await pool?.close();
  await liteserver?.close();
  devnet?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Of a database of the server, which need not be there yet. */
const opened = (database: string): ClickHouse => createClickHouse({ url: server.server.url, database, logger: silent });

/** Tables with nothing in them. */
async function emptyTables(database: string): Promise<ClickHouse> {
  const made = opened(database);
  await cloneTables(made, MIGRATED);
  return made;
}

let seen = 0;

function start() {
  const ending = new AbortController();
  const { signal } = ending;
  const options = { from: 'head', source: 'devnet', ...ingestOptions(config) } as const;
  const onProgress: ProjectorOptions['onProgress'] = ({ batch }) => {
    seen = batch.mcSeqno;
  };
  const parts = [
    ingest({ log, topics, node: pool, options, logger: silent }, signal),
    project({ log, topics, clickhouse, config, logger: silent, names: true, onProgress }, signal),
  ];
  for (const one of parts) one.catch(() => undefined);
  return { stop: ending, parts };
}

async function stop(): Promise<void> {
  running?.stop.abort();
  await Promise.allSettled(running?.parts ?? []);
}

const meanwhile = <T>(what: string, ask: () => Promise<T | null>): Promise<T> =>
  Promise.race([
    until(what, ask),
    ...running.parts.map((one) => one.then(() => Promise.reject(new Error('a part ended')))),
  ]);

/** Further steps of the devnet, each projected before the next. */
async function follow(mcSeqno: number): Promise<void> {
  while (devnet.chain.head().mc.seqno < mcSeqno) {
    const step = await devnet.step();
    await meanwhile(`step ${step.mc.seqno}`, async () => (seen >= step.mc.seqno ? true : null));
  }
}

async function addressesOf(sql: string): Promise<Set<string>> {
  const rows = new RowReader(await clickhouse.query(sql));
  const found = new Set<string>();
  while (!rows.done) found.add(rawAddress(Buffer.from(rows.fixed(36))).toLowerCase());
  return found;
}

/** Accounts that the log shows with this code, and what the chain has as their data. */
async function shownWith(code: Cell): Promise<Map<string, Cell>> {
  const hash = code.hash().toString('hex');
  const ledger = chainLedger(devnet.chain);
  const found = new Map<string, Cell>();
  const sql = `SELECT account FROM accounts FINAL WHERE code_hash = unhex('${hash}') AND account IN (SELECT account FROM transactions)`;
  for (const address of await addressesOf(sql)) {
    const account = await ledger.account(CoreAddress.parseRaw(address));
    if (account?.data) found.set(address, account.data);
  }
  return found;
}

const lower = (address: CoreAddress | null | undefined): string => address?.toRawString().toLowerCase() ?? 'none';

/** `address owner master` of each wallet in the tables, or of each item with its collection. */
async function listed(table: string, columns: string): Promise<string[]> {
  const rows = new RowReader(await clickhouse.query(`SELECT address, ${columns} FROM ${table} FINAL`));
  const found: string[] = [];
  const next = (): Address => Buffer.from(rows.fixed(36));
  while (!rows.done) found.push([next(), next(), next()].map((one) => rawAddress(one).toLowerCase()).join(' '));
  return found.sort();
}

async function learned(): Promise<string[]> {
  const records = (await log.last(topics.cells, 10_000)).map((record) => decodeCellEnvelope(record, topics.cells));
  return records.flatMap(({ kind, account }) =>
    kind === 'account' && account ? rawAddress(account).toLowerCase() : [],
  );
}

const shown = (): Promise<Set<string>> => addressesOf('SELECT DISTINCT account FROM transactions');

describe('contracts whose masters and collections the log never showed', () => {
  it('are listed as the chain has them once a liteserver has told of those', async () => {
    const wallets = await shownWith(jettonWalletCode);
    const items = await shownWith(nftItemCode);
    expect(wallets.size).toBeGreaterThan(5);
    expect(items.size).toBeGreaterThan(1);
    const masters = new Set([...wallets.values()].map((data) => lower(readJettonWallet(data).master)));
    const collections = new Set([...items.values()].map((data) => lower(readNftItem(data)?.collection)));
    const transacted = await shown();
    const unseen = [...masters, ...collections].filter((one) => !transacted.has(one));
    expect(unseen.length).toBeGreaterThan(1);
    await meanwhile('the answers', async () => {
      const told = new Set(await learned());
      return unseen.every((one) => told.has(one)) ? true : null;
    });
    // What an answer brings counts from the next step on.
    await follow(devnet.chain.head().mc.seqno + 2);

    const expected = (found: Map<string, Cell>, tie: (data: Cell) => string) =>
      [...found].map(([address, data]) => `${address} ${tie(data)}`).sort();
    const walletTie = (data: Cell) => `${lower(readJettonWallet(data).owner)} ${lower(readJettonWallet(data).master)}`;
    const itemTie = (data: Cell) => `${lower(readNftItem(data)?.owner)} ${lower(readNftItem(data)?.collection)}`;
    expect(await listed('jetton_wallets', 'owner, jetton')).toEqual(expected(wallets, walletTie));
    expect(await listed('nft_items', 'owner_address, collection_address')).toEqual(expected(items, itemTie));
    for (const [table, wanted] of [
      ['jetton_masters', masters],
      ['nft_collections', collections],
    ] as const) {
      expect([...(await addressesOf(`SELECT address FROM ${table} FINAL`))]).toEqual(
        expect.arrayContaining([...wanted]),
      );
    }
    expect((await learned()).filter((one) => transacted.has(one))).toEqual([]);
    const waiting = await addressesOf('SELECT missing FROM contract_waits FINAL WHERE waits');
    expect([...waiting].filter((one) => masters.has(one) || collections.has(one))).toEqual([]);
  });

  it('are asked for once, also by processes that are started again', async () => {
    const before = await learned();
    await stop();
    running = start();
    const seqno = devnet.chain.head().mc.seqno;
    await follow(seqno + 2);
    expect(await learned()).toEqual(before);
    expect(new Set(before).size).toBe(before.length);
    const named = (await log.last(topics.missing, 10_000)).map((record) => decodeMissing(record, topics.missing));
    expect(named.length).toBeGreaterThan(0);
    await stop();
  });
});

class Killed extends Error {}

/** Tables that end the projector at the nth insert into one of them, before it is done or after. */
function dying(whole: ClickHouse, at: { table: string; nth: number; done: boolean }): ClickHouse {
  let inserts = 0;
  return {
    ...whole,
    async insert(table, ...rest) {
      const dies = table === at.table && ++inserts === at.nth;
      if (dies && !at.done) throw new Killed();
      await whole.insert(table, ...rest);
      if (dies) throw new Killed();
    },
  };
}

describe('from the log alone, without a network,', () => {
  const { signal } = new AbortController();
  let expected: Record<string, string>;
  beforeAll(async () => {
    expected = await tableHashes(clickhouse);
  });
  const project2 = (made: ClickHouse, batchSteps: number) =>
    project(
      { log, topics, clickhouse: made, config: { ...config, batchSteps }, logger: silent, stopAtEnd: true },
      signal,
    );

  it.each(drawn([1, 100], rounds(1, 2)))('the same tables follow in batches of %i steps', async (batchSteps) => {
    const made = await emptyTables(`again_${batchSteps}`);
    await project2(made, batchSteps);
    const end = await log.end(topics.missing);
    expect(await tableHashes(made)).toEqual(expected);
    // Who projects again names nothing.
    expect(await log.end(topics.missing)).toBe(end);
    await made.close();
  });

  const deaths = [
    { table: 'learned_accounts', nth: 1, done: true },
    { table: 'balances', nth: 4, done: false },
    { table: 'account_data', nth: 4, done: true },
  ];
  it.each(drawn(deaths, rounds(1, deaths.length)))(
    'and after a death at insert $nth into $table (done: $done)',
    async (at) => {
      const made = await emptyTables(`killed_${at.table}_${at.done}`);
      await expect(project2(dying(made, at), 2)).rejects.toThrow(Killed);
      await project2(made, 5);
      expect(await tableHashes(made)).toEqual(expected);
      await made.close();
    },
  );

  it('and verify finds them good', async () => {
    await log.close();
    const words = ['--data-dir', folder, '--clickhouse-url', server.server.url, '--clickhouse-database', 'learned'];
    const verified = await runCommand(runVerify, readConfig([...words, '--log-level', 'silent'], {}).config);
    expect(verified).toMatchObject({ status: 0, printed: expect.stringContaining(' 0 differences, 0 gaps') });
    log = openEmbeddedLog({ folder: join(folder, 'log') });
  });
});
