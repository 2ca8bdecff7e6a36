/** SQL as a part of the HTTP service: made ready with the first request, and only when the reader is who he should be. */
import type { Router } from 'express';
import type { Registry } from 'prom-client';
import { type ClickHouse, ClickHouseQueryError } from '../../../clickhouse/client.ts';
import { createQueryGate } from '../../../clickhouse/gate.ts';
import { identifier, textLiteral } from '../../../clickhouse/literal.ts';
import type { Head } from '../../../clickhouse/queries/head.ts';
import { createReader, type Reader } from '../../../clickhouse/reader.ts';
import { tablesId } from '../../../clickhouse/tables-id.ts';
import { ownViews, VIEWS } from '../../../clickhouse/views/all.ts';
import type { Config } from '../../config.ts';
import { exportRouter } from '../export/router.ts';
import { createSlices, type Slices } from '../export/slices.ts';
import { createGuard } from './guard.ts';
import { MAX_OUTGOING_BYTES, servesSql } from './limits.ts';
import { createSqlMetrics } from './metrics.ts';
import { createOutgoing } from './outgoing.ts';
import { createQueries, type Queries } from './queries.ts';
import { SqlRefusal } from './refusal.ts';
import { sqlRouter } from './router.ts';
import { schemaJson } from './schema.ts';

/** How many rows a file may have for each row that JSON may have. */
const FILE_ROWS = 100;
/** Between two tries to make it ready. */
const RETRY_MS = 5_000;
const CHECK_MS = 10_000;

export interface OpenSql {
  /** Of SQL, and of exports. */
  routers: readonly Router[];
  close(): void;
}

interface Ready {
  queries: Queries;
  slices: Slices;
}

export interface OpenSqlOptions {
  config: Config;
  /** As the owner of the tables: it ends queries and reads what the server has. */
  clickhouse: ClickHouse;
  head: Pick<Head, 'seqno' | 'reach'>;
  registry: Registry;
  /** Sees why it cannot be made ready. */
  report: (error: unknown) => void;
}

export function openSql({ config, clickhouse, head, registry, report }: OpenSqlOptions): OpenSql {
  const { sqlDatabase: database } = config;
  const reader = createReader({
    url: clickhouse.url,
    user: config.sqlUser,
    password: config.sqlPassword,
    database,
    maxConnections: config.sqlQueries + 1,
    kill: (queryId) => {
      clickhouse
        .command(`KILL QUERY WHERE query_id = ${textLiteral(queryId)} ASYNC`, {
          label: 'ending a query of SQL',
          timeoutMs: CHECK_MS,
        })
        .catch(report);
    },
  });
  const gate = createQueryGate({ maxConcurrent: config.sqlQueries, maxQueued: config.sqlQueued });
  const metrics = createSqlMetrics(registry);
  const outgoing = createOutgoing({ maxBytes: MAX_OUTGOING_BYTES, metrics });
  const limits = { timeoutMs: config.sqlTimeoutMs, rows: config.sqlRows, fileRows: config.sqlRows * FILE_ROWS };
  const isOn = servesSql(config);
  let making: Promise<Ready> | null = null;
  let failed: { error: unknown; at: number } | null = null;

  async function make(): Promise<Ready> {
    const found = await ownViews(clickhouse, database, AbortSignal.timeout(CHECK_MS));
    const made = new Set(found.map(({ name }) => name));
    const missing = VIEWS.filter(({ name }) => !made.has(name)).map(({ name }) => name);
    if (missing.length > 0) throw new Error(`the database ${database} has no view ${missing.join(', ')}`);
    await checkReader(reader, {
      database,
      tables: clickhouse.database,
      timeoutMs: Math.min(CHECK_MS, config.sqlTimeoutMs),
    });
    const guard = await createGuard(clickhouse, reader, database);
    return {
      queries: createQueries({ reader, guard, gate, outgoing, head, limits, metrics }),
      slices: createSlices({
        reader,
        gate,
        outgoing,
        tables: (signal) => tablesId(clickhouse, signal),
        head,
        timeoutMs: config.sqlTimeoutMs,
        maxBytes: config.exportBytes,
      }),
    };
  }

  async function ready(): Promise<Ready> {
    if (failed !== null && performance.now() - failed.at < RETRY_MS) throw notReady(failed.error);
    making ??= make();
    try {
      return await making;
    } catch (error) {
      if (making !== null) report(error);
      making = null;
      failed = { error, at: performance.now() };
      throw notReady(error);
    }
  }

  return {
    routers: [
      sqlRouter({
        queries: isOn ? async () => (await ready()).queries : null,
        schema: () => schemaJson(clickhouse, database, limits),
        outgoing,
      }),
      exportRouter(isOn ? async () => (await ready()).slices : null, outgoing),
    ],
    close: () => reader.close(),
  };
}

function notReady(cause: unknown): SqlRefusal {
  return new SqlRefusal(503, 'SQL is not ready; the log says why', { cause, retryAfterSeconds: RETRY_MS / 1000 });
}

interface Checked {
  /** Of the views, and of the tables. */
  database: string;
  tables: string;
  timeoutMs: number;
}

/**
 * The first ring: a user who sees the views alone and changes nothing. Without him there is no SQL. Of the views one is
 * read: to understand all of them takes a second of a core, which a busy machine gives strangers in ten and more.
 */
async function checkReader(reader: Reader, { database, tables, timeoutMs }: Checked): Promise<void> {
  const asked = {
    format: null,
    head: 0,
    limit: null,
    parameters: new Map<string, string>(),
    key: 'service',
    timeoutMs,
    signal: AbortSignal.timeout(VIEWS.length * CHECK_MS),
  };
  const value = async (sql: string): Promise<string> => (await reader.ask({ ...asked, sql })).bytes.toString().trim();
  for (const { name } of VIEWS) {
    const isGranted = await value(`CHECK GRANT SELECT ON ${identifier(database)}.${identifier(name)}`);
    if (isGranted !== '1') throw new Error(`the user of SQL may not read the view ${name}`);
  }
  await value(`SELECT mc_seqno FROM ${identifier(database)}.head`);
  if ((await value("SELECT toUInt8(getSetting('readonly'))")) !== '1') throw new Error('the user of SQL may write');
  await mustFail(value(`SELECT count() FROM ${identifier(tables)}.blocks`));
}

async function mustFail(asking: Promise<unknown>): Promise<void> {
  try {
    await asking;
  } catch (error) {
    if (error instanceof ClickHouseQueryError && error.serverType === 'ACCESS_DENIED') return;
    throw error;
  }
  throw new Error('the user of SQL may read more than the views');
}
