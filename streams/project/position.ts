import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { NO_HASH } from '../../src/chain/hash.ts';

/**
 * Version of what the projection writes. A database of another version is not continued: `tonstream rebuild` makes
 * it anew from the log.
 */
export const PROJECTION_VERSION = 6;

/** A batch of whole steps by its bounds in the log. */
export interface Batch {
  number: number;
  firstOffset: number;
  nextOffset: number;
  /** In the topic of cells: where the records of the next batch begin. */
  nextCell: number;
  firstMcSeqno: number;
  mcSeqno: number;
  /** Root hash of the last record of the batch: names the chain that was projected. */
  rootHash: Buffer;
  globalId: number;
}

export interface BatchCounts {
  blocks: number;
  transactions: number;
  messages: number;
}

/** What is announced before a row of it is written. */
export interface Intent extends Pick<Batch, 'number' | 'firstOffset'> {
  /** Null of one announced before it was there: the one step that begins at `firstOffset`, whichever it will be. */
  batch: Batch | null;
  /** Whether all its rows are there, but for those that go in last. */
  isWritten: boolean;
}

export interface Position {
  /** Last batch that every table has; null for an empty database. */
  done: Batch | null;
  /** What was announced after it: a batch that may have been begun. */
  intent: Intent | null;
}

export class PositionError extends Error {
  override name = 'PositionError';
}

/** What to do about tables that are not continued. @param names of projections; all of them by default */
export function rebuildAdvice(...names: string[]): string {
  return `run "${['tonstream rebuild', ...names].join(' ')}" with the same settings`;
}

/** The table of who writes: until its own row is there, a projector is not the one. */
export const PROJECTORS = 'projectors';

/**
 * For so long, milliseconds, a projector believes the answer to "who writes". Then it asks again before it inserts: so
 * whoever has claimed the tables and has waited for this long has them alone.
 */
export const OWNER_MS = 5_000;

/** Memory for one row of the tables here. */
const ROW_BYTES = 1024;

const row = z.object({
  number: z.coerce.number(),
  first_offset: z.coerce.number(),
  next_offset: z.coerce.number(),
  next_cell: z.coerce.number(),
  first_mc_seqno: z.number(),
  mc_seqno: z.number(),
  root_hash: z.string(),
  global_id: z.number(),
  version: z.number(),
  written: z.boolean(),
});
const FIELDS =
  'number, first_offset, next_offset, next_cell, first_mc_seqno, mc_seqno, lower(hex(root_hash)) AS root_hash, global_id, version, written';
const ownerRow = z.object({ epoch: z.coerce.number(), instance: z.string() });

const COLUMNS = [
  'number',
  'done',
  'written',
  'first_offset',
  'next_offset',
  'next_cell',
  'first_mc_seqno',
  'mc_seqno',
  'root_hash',
  'global_id',
  'version',
  'instance',
  'transactions',
  'messages',
  'blocks',
];

const NO_COUNTS: BatchCounts = { blocks: 0, transactions: 0, messages: 0 };
/** In a row that announces a step before it is there. No batch ends at offset 0. */
const UNKNOWN = 0;

export type PositionStore = ReturnType<typeof createPositionStore>;

/** Where the projection stands, kept beside the rows it speaks of (table `projection_state`). */
export function createPositionStore(clickhouse: ClickHouse) {
  const instance = randomUUID();
  const label = 'reading the position of the projection';
  /** When it was asked last who writes, and this was the one. */
  let ownedAt = Number.NEGATIVE_INFINITY;

  /** @throws {PositionError} when another version of the projection wrote the tables */
  async function read(signal: AbortSignal): Promise<Position> {
    const [done] = await clickhouse.json(
      `SELECT ${FIELDS} FROM projection_state WHERE done ORDER BY number DESC LIMIT 1`,
      row,
      { label, signal },
    );
    // Of several, the one of the newest projector, as `owner` has it: an earlier one stops before it writes what it
    // announced last. Of its own, the one with bounds: a batch of several steps that stands for the step announced
    // before; and the one that says how far it has come.
    const [intent] = await clickhouse.json(
      `SELECT ${FIELDS} FROM projection_state LEFT JOIN projectors USING (instance)
       WHERE number > ${done?.number ?? 0} AND NOT done ORDER BY number DESC, epoch DESC, instance DESC, next_offset DESC, written DESC LIMIT 1`,
      row,
      { label, signal },
    );
    const version = (intent ?? done)?.version ?? PROJECTION_VERSION;
    if (version !== PROJECTION_VERSION) {
      throw new PositionError(
        `the tables were written by projection version ${version}, this is version ${PROJECTION_VERSION}: ${rebuildAdvice()}`,
      );
    }
    return { done: done ? toBatch(done) : null, intent: intent ? toIntent(intent) : null };
  }

  async function owner(signal: AbortSignal) {
    const [newest] = await clickhouse.json(
      'SELECT epoch, instance FROM projectors ORDER BY epoch DESC, instance DESC LIMIT 1',
      ownerRow,
      { label: 'reading which projector writes', signal },
    );
    return newest;
  }

  /** Makes this projector the one that writes. To be done before `read`, so that nothing is announced unseen. */
  async function claim(signal: AbortSignal): Promise<void> {
    const writer = new RowWriter(ROW_BYTES);
    writer.u64(String(((await owner(signal))?.epoch ?? 0) + 1));
    writer.string(instance);
    writer.endRow();
    await clickhouse.insert(PROJECTORS, ['epoch', 'instance'], writer.take(), { signal });
    await checkOwner(signal);
  }

  /**
   * @param maxAgeMs for how long an earlier answer is believed
   * @throws {PositionError} when a projector started after this one writes to the same tables
   */
  async function checkOwner(signal: AbortSignal, maxAgeMs = 0): Promise<void> {
    const askedAt = performance.now();
    if (askedAt - ownedAt < maxAgeMs) return;
    const newest = await owner(signal);
    if (newest?.instance === instance) {
      ownedAt = askedAt;
      return;
    }
    throw new PositionError(
      `another projector, started later, writes to database ${clickhouse.database}: this one stops`,
    );
  }

  /** @param written whether all its rows are there, but for those that go in last */
  const announce = (batch: Batch, signal: AbortSignal, written = false): Promise<void> =>
    write([{ ...batch, done: false, written, counts: NO_COUNTS }], signal);

  /** Marks a batch done and announces the step after it, at once: one insert is there as a whole or not at all. */
  async function finish(batch: Batch, counts: BatchCounts, signal: AbortSignal): Promise<void> {
    const { number, nextOffset, nextCell, globalId } = batch;
    const ahead = { number: number + 1, firstOffset: nextOffset, nextOffset: UNKNOWN, nextCell, globalId };
    const steps = { firstMcSeqno: UNKNOWN, mcSeqno: UNKNOWN, rootHash: NO_HASH };
    await write(
      [
        { ...batch, done: true, written: true, counts },
        { ...ahead, ...steps, done: false, written: false, counts: NO_COUNTS },
      ],
      signal,
    );
  }

  async function write(
    entries: (Batch & { done: boolean; written: boolean; counts: BatchCounts })[],
    signal: AbortSignal,
  ): Promise<void> {
    const writer = new RowWriter(ROW_BYTES);
    for (const { done, written, counts, ...batch } of entries) {
      writer.u64(String(batch.number));
      writer.bool(done);
      writer.bool(written);
      writer.u64(String(batch.firstOffset));
      writer.u64(String(batch.nextOffset));
      writer.u64(String(batch.nextCell));
      writer.u32(batch.firstMcSeqno);
      writer.u32(batch.mcSeqno);
      writer.fixed(batch.rootHash);
      writer.i32(batch.globalId);
      writer.u32(PROJECTION_VERSION);
      writer.string(instance);
      writer.u64(String(counts.transactions));
      writer.u64(String(counts.messages));
      writer.u64(String(counts.blocks));
      writer.endRow();
    }
    // No token: a row that comes twice says the same twice, and one that a token keeps out would be missed.
    await clickhouse.insert('projection_state', COLUMNS, writer.take(), { signal });
  }

  return { instance, read, claim, checkOwner, announce, finish };
}

function toIntent(r: z.output<typeof row>): Intent {
  const batch = r.next_offset === UNKNOWN ? null : toBatch(r);
  return { number: r.number, firstOffset: r.first_offset, batch, isWritten: r.written };
}

function toBatch(r: z.output<typeof row>): Batch {
  return {
    number: r.number,
    firstOffset: r.first_offset,
    nextOffset: r.next_offset,
    nextCell: r.next_cell,
    firstMcSeqno: r.first_mc_seqno,
    mcSeqno: r.mc_seqno,
    rootHash: Buffer.from(r.root_hash, 'hex'),
    globalId: r.global_id,
  };
}
