import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from './client.ts';
import { migrate } from './migrate.ts';
import { beginSwap, bringUp, callOffSwap, finishSwap, rebuildDatabase } from './swap.ts';
import { silent, startTestServer, type TestServer } from './test-server.ts';

const { signal } = new AbortController();
const TABLES = ['a', 'b'];
let server: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  server = await startTestServer();
  clickhouse = createClickHouse({ url: server.server.url, database: 'swapped', logger: silent });
});

afterAll(async () => {
  await clickhouse?.close();
  await server?.remove();
});

/** Old tables that a view fills, and new ones that are to take their place. */
async function begin(mayBegin = async (): Promise<void> => undefined): Promise<void> {
  const fresh = clickhouse.withDatabase(rebuildDatabase(clickhouse));
  const system = clickhouse.withDatabase('system');
  for (const [to, says] of [
    [clickhouse, 'old'],
    [fresh, 'new'],
  ] as const) {
    await system.command(`DROP DATABASE IF EXISTS ${to.database} SYNC`);
    await system.command(`CREATE DATABASE ${to.database}`);
    for (const name of TABLES) await to.command(`CREATE TABLE ${name} (says String) ENGINE = MergeTree ORDER BY says`);
    await to.command('CREATE MATERIALIZED VIEW a_to_b TO b AS SELECT says FROM a');
    await to.command(`INSERT INTO a VALUES ('${says}')`);
  }
  await system.close();
  await beginSwap(fresh, signal, { mayBegin }).finally(() => fresh.close());
}

async function live(): Promise<string[]> {
  const each = TABLES.map((name) => `SELECT '${name}' AS name, says FROM ${name}`).join(' UNION ALL ');
  const rows = await clickhouse.json(
    `SELECT name, says FROM (${each}) ORDER BY name, says`,
    z.object({ name: z.string(), says: z.string() }),
  );
  return rows.map(({ name, says }) => `${name} ${says}`);
}

/** Tells of each statement before it is sent. */
const watched = (before: (sql: string) => Promise<void>): ClickHouse => ({
  ...clickhouse,
  async command(sql, asked) {
    await before(sql);
    await clickhouse.command(sql, asked);
  },
});

describe('the exchange of tables', () => {
  it('puts the new ones in the place of the old', async () => {
    await begin();
    expect(await finishSwap(clickhouse, signal)).toBe(true);
    expect(await live()).toEqual(['a new', 'b new']);
    await clickhouse.command("INSERT INTO a VALUES ('later')");
    expect(await live()).toEqual(['a later', 'a new', 'b later', 'b new']);
    expect(await finishSwap(clickhouse, signal)).toBe(false);
  });

  it('undoes nothing where another process is at the same work, and late', async () => {
    await begin();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let reached = (): void => undefined;
    const isLate = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const late = finishSwap(
      watched(async (sql) => {
        if (!sql.startsWith('EXCHANGE')) return;
        reached();
        await released;
      }),
      signal,
    ).catch(() => null);
    await isLate;
    await finishSwap(
      watched(async (sql) => {
        if (!sql.startsWith('DROP DATABASE')) return;
        // All is exchanged by then: the other goes on before the old ones are gone.
        release();
        await Promise.race([late, new Promise((resolve) => setTimeout(resolve, 1_000))]);
      }),
      signal,
    );
    await late;
    expect(await live()).toEqual(['a new', 'b new']);
  });

  it('is finished whoever was killed at it, wherever', async () => {
    for (let nth = 1; nth <= 3 * TABLES.length + 1; nth++) {
      await begin();
      let commands = 0;
      const dying = watched(async () => {
        if (++commands === nth) throw new Error('killed');
      });
      await finishSwap(dying, signal).catch(() => undefined);
      await finishSwap(clickhouse, signal);
      expect(await live()).toEqual(['a new', 'b new']);
    }
  });

  it('is called off by who claims the old tables when he may not be seen any more, unless it has begun', async () => {
    const offs: boolean[] = [];
    const claim = async (): Promise<void> => void offs.push(await callOffSwap(clickhouse, signal));
    await expect(begin(claim)).rejects.toThrow('swap_list');
    expect(await finishSwap(clickhouse, signal)).toBe(false);
    expect(await live()).toEqual(['a old', 'b old']);
    await begin();
    await claim();
    await finishSwap(clickhouse, signal);
    await claim();
    expect(offs).toEqual([true, false, true]);
    expect(await live()).toEqual(['a new', 'b new']);
  });

  it('comes before what a later version adds to the schema', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tonstream-schema-'));
    const live = clickhouse.withDatabase('upgraded');
    const fresh = clickhouse.withDatabase(rebuildDatabase(live));
    // There is nothing yet.
    expect(await bringUp({ clickhouse: live, logger: silent, folder: await withFirst(folder) })).toBe(false);
    await migrate({ clickhouse: fresh, logger: silent, folder });
    await beginSwap(fresh, signal);
    await writeFile(join(folder, '002_second.sql'), 'ALTER TABLE a ADD COLUMN IF NOT EXISTS more String');
    expect(await bringUp({ clickhouse: live, logger: silent, folder })).toBe(true);
    expect((await live.query('SELECT more FROM a')).length).toBe(0);
    await Promise.all([live.close(), fresh.close()]);
    await rm(folder, { recursive: true });
  });
});

async function withFirst(folder: string): Promise<string> {
  await writeFile(
    join(folder, '001_first.sql'),
    'CREATE TABLE IF NOT EXISTS a (k UInt32) ENGINE = MergeTree ORDER BY k',
  );
  return folder;
}
