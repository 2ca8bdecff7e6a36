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
import { FORMATS, type FormatName } from '../sql/formats.ts';
import type { Outgoing } from '../sql/outgoing.ts';

/** Formats of files; JSON has lines instead. */
export const EXPORT_FORMATS = ['parquet', 'csv', 'ndjson', 'arrow'] as const satisfies readonly FormatName[];
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Steps that one slice may have, and rows, but for a single step; fewer where they have more bytes than an answer may. */
export const SLICE_STEPS = 10_000;
export const SLICE_ROWS = 50_000;
const MAX_SHORTENED = 1_000;
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

export interface Slices {
  /** @throws {ApiError} 404 for another view, 422 for steps that are not there; what a gate that is full throws */
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

  /** First and last step that a slice may have, by the number of its steps and rows. */
  async function bounds(view: string, { step }: Sliced, from: number, to: number, asked: AskedOf) {
    const first = await begin(from, to, asked);
    const last = Math.min(to, first + SLICE_STEPS - 1);
    const { bytes } = await reader.ask({
      ...asked,
      head: to,
      sql:
        `SELECT ${step} AS seqno, toUInt32(count()) AS rows FROM ${identifier(view)} ` +
        `WHERE ${step} >= ${u32(from)} AND ${step} <= ${u32(last)} GROUP BY ${step} ORDER BY ${step}`,
      format: 'JSONEachRow',
      limit: null,
    });
    let rows = 0;
    for (const line of bytes.toString().split('\n').filter(Boolean)) {
      const { seqno, rows: more } = stepRow.parse(JSON.parse(line));
      if (rows > 0 && rows + more > SLICE_ROWS) return { first, last: seqno - 1 };
      rows += more;
    }
    return { first, last };
  }

  async function make({ view, format, key, signal }: SliceQuestion, from: number, to: number): Promise<Slice> {
    outgoing.check();
    const cut = slicedOf(view);
    const asked: AskedOf = { key, signal, timeoutMs, parameters: new Map() };
    const { first, last: most } = await bounds(view, cut, from, to, asked);
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
        if (!isTooLarge(error) || last <= first) throw error;
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
const isTooLarge = (error: unknown): boolean =>
  error instanceof ClickHouseQueryError && error.serverType === 'TOO_MANY_ROWS_OR_BYTES';

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
