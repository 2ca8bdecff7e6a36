import { ServerError } from './connection.ts';

export type ClickHouseErrorCode =
  /** The time given ran out, here or in the server. */
  | 'timeout'
  /** The caller's signal ended it. */
  | 'aborted'
  /** The server could not be reached, or went away in the middle. An insert may or may not be done. */
  | 'connection'
  /** The result passes the bound of bytes or rows. */
  | 'too_large'
  /** The statement would take more memory than one may have (`max_memory_usage`), or as many of its user. */
  | 'memory'
  /** The server refuses for now: memory of all together, a full disk, too many parts or queries, shutting down. */
  | 'busy'
  /** Everything else the server says; `serverCode` and `serverType` tell what. */
  | 'server'
  /** An answer that is not what was asked for. */
  | 'malformed';

export interface QueryFailure {
  code: ClickHouseErrorCode;
  /** What was being done, in words. */
  label: string;
  queryId: string;
  detail: string;
  serverCode?: number;
  serverType?: string;
  cause?: unknown;
}

/** Longest part of a server message that is kept: messages quote whole queries. */
const MAX_DETAIL = 500;

export class ClickHouseQueryError extends Error {
  readonly code: ClickHouseErrorCode;
  readonly label: string;
  readonly queryId: string;
  /** https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp; null when not from the server. */
  readonly serverCode: number | null;
  readonly serverType: string | null;

  constructor(failure: QueryFailure) {
    const detail = failure.detail.length > MAX_DETAIL ? `${failure.detail.slice(0, MAX_DETAIL)}…` : failure.detail;
    super(`${failure.label}: ${detail}`, { cause: failure.cause });
    this.name = 'ClickHouseQueryError';
    this.code = failure.code;
    this.label = failure.label;
    this.queryId = failure.queryId;
    this.serverCode = failure.serverCode ?? null;
    this.serverType = failure.serverType ?? null;
  }
}

const DISK_FULL = 'NOT_ENOUGH_SPACE';

const CODES_BY_TYPE: Readonly<Record<string, ClickHouseErrorCode>> = {
  TIMEOUT_EXCEEDED: 'timeout',
  QUERY_WAS_CANCELLED: 'aborted',
  QUERY_WAS_CANCELLED_BY_CLIENT: 'aborted',
  TOO_MANY_ROWS: 'too_large',
  TOO_MANY_BYTES: 'too_large',
  TOO_MANY_ROWS_OR_BYTES: 'too_large',
  MEMORY_LIMIT_EXCEEDED: 'busy',
  [DISK_FULL]: 'busy',
  TOO_MANY_PARTS: 'busy',
  TOO_MANY_SIMULTANEOUS_QUERIES: 'busy',
  CANNOT_SCHEDULE_TASK: 'busy',
  ABORTED: 'busy',
  TABLE_IS_READ_ONLY: 'busy',
  KEEPER_EXCEPTION: 'busy',
  NETWORK_ERROR: 'connection',
  SOCKET_TIMEOUT: 'connection',
  UNKNOWN_STATUS_OF_INSERT: 'connection',
};

const QUERY_MEMORY = /^Query memory/;

const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

function isSocketError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string' && CONNECTION_CODES.has(error.code)) return true;
  // Node's words for one closed before the answer, or in its middle.
  return /socket hang up|^aborted$/.test(error.message);
}

function codeOf({ type, message }: ServerError): ClickHouseErrorCode {
  // The same type for a statement's limit as for the server's, which only the text tells apart.
  if (type === 'MEMORY_LIMIT_EXCEEDED' && QUERY_MEMORY.test(message)) return 'memory';
  return CODES_BY_TYPE[type ?? ''] ?? 'server';
}

/** The failure that an error of the HTTP client stands for. */
export function describeFailure(error: unknown, label: string, queryId: string): QueryFailure {
  if (error instanceof ServerError && error.code !== null) {
    return {
      code: codeOf(error),
      label,
      queryId,
      detail: `${error.message.trim()} (code ${error.code}${error.type ? `, ${error.type}` : ''})`,
      serverCode: error.code,
      ...(error.type ? { serverType: error.type } : {}),
      cause: error,
    };
  }
  const detail = error instanceof Error ? error.message || error.name : String(error);
  return { code: isSocketError(error) ? 'connection' : 'server', label, queryId, detail, cause: error };
}

/** The server was not reached or went away. An insert with a token can be sent again as it is. */
export function isConnectionError(error: unknown): boolean {
  return error instanceof ClickHouseQueryError && error.code === 'connection';
}

/** The query would read more rows than it may (`max_rows_to_read`). */
export function isTooManyRows(error: unknown): boolean {
  return error instanceof ClickHouseQueryError && error.serverType === 'TOO_MANY_ROWS';
}

/** The query would take more memory than one may (`max_memory_usage`). */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof ClickHouseQueryError && error.code === 'memory';
}

/** It has no room for what would be written. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof ClickHouseQueryError && error.serverType === DISK_FULL;
}

export function isTimeout(error: unknown): boolean {
  return error instanceof ClickHouseQueryError && error.code === 'timeout';
}

const TRANSIENT: ReadonlySet<ClickHouseErrorCode> = new Set(['connection', 'busy', 'memory', 'timeout']);

/** Worth trying again later without a change: no connection, or a server that is busy or stands still for now. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ClickHouseQueryError) return TRANSIENT.has(error.code);
  // An error of something larger that failed for it, of a migration say.
  return error instanceof Error && error.cause !== undefined && isTransient(error.cause);
}
