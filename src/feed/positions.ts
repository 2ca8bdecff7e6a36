/** How far subscribers have heard, beside the tables: any host that asks goes on from there. */
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { list, textLiteral } from '../../clickhouse/literal.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';

/** Of a webhook (its id; it has no owner here), or of a named subscription of whoever has the key. */
export interface Subscriber {
  kind: 'webhook' | 'name';
  owner: string;
  name: string;
}

export interface Position extends Subscriber {
  /** Of the webhook's start that this goes on from; of a name, the session. The highest one counts, and its newest row. */
  revision: number;
  cursor: string;
  /** Attempts that have failed since the last one that did not, and why the last one did. */
  failures: number;
  /** Of a webhook: those of them in which the event behind the cursor was refused. */
  refusals: number;
  error: string;
  /** Of one that was read: by what its row is the newest of its revision, Unix microseconds. */
  savedAt?: number;
}

export interface Positions {
  read(kind: Subscriber['kind'], owner: string, names: readonly string[], signal: AbortSignal): Promise<Position[]>;
  /** Of an owner's named subscriptions. */
  count(owner: string, signal: AbortSignal): Promise<number>;
  /**
   * @param savedAt by which the newest row of a revision is known, Unix microseconds; else the time at which the server
   *   has it, which may be long after it was given up
   */
  save(positions: readonly Position[], signal: AbortSignal, savedAt?: number): Promise<void>;
}

/**
 * Positions as one process reads and saves them: what it saves is the newest of its revision behind all that it has read
 * or saved before, however late that arrives, and whatever the clocks of this host and of the server say.
 */
export function inOrder(positions: Positions): Pick<Positions, 'read' | 'save'> {
  let newest = 0;
  return {
    async read(...asked) {
      const found = await positions.read(...asked);
      for (const { savedAt = 0 } of found) newest = Math.max(newest, savedAt);
      return found;
    },
    save(all, signal) {
      newest = Math.max(newest + 1, Date.now() * 1000);
      return positions.save(all, signal, newest);
    },
  };
}

const ROW = z.object({
  owner: z.string(),
  name: z.string(),
  revision: z.number(),
  cursor: z.string(),
  failures: z.number(),
  refusals: z.number(),
  error: z.string(),
  savedAt: z.coerce.number(),
});
const COLUMNS = ['kind', 'owner', 'name', 'revision', 'cursor', 'failures', 'refusals', 'error'];
const KINDS = { webhook: 1, name: 2 } as const;
const TIMEOUT_MS = 5_000;

/** @param clickhouse of the subscribers' database */
export function createPositions(clickhouse: ClickHouse): Positions {
  return {
    async read(kind, owner, names, signal) {
      if (names.length === 0) return [];
      const rows = await clickhouse.json(
        `SELECT owner, name, revision, cursor, failures, refusals, error, toUnixTimestamp64Micro(saved_at) AS savedAt
         FROM subscriber_positions FINAL
         WHERE kind = '${kind}' AND owner = ${textLiteral(owner)} AND name IN ${list(names.map(textLiteral))}`,
        ROW,
        { label: 'reading how far subscribers have heard', signal, timeoutMs: TIMEOUT_MS },
      );
      return rows.map((row) => ({ kind, ...row }));
    },
    async count(owner, signal) {
      const [row] = await clickhouse.json(
        `SELECT toUInt32(uniqExact(name)) AS names FROM subscriber_positions WHERE kind = 'name' AND owner = ${textLiteral(owner)}`,
        z.object({ names: z.number() }),
        { label: 'counting named subscriptions', signal, timeoutMs: TIMEOUT_MS },
      );
      return row?.names ?? 0;
    },
    async save(positions, signal, savedAt) {
      const writer = new RowWriter();
      for (const { kind, owner, name, revision, cursor, failures, refusals, error } of positions) {
        writer.u8(KINDS[kind]);
        writer.string(owner);
        writer.string(name);
        writer.u32(revision);
        writer.string(cursor);
        writer.u32(failures);
        writer.u32(refusals);
        writer.string(error);
        if (savedAt !== undefined) writer.i64(String(savedAt));
        writer.endRow();
      }
      const label = 'saving how far subscribers have heard';
      const columns = savedAt === undefined ? COLUMNS : [...COLUMNS, 'saved_at'];
      await clickhouse.insert('subscriber_positions', columns, writer.take(), { label, signal, timeoutMs: TIMEOUT_MS });
    },
  };
}
