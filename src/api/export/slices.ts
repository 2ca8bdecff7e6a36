/**
 * Slices of a view: whole steps in a fixed order, made once and asked for in parts. What a slice holds follows from the
 * tables up to its last step alone, so it stays the same for ever, but for views that say what a later step may change;
 * its tag is made of its bytes.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { ClickHouseQueryError } from '../../../clickhouse/client.ts';
import type { QueryGate } from '../../../clickhouse/gate.ts';
import { identifier, u32 } from '../../../clickhouse/literal.ts';
import type { Head } from '../../../clickhouse/queries/head.ts';
import type { Reader } from '../../../clickhouse/reader.ts';
import { VIEWS } from '../../../clickhouse/views/all.ts';
import { ApiError } from '../errors.ts';
import { isTooMuchOnDisk } from '../sql/failures.ts';
import { FORMATS, type FormatName } from '../sql/formats.ts';
import type { Outgoing } from '../sql/outgoing.ts';
import { SqlRefusal } from '../sql/refusal.ts';

/** Formats of files; JSON has lines instead. */
export const EXPORT_FORMATS = ['parquet', 'csv', 'ndjson', 'arrow'] as const satisfies readonly FormatName[];
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Steps that one slice may have, and rows, but for a single step; fewer where they have more bytes than an answer may. */
export const SLICE_STEPS = 10_000;
const SLICE_ROWS = 50_000;
const MAX_SHORTENED = 1_000;
/** Of the steps whose rows could not be counted, and of those whose rows could not be read. */
const SHARE_COUNTED = 10;
const SHARE_READ = 2;
/** More than there are. */
const ALL_ROWS = 0xffff_ffff;

/** A view that can be cut at steps: which column names the step, and the order of the rows in it. */
interface Sliced {
  step: string;
  order: readonly string[];
  /** Whether no later step changes its rows. */
  isFixed: boolean;
}

const sliced: ReadonlyMap<string, Sliced> = new Map(
  VIEWS.flatMap(({ name, step, order, changes }) =>
    step && order ? [[name, { step, order, isFixed: changes === undefined }] as const] : [],
  ),
);

export const EXPORTED: readonly string[] = [...sliced.keys()];

export interface SliceQuestion {
  view: string;
  format: ExportFormat;
  from: number;
  /** The head where it is null. */
  to: number | null;
  /** Of a slice at most. */
  steps?: number | undefined;
  key: string;
  signal: AbortSignal;
}

export interface Slice {
  body: Buffer;
  contentType: string;
  /** Strong. */
  tag: string;
  /** Whether the same steps give the same bytes for ever. */
  isFixed: boolean;
  /** Of the steps that it holds. */
  from: number;
  to: number;
  /** Up to where was asked: there is more when it is greater than `to`. */
  asked: number;
}

export interface SlicesOptions {
  reader: Reader;
  gate: QueryGate;
  outgoing: Pick<Outgoing, 'check'>;
  /** Names the tables that the views read: others after a rebuild. */
  tables: (signal: AbortSignal) => Promise<string>;
  head: Pick<Head, 'seqno' | 'reach'>;
  timeoutMs: number;
  /** Of slices kept, for those who ask for parts of one. */
  maxBytes: number;
}

const firstRow = z.object({ seqno: z.number() });
const stepRow = z.object({ seqno: z.number(), rows: z.coerce.number() });

/** A slice meets a limit of queries. Which it meets may be due to the hour, so what it holds is not changed by that. */
export class SliceTooMuch extends ApiError {
  override name = 'SliceTooMuch';

  /** @param steps that may be asked for instead; null where one alone is too much */
  constructor(
    message: string,
    readonly steps: number | null,
    options: ErrorOptions,
  ) {
    super(400, message, options);
  }
}

export interface Slices {
  /**
   * @throws {ApiError} 404 for another view, 422 for steps that are not there; {SliceTooMuch}; what a gate that is full
   * throws
   */
  get(question: SliceQuestion): Promise<Slice>;
}

export function createSlices(options: SlicesOptions): Slices {
  const { reader, gate, outgoing, tables, head, timeoutMs, maxBytes } = options;
  const kept = new LRUCache<string, Slice>({
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: ({ body }) => body.length + 1,
  });
  /** Last steps of slices whose rows are larger than usual, by what they would be without. */
  const shortened = new LRUCache<string, number>({ max: MAX_SHORTENED });

  /** Where the log begins, when that is later: every step has a block. */
  async function begin(from: number, to: number, asked: AskedOf): Promise<number> {
    const { bytes } = await reader.ask({
      ...asked,
      head: to,
      sql: `SELECT mc_block_seqno AS seqno FROM blocks WHERE mc_block_seqno >= ${u32(from)} ORDER BY mc_block_seqno LIMIT 1`,
      format: 'JSONEachRow',
      limit: null,
    });
    const text = bytes.toString();
    return text === '' ? to : firstRow.parse(JSON.parse(text)).seqno;
  }

  /** Last step that a slice may have by the number of its rows, `last` at most. */
  async function lastByRows(view: string, { step }: Sliced, from: number, last: number, asked: AskedOf) {
    const { bytes } = await reader.ask({
      ...asked,
      head: last,
      sql:
        `SELECT ${step} AS seqno, toUInt32(count()) AS rows FROM ${identifier(view)} ` +
        `WHERE ${step} >= ${u32(from)} AND ${step} <= ${u32(last)} GROUP BY ${step} ORDER BY ${step}`,
      format: 'JSONEachRow',
      limit: null,
    });
    let rows = 0;
    for (const line of bytes.toString().split('\n').filter(Boolean)) {
      const { seqno, rows: more } = stepRow.parse(JSON.parse(line));
      if (rows > 0 && rows + more > SLICE_ROWS) return seqno - 1;
      rows += more;
    }
    return last;
  }

  async function make({ view, format, key, signal, steps }: SliceQuestion, from: number, to: number): Promise<Slice> {
    outgoing.check();
    const cut = slicedOf(view);
    const asked: AskedOf = { key, signal, timeoutMs, parameters: new Map() };
    const first = await begin(from, to, asked).catch((error: unknown) => {
      throw late(error);
    });
    const end = Math.min(to, first + Math.min(steps ?? SLICE_STEPS, SLICE_STEPS) - 1);
    const most = await lastByRows(view, cut, from, end, asked).catch((error: unknown) => {
      throw tooMuch(error, { view, first, last: end, share: SHARE_COUNTED });
    });
    const id = await tables(signal);
    const name = `${id} ${view} ${from} ${most}`;
    for (let last = shortened.get(name) ?? most; ; ) {
      const place = `${id} ${view} ${format} ${from} ${last}`;
      const known = kept.get(place);
      if (known !== undefined) return { ...known, asked: to };
      try {
        const slice = { ...(await read({ view, format, from, last }, cut, asked)), asked: to };
        kept.set(place, slice);
        return slice;
      } catch (error) {
        // The same rows are too large each time: the same slice is the answer.
        if (!isTooLarge(error) || last <= first) throw tooMuch(error, { view, first, last, share: SHARE_READ });
        last = first + Math.floor((last - first) / 2);
        shortened.set(name, last);
      }
    }
  }

  async function read({ view, format, from, last }: Cut, { step, order, isFixed }: Sliced, asked: AskedOf) {
    const { name, contentType } = FORMATS[format];
    // Arrow has a batch for each block of rows that the server sorts, which follow from the parts that a table happens to
    // have: parts are read as several streams, and sorted each by itself. LIMIT BY, which leaves nothing out here, makes
    // one of them.
    const { bytes } = await reader.ask({
      ...asked,
      head: last,
      sql:
        `SELECT * FROM (SELECT * FROM ${identifier(view)} WHERE ${step} >= ${u32(from)} AND ${step} <= ${u32(last)} ` +
        `LIMIT ${ALL_ROWS} BY ${step}) ORDER BY ${order.join(', ')}`,
      format: name,
      limit: null,
    });
    const tag = `"${hash('sha256', bytes, 'base64url').slice(0, 32)}"`;
    return { body: bytes, contentType, tag, isFixed, from, to: last };
  }

  return {
    async get(question) {
      slicedOf(question.view);
      const { seqno } = head;
      const { from } = question;
      const to = question.to ?? seqno;
      if (to > seqno) throw new ApiError(422, `to: the newest step is ${seqno}`);
      if (from > to) throw new ApiError(422, `from: there is no step from ${from} up to ${to}`);
      await head.reach(to, timeoutMs, question.signal);
      return await gate.run(() => make(question, from, to), question.signal);
    },
  };
}

interface Cut {
  view: string;
  format: ExportFormat;
  from: number;
  last: number;
}

/** More bytes than an answer may have. */
const isTooLarge = (error: unknown): boolean => limitOf(error) === 'bytes';

/** What a query may not do, of one and of several steps. */
const LIMITS = {
  bytes: ['has', 'have', 'more bytes than an answer may: parquet has fewer'],
  time: ['takes', 'take', 'longer than a query may (--sql-timeout-ms)'],
  memory: ['needs', 'need', 'more memory than a query may take (--sql-memory)'],
  rows: ['takes', 'take', 'a query that reads more rows than it may (--sql-rows-read)'],
  disk: ['needs', 'need', 'more room on the disk than a query may take'],
} as const;

/** Which limit of a query an error is; null for another error. */
function limitOf(error: unknown): keyof typeof LIMITS | null {
  if (!(error instanceof ClickHouseQueryError)) return null;
  const { code, serverType } = error;
  if (isTooMuchOnDisk(error)) return 'disk';
  if (serverType === 'TOO_MANY_ROWS_OR_BYTES') return 'bytes';
  if (serverType === 'TOO_MANY_ROWS') return 'rows';
  if (code === 'memory') return 'memory';
  return code === 'timeout' || serverType === 'TOO_SLOW' ? 'time' : null;
}

/** What is told when a single row is not found in time, which no number of steps makes quicker; another error stays. */
function late(cause: unknown): unknown {
  if (limitOf(cause) !== 'time') return cause;
  return new SqlRefusal(503, 'the tables answer too slowly now: try again soon', { cause, retryAfterSeconds: 1 });
}

interface Tried {
  view: string;
  first: number;
  last: number;
  /** What part of them to ask for instead. */
  share: number;
}

/** What a slice that meets a limit is told as; another error stays as it is. */
function tooMuch(cause: unknown, { view, first, last, share }: Tried): unknown {
  const limit = limitOf(cause);
  if (limit === null) return cause;
  const [one, several, what] = LIMITS[limit];
  if (last <= first) {
    const told = `step ${first} of ${view} alone ${one} ${what}; go on behind it with from=${first + 1}`;
    return new SliceTooMuch(told, null, { cause });
  }
  const steps = Math.max(1, Math.floor((last - first + 1) / share));
  const told = `steps ${first} to ${last} of ${view} ${several} ${what}; ask for fewer with steps=${steps}`;
  return new SliceTooMuch(told, steps, { cause });
}

interface AskedOf {
  key: string;
  signal: AbortSignal;
  timeoutMs: number;
  parameters: ReadonlyMap<string, string>;
}

function slicedOf(view: string): Sliced {
  const found = sliced.get(view);
  if (found === undefined) throw new ApiError(404, `there is no export of ${view}; there are ${EXPORTED.join(', ')}`);
  return found;
}
