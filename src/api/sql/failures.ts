/** What the server says of a query, as it is told to whoever asked: without versions, scopes, tables and users. */
import { ClickHouseQueryError } from '../../../clickhouse/client.ts';
import { SqlRefusal } from './refusal.ts';

const LONGEST = 400;
const HOUR_S = 3600;

/** By the server's names of errors. */
const ADVICE: Readonly<Record<string, { status: number; text: string }>> = {
  ACCESS_DENIED: { status: 403, text: 'the query asks for more than the views' },
  READONLY: { status: 403, text: 'queries only read' },
  TIMEOUT_EXCEEDED: { status: 400, text: 'the query took too long: add a condition on block_date or mc_block_seqno' },
  TOO_SLOW: { status: 400, text: 'the query took too long: add a condition on block_date or mc_block_seqno' },
  TOO_MANY_ROWS: {
    status: 400,
    text: 'the query reads too many rows: add a condition on block_date or mc_block_seqno',
  },
  TOO_MANY_ROWS_OR_BYTES: { status: 400, text: 'the answer is too large: add LIMIT, or use /api/export' },
  TOO_MANY_BYTES: { status: 400, text: 'the answer is too large: add LIMIT, or use /api/export' },
  NOT_ENOUGH_SPACE: { status: 400, text: 'the query needs too much room on the disk: group or sort less' },
};

/** What a failed query means to its caller; anything else is thrown as it is. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof ClickHouseQueryError)) return error;
  const { code, serverType } = error;
  const detail = detailOf(error);
  if (serverType === 'QUOTA_EXCEEDED') {
    return new SqlRefusal(429, 'the quota of this hour is used up', {
      cause: error,
      retryAfterSeconds: restOf(detail),
    });
  }
  if (serverType === 'TOO_MANY_SIMULTANEOUS_QUERIES') {
    return new SqlRefusal(429, 'too many queries run', { cause: error, retryAfterSeconds: 1 });
  }
  if (code === 'memory') {
    return new SqlRefusal(400, 'the query needs too much memory: group, sort or join less', { cause: error });
  }
  const advice = ADVICE[kindOf(error)];
  if (advice !== undefined) return new SqlRefusal(advice.status, advice.text, { cause: error });
  if (code === 'server' && serverType !== null) return new SqlRefusal(400, cleaned(detail), { cause: error });
  return new SqlRefusal(503, 'the tables cannot be asked now: try again soon', { cause: error, retryAfterSeconds: 1 });
}

function detailOf({ message, label }: ClickHouseQueryError): string {
  return message.startsWith(`${label}: `) ? message.slice(label.length + 2) : message;
}

/** Its type is that of an answer that is too large. */
export function isTooMuchOnDisk(error: ClickHouseQueryError): boolean {
  return error.serverType === 'NOT_ENOUGH_SPACE' || detailOf(error).startsWith('Limit for temporary files');
}

function kindOf(error: ClickHouseQueryError): string {
  const { code, serverType } = error;
  if (isTooMuchOnDisk(error)) return 'NOT_ENOUGH_SPACE';
  return serverType ?? (code === 'timeout' ? 'TIMEOUT_EXCEEDED' : '');
}

/** The suggestion of the engine, in words of the query. */
function cleaned(detail: string): string {
  const [first] = detail.split(
    /(?::|\.)? (?:in|In) scope |: [Ww]hile |\. Stack trace|: (?:In|in) query| \(code \d+/,
    1,
  );
  const meant = /\b[Mm]aybe you meant:? \[[^\]]*\]/.exec(detail)?.[0];
  const text = (meant === undefined || first.includes(meant) ? first : `${first}. ${meant}`)
    .replace(/ ?\(version [^)]*\)/g, '')
    .replace(/__table\d+\./g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/**
 * Seconds until the quota begins anew, from the end of the hour that the server names: in its own zone, whole hours
 * off.
 */
function restOf(detail: string): number {
  const end = /end at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)/.exec(detail);
  const seconds = end === null ? HOUR_S : Math.ceil((Date.parse(`${end[1]}T${end[2]}Z`) - Date.now()) / 1000);
  const rest = ((seconds % HOUR_S) + HOUR_S) % HOUR_S;
  return Number.isFinite(rest) ? Math.max(rest, 1) : HOUR_S;
}
