import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from './client.ts';
import { migrate } from './migrate.ts';
import { MigrationError, readMigrations, splitStatements } from './migration-files.ts';
import { ClickHouseQueryError } from './query-error.ts';
import { silent, startTestServer, type TestServer } from './test-server.ts';

const FIRST = `-- a comment; with a semicolon;
CREATE TABLE IF NOT EXISTS a (k UInt32) ENGINE = MergeTree ORDER BY k;

CREATE TABLE IF NOT EXISTS b (k UInt32, s String DEFAULT 'x;y') ENGINE = MergeTree ORDER BY k;
`;
const SECOND = "ALTER TABLE a ADD COLUMN IF NOT EXISTS v String DEFAULT 'v'";

let test: TestServer;
let folder: string;
let clickhouse: ClickHouse;
let databases = 0;

beforeAll(async () => {
  test = await startTestServer();
});

afterAll(() => test?.remove());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tonstream-migrations-'));
  clickhouse = createClickHouse({ url: test.server.url, database: `migrated${databases++}`, logger: silent });
  await writeFile(join(folder, '001_first.sql'), FIRST);
});

afterEach(async () => {
  await clickhouse.close();
  await rm(folder, { recursive: true });
});

const run = () => migrate({ clickhouse, logger: silent, folder });

async function names(sql: string): Promise<string[]> {
  const rows = await clickhouse.json(sql, z.object({ name: z.string() }));
  return rows.map((row) => row.name);
}

/** An insert of numbers that the server has begun, and that ends when it is told to: 600,000 times 1, and 2. */
async function beginInsert(table: string): Promise<{ end(): Promise<void> }> {
  const sql = encodeURIComponent(`INSERT INTO ${table} (k) FORMAT RowBinary`);
  const asked = request(`${test.server.url}/?database=${clickhouse.database}&query=${sql}`, { method: 'POST' });
  const answered = once(asked, 'response');
  // More than the server waits for before it begins.
  asked.write(Buffer.from(new Uint32Array(600_000).fill(1).buffer));
  const running = "SELECT query_id AS name FROM system.processes WHERE query_kind = 'Insert'";
  while ((await names(running)).length === 0) await sleep(20);
  return {
    async end() {
      asked.end(Buffer.from(new Uint32Array([2]).buffer));
      const [response] = (await answered) as [IncomingMessage];
      response.resume();
      await once(response, 'end');
      expect(response.statusCode).toBe(200);
    },
  };
}

describe('splitStatements', () => {
  it('cuts at a semicolon that ends a line, outside comment lines', () => {
    const statements = splitStatements("  -- a;\nSELECT ';a';  \r\nSELECT\n  2;\n\n;\nSELECT 3 -- tail\n");
    expect(statements).toEqual(["SELECT ';a'", 'SELECT\n  2', 'SELECT 3 -- tail']);
  });
});

describe('migrate', () => {
  it('makes the database and applies every file once, in order', async () => {
    expect(await run()).toEqual(['001_first.sql']);
    expect(await run()).toEqual([]);
    await writeFile(join(folder, '002_second.sql'), SECOND);
    expect(await run()).toEqual(['002_second.sql']);
    const tables = `SELECT name FROM system.tables WHERE database = '${clickhouse.database}' ORDER BY name`;
    expect(await names(tables)).toEqual(['a', 'b', 'leases', 'migrations']);
    expect(await names('SELECT name FROM migrations FINAL ORDER BY number, statement')).toEqual([
      '001_first.sql',
      '001_first.sql',
      '002_second.sql',
    ]);
  });

  it('goes on after a failed or interrupted file', async () => {
    await writeFile(join(folder, '002_second.sql'), `${SECOND};\nSELECT throwIf(count() = 0, 'no rows yet') FROM b;\n`);
    await expect(run()).rejects.toThrow(/migration 002_second.sql, statement 2: .*no rows yet/);
    await clickhouse.command('INSERT INTO b (k) VALUES (1)');
    expect(await run()).toEqual(['002_second.sql']);
    expect(await names('SELECT name FROM migrations FINAL WHERE number = 2')).toHaveLength(2);
  });

  it('goes on where the lease is not read in its short time', async () => {
    const late = { code: 'timeout', label: 'reading who holds a lease', queryId: '', detail: 'no answer' } as const;
    let left = 2;
    const busy: ClickHouse = {
      ...clickhouse,
      async json(sql, row, options) {
        if (options?.label === late.label && left-- > 0) throw new ClickHouseQueryError(late);
        return clickhouse.json(sql, row, options);
      },
    };
    expect(await migrate({ clickhouse: busy, logger: silent, folder })).toEqual(['001_first.sql']);
    expect(left).toBeLessThan(0);
  });

  it('gives a statement hours: one may fill a table from all rows of another', async () => {
    const statement = "SELECT throwIf(toUInt64(getSetting('max_execution_time')) < 36000, 'too short')";
    await writeFile(join(folder, '002_second.sql'), statement);
    expect(await run()).toEqual(['001_first.sql', '002_second.sql']);
  });

  it('knows a file that was only begun, and refuses it when it has changed since', async () => {
    const begun = `${SECOND};\nSELECT 1;\nSELECT throwIf(1, 'stopped');\n`;
    await writeFile(join(folder, '002_second.sql'), begun);
    await expect(run()).rejects.toThrow(/statement 3: .*stopped/);
    await writeFile(join(folder, '002_second.sql'), begun.replace(/SELECT throwIf.*\n/, ''));
    await expect(run()).rejects.toThrow(/002_second.sql is not what was applied/);
  });

  it('refuses a changed, a renamed and a missing file, and one that comes too late', async () => {
    await writeFile(join(folder, '003_third.sql'), SECOND);
    await run();
    await writeFile(join(folder, '001_first.sql'), `${FIRST}\n`);
    await expect(run()).rejects.toThrow(/001_first.sql is not what was applied/);
    await writeFile(join(folder, '001_first.sql'), FIRST);
    await writeFile(join(folder, '002_late.sql'), SECOND);
    await expect(run()).rejects.toThrow(/002_late.sql comes before one/);
    await rm(join(folder, '002_late.sql'));
    await rm(join(folder, '003_third.sql'));
    await expect(run()).rejects.toThrow(/has migration 003_third.sql, which this version does not know: a newer/);
    await writeFile(join(folder, '003_renamed.sql'), SECOND);
    await expect(run()).rejects.toThrow(MigrationError);
  });

  it('lets two processes start at once', async () => {
    await writeFile(join(folder, '002_second.sql'), SECOND);
    const other = clickhouse.withDatabase(clickhouse.database);
    await Promise.all([run(), migrate({ clickhouse: other, logger: silent, folder })]);
    expect(await run()).toEqual([]);
    expect(await names('SELECT name FROM migrations FINAL')).toHaveLength(3);
    await other.close();
  });

  describe('in turn', () => {
    const VIEW = 'CREATE MATERIALIZED VIEW IF NOT EXISTS v TO b AS SELECT k FROM a';
    const lease = { lastsMs: 500, renewMs: 100, settleMs: 200 };
    const views = () => names("SELECT name FROM system.tables WHERE database = currentDatabase() AND name = 'v'");

    beforeEach(async () => {
      await writeFile(join(folder, '002_view.sql'), `SELECT 1;\n${VIEW};\nALTER TABLE v MODIFY QUERY SELECT k FROM a`);
      await writeFile(join(folder, '003_gone.sql'), 'DROP VIEW IF EXISTS v');
    });

    it('lets no process that is behind do again what a later file has taken back', async () => {
      const slow: ClickHouse = {
        ...clickhouse,
        command: async (sql, options) => {
          if (sql === VIEW) await sleep(1_000);
          await clickhouse.command(sql, options);
        },
      };
      const applied = await Promise.all([migrate({ clickhouse: slow, logger: silent, folder }), run(), run()]);
      expect(applied.flat().sort()).toEqual(['001_first.sql', '002_view.sql', '003_gone.sql']);
      expect(await views()).toEqual([]);
    });

    it('lets one go on where another stood still, who then does nothing any more', async () => {
      let goOn = (): void => undefined;
      let stood = (): void => undefined;
      const isOver = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const stands = new Promise<void>((resolve) => {
        stood = resolve;
      });
      let isStill = false;
      const ran: string[] = [];
      const frozen: ClickHouse = {
        ...clickhouse,
        command: async (sql, options) => {
          ran.push(sql);
          await clickhouse.command(sql, options);
          isStill ||= sql === 'SELECT 1';
        },
        insert: async (...given) => {
          if (isStill) stood();
          if (isStill) await isOver;
          await clickhouse.insert(...given);
        },
      };
      const first = migrate({ clickhouse: frozen, logger: silent, folder, lease });
      await stands;
      expect(await migrate({ clickhouse, logger: silent, folder, lease })).toEqual(['002_view.sql', '003_gone.sql']);
      goOn();
      expect(await first).toEqual(['001_first.sql']);
      expect(ran).not.toContain(VIEW);
      expect(await views()).toEqual([]);
    });
  });

  it('fills an index also with what an insert brings that began before its view was there', async () => {
    await run();
    const fills = `CREATE MATERIALIZED VIEW IF NOT EXISTS v TO b AS SELECT k FROM a;
      INSERT INTO b (k) SELECT k FROM a`;
    await writeFile(join(folder, '002_fills.sql'), fills);
    const slow = await beginInsert('a');
    const waits: string[] = [];
    let begun = (): void => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const told: ClickHouse = {
      ...clickhouse,
      json: async (sql, ...given) => {
        const rows = await clickhouse.json(sql, ...given);
        if (sql.includes('system.processes') && waits.push(sql) > 1) begun();
        return rows;
      },
    };
    const migrated = migrate({ clickhouse: told, logger: silent, folder });
    await Promise.race([migrated, isBegun]);
    await slow.end();
    await migrated;
    expect(await names('SELECT toString(count()) AS name FROM a')).toEqual(['600001']);
    expect(await names('SELECT toString(count()) AS name FROM b')).toEqual(['600001']);
  });

  it('refuses files it would not know how to order', async () => {
    await writeFile(join(folder, '001_same_number.sql'), SECOND);
    await expect(run()).rejects.toThrow(/have the same number/);
    await rm(join(folder, '001_same_number.sql'));
    await writeFile(join(folder, 'notes.txt'), 'x');
    await expect(run()).rejects.toThrow(/not named NNN_name.sql/);
  });

  it('applies the migrations of the package, twice without effect', async () => {
    const own = await readMigrations();
    const applied = await migrate({ clickhouse, logger: silent });
    expect(applied).toEqual(own.map((migration) => migration.name));
    expect(await migrate({ clickhouse, logger: silent })).toEqual([]);
  });
});
