/** What the people of a devnet made and did with tokens, as the API tells it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from '@ton/core';
import type { LiteClient } from 'ton-lite-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { createQueryGate } from '../clickhouse/gate.ts';
import { createHead } from '../clickhouse/queries/head.ts';
import { type ClickHouseSource, createClickHouseSource } from '../clickhouse/queries/source.ts';
import { MIGRATED, startMigratedServer } from '../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../clickhouse/test-server.ts';
import { readConfig } from '../src/config.ts';
import { chainLedger } from '../src/devnet/chain-ledger.ts';
import { jettonWalletCode, readJettonWallet } from '../src/devnet/contracts/jettons.ts';
import { mintlessMasterAddress, mintlessWalletAddress, readMintlessWallet } from '../src/devnet/contracts/mintless.ts';
import { type OpenLiteserver, openLiteserver } from '../src/devnet/liteserver/open.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import type { EventLog } from '../streams/log.ts';
import { project } from '../streams/project/projector.ts';
import type { PublishedStep } from '../streams/steps-topic.ts';
import { topicNames } from '../streams/topics.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from './api-server.ts';
import { describeArchivedTokens } from './archived-tokens.ts';
import { random, rounds } from './chance.ts';
import { describeContracts } from './devnet/contracts.ts';
import { describeGoTokens } from './devnet/go-tokens.ts';
import { describeSums, type FirstWallet, type SumsSubject } from './devnet/sums.ts';
import { describeLateEvents, lateTransactions } from './late-events.ts';
import { liteClientAt } from './lite-client.ts';
import { describeOwned } from './owned-tokens.ts';
import { describePast } from './past-states.ts';
import { createPeopledDevnet, logWithCells, type PeopledDevnet } from './peopled-devnet.ts';
import { describeRepeatedExternals, knockedAt, OPEN_DOOR } from './repeated-externals.ts';
import { describeRetold, retoldTraces } from './retold-actions.ts';
import { specSchemas } from './spec-schemas.ts';
import { describeTold } from './told-tokens.ts';
import { type SharedWindows, sharedWindows, stepsOf } from './windowed.ts';

/** People send things in two parts of these, behind each of which everything comes to rest. */
const STEPS = 54;
const BUSY = [
  { from: 0, to: 20 },
  { from: 29, to: 44 },
];
const FIRST_REST = 28;
const rests = (mcSeqno: number): boolean => !BUSY.some(({ from, to }) => mcSeqno >= from && mcSeqno <= to);
const RATE = 16;
/** Every story, so that each kind of contract is there. */
const WEIGHTS = {
  transfer: 1,
  jettonPayment: 4,
  jettonOverdraft: 1,
  burn: 1,
  trade: 3,
  mint: 2,
  giveItem: 3,
  mintItem: 3,
  sale: 4,
  auction: 3,
  council: 4,
  heritage: 3,
  subscription: 1,
  names: 4,
  stake: 3,
  decree: 2,
  airdrop: 2,
} as const;
const topics = topicNames();
const { signal } = new AbortController();

let home: string;
let server: TestServer;
let devnet: PeopledDevnet;
let log: EventLog;
let clickhouse: ClickHouse;
let source: ClickHouseSource;
let steps: PublishedStep[];
/** Ids of traces that were told again, as the API has them. */
let retold: Set<string>;
/** Hashes of transfers that were told later. */
let late: Set<string>;
let windows: SharedWindows;
let api: ApiServer;
let liteserver: OpenLiteserver;
let lite: { client: LiteClient; close(): void };

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-tokens-'));
  server = await startMigratedServer();
  devnet = await createPeopledDevnet('tokens', RATE, { weights: WEIGHTS, rests, contracts: [OPEN_DOOR] });
  log = openEmbeddedLog({ folder: join(home, 'log') });
  await log.ensureTopic(topics.blocks);
  await logWithCells(knockedAt(devnet), log, topics, STEPS);
  clickhouse = createClickHouse({ url: server.server.url, database: MIGRATED, logger: silent });
  const { config } = readConfig([], {});
  const publish = { retainBytes: config.stepsBytes, retainMs: 0 };
  await project({ log, topics, clickhouse, config, logger: silent, stopAtEnd: true, publish }, signal);
  steps = await stepsOf(log);
  const traces = await retoldTraces(clickhouse);
  retold = new Set(traces.map(({ trace }) => Buffer.from(trace, 'hex').toString('base64')));
  late = await lateTransactions(clickhouse);
  const head = createHead(clickhouse);
  await head.refresh(signal);
  const gate = createQueryGate({ maxConcurrent: 4, maxQueued: 1_000 });
  source = createClickHouseSource(clickhouse, gate, head);
  windows = sharedWindows({ tables: source, steps });
  api = await serveApi(source, { limits: PATIENT_LIMITS });
  liteserver = await openLiteserver(devnet.chain, { host: '127.0.0.1', port: 0, seed: 'tokens' });
  lite = await liteClientAt(liteserver);
});

afterAll(async () => {
  lite?.close();
  await liteserver?.close();
  await api?.close();
  await windows?.remove();
  await clickhouse?.close();
  await log?.close();
  devnet?.close();
  await server?.remove();
  if (home) rmSync(home, { recursive: true, force: true });
});

const object = z.record(z.string(), z.any());

async function ask(path: string, shape: string) {
  const response = await fetch(`${api.url}/api/v3${path}`);
  const body = object.parse(await response.json());
  expect(response.status, JSON.stringify(body)).toBe(200);
  specSchemas('v3')(shape, body);
  return body;
}

it('lists jettons, their wallets by balance, and every transfer of each owner', async () => {
  const { jetton_masters: masters, metadata } = await ask('/jetton/masters', 'JettonMastersResponse');
  expect(masters.length).toBeGreaterThan(0);
  for (const { address } of masters) {
    expect(metadata[address].token_info[0].type).toBe('jetton_masters');
    const wallets = `/jetton/wallets?jetton_address=${address}&limit=1000`;
    const { jetton_wallets: first } = await ask(wallets, 'JettonWalletsResponse');
    const { jetton_wallets: holders } = await ask(`${wallets}&sort=desc`, 'JettonWalletsResponse');
    expect(holders.map((one: { address: string }) => one.address).sort()).toEqual(
      first.map((one: { address: string }) => one.address).sort(),
    );
    const balances = holders.map((one: { balance: string }) => BigInt(one.balance));
    expect(balances).toEqual(balances.toSorted((a: bigint, b: bigint) => (a < b ? 1 : a > b ? -1 : 0)));
    const paged: unknown[] = [];
    const limit = 3 + random(rounds(1 + Math.floor(first.length / 5), 1));
    for (let offset = 0; offset < first.length; offset += limit) {
      const some = wallets.replace('limit=1000', `limit=${limit}`);
      const page = await ask(`${some}&offset=${offset}`, 'JettonWalletsResponse');
      paged.push(...page.jetton_wallets);
    }
    expect(paged).toEqual(first);
    const all = await ask(`/jetton/transfers?jetton_master=${address}&limit=1000`, 'JettonTransfersResponse');
    // What is staked is given out and taken back, and goes from nobody to nobody.
    if (address === rawOf(devnet.cast.jetton.master)) expect(all.jetton_transfers.length).toBeGreaterThan(0);
    if (all.jetton_transfers.length === 0) continue;
    const [one] = all.jetton_transfers;
    const mine = await ask(`/jetton/transfers?owner_address=${one.source}&limit=1000`, 'JettonTransfersResponse');
    const ofThis = mine.jetton_transfers.filter((other: { jetton_master: string }) => other.jetton_master === address);
    expect(ofThis).toEqual(
      all.jetton_transfers.filter(
        (other: { source: string; destination: string }) =>
          other.source === one.source || other.destination === one.source,
      ),
    );
    const { transactions } = await ask(
      `/transactions?hash=${encodeURIComponent(one.transaction_hash)}`,
      'TransactionsResponse',
    );
    expect(transactions[0]).toMatchObject({ account: one.source_wallet, lt: one.transaction_lt });
    expect(transactions[0].in_msg.message_content.decoded).toMatchObject({ '@type': 'jetton_transfer' });
  }
  const { jetton_burns: burns } = await ask('/jetton/burns', 'JettonBurnsResponse');
  expect(burns.length).toBeGreaterThan(0);
});

it('lists NFT items by their owner and collection, and their transfers', async () => {
  const { nft_collections: collections } = await ask('/nft/collections', 'NFTCollectionsResponse');
  expect(collections.length).toBeGreaterThan(0);
  const { nft_items: items } = await ask('/nft/items?limit=1000', 'NFTItemsResponse');
  const { nft_transfers: transfers } = await ask('/nft/transfers?limit=1000', 'NFTTransfersResponse');
  expect(transfers.length).toBeGreaterThan(0);
  // A domain whose auction is not over belongs to nobody.
  const owned = items.filter((one: { owner_address: string | null }) => one.owner_address !== null);
  for (const { owner_address: owner } of owned.slice(0, 5)) {
    const own = await ask(`/nft/items?owner_address=${owner}&limit=1000`, 'NFTItemsResponse');
    const theirs = items.filter((one: { owner_address: string }) => one.owner_address === owner);
    expect(own.nft_items.map((one: { address: string }) => one.address).sort()).toEqual(
      theirs.map((one: { address: string }) => one.address).sort(),
    );
  }
  const { nft_items: ofOne } = await ask(
    `/nft/items?collection_address=${collections[0].address}&limit=1000`,
    'NFTItemsResponse',
  );
  const indexes = ofOne.map((one: { index: string }) => Number(one.index));
  expect(indexes).toEqual(indexes.toSorted((a: number, b: number) => a - b));
});

describe('the feed', () => describeTold(() => ({ source, url: api.url, seqno: source.head.seqno, retold, late })));
describe('actions', () => describeRetold(() => ({ tables: source, steps, clickhouse, windows })));
describe('messages', () => describeRepeatedExternals(() => ({ tables: source, steps, clickhouse, windows })));
describe('the API', () => describeLateEvents(() => ({ tables: source, steps, clickhouse, windows })));
it('pages lists of contracts by cursor, in either direction of balances', async () => {
  const master = rawOf(devnet.cast.jetton.master);
  const collection = rawOf(devnet.cast.collection.address);
  for (const [path, key] of [
    ['/jetton/masters?', 'jetton_masters'],
    ['/jetton/wallets?', 'jetton_wallets'],
    [`/jetton/wallets?jetton_address=${master}`, 'jetton_wallets'],
    [`/jetton/wallets?jetton_address=${master}&sort=desc`, 'jetton_wallets'],
    [`/jetton/wallets?jetton_address=${master}&sort=asc&exclude_zero_balance=true`, 'jetton_wallets'],
    [`/jetton/wallets?owner_address=${rawOf(devnet.cast.traders[0].address)}`, 'jetton_wallets'],
    ['/nft/collections?', 'nft_collections'],
    ['/nft/items?', 'nft_items'],
    [`/nft/items?collection_address=${collection}`, 'nft_items'],
    [`/jetton/transfers?jetton_master=${master}`, 'jetton_transfers'],
    ['/jetton/transfers?sort=asc', 'jetton_transfers'],
    ['/jetton/transfers?start_utime=1', 'jetton_transfers'],
    ['/jetton/transfers?start_utime=1&sort=asc', 'jetton_transfers'],
    [`/jetton/burns?jetton_master=${master}`, 'jetton_burns'],
    ['/nft/transfers?sort=desc', 'nft_transfers'],
  ]) {
    const read = async (query: string) => object.parse(await (await fetch(`${api.url}/api/v3${path}${query}`)).json());
    const whole = await read('&limit=1000');
    const limit = 3 + random(rounds(1 + Math.floor(whole[key].length / 5), 1));
    const paged: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await read(`&limit=${limit}&cursor=${cursor}`);
      paged.push(...page[key]);
      cursor = z.string().nullable().parse(page.next_cursor);
    }
    expect(whole[key].length, path).toBeGreaterThan(0);
    expect(paged, `${path} by ${limit}`).toEqual(whole[key]);
  }
});

describe('contracts', () => describeContracts(() => ({ url: api.url, client: lite.client }), false));

describe('through others', () => describeGoTokens(() => ({ url: api.url, globalConfig: liteserver.globalConfig })));

describe('earlier steps', () =>
  describePast(() => ({ log, clickhouseUrl: server.server.url, url: api.url, steps: STEPS })));

describe('tokens', () => describeOwned(() => ({ tables: source, steps })));

describe('archived tokens', () => describeArchivedTokens(() => ({ clickhouse, tables: source, steps })));

describe('sums', () =>
  describeSums(() => ({ url: api.url, first: firstWallets(devnet), rest: FIRST_REST, mintless: mintlessOf(devnet) })));

function mintlessOf({ cast, chain }: PeopledDevnet): SumsSubject['mintless'] {
  const { listed, items, content } = cast.mintless;
  const master = mintlessMasterAddress(listed[0].address, content, items);
  return {
    master: rawOf(master),
    async unclaimed() {
      let sum = 0n;
      for (const { address } of listed) {
        const account = await chainLedger(chain).account(mintlessWalletAddress(address, master, items));
        if (!account?.data || !readMintlessWallet(account.data).isClaimed) sum += items.get(address) ?? 0n;
      }
      return sum;
    },
  };
}

/** Jetton wallets of the zero state. */
function firstWallets({ genesis }: PeopledDevnet): FirstWallet[] {
  return genesis.flatMap(({ address, code, data }) => {
    if (!code.equals(jettonWalletCode)) return [];
    const { balance, owner, master } = readJettonWallet(data);
    return [{ address: rawOf(address), owner: rawOf(owner), master: rawOf(master), balance }];
  });
}

const rawOf = (address: Address): string => address.toRawString().toUpperCase();
