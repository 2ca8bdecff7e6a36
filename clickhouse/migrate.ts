import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type ClickHouse, ClickHouseQueryError } from './client.ts';
import { createLease, keepLease, LEASES_TABLE, type Lease, type Terms, type Turn } from './lease.ts';
import { identifier, textLiteral } from './literal.ts';
import { type Migration, MigrationError, readMigrations } from './migration-files.ts';
import { isTransient } from './query-error.ts';
import { RowWriter } from './rowbinary.ts';
import type { ClickHouseLogger } from './settings.ts';

export interface MigrateOptions {
  /** Speaks to the database that the tables belong into; it is made when missing. */
  clickhouse: ClickHouse;
  logger: ClickHouseLogger;
  /** Default: the migrations of this package. */
  folder?: string;
  signal?: AbortSignal;
  /** Default: for a server that is slow to answer. */
  lease?: Partial<Terms>;
}

/** Of one statement: given up half way it would begin anew at each start, and never be done. */
const STATEMENT_MS = 24 * 3_600_000;

const LEASE = 'migrations';
const LEASE_TERMS: Terms = { lastsMs: 9_000, renewMs: 2_000, settleMs: 2_000 };
const WAIT_MS = 500;

/**
 * Fills a table from rows of another. What an insert brings that began before the view was there, as one of a projector
 * that nobody has stopped, neither the view sees nor this statement, until the insert has ended.
 */
const FILLS = /^INSERT\b/i;
const INSERTS_MS = 50;

/** One row for each statement that is known to be done. */
const MIGRATIONS_TABLE = `CREATE TABLE IF NOT EXISTS migrations (
  number UInt32,
  statement UInt32,
  statements UInt32,
  name String,
  checksum String,
  applied_at DateTime
) ENGINE = ReplacingMergeTree ORDER BY (number, statement)`;

const Applied = z.object({
  number: z.number(),
  statement: z.number(),
  statements: z.number(),
  name: z.string(),
  checksum: z.string(),
});
type Applied = z.infer<typeof Applied>;

const Insert = z.object({ query_id: z.string() });

interface Left {
  migration: Migration;
  /** Indexes of the statements, ascending. */
  statements: number[];
}

/**
 * Brings the database to the newest schema: every statement of every file once, in order.
 *
 * One process at a time does so, and others wait: one that was behind would do again what a later file has taken back.
 * Statements are recorded after they ran: the first of a file at once, so that a file that was begun is known by its
 * checksum, the others together at its end, for a row costs as much as the table that it tells of. Dying in between, or
 * standing still for so long that another one goes on, runs them again: statements are to be idempotent
 * (`IF NOT EXISTS`).
 *
 * @returns the names of the files that were applied or finished
 * @throws MigrationError when an applied file has changed or is missing, and when a statement fails
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { clickhouse, signal } = options;
  const migrations = await readMigrations(options.folder);
  const isMaker = await makeDatabase(clickhouse, signal);
  await clickhouse.command(MIGRATIONS_TABLE, { label: 'creating the table of migrations', signal });
  const left = async (): Promise<Left[]> => {
    const applied = await readApplied(clickhouse, signal);
    refuseDrift(migrations, applied, clickhouse.database);
    return leftOf(migrations, applied);
  };
  if ((await left()).length === 0) return [];
  await clickhouse.command(LEASES_TABLE, { label: 'creating the table of leases', signal });
  const lease = createLease({ clickhouse, name: LEASE, isMaker, terms: { ...LEASE_TERMS, ...options.lease } });
  try {
    return await applyInTurn(options, lease, left);
  } finally {
    // Where it cannot be released it lapses.
    await lease.release(AbortSignal.timeout(LEASE_TERMS.settleMs)).catch((error) => {
      options.logger.warn({ err: error }, 'another process that brings the schema up to date has to wait some seconds');
    });
  }
}

/** What is left, whenever it is this process's turn, until nothing is, whoever has done it. */
async function applyInTurn(options: MigrateOptions, lease: Lease, left: () => Promise<Left[]>): Promise<string[]> {
  const { clickhouse, logger } = options;
  const signal = options.signal ?? new AbortController().signal;
  const done: string[] = [];
  let told: string | null = null;
  for (;;) {
    // It has a short time. A server that is away fails the next question, which has a long one.
    const why = await lease.tend(signal).then(
      () => 'another process is bringing the schema up to date: waiting for it',
      (error: unknown) => {
        if (isTransient(error))
          return 'whose turn it is to bring the schema up to date is not told in time: asking again';
        throw error;
      },
    );
    const waiting = await left();
    if (waiting.length === 0) return done;
    if (!lease.held) {
      const { database } = clickhouse;
      if (why !== told) logger.info({ database }, why);
      told = why;
      await sleep(WAIT_MS, undefined, { signal });
      continue;
    }
    const turn = keepLease(lease, signal);
    try {
      for (const { migration, statements } of waiting) {
        if (!(await apply(clickhouse, migration, statements, turn, signal))) break;
        logger.info({ database: clickhouse.database, name: migration.name }, 'schema migration applied');
        done.push(migration.name);
      }
    } finally {
      await turn.end();
    }
  }
}

/**
 * The database named in a connection must exist, so it is made over a connection to one that always does.
 * @returns whether this process has made it
 */
async function makeDatabase(clickhouse: ClickHouse, signal: AbortSignal | undefined): Promise<boolean> {
  const system = clickhouse.withDatabase('system');
  const name = identifier(clickhouse.database);
  const label = `creating the database ${name}`;
  try {
    const sql = `SELECT count() AS n FROM system.databases WHERE name = ${textLiteral(clickhouse.database)}`;
    const [found] = await system.json(sql, z.object({ n: z.coerce.number() }), { label, signal });
    if (found?.n !== 0) return false;
    await system.command(`CREATE DATABASE ${name}`, { label, signal });
    return true;
  } catch (error) {
    if (error instanceof ClickHouseQueryError && error.serverType === 'DATABASE_ALREADY_EXISTS') return false;
    throw error;
  } finally {
    await system.close();
  }
}

function readApplied(clickhouse: ClickHouse, signal: AbortSignal | undefined): Promise<Applied[]> {
  const sql = 'SELECT number, statement, statements, name, checksum FROM migrations FINAL ORDER BY number, statement';
  return clickhouse.json(sql, Applied, { label: 'reading the applied migrations', signal });
}

/** Files with statements that are not known to be done. */
function leftOf(migrations: readonly Migration[], applied: readonly Applied[]): Left[] {
  return migrations.flatMap((migration) => {
    const { number } = migration;
    const finished = new Set(applied.filter((row) => row.number === number).map((row) => row.statement));
    const statements = migration.statements.map((_, index) => index).filter((index) => !finished.has(index));
    return statements.length === 0 ? [] : [{ migration, statements }];
  });
}

function refuseDrift(migrations: readonly Migration[], applied: readonly Applied[], database: string): void {
  const files = new Map(migrations.map((migration) => [migration.number, migration]));
  const advice =
    'Applied migrations are never changed: restore the file and add a new one, or give another --clickhouse-database, ' +
    'into which the log is projected anew';
  for (const row of applied) {
    const file = files.get(row.number);
    if (file === undefined) {
      throw new MigrationError(
        `the database ${database} has migration ${row.name}, which this version does not know: a newer one has made ` +
          'its tables. Start that one again, or give this one another --clickhouse-database, into which it projects the log anew',
      );
    }
    if (file.checksum !== row.checksum || file.name !== row.name) {
      throw new MigrationError(`migration ${file.name} is not what was applied to ${database}. ${advice}`);
    }
  }
  const newest = applied.at(-1)?.number ?? -1;
  const known = new Set(applied.map((row) => row.number));
  const late = migrations.find((migration) => migration.number < newest && !known.has(migration.number));
  if (late) throw new MigrationError(`migration ${late.name} comes before one that ${database} already has. ${advice}`);
}

/**
 * Runs statements of a file and records them.
 * @returns false when the turn ended before the last of them
 */
async function apply(
  clickhouse: ClickHouse,
  migration: Migration,
  statements: readonly number[],
  turn: Turn,
  signal: AbortSignal,
): Promise<boolean> {
  let ran: number[] = [];
  let left = statements.length;
  for (const index of statements) {
    const statement = migration.statements[index] ?? '';
    if (FILLS.test(statement)) await insertsEnded(clickhouse, signal);
    if (!turn.lasts) break;
    const label = `migration ${migration.name}, statement ${index + 1}`;
    try {
      await clickhouse.command(statement, { label, timeoutMs: STATEMENT_MS, signal });
    } catch (cause) {
      throw new MigrationError(cause instanceof Error ? cause.message : label, { cause });
    }
    left--;
    ran.push(index);
    if (index !== statements[0]) continue;
    await record(clickhouse, migration, ran, signal);
    ran = [];
  }
  if (ran.length > 0) await record(clickhouse, migration, ran, signal);
  return left === 0;
}

/** Waits for the inserts that run now. Each ends within the time that its own client gives it. */
async function insertsEnded(clickhouse: ClickHouse, signal: AbortSignal): Promise<void> {
  const running = async (): Promise<string[]> => {
    const sql = `SELECT query_id FROM system.processes
      WHERE query_kind = 'Insert' AND current_database = currentDatabase()`;
    const rows = await clickhouse.json(sql, Insert, { label: 'looking for inserts that run', signal });
    return rows.map((row) => row.query_id);
  };
  const before = new Set(await running());
  while (before.size > 0 && (await running()).some((id) => before.has(id))) {
    await sleep(INSERTS_MS, undefined, { signal });
  }
}

async function record(
  clickhouse: ClickHouse,
  migration: Migration,
  statements: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  const rows = new RowWriter(4096);
  for (const index of statements) {
    rows.u32(migration.number);
    rows.u32(index);
    rows.u32(migration.statements.length);
    rows.string(migration.name);
    rows.string(migration.checksum);
    rows.dateTime(Math.floor(Date.now() / 1000));
  }
  const columns = ['number', 'statement', 'statements', 'name', 'checksum', 'applied_at'];
  const label = `recording migration ${migration.name}`;
  await clickhouse.insert('migrations', columns, rows.take(), { label, signal });
}
