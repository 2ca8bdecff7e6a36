/** Code and data of accounts that were there before the log began, from a liteserver through all parts to the API. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cell, type Address as CoreAddress } from '@ton/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { createQueryGate } from '../clickhouse/gate.ts';
import { createHead } from '../clickhouse/queries/head.ts';
import { createClickHouseSource } from '../clickhouse/queries/source.ts';
import { MIGRATED, startMigratedServer } from '../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../clickhouse/test-server.ts';
import { addressOf, rawAddress } from '../src/chain/address.ts';
import type { Address } from '../src/chain/model.ts';
import { readConfig } from '../src/config.ts';
import { chainLedger } from '../src/devnet/chain-ledger.ts';
import { type OpenLiteserver, openLiteserver } from '../src/devnet/liteserver/open.ts';
import { parseGlobalConfig } from '../src/node/global-config.ts';
import { createLitePool, type LitePool } from '../src/node/lite-pool.ts';
import { decodeCellEnvelope } from '../streams/cell-record.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { ingest } from '../streams/ingest/follow.ts';
import { ingestOptions } from '../streams/ingest/options.ts';
import type { EventLog } from '../streams/log.ts';
import { project } from '../streams/project/projector.ts';
import { publishSettings } from '../streams/project/publish.ts';
import { topicNames } from '../streams/topics.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from './api-server.ts';
import { createPeopledDevnet, type PeopledDevnet, statesAfter } from './peopled-devnet.ts';
import { until } from './stack.ts';
import { atEach, POSITIONS } from './window-positions.ts';

const topics = topicNames();
const SEED = 'devnet cells';
/** The first step with traffic. */
const FIRST = 3;
const stop = new AbortController();
let folder: string;
let devnet: PeopledDevnet;
let liteserver: OpenLiteserver;
let pool: LitePool;
let log: EventLog;
let server: TestServer;
let clickhouse: ClickHouse;
let api: ApiServer;
let running: Promise<void>[];
let head: ReturnType<typeof createHead>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-devnet-cells-'));
  devnet = await createPeopledDevnet(SEED, 12);
  liteserver = await openLiteserver(devnet.chain, { host: '127.0.0.1', port: 0, seed: SEED });
  pool = createLitePool(parseGlobalConfig(JSON.parse(liteserver.globalConfig)), { logger: silent });
  log = openEmbeddedLog({ folder: join(folder, 'log') });
  server = await startMigratedServer();
  clickhouse = createClickHouse({ url: server.server.url, database: MIGRATED, logger: silent });
  head = createHead(clickhouse);
  const gate = createQueryGate({ maxConcurrent: 4, maxQueued: 100 });
  api = await serveApi(createClickHouseSource(clickhouse, gate, head), { limits: PATIENT_LIMITS });
  // The people begin to send behind the second step.
  for (let n = 1; n < FIRST; n++) await devnet.step();
});

afterAll(async () => {
  stop.abort();
  await Promise.allSettled(running ?? []);
  await api?.close();
  await clickhouse?.close();
  await server?.remove();
  await log?.close();
  await pool?.close();
  await liteserver?.close();
  devnet?.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(): void {
  const { config } = readConfig(['--batch-ms', '10'], {});
  const { signal } = stop;
  running = [
    ingest(
      {
        log,
        topics,
        node: pool,
        options: { from: 'genesis', source: 'devnet', ...ingestOptions(config) },
        logger: silent,
      },
      signal,
    ),
    project(
      {
        log,
        topics,
        clickhouse,
        config,
        logger: silent,
        publish: publishSettings(config),
        onProgress: ({ batch }) => head.advance(batch.mcSeqno),
      },
      signal,
    ),
  ];
  for (const one of running) one.catch(() => undefined);
}

/** Waits for something as long as ingester and projector run. */
const reached = (what: string, ask: () => Promise<boolean>): Promise<unknown> =>
  Promise.race([until(what, async () => ((await ask()) ? true : null)), ...running.map((one) => one.then(ended))]);

function ended(): never {
  throw new Error('a part ended');
}

const projected = (seqno: number): Promise<unknown> => reached(`step ${seqno}`, async () => head.seqno >= seqno);

const account = z.object({
  address: z.string(),
  code_hash: z.string(),
  data_hash: z.string(),
  code_boc: z.string().optional(),
  data_boc: z.string().optional(),
  contract_methods: z.array(z.number()).nullable(),
  interfaces: z.array(z.string()),
});
const answer = z.object({
  accounts: z.array(account),
  address_book: z.record(z.string(), z.object({ interfaces: z.array(z.string()) })),
});

async function ask(addresses: readonly string[], { url }: Pick<ApiServer, 'url'> = api) {
  const query = addresses.map((one) => `address=${encodeURIComponent(one)}`).join('&');
  const response = await fetch(`${url}/api/v3/accountStates?${query}`);
  return answer.parse(await response.json());
}

const rootHash = (boc: string | undefined): string | null =>
  boc === undefined ? null : Cell.fromBase64(boc).hash().toString('base64');
const raw = ({ workChain, hash }: CoreAddress): string => rawAddress(addressOf(workChain, hash));
const keyOf = (account: Address): string => rawAddress(account).toUpperCase();

/** Hashes of codes, and accounts by their data, that the log holds as answers. */
async function answered(): Promise<Set<string>> {
  const records = (await log.last(topics.cells, 10_000)).map((record) => decodeCellEnvelope(record, topics.cells));
  return new Set(
    records.map(({ kind, hash, account }) =>
      kind === 'data' && account ? rawAddress(account) : hash.toString('base64'),
    ),
  );
}

describe('accounts of the zero state', () => {
  it('are shown with code, data and interfaces once a liteserver has told of them', async () => {
    const genesis = new Map(devnet.genesis.map((one) => [raw(one.address).toUpperCase(), one]));
    const used = statesAfter(await devnet.step()).filter(({ state }) => genesis.has(keyOf(state.account)));
    const addresses = used.map(({ state }) => rawAddress(state.account));
    expect(addresses.length).toBeGreaterThan(5);
    start();
    await projected(FIRST);
    // What is asked for when the newest step has been written counts from the next one on.
    const before = (await ask(addresses)).accounts;
    expect(before.length).toBe(addresses.length);
    expect(before.filter(({ code_boc, contract_methods }) => code_boc || contract_methods)).toEqual([]);

    const codes = before.map(({ code_hash }) => code_hash);
    const data = used.flatMap(({ state }) => (state.dataComplete ? [] : rawAddress(state.account)));
    expect(data.length).toBeGreaterThan(0);
    await reached('the answers', async () => {
      const kept = await answered();
      return [...codes, ...data].every((one) => kept.has(one));
    });
    await devnet.step();
    await projected(FIRST + 1);
    const after = await ask(addresses);
    const ledger = chainLedger(devnet.chain);
    for (const shown of after.accounts) {
      const initial = genesis.get(shown.address.toUpperCase());
      if (initial === undefined) throw new Error(`${shown.address} was not asked for`);
      const now = await ledger.account(initial.address);
      expect([shown.address, rootHash(shown.code_boc), rootHash(shown.data_boc)]).toEqual([
        shown.address,
        initial.code.hash().toString('base64'),
        now?.data?.hash().toString('base64'),
      ]);
      expect(shown.contract_methods).not.toBeNull();
    }
    const interfaces = new Set(after.accounts.flatMap((one) => one.interfaces));
    expect([...interfaces]).toEqual(expect.arrayContaining(['jetton_wallet', 'wallet_v4r2', 'wallet_v5r1']));
    expect(new Set(Object.values(after.address_book).flatMap((one) => one.interfaces))).toEqual(interfaces);

    const kept = { dataDir: folder, clickhouseUrl: server.server.url, database: MIGRATED };
    await atEach(POSITIONS, kept, async (windowed) => expect(await ask(addresses, windowed)).toEqual(after));
  });
});
