import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';

/**
 * Version of what the projection writes. A database of another version is not continued: `tonstream rebuild` makes
 * it anew from the log.
 */
export const PROJECTION_VERSION = 1;

/** A batch of whole steps by its bounds in the log. */
export interface Batch {
  number: number;
  firstOffset: number;
  nextOffset: number;
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

export interface Position {
  /** Last batch that every table has; null for an empty database. */
  done: Batch | null;
  /** A batch that was begun after it and not finished. */
  intent: Batch | null;
}

export class PositionError extends Error {
  override name = 'PositionError';
}

const row = z.object({
  number: z.coerce.number(),
  done: z.boolean(),
  first_offset: z.coerce.number(),
  next_offset: z.coerce.number(),
  first_mc_seqno: z.number(),
  mc_seqno: z.number(),
  root_hash: z.string(),
  global_id: z.number(),
  version: z.number(),
  instance: z.string(),
});

const COLUMNS = [
  'number',
  'done',
  'first_offset',
  'next_offset',
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

export type PositionStore = ReturnType<typeof createPositionStore>;

/** Where the projection stands, kept beside the rows it speaks of (table `projection_state`). */
export function createPositionStore(clickhouse: ClickHouse) {
  const instance = randomUUID();

  async function read(signal: AbortSignal): Promise<Position> {
    const rows = await clickhouse.json(
      `SELECT number, done, first_offset, next_offset, first_mc_seqno, mc_seqno, lower(hex(root_hash)) AS root_hash,
         global_id, version, instance
       FROM projection_state ORDER BY number DESC, done DESC LIMIT 3`,
      row,
      { label: 'reading the position of the projection', signal },
    );
    const newest = rows[0];
    if (newest && newest.version !== PROJECTION_VERSION) {
      throw new PositionError(
        `the tables were written by projection version ${newest.version}, this is version ${PROJECTION_VERSION}: run "tonstream rebuild"`,
      );
    }
    const done = rows.find((r) => r.done);
    const intent = newest && !newest.done ? newest : undefined;
    return { done: done ? toBatch(done) : null, intent: intent ? toBatch(intent) : null };
  }

  /** Another projector that works on the same tables has begun a batch of this number or a later one. */
  async function refuseRival(batch: Batch, signal: AbortSignal): Promise<void> {
    const rows = await clickhouse.json(
      `SELECT number, done, first_offset, next_offset, first_mc_seqno, mc_seqno, '' AS root_hash, global_id, version, instance
       FROM projection_state WHERE number >= ${batch.number} AND instance != '${instance}' AND updated_at > now64(3) - 60 LIMIT 1`,
      row,
      { label: 'looking for a second projector', signal },
    );
    if (rows[0]) {
      throw new PositionError(
        `another projector (${rows[0].instance}) writes to this database: stop one of the two (it began batch ${rows[0].number})`,
      );
    }
  }

  async function write(batch: Batch, done: boolean, counts: BatchCounts, signal: AbortSignal): Promise<void> {
    const writer = new RowWriter();
    writer.u64(String(batch.number));
    writer.bool(done);
    writer.u64(String(batch.firstOffset));
    writer.u64(String(batch.nextOffset));
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
    await clickhouse.insert('projection_state', COLUMNS, writer.take(), {
      dedupToken: `${batch.number}/${done}/${instance}`,
      signal,
    });
  }

  return { instance, read, refuseRival, write };
}

function toBatch(r: z.output<typeof row>): Batch {
  return {
    number: r.number,
    firstOffset: r.first_offset,
    nextOffset: r.next_offset,
    firstMcSeqno: r.first_mc_seqno,
    mcSeqno: r.mc_seqno,
    rootHash: Buffer.from(r.root_hash, 'hex'),
    globalId: r.global_id,
  };
}
