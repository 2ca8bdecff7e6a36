import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { openConnection, ResultTooLarge, type Settings } from './connection.ts';
import { identifier } from './literal.ts';
import { ClickHouseQueryError, describeFailure, type QueryFailure } from './query-error.ts';
import { type ClickHouseLogger, COMMON_SETTINGS, INSERT_SETTINGS, QUERY_SETTINGS } from './settings.ts';

export {
  type ClickHouseErrorCode,
  ClickHouseQueryError,
  isConnectionError,
  isTimeout,
  isTransient,
} from './query-error.ts';

export type ClickHouseOperation = 'query' | 'insert' | 'command';

export interface ClickHouseMetrics {
  /** After every request. `outcome` is `ok` or the code of the error. */
  finished(operation: ClickHouseOperation, label: string, outcome: string, ms: number, bytes: number): void;
}

export interface ClickHouseOptions {
  /** Base URL of the HTTP interface. */
  url: string;
  username?: string;
  password?: string;
  /** Need not exist yet: see migrate.ts. */
  database: string;
  maxOpenConnections?: number;
  logger: ClickHouseLogger;
  metrics?: ClickHouseMetrics;
}

export interface RequestOptions {
  /** What is being done, in words, for errors and metrics: a constant, no values inside. */
  label?: string;
  signal?: AbortSignal | undefined;
  /** Bound of the whole request, milliseconds. */
  timeoutMs?: number;
  settings?: Settings;
}

export interface QueryOptions extends RequestOptions {
  /** Bound of the result as it comes over the wire. Default 256 MiB. */
  maxResultBytes?: number;
}

export interface InsertOptions extends RequestOptions {
  /**
   * Names exactly these rows: a second insert under the same token into the same table does nothing, in the table
   * and in its materialized views, as long as the table's deduplication window remembers it.
   */
  dedupToken?: string;
}

export interface ClickHouse {
  /** Base URL of the HTTP interface. */
  readonly url: string;
  readonly database: string;
  /** DDL and the like. Default timeout ten minutes. */
  command(sql: string, options?: RequestOptions): Promise<void>;
  /** One INSERT of RowBinary data; done when it resolves. Default timeout two minutes. */
  insert(table: string, columns: readonly string[], rows: readonly Buffer[], options?: InsertOptions): Promise<void>;
  /** A SELECT without FORMAT; the result as RowBinary. Default timeout ten seconds. */
  query(sql: string, options?: QueryOptions): Promise<Buffer>;
  /** Cold paths only. 64-bit integers, wider ones and Decimals are strings in the rows. */
  json<T>(sql: string, row: z.ZodType<T>, options?: QueryOptions): Promise<T[]>;
  /** Whether the server answers within five seconds. */
  ping(signal?: AbortSignal): Promise<boolean>;
  /** The same server and settings, another database. Closed on its own. */
  withDatabase(database: string): ClickHouse;
  /** Waits for the KILL QUERYs under way, then drops the connections. */
  close(): Promise<void>;
}

const DEFAULT_TIMEOUT_MS: Readonly<Record<ClickHouseOperation, number>> = {
  query: 10_000,
  insert: 120_000,
  command: 600_000,
};
const DEFAULT_MAX_RESULT_BYTES = 256 * 1024 * 1024;
/** How much later than the server we give up ourselves: its answer says more. */
const TIMEOUT_GRACE_MS = 2_000;
const KILL_TIMEOUT_MS = 5_000;
const MAX_KILL_BYTES = 1024 * 1024;
/** Before each try to kill a query. */
const KILL_WAITS_MS = [0, 250, 1_000, 4_000];
const PING_TIMEOUT_MS = 5_000;

interface Request {
  operation: ClickHouseOperation;
  sql: string;
  values: readonly Buffer[] | null;
  settings: Settings;
  options: QueryOptions;
}

/**
 * The one way to a ClickHouse server, embedded or not.
 *
 * Nothing is retried here. All methods throw ClickHouseQueryError. A request whose signal aborts, or that outlives
 * its time, ends on the server too: ClickHouse goes on with a query whose client has gone, so a
 * KILL QUERY follows.
 */
export function createClickHouse(options: ClickHouseOptions): ClickHouse {
  const { url, database, logger, metrics } = options;
  const connect = (maxConnections: number) =>
    openConnection({
      url,
      username: options.username ?? 'default',
      password: options.password ?? '',
      maxConnections,
    });
  const connection = connect(Math.max(2, options.maxOpenConnections ?? 16));
  // Kills must not wait behind the queries that hold all connections.
  const killer = connect(1);
  const kills = new Set<Promise<void>>();
  const closing = new AbortController();
  // One for each kill that waits.
  setMaxListeners(0, closing.signal);

  function kill(queryId: string): void {
    const done = killQuery(queryId).finally(() => kills.delete(done));
    kills.add(done);
  }

  /** Until it was there to be killed: an early abort can overtake the query on its way into the server's list. */
  async function killQuery(queryId: string): Promise<void> {
    for (const waitMs of KILL_WAITS_MS) {
      // At the end there is no more waiting.
      if (waitMs > 0) await delay(waitMs, undefined, { signal: closing.signal }).catch(() => undefined);
      try {
        const { bytes } = await killer.run({
          sql: `KILL QUERY WHERE query_id = '${queryId}' ASYNC FORMAT JSONEachRow`,
          queryId: randomUUID(),
          settings: {},
          maxBytes: MAX_KILL_BYTES,
          signal: AbortSignal.timeout(KILL_TIMEOUT_MS),
        });
        if (bytes.length > 0) return;
      } catch (error) {
        logger.debug({ err: error, queryId }, 'could not kill an abandoned query');
        if (closing.signal.aborted) return;
      }
    }
  }

  async function run(request: Request): Promise<Buffer> {
    const { operation, options: asked } = request;
    const label = asked.label ?? `ClickHouse ${operation}`;
    const timeoutMs = asked.timeoutMs ?? DEFAULT_TIMEOUT_MS[operation];
    const queryId = randomUUID();
    const began = performance.now();
    const limit = createLimit(timeoutMs, asked.signal);
    let outcome = 'ok';
    let bytes = 0;
    let sent = false;
    try {
      limit.signal.throwIfAborted();
      sent = true;
      const { bytes: result } = await connection.run({
        sql: request.sql,
        values: request.values,
        queryId,
        settings: { ...COMMON_SETTINGS, ...request.settings, max_execution_time: timeoutMs / 1000, database },
        maxBytes: asked.maxResultBytes ?? DEFAULT_MAX_RESULT_BYTES,
        signal: limit.signal,
      });
      bytes = result.length;
      return result;
    } catch (cause) {
      if (sent && (limit.signal.aborted || cause instanceof ResultTooLarge)) kill(queryId);
      const error = new ClickHouseQueryError(limit.failure(cause, label, queryId));
      outcome = error.code;
      throw error;
    } finally {
      limit.clear();
      metrics?.finished(operation, label, outcome, performance.now() - began, bytes);
    }
  }

  function read(sql: string, format: string, asked: QueryOptions): Promise<Buffer> {
    const settings: Settings = {
      ...QUERY_SETTINGS,
      max_result_bytes: String(asked.maxResultBytes ?? DEFAULT_MAX_RESULT_BYTES),
      ...asked.settings,
    };
    return run({ operation: 'query', sql: `${sql}\nFORMAT ${format}`, values: null, settings, options: asked });
  }

  return {
    url,
    database,
    async command(sql, asked = {}) {
      await run({ operation: 'command', sql, values: null, settings: { ...asked.settings }, options: asked });
    },
    async insert(table, columns, rows, asked = {}) {
      if (rows.length === 0) return;
      const names = columns.map(identifier).join(', ');
      const sql = `INSERT INTO ${identifier(table)} (${names}) FORMAT RowBinary`;
      const settings = { ...INSERT_SETTINGS, ...asked.settings };
      if (asked.dedupToken !== undefined) settings.insert_deduplication_token = asked.dedupToken;
      await run({ operation: 'insert', sql, values: rows, settings, options: asked });
    },
    query: (sql, asked = {}) => read(sql, 'RowBinary', asked),
    async json(sql, row, asked = {}) {
      return parseRows(await read(sql, 'JSONEachRow', asked), row, asked.label ?? 'ClickHouse query');
    },
    ping(signal) {
      const timeout = AbortSignal.timeout(PING_TIMEOUT_MS);
      return connection.ping(signal ? AbortSignal.any([signal, timeout]) : timeout);
    },
    withDatabase: (other) => createClickHouse({ ...options, database: other }),
    async close() {
      closing.abort();
      await Promise.all(kills);
      connection.close();
      killer.close();
    },
  };
}

/** One signal for the caller's abort and for the time, and which of the two it was. */
function createLimit(timeoutMs: number, caller: AbortSignal | undefined) {
  const controller = new AbortController();
  const onAbort = () => controller.abort(caller?.reason);
  // One for each statement that a caller asks at a time, as many as a batch has tables.
  if (caller !== undefined) setMaxListeners(0, caller);
  if (caller?.aborted) onAbort();
  else caller?.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => controller.abort(), timeoutMs + TIMEOUT_GRACE_MS);
  return {
    signal: controller.signal,
    clear(): void {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
    /** What an error means, given whether and why the signal has aborted. */
    failure(cause: unknown, label: string, queryId: string): QueryFailure {
      if (caller?.aborted) return { code: 'aborted', label, queryId, detail: 'ended by the caller', cause };
      if (controller.signal.aborted) {
        return { code: 'timeout', label, queryId, detail: `no answer within ${timeoutMs} ms`, cause };
      }
      if (cause instanceof ResultTooLarge) return { code: 'too_large', label, queryId, detail: cause.message };
      return describeFailure(cause, label, queryId);
    },
  };
}

function parseRows<T>(result: Buffer, row: z.ZodType<T>, label: string): T[] {
  const lines = result.toString('utf8').split('\n');
  const parsed = z.array(row).safeParse(lines.filter((line) => line !== '').map((line): unknown => JSON.parse(line)));
  if (parsed.success) return parsed.data;
  const failure = { code: 'malformed', label, queryId: '', detail: z.prettifyError(parsed.error) } as const;
  throw new ClickHouseQueryError({ ...failure, cause: parsed.error });
}
