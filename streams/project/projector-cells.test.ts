/** Cells that blocks never show, from the log into the tables: `projector.test.ts` is about all the rest. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Cell } from '@ton/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { bytes } from '../../clickhouse/literal.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { decodeState, decodeStates } from '../../clickhouse/states.ts';
import { MIGRATED, startMigratedServer } from '../../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../../clickhouse/test-server.ts';
import { accountStatesAfter, openAccounts } from '../../src/chain/accounts.ts';
import { addressOf, rawAddress } from '../../src/chain/address.ts';
import { decodeBlock } from '../../src/chain/block.ts';
import { type Boc, openBoc } from '../../src/chain/boc.ts';
import { canonicalBoc } from '../../src/chain/canonical.ts';
import { hashOfExtra } from '../../src/chain/currency.ts';
import { mergePruned } from '../../src/chain/merge.ts';
import { serialize } from '../../src/chain/serialize.ts';
import { runRebuild } from '../../src/commands/rebuild.ts';
import { runVerify } from '../../src/commands/verify.ts';
import { readConfig } from '../../src/config.ts';
import { chainLedger } from '../../src/devnet/chain-ledger.ts';
import { isLong } from '../../test/chance.ts';
import { cloneTables } from '../../test/cloned-tables.ts';
import { runCommand } from '../../test/command-line.ts';
import { createPeopledDevnet, logWithCells, type PeopledDevnet } from '../../test/peopled-devnet.ts';
import { readSequence, sequenceFile } from '../../test/recorded-sequence.ts';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { tableHashes } from '../../test/table-hashes.ts';
import { decodeCellRecord, encodeCellRecord, type StoredCell } from '../cell-record.ts';
import { openEmbeddedLog } from '../embedded.ts';
import { importFiles } from '../ingest/import.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';
import type { Progress, ProjectorOptions } from './options.ts';
import { PROJECTIONS } from './projections.ts';
import { project } from './projector.ts';

const topics = topicNames();
const STEPS = 18;
let home: string;
let server: TestServer;
let devnet: PeopledDevnet;
let log: EventLog;
let records: StoredCell[];
let tables: ClickHouse;
let good: Record<string, string>;
let databases = 0;
const closing: (() => Promise<void>)[] = [];

const connect = (database: string): ClickHouse =>
  createClickHouse({ url: server.server.url, database, logger: silent });

/** Migrated once: a copy of empty tables takes half the time. */

async function freshTables(from = MIGRATED): Promise<ClickHouse> {
  const clickhouse = connect(`cells_${++databases}`);
  closing.push(() => clickhouse.close());
  await cloneTables(clickhouse, from);
  return clickhouse;
}

const base = readConfig([], {}).config;

function run(
  clickhouse: ClickHouse,
  config: Partial<ProjectorOptions['config']> = {},
  more: Partial<ProjectorOptions> = {},
  signal = new AbortController().signal,
) {
  const options = { log, topics, clickhouse, config: { ...base, ...config }, logger: silent, stopAtEnd: true, ...more };
  return project(options, signal);
}

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-projector-cells-'));
  server = await startMigratedServer();
  devnet = await createPeopledDevnet('projected cells', 5);
  log = openEmbeddedLog({ folder: join(home, 'log') });
  await logWithCells(devnet, log, topics, STEPS);
  records = (await log.last(topics.cells, 10_000)).map((record) => decodeCellRecord(record, topics.cells));
  tables = connect('good');
  await cloneTables(tables, MIGRATED);
  await run(tables);
  good = await tableHashes(tables);
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

afterAll(async () => {
  await tables.close();
  await log.close();
  await server.remove();
  devnet.close();
  rmSync(home, { recursive: true, force: true });
});

/** Hashes that a published library finds in stored cells, by the hash or account that they stand under. */
async function storedHashes(clickhouse: ClickHouse, sql: string, width: number): Promise<Map<string, string>> {
  const rows = new RowReader(await clickhouse.query(sql));
  const found = new Map<string, string>();
  while (!rows.done) {
    const key = rows.fixed(width).toString('hex');
    found.set(key, Cell.fromBoc(Buffer.from(rows.bytes()))[0].hash().toString('hex'));
  }
  return found;
}

const dataOf = (clickhouse: ClickHouse) => storedHashes(clickhouse, 'SELECT account, boc FROM account_data FINAL', 36);
const codesOf = (clickhouse: ClickHouse) => storedHashes(clickhouse, 'SELECT code_hash, boc FROM codes FINAL', 32);

/** Accounts of the zero state that the tables know, with the hashes of their code and of their data at the head. */
async function knownGenesis(): Promise<{ account: string; code: string; data: string | undefined }[]> {
  const rows = new RowReader(await tables.query('SELECT account, hash FROM accounts FINAL'));
  const known = new Set<string>();
  while (!rows.done) {
    known.add(rows.fixed(36).toString('hex'));
    rows.fixed(32);
  }
  const ledger = chainLedger(devnet.chain);
  const found = [];
  for (const { address, code } of devnet.genesis) {
    const account = addressOf(address.workChain, address.hash).toString('hex');
    if (!known.has(account)) continue;
    const data = (await ledger.account(address))?.data?.hash().toString('hex');
    found.push({ account, code: code.hash().toString('hex'), data });
  }
  return found;
}

describe('cells that a node was asked for', () => {
  it('complete the codes and the newest data of all accounts', async () => {
    const genesis = await knownGenesis();
    expect(genesis.length).toBeGreaterThan(15);
    const codes = await codesOf(tables);
    const data = await dataOf(tables);
    expect([...codes].filter(([hash, found]) => hash !== found)).toEqual([]);
    expect(genesis.filter(({ code }) => !codes.has(code))).toEqual([]);
    expect(genesis.filter(({ account, data: hash }) => data.get(account) !== hash)).toEqual([]);
    // Most of it is no record's own: later states were completed from it.
    const own = new Set(records.map(({ account, lt }) => `${account && rawAddress(account)} ${lt}`));
    const rows = new RowReader(await tables.query('SELECT account, lt FROM account_data FINAL'));
    const lines: string[] = [];
    while (!rows.done) lines.push(`${rawAddress(Buffer.from(rows.fixed(36)))} ${rows.u64()}`);
    expect(lines.filter((line) => own.has(line)).length).toBeGreaterThan(3);
    expect(lines.filter((line) => !own.has(line)).length).toBeGreaterThan(3);
  });

  it('are not there for a log without them, which is projected as ever', async () => {
    const clickhouse = await freshTables();
    await run(clickhouse, {}, { topics: { ...topics, cells: 'none' } });
    const genesis = await knownGenesis();
    const codes = await codesOf(clickhouse);
    const data = await dataOf(clickhouse);
    expect(genesis.filter(({ code }) => codes.has(code))).toEqual([]);
    expect(genesis.filter(({ account, data: hash }) => data.get(account) !== hash).length).toBeGreaterThan(5);
    const { account_data, codes: _, position, ...rest } = await tableHashes(clickhouse);
    // What contracts are, and what is told of them, follows from their cells.
    const told = PROJECTIONS.flatMap(({ tables: some }) => some).flatMap(({ name, indexes }) => [
      name,
      ...indexes.map((index) => index.name),
    ]);
    for (const name of told) delete rest[name];
    expect(Object.keys(rest).length).toBeGreaterThan(20);
    expect(good).toMatchObject(rest);
    expect(account_data).not.toBe(good.account_data);
    expect(position).not.toBe(good.position);
  });

  it.each(isLong ? [2, 7, 50] : [2])(
    'make the same tables in batches of %i steps with hardly any memory',
    async (batchSteps) => {
      const clickhouse = await freshTables();
      let last: Progress | null = null;
      const onProgress = (progress: Progress) => {
        last = progress;
      };
      await run(clickhouse, { batchSteps, cachedAccounts: 1 }, { onProgress });
      expect(await tableHashes(clickhouse)).toEqual(good);
      const dealt = records.filter(({ offset }) => offset < (last?.batch.nextCell ?? 0)).length;
      expect(last).toMatchObject({ counters: { learnedCells: dealt, gaps: 0 } });
    },
  );

  it('make the same tables when they arrive while their steps are projected', async () => {
    const clickhouse = await freshTables();
    const live = openEmbeddedLog({ folder: join(home, 'live') });
    const blocks = await log.last(topics.blocks, 10_000);
    const stop = new AbortController();
    let done = 0;
    let told: () => void = () => undefined;
    const onProgress = ({ batch }: Progress) => {
      done = batch.nextOffset;
      told();
    };
    const projecting = run(clickhouse, { batchMs: 0 }, { log: live, stopAtEnd: false, onProgress }, stop.signal);
    const until = async (offset: number): Promise<void> => {
      while (done < offset) {
        const progress = new Promise<void>((resolve) => {
          told = resolve;
        });
        await Promise.race([progress, projecting]);
      }
    };
    const cells = await log.last(topics.cells, 10_000);
    for (const block of blocks) {
      const due = cells.filter(({ headers }) => headers.after === String(block.offset));
      await live.append(topics.cells, due);
      await live.append(topics.blocks, [block]);
      // Some steps come alone, others with those behind them.
      if (block.headers.seal !== undefined && block.offset % 4 !== 0) await until(block.offset + 1);
    }
    await until(blocks.length);
    stop.abort();
    await projecting.catch(() => undefined);
    await live.close();
    expect(await tableHashes(clickhouse)).toEqual(good);
  });
});

class Killed extends Error {}

/** Tables that end the projector at the nth insert into one of them, before it is done or after. */
function dying(clickhouse: ClickHouse, at: { table: string; nth: number; done: boolean }): ClickHouse {
  let inserts = 0;
  return {
    ...clickhouse,
    async insert(table, ...rest) {
      const dies = table === at.table && ++inserts === at.nth;
      if (dies && !at.done) throw new Killed();
      await clickhouse.insert(table, ...rest);
      if (dies) throw new Killed();
    },
  };
}

describe('a batch with cells', () => {
  it('is repeated after one death after another', async () => {
    const clickhouse = await freshTables();
    for (const at of [
      { table: 'codes', nth: 1, done: true },
      { table: 'account_data', nth: 2, done: false },
      { table: 'account_data', nth: 2, done: true },
      { table: 'projection_state', nth: 3, done: true },
    ]) {
      await expect(run(dying(clickhouse, at), { batchSteps: 3 })).rejects.toThrow(Killed);
    }
    await run(clickhouse, { batchSteps: 9 });
    expect(await tableHashes(clickhouse)).toEqual(good);
  });

  it('is refused from a log that has not the cells it was made with', async () => {
    const clickhouse = await freshTables('good');
    await clickhouse.command('TRUNCATE TABLE projection_state');
    const dies = dying(clickhouse, { table: 'blocks', nth: 1, done: false });
    await expect(run(dies)).rejects.toThrow(Killed);
    const less = { ...topics, cells: 'none' };
    await expect(run(clickhouse, {}, { topics: less })).rejects.toThrow(
      /has the cells of step 18 up to offset 0, not up to \d+ as it was announced.*"tonstream rebuild"/,
    );
  });
});

describe.skipIf(shelf === null)('extra currencies of recorded blocks, which show none', () => {
  /** An account of the masterchain that each block changes, and never its two extra currencies. */
  const ACCOUNT = addressOf(-1, Buffer.alloc(32));
  const [FIRST, ASKED, LAST] = [2660, 2665, 2690];
  const EXTRA = { 239: '666666666666', 4294967279: '1000000000000' };

  /** The account as the block left it: what that prunes is as in the recorded full state. */
  function accountAfter(seqno: number) {
    const line = readSequence(sequenceFile('mainnet-mc-2660')).find((one) => one.seqno === seqno);
    const block = decodeBlock(openBoc(Buffer.from(line?.boc ?? '', 'base64')));
    const file = join(requireShelf(), 'data', 'blocks', 'states', `mainnet_-1_8000000000000000_${LAST}.state.boc.gz`);
    const whole = openBoc(gunzipSync(readFileSync(file)));
    const [update, full] = [block.boc.refs[block.boc.refStart[block.stateUpdate] + 1], whole.roots[0]];
    const cellOf = (boc: Boc, root: number): number => {
      const leaf = openAccounts(boc, root)(ACCOUNT);
      leaf?.skip(5);
      leaf?.grams();
      leaf?.maybeRef();
      return leaf?.nextRef() ?? -1;
    };
    const boc = mergePruned(block.boc, cellOf(block.boc, update), openBoc(serialize(whole, cellOf(whole, full))));
    const state = accountStatesAfter(block).find(({ account }) => account.equals(ACCOUNT));
    if (boc === null || state === undefined) throw new Error('the account is there');
    return { state, boc: canonicalBoc(boc) };
  }

  it('are those of all later states once a node has told them, however the steps are cut', async () => {
    const { state, boc } = accountAfter(ASKED);
    expect(state).toMatchObject({ extraCurrencies: {}, extraPruned: hashOfExtra(EXTRA) });
    const recorded = openEmbeddedLog({ folder: join(home, 'recorded') });
    closing.push(() => recorded.close());
    await importFiles(recorded, topics, [sequenceFile('mainnet-mc-2660')], { loose: true });
    await recorded.ensureTopic(topics.cells);
    const { account, hash, lastTransactionLt: lt, lastTransactionHash: transaction } = state;
    // Each step is one block.
    const record = {
      kind: 'account',
      hash,
      account,
      lt,
      transaction,
      mcSeqno: ASKED,
      after: ASKED - FIRST + 1,
      boc,
    } as const;
    await recorded.append(topics.cells, [encodeCellRecord({ ...record, globalId: -239, receivedAtMs: 0 })]);
    const hashes: Record<string, string>[] = [];
    for (const batchSteps of [1, 7, 2_000]) {
      const clickhouse = await freshTables();
      await run(clickhouse, { batchSteps }, { log: recorded });
      hashes.push(await tableHashes(clickhouse));
      const rows = new RowReader(
        await clickhouse.query(
          `SELECT mc_seqno, states FROM transactions WHERE account = ${bytes(ACCOUNT)} ORDER BY lt DESC LIMIT 1 BY mc_seqno`,
        ),
      );
      const left = new Map<number, unknown>();
      while (!rows.done) left.set(rows.u32(), decodeStates(rows.bytes()).after?.extraCurrencies);
      expect([...left.keys()].sort()).toEqual(Array.from({ length: LAST - FIRST + 1 }, (_, i) => FIRST + i));
      for (const [mcSeqno, extra] of left) expect(extra, String(mcSeqno)).toEqual(mcSeqno > ASKED ? EXTRA : {});
      const newest = new RowReader(
        await clickhouse.query(`SELECT state FROM accounts FINAL WHERE account = ${bytes(ACCOUNT)}`),
      );
      expect(decodeState(newest.bytes()).extraCurrencies).toEqual(EXTRA);
    }
    expect(hashes[1]).toEqual(hashes[0]);
    expect(hashes[2]).toEqual(hashes[0]);
  });
});

describe('documents', () => {
  it('of a topic that was made anew and is shorter end the projector', async () => {
    const clickhouse = await freshTables('good');
    await clickhouse.command("INSERT INTO documents (uri_hash, place) SELECT unhex(repeat('11', 32)), 2");
    for (const stopAtEnd of [true, false]) {
      await expect(run(clickhouse, {}, { stopAtEnd })).rejects.toThrow(
        /documents\.v1 ends at offset 0, the tables have its records up to 3: .*"tonstream rebuild"/,
      );
    }
  });
});

describe('tonstream verify and rebuild', () => {
  function command(run: Parameters<typeof runCommand>[0]) {
    const words = ['--data-dir', home, '--clickhouse-url', server.server.url, '--clickhouse-database', 'good'];
    return runCommand(run, readConfig([...words, '--log-level', 'silent'], {}).config);
  }

  it('find such tables good, and make them again', async () => {
    await log.close();
    expect(await command(runVerify)).toEqual({
      status: 0,
      printed: `${STEPS} steps compared up to masterchain block ${STEPS}: 0 differences, 0 gaps`,
    });
    await tables.command('TRUNCATE TABLE account_data');
    await command((running) => runRebuild(running, [], 0));
    expect(await tableHashes(tables)).toEqual(good);
    await tables.command(
      'INSERT INTO account_data SELECT account, lt + 1, mc_seqno, data_hash, boc FROM account_data ORDER BY mc_seqno DESC LIMIT 1',
    );
    expect(await command(runVerify)).toMatchObject({ status: 1, printed: expect.stringContaining('account_data') });
    // Behind a step that is left out, its transaction may be one that the tables do not have.
    await tables.command("INSERT INTO gaps VALUES (1, 0, 1, 'a block', 'an error')");
    expect(await command(runVerify)).toMatchObject({ status: 0, printed: expect.stringContaining('gap: step 1') });
    log = openEmbeddedLog({ folder: join(home, 'log') });
  });
});
