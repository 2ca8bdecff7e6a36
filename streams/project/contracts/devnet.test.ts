/** What the people of a devnet have made, as the tables tell it: all of it, and the same however it was projected. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../../../clickhouse/client.ts';
import { MIGRATED, startMigratedServer } from '../../../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../../../clickhouse/test-server.ts';
import { methodId } from '../../../src/chain/interfaces.ts';
import { compareTables } from '../../../src/commands/verify-tables.ts';
import { readConfig } from '../../../src/config.ts';
import { jettonWalletCode, readJettonWallet } from '../../../src/devnet/contracts/jettons.ts';
import { drawn, isLong, rounds } from '../../../test/chance.ts';
import { cloneTables } from '../../../test/cloned-tables.ts';
import { createPeopledDevnet, logWithCells, type PeopledDevnet } from '../../../test/peopled-devnet.ts';
import { tableHashes } from '../../../test/table-hashes.ts';
import { openEmbeddedLog } from '../../embedded.ts';
import type { EventLog } from '../../log.ts';
import { topicNames } from '../../topics.ts';
import { project } from '../projector.ts';

const STEPS = 25;
const DEADLY = ['jetton_wallets', 'account_data'] as const;
const topics = topicNames();
const { signal } = new AbortController();
const base = readConfig([], {}).config;

class Killed extends Error {}

let home: string;
let server: TestServer;
let devnet: PeopledDevnet;
let log: EventLog;
const opened: ClickHouse[] = [];

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-contracts-'));
  server = await startMigratedServer();
  devnet = await createPeopledDevnet('contracts', 12);
  log = openEmbeddedLog({ folder: join(home, 'log') });
  await log.ensureTopic(topics.blocks);
  await logWithCells(devnet, log, topics, STEPS);
});

afterAll(async () => {
  for (const clickhouse of opened) await clickhouse.close();
  await log?.close();
  devnet?.close();
  await server?.remove();
  if (home) rmSync(home, { recursive: true, force: true });
});

async function fresh(database: string): Promise<ClickHouse> {
  const clickhouse = createClickHouse({ url: server.server.url, database, logger: silent });
  opened.push(clickhouse);
  await cloneTables(clickhouse, MIGRATED);
  return clickhouse;
}

const run = (clickhouse: ClickHouse, batchSteps: number): Promise<void> =>
  project({ log, topics, clickhouse, config: { ...base, batchSteps }, logger: silent, stopAtEnd: true }, signal);

const counted = z.object({ text: z.string() });
const asked = async (clickhouse: ClickHouse, sql: string): Promise<string[]> =>
  (await clickhouse.json(sql, counted)).map(({ text }) => text);

describe('contracts of a devnet', () => {
  let tables: ClickHouse;
  let good: Record<string, string>;
  beforeAll(async () => {
    tables = await fresh('devnet_whole');
    await run(tables, STEPS);
    good = await tableHashes(tables);
  });

  const LISTED = {
    jetton_masters: 'get_jetton_data',
    jetton_wallets: 'get_wallet_data',
    nft_collections: 'get_collection_data',
    nft_items: 'get_nft_data',
  };

  it.each(Object.entries(LISTED))('are listed in %s, each whose state the log has shown', async (table, method) => {
    const shown = await asked(
      tables,
      `SELECT lower(hex(account)) AS text FROM accounts FINAL WHERE account IN (SELECT account FROM account_data)
       AND code_hash IN (SELECT code_hash FROM codes WHERE has(methods, ${methodId(method)})) ORDER BY text`,
    );
    const listed = await asked(tables, `SELECT lower(hex(address)) AS text FROM ${table} FINAL ORDER BY text`);
    expect(shown.length).toBeGreaterThan(0);
    expect(listed).toEqual(shown);
    const ids = await asked(tables, `SELECT toString(id) AS text FROM ${table} FINAL`);
    expect(new Set(ids).size).toBe(listed.length);
  });

  it('have balances that come to the supply, with those of wallets that nothing has happened to', async () => {
    const masters = await tables.json(
      'SELECT lower(hex(address)) AS address, toString(total_supply) AS supply FROM jetton_masters FINAL',
      z.object({ address: z.string(), supply: z.string() }),
    );
    const wallets = await tables.json(
      'SELECT lower(hex(address)) AS address, lower(hex(jetton)) AS jetton, toString(balance) AS balance FROM jetton_wallets FINAL',
      z.object({ address: z.string(), jetton: z.string(), balance: z.string() }),
    );
    const listed = new Set(wallets.map(({ address }) => address.slice(8)));
    const untouched = devnet.genesis.flatMap(({ address, code, data }) => {
      if (!code.equals(jettonWalletCode) || listed.has(address.hash.toString('hex'))) return [];
      const { master, balance } = readJettonWallet(data);
      return [{ jetton: master.hash.toString('hex'), balance }];
    });
    const held = [...wallets.map(({ jetton, balance }) => ({ jetton: jetton.slice(8), balance })), ...untouched];
    expect(masters.length).toBeGreaterThan(1);
    for (const { address, supply } of masters) {
      const own = held.filter(({ jetton }) => jetton === address.slice(8));
      expect(own.reduce((sum, { balance }) => sum + BigInt(balance), 0n).toString()).toBe(supply);
    }
    const holders = await asked(
      tables,
      `SELECT concat(lower(hex(address)), ' ', toString(balance)) AS text FROM jetton_holders
       GROUP BY address, balance HAVING sum(sign) > 0`,
    );
    expect(holders.sort()).toEqual(wallets.map(({ address, balance }) => `${address} ${balance}`).sort());
  });

  it.each([
    ['jetton_transfers', 0x0f8a7ea5, 'jetton_wallets'],
    ['jetton_burns', 0x595f07bc, 'jetton_wallets'],
    ['nft_transfers', 0x5fcc3d14, 'nft_items'],
  ])('have their events in %s, those too from before they were listed', async (table, opcode, of) => {
    const own = "transaction_hash = toFixedString('', 32)";
    const found = await asked(
      tables,
      `SELECT toString(count()) AS text FROM ${table} FINAL GROUP BY ${own} ORDER BY ${own}`,
    );
    const told = await asked(
      tables,
      `SELECT toString(count()) AS text
       FROM (SELECT account, mc_seqno FROM transactions FINAL WHERE in_opcode = ${opcode}) AS t
       INNER JOIN (SELECT address, id FROM ${of} FINAL) AS d ON d.address = t.account
       GROUP BY t.mc_seqno >= intDiv(d.id, 16777216) AS own ORDER BY own`,
    );
    expect(found.length).toBe(2);
    expect(found).toEqual(told);
  });

  it('are known to the actions of earlier steps too, once the log has shown them', async () => {
    const [again] = await asked(tables, 'SELECT toString(count()) AS text FROM actions WHERE mc_seqno > end_mc_seqno');
    expect(Number(again)).toBeGreaterThan(0);
    const unknown = await asked(
      tables,
      `SELECT content AS text FROM (
         SELECT type, success, content FROM actions FINAL
         ORDER BY trace_end_lt, trace_id, number, mc_seqno DESC LIMIT 1 BY trace_end_lt, trace_id, number)
       WHERE type = 'call_contract' AND success AND endsWith(JSONExtractString(content, 1, 'opcode'), 'f8a7ea5')
         AND JSONExtractString(content, 1, 'destination') IN (
           SELECT concat('0:', hex(substring(address, 5))) FROM jetton_wallets)`,
    );
    expect(unknown).toEqual([]);
  });

  it.each(isLong ? [1, 7] : [1])('are the same rows in batches of %i', async (steps) => {
    const again = await fresh(`devnet_batches_${steps}`);
    await run(again, steps);
    expect(await tableHashes(again)).toEqual(good);
  });

  it('are verified', async () => {
    expect(await compareTables(tables, 1_000, signal)).toEqual([]);
  });

  // In the middle of the rows, and at what goes in last: of the two one in the usual run.
  it.each(drawn(DEADLY, DEADLY.length).slice(0, rounds(1, 2)))('are the same after deaths at %s', async (name) => {
    const again = await fresh(`devnet_killed_${name}`);
    let inserts = 0;
    const dying = (nth: number): ClickHouse => ({
      ...again,
      async insert(table, ...rest) {
        await again.insert(table, ...rest);
        if (table === name && ++inserts === nth) throw new Killed();
      },
    });
    for (const nth of [1, 2]) {
      inserts = 0;
      await run(dying(nth), 3).catch((error) => expect(error).toBeInstanceOf(Killed));
    }
    await run(again, 5);
    expect(await tableHashes(again)).toEqual(good);
  });
});
