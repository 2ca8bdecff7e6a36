/**
 * The user by whom strangers read: the views and nothing else, within limits that he cannot change. The embedded server
 * has him from a file; on another server whoever runs it makes him with the statements that `readerStatements` gives.
 */
import { hash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ClickHouseQueryError } from './client.ts';
import { openConnection } from './connection.ts';
import { identifier, textLiteral } from './literal.ts';
import { describeFailure } from './query-error.ts';
import { HEAD_SETTING } from './views/view.ts';

export interface ReaderLimits {
  /** Database of the views. */
  database: string;
  timeoutMs: number;
  /** Of one query. */
  memoryBytes: number;
  /** Of all queries together, as a multiple of that. */
  queries: number;
  /** Queries at a time, those included that were given up and are not at their end. */
  atOnce: number;
  rowsRead: number;
  resultBytes: number;
  /** Within an hour, of each key. */
  hourly: { queries: number; rows: number; seconds: number };
}

/** What one query may write to the disk while it sorts and groups. */
const SPILL_BYTES = 1_000_000_000;
/**
 * Of 19 at most: beside a thread of the service one of these gets a fourth of the time. With 10 it was a tenth, and
 * beside eight busy threads on two cores an empty SELECT of a view did not end within 10 s.
 */
const QUERY_NICENESS = 5;
/** The largest statement that is parsed. */
export const MAX_SQL_BYTES = 64 * 1024;

/**
 * How many keys the server hears of at most. It keeps some 30 KB for each for as long as it runs, and clients choose
 * theirs: those of the same number share a quota.
 */
export const QUOTA_KEYS = 1_024;

/** The same number in every process. */
function quotaKeyOf(key: string): string {
  return String(Number.parseInt(hash('sha256', key).slice(0, 8), 16) % QUOTA_KEYS);
}

/** The reader's settings. */
function settingsOf(limits: ReaderLimits): Record<string, number | string> {
  const { timeoutMs, memoryBytes, queries, atOnce, rowsRead, resultBytes } = limits;
  return {
    readonly: 1,
    allow_ddl: 0,
    allow_introspection_functions: 0,
    max_execution_time: Math.ceil(timeoutMs / 1000),
    max_memory_usage: memoryBytes,
    max_memory_usage_for_user: memoryBytes * queries,
    max_bytes_before_external_group_by: Math.floor(memoryBytes / 3),
    max_bytes_before_external_sort: Math.floor(memoryBytes / 3),
    max_temporary_data_on_disk_size_for_query: SPILL_BYTES,
    max_temporary_data_on_disk_size_for_user: SPILL_BYTES * queries,
    max_threads: 1,
    // A call of a function is not interrupted, nor is its query ended before: one over a long text can take minutes.
    max_concurrent_queries_for_user: atOnce,
    // Its threads give way to everybody else's, where the server may say so (CAP_SYS_NICE).
    os_thread_priority: QUERY_NICENESS,
    max_rows_to_read: rowsRead,
    max_result_bytes: resultBytes,
    max_query_size: 2 * MAX_SQL_BYTES,
    max_ast_depth: 500,
    max_ast_elements: 5_000,
    max_expanded_ast_elements: 50_000,
    max_parser_depth: 500,
    max_parser_backtracks: 100_000,
    max_subquery_depth: 30,
    use_query_cache: 0,
    // With it a page of a view behind an OFFSET is refused: a column of its order is not found (ClickHouse 26.7).
    query_plan_optimize_lazy_materialization: 0,
    log_queries: 0,
    cancel_http_readonly_queries_on_client_close: 1,
    http_wait_end_of_query: 1,
    http_response_buffer_size: 4 * 1024 * 1024,
    output_format_json_quote_64bit_integers: 1,
    output_format_json_quote_decimals: 1,
    output_format_json_quote_denormals: 1,
    output_format_json_validate_utf8: 1,
    // Of times that say no zone, and of days: those of the views are UTC.
    session_timezone: 'UTC',
  };
}

/** What a request may set: the step it sees, how many rows come out, and a shorter time. */
const CHANGEABLE = [HEAD_SETTING, 'limit', 'max_execution_time'];

/** The file of users of the embedded server. It starts itself as `default`, which therefore has no password. */
export function usersXml(limits: ReaderLimits, user: string): string {
  const element = ([name, value]: [string, number | string]) => `<${name}>${value}</${name}>`;
  const settings = Object.entries(settingsOf(limits)).map(element).join('\n      ');
  const { hourly, timeoutMs } = limits;
  const longest = `<max>${Math.ceil(timeoutMs / 1000)}</max>`;
  const changeable = CHANGEABLE.map(
    (name) => `<${name}>${name === 'max_execution_time' ? longest : ''}<changeable_in_readonly/></${name}>`,
  );
  const networks = '<networks><ip>::1</ip><ip>127.0.0.1</ip></networks>';
  return `<clickhouse>
  <profiles>
    <default></default>
    <${user}>
      ${settings}
      <constraints>
        ${changeable.join('\n        ')}
      </constraints>
    </${user}>
  </profiles>
  <users>
    <default>
      <password></password>${networks}<profile>default</profile><quota>default</quota>
      <access_management>1</access_management>
    </default>
    <${user}>
      <no_password/>${networks}<profile>${user}</profile><quota>${user}</quota>
      <grants><query>GRANT SELECT ON ${limits.database}.*</query></grants>
    </${user}>
  </users>
  <quotas>
    <default></default>
    <${user}>
      <keyed/>
      <interval>
        <duration>3600</duration>
        <queries>${hourly.queries}</queries>
        <read_rows>${hourly.rows}</read_rows>
        <execution_time>${hourly.seconds}</execution_time>
      </interval>
    </${user}>
  </quotas>
</clickhouse>
`;
}

/** The same for a server that is not ours. */
export function readerStatements(limits: ReaderLimits, user: string): string[] {
  const { hourly, timeoutMs, database } = limits;
  const settings = Object.entries(settingsOf(limits)).map(([name, value]) => {
    if (name !== 'max_execution_time') {
      return `${name} = ${typeof value === 'string' ? textLiteral(value) : value} CONST`;
    }
    return `${name} = ${value} MAX ${Math.ceil(timeoutMs / 1000)} CHANGEABLE_IN_READONLY`;
  });
  const open = [HEAD_SETTING, 'limit'].map((name) => `${name} CHANGEABLE_IN_READONLY`);
  const quoted = identifier(user);
  return [
    `CREATE SETTINGS PROFILE ${quoted} SETTINGS ${[...settings, ...open].join(', ')}`,
    `CREATE USER ${quoted} IDENTIFIED BY ${textLiteral('a password')} SETTINGS PROFILE ${textLiteral(user)}`,
    `GRANT SELECT ON ${identifier(database)}.* TO ${quoted}`,
    `CREATE QUOTA ${quoted} KEYED BY client_key, ip_address FOR INTERVAL 1 HOUR MAX queries = ${hourly.queries}, ` +
      `read_rows = ${hourly.rows}, execution_time = ${hourly.seconds} TO ${quoted}`,
  ];
}

export interface ReaderOptions {
  url: string;
  user: string;
  password: string;
  database: string;
  maxConnections: number;
  /** Ends a query on the server, by its id; rejects nothing. */
  kill(queryId: string): void;
}

/** The value of a parameter. */
export type Parameter = Scalar | Scalar[];
type Scalar = string | number | boolean;

export interface Asked {
  /** Without FORMAT. */
  sql: string;
  /** Null for what cannot have one: an EXPLAIN, which comes tab separated. */
  format: string | null;
  /** The step that every view shows. */
  head: number;
  /** Rows that come out; all for null. */
  limit: number | null;
  parameters: ReadonlyMap<string, Parameter>;
  /** Who asks, for the quota. */
  key: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface Told {
  bytes: Buffer;
  rows: number;
  rowsRead: number;
}

export interface Reader {
  /** @throws {ClickHouseQueryError} and the signal's reason */
  ask(asked: Asked): Promise<Told>;
  close(): void;
}

/** How much later than the server we give up ourselves: its answer says more. */
const GRACE_MS = 2_000;
const LABEL = 'a query of SQL';
/** The reader's own limit is smaller. */
const MAX_RESULT_BYTES = 1024 * 1024 * 1024;
const SUMMARY = z.object({ result_rows: z.coerce.number().default(0), read_rows: z.coerce.number().default(0) });
const ESCAPED: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', "'": "\\'", '\\': '\\\\' };

/** Of one parameter in that form: `http_max_field_value_size` of the server. */
export const MAX_PARAMETER_BYTES = 128 * 1024;

/**
 * As the server reads the values of parameters
 * (https://clickhouse.com/docs/interfaces/http#cli-queries-with-parameters).
 */
export function parameterText(value: Parameter): string {
  const escaped = (text: string): string => text.replace(/[\t\n\r'\\]/g, (one) => ESCAPED[one]);
  if (Array.isArray(value)) {
    return `[${value.map((one) => (typeof one === 'string' ? `'${escaped(one)}'` : String(one))).join(',')}]`;
  }
  // Not `true`: what is no Bool may be asked with it too.
  return typeof value === 'boolean' ? String(Number(value)) : escaped(String(value));
}

export function createReader({ url, user, password, database, maxConnections, kill }: ReaderOptions): Reader {
  const connection = openConnection({ url, username: user, password, maxConnections });

  async function ask({ sql, format, head, limit, parameters, key, timeoutMs, signal }: Asked): Promise<Told> {
    signal.throwIfAborted();
    const queryId = randomUUID();
    const late = AbortSignal.timeout(timeoutMs + GRACE_MS);
    const ended = AbortSignal.any([signal, late]);
    try {
      const { bytes, summary } = await connection.run({
        sql: format === null ? sql : `${sql}\nFORMAT ${format}`,
        queryId,
        parameters: [...parameters].map(([name, value]) => [name, parameterText(value)]),
        settings: {
          database,
          [HEAD_SETTING]: head,
          quota_key: quotaKeyOf(key),
          max_execution_time: Math.max(1, Math.ceil(timeoutMs / 1000)),
          ...(limit === null ? {} : { limit }),
        },
        maxBytes: MAX_RESULT_BYTES,
        signal: ended,
      });
      const { result_rows, read_rows } = SUMMARY.parse(JSON.parse(summary));
      return { bytes, rows: result_rows, rowsRead: read_rows };
    } catch (cause) {
      if (ended.aborted) kill(queryId);
      signal.throwIfAborted();
      if (late.aborted) {
        const detail = `no answer within ${timeoutMs} ms`;
        throw new ClickHouseQueryError({ code: 'timeout', label: LABEL, queryId, detail, cause });
      }
      throw new ClickHouseQueryError(describeFailure(cause, LABEL, queryId));
    }
  }

  return { ask, close: () => connection.close() };
}
