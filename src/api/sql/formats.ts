/** What an answer looks like in each format, put together from the server's bytes without reading them as values. */
import type { Told } from '../../../clickhouse/reader.ts';
import { SqlRefusal } from './refusal.ts';

export interface Format {
  /** The server's name of it. */
  name: string;
  contentType: string;
  /** For those which a person opens: few rows. */
  few: boolean;
  /** Gives the body, with at most `limit` rows; the server was asked for one more. */
  body(told: Told, facts: Facts): { body: Buffer; truncated: boolean };
}

export interface Facts {
  limit: number;
  mcSeqno: number;
  elapsedMs: number;
}

const NEWLINE = 0x0a;
const COMMA = 0x2c;
const QUOTE = 0x22;

const json: Format = {
  name: 'JSONCompactEachRowWithNamesAndTypes',
  contentType: 'application/json',
  few: true,
  body({ bytes, rows, rowsRead }, { limit, mcSeqno, elapsedMs }) {
    const [names, types] = [0, 1].map((line) => linesOf(bytes, line));
    const truncated = rows > limit;
    // Lines hold no line breaks of their own: they are escaped in JSON.
    const data = bytes.subarray(types.end + 1, endOfRows(bytes, types.end + 1, truncated));
    const list = Buffer.from(data);
    for (let at = list.indexOf(NEWLINE); at >= 0; at = list.indexOf(NEWLINE, at + 1)) list[at] = COMMA;
    const head = `{"mc_seqno":${mcSeqno},"columns":${columnsOf(names.text, types.text)},"rows":[`;
    const tail = `],"truncated":${truncated},"rows_read":${rowsRead},"elapsed_ms":${Math.round(elapsedMs)}}`;
    return { body: Buffer.concat([Buffer.from(head), list, Buffer.from(tail)]), truncated };
  },
};

const ndjson: Format = {
  name: 'JSONEachRow',
  contentType: 'application/x-ndjson',
  few: true,
  body: ({ bytes, rows }, { limit }) => cutLast(bytes, rows > limit, (end) => bytes.lastIndexOf(NEWLINE, end)),
};

const csv: Format = {
  name: 'CSVWithNames',
  contentType: 'text/csv; charset=utf-8',
  few: false,
  body: ({ bytes, rows }, { limit }) => cutLast(bytes, rows > limit, (end) => lineBreakBefore(bytes, end)),
};

/** Files of columns cannot be cut. */
const whole = (name: string, contentType: string): Format => ({
  name,
  contentType,
  few: false,
  body({ bytes, rows }, { limit }) {
    if (rows > limit)
      throw new SqlRefusal(400, `the answer has more than ${limit} rows: add LIMIT, or use /api/export`);
    return { body: bytes, truncated: false };
  },
});

export const FORMATS = {
  json,
  ndjson,
  csv,
  parquet: whole('Parquet', 'application/vnd.apache.parquet'),
  arrow: whole('ArrowStream', 'application/vnd.apache.arrow.stream'),
} as const;

export type FormatName = keyof typeof FORMATS;

/** The line of that number. */
function linesOf(bytes: Buffer, line: number): { text: string; end: number } {
  let start = 0;
  for (let skipped = 0; skipped < line; skipped++) start = bytes.indexOf(NEWLINE, start) + 1;
  const end = bytes.indexOf(NEWLINE, start);
  return { text: bytes.toString('utf8', start, end), end };
}

function columnsOf(names: string, types: string): string {
  const [given, typed]: string[][] = [JSON.parse(names), JSON.parse(types)];
  return JSON.stringify(given.map((name, i) => ({ name, type: typed[i] })));
}

/**
 * Where the rows end that begin at `from`, without the last line break, and without the last row where that is too
 * many.
 */
function endOfRows(bytes: Buffer, from: number, truncated: boolean): number {
  const end = Math.max(from, bytes.length - 1);
  return truncated ? Math.max(from, bytes.lastIndexOf(NEWLINE, end - 1)) : end;
}

function cutLast(bytes: Buffer, truncated: boolean, breakBefore: (end: number) => number) {
  return { body: truncated ? bytes.subarray(0, breakBefore(bytes.length - 2) + 1) : bytes, truncated };
}

/** The last line break at or before a place that is not inside quotes: quotes behind it are even in number. */
function lineBreakBefore(bytes: Buffer, from: number): number {
  let quotes = 0;
  for (let at = from; at >= 0; at--) {
    if (bytes[at] === QUOTE) quotes++;
    else if (bytes[at] === NEWLINE && quotes % 2 === 0) return at;
  }
  return -1;
}
