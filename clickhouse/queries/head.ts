import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ClickHouse } from '../client.ts';

/** The newest step is not in the tables yet although part of it can be seen: ask again shortly. Answered with 503. */
export class HeadBehind extends Error {
  override name = 'HeadBehind';
}

/** The tables were made anew, of a log that ends before what was shown of the former ones. */
export class TablesBehind extends HeadBehind {
  override name = 'TablesBehind';
}

export interface Head {
  /** Greatest masterchain seqno that is shown: every table holds it; 0 before there is one. */
  readonly seqno: number;
  /** Greatest one that the tables are known to hold: newer where all of a host are to show the same and cannot yet. */
  readonly inTables: number;
  /** `global_id` of the network; null before there is a step. */
  readonly globalId: number | null;
  /** Which tables these are (tables-id.ts): others after a rebuild. Empty until it is told. */
  readonly tables: string;
  /** Told by who knows, the projector of the same process say; the network where that is known, too. */
  advance(seqno: number, globalId?: number | null): void;
  /** Waits until the tables hold a step. @throws {HeadBehind} after `timeoutMs` */
  reach(seqno: number, timeoutMs: number, signal: AbortSignal): Promise<void>;
  onAdvance(listener: (from: number, to: number) => void): void;
  /** Told by who has looked. */
  belongTo(tables: string): void;
  onTables(listener: () => void): void;
  /** Reads the head once. @throws {TablesBehind} */
  refresh(signal: AbortSignal): Promise<void>;
  /** Keeps reading it until the signal aborts. */
  follow(everyMs: number, signal: AbortSignal, onError: (error: unknown) => void): Promise<void>;
}

/** Between two looks of one who waits: a step is there within tens of milliseconds, or the server is busy enough. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;

const row = z.object({ number: z.coerce.number(), seqno: z.number(), global_id: z.number() });

export interface HeadOptions {
  /** `host`: it advances only by `advance`, as the main process says to all; a look at the tables shows nothing newer. */
  of?: 'tables' | 'host';
}

/** The one number that says up to where every endpoint answers. */
export function createHead(clickhouse: Pick<ClickHouse, 'json'>, { of = 'tables' }: HeadOptions = {}): Head {
  let seqno = 0;
  let inTables = 0;
  let globalId: number | null = null;
  let tables = '';
  /** Number of the newest batch that was found. */
  let batch = 0;
  /** Its step. */
  let done = 0;
  /** Others have taken the place of those that were there first. */
  let wereOthers = false;
  const listeners: ((from: number, to: number) => void)[] = [];
  const tablesListeners: (() => void)[] = [];

  function advance(to: number, network: number | null = null): void {
    globalId = network ?? globalId;
    inTables = Math.max(inTables, to);
    if (to <= seqno) return;
    const from = seqno;
    seqno = to;
    for (const listener of listeners) listener(from, to);
  }

  async function refresh(signal: AbortSignal): Promise<void> {
    // What another look finds meanwhile need not be in the answer to this one.
    const known = done;
    const newest = async (from: number) => {
      const sql = `SELECT number, mc_seqno AS seqno, global_id FROM projection_state WHERE done AND number >= ${from} ORDER BY number DESC LIMIT 1`;
      return (await clickhouse.json(sql, row, { label: 'reading the head', signal }))[0];
    };
    // From the batch on that was the newest: looking for it among millions takes time. After a rebuild they are others.
    const found = (await newest(batch)) ?? (batch > 0 ? await newest(0) : undefined);
    if (!found) return;
    if (wereOthers && found.seqno < known) {
      throw new TablesBehind(`they were made anew and end at step ${found.seqno}, those before them at step ${known}`);
    }
    batch = found.number;
    done = Math.max(done, found.seqno);
    inTables = Math.max(inTables, found.seqno);
    if (of === 'tables') advance(found.seqno, found.global_id);
  }

  return {
    get seqno() {
      return seqno;
    },
    get inTables() {
      return inTables;
    },
    get globalId() {
      return globalId;
    },
    get tables() {
      return tables;
    },
    advance,
    refresh,
    onAdvance(listener) {
      listeners.push(listener);
    },
    belongTo(id) {
      if (id === tables) return;
      wereOthers ||= tables !== '';
      tables = id;
      for (const listener of tablesListeners) listener();
    },
    onTables(listener) {
      tablesListeners.push(listener);
    },
    async reach(wanted, timeoutMs, signal) {
      const giveUpAt = performance.now() + timeoutMs;
      for (let pause = FIRST_PAUSE_MS; inTables < wanted; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
        await sleep(pause, undefined, { signal });
        if (inTables < wanted) await refresh(signal);
        if (inTables < wanted && performance.now() >= giveUpAt) {
          throw new HeadBehind(`step ${wanted} is being written, the tables hold ${inTables}`);
        }
      }
    },
    async follow(everyMs, signal, onError) {
      while (!signal.aborted) {
        await refresh(signal).catch((error) => {
          if (!signal.aborted) onError(error);
        });
        await sleep(everyMs, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}
