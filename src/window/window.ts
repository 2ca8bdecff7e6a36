import { statfs } from 'node:fs/promises';
import type { LiveStep } from '../../streams/live-steps.ts';
import { applyStep } from './apply.ts';
import { evictOldest } from './evict.ts';
import { encodeWindowState, readWindowState, STATE_KEY, WINDOW_VERSION, type WindowState } from './state.ts';
import { clearTables, openTables } from './tables.ts';
import { createView, type View } from './view.ts';

export interface WindowOptions {
  /** On a local disk; made when it is not there. */
  folder: string;
  /** Most bytes of the file, about; less where the disk has less than twice as much to give. */
  maxBytes: number;
}

/** Greatest lt and time of any block in the steps before one; null when there is none. */
export type Below = WindowState['below'];

export interface Window {
  /** Where the window stands; null while it is empty. */
  readonly state: WindowState | null;
  /**
   * Writes a step in one commit and takes old ones out. A step that is here already is passed over; one that does
   * not follow the head, or is of another network, empties the window first and begins it anew.
   * @param nextOffset where the next step begins in the topic
   * @param below asked when the window begins anew
   */
  apply(step: LiveStep, nextOffset: number, below: (mcSeqno: number) => Promise<Below>): Promise<Applied>;
  /** All reads of one request, from one snapshot; null while the window is empty. To be ended with `done()`. */
  view(): View | null;
  /** Forgets everything. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export type Applied = 'known' | 'added' | 'begun';

/** Share of the free disk that the window may take. */
const DISK_SHARE = 0.5;
/** Of the window, for codes: above it they are forgotten and read from ClickHouse again. */
const CODES_SHARE = 0.05;
/** Steps taken out in one commit; the rest goes with the next ones. */
const EVICTED_AT_ONCE = 8;
const LOOK_AT_DISK_MS = 30_000;

/**
 * The newest steps on this host's disk. One writer; readers see whole steps only. Files that cannot be of use, of
 * another version say, are emptied.
 */
export function openWindow(options: WindowOptions): Window {
  const tables = openTables(options.folder);
  const found = readWindowState(tables);
  let state = found === 'unknown' ? null : found;
  let closed = false;
  const room = createRoom(options);

  /** Runs in one transaction: a step that cannot be written leaves nothing behind. */
  async function commit(apply: () => WindowState | null): Promise<void> {
    state = await tables.root.childTransaction(() => {
      const next = apply();
      if (next) tables.meta.putSync(STATE_KEY, encodeWindowState(next));
      return next;
    });
  }

  const clear = () =>
    commit(() => {
      clearTables(tables);
      return null;
    });

  function shrink(before: WindowState, maxBytes: number): WindowState {
    let now = before;
    if (now.codeBytes > maxBytes * CODES_SHARE) {
      tables.codes.clearSync();
      now = { ...now, codeBytes: 0 };
    }
    for (let i = 0; i < EVICTED_AT_ONCE && now.first < now.head && now.bytes + now.codeBytes > maxBytes; i++) {
      now = evictOldest(tables, now);
    }
    return now;
  }

  return {
    get state() {
      return state;
    },
    async apply(step, nextOffset, below) {
      if (found === 'unknown' && state === null) await clear();
      const same = state !== null && state.globalId === step.globalId;
      if (state && same && step.mcSeqno < state.head) return 'known';
      if (state && same && step.mcSeqno === state.head && step.rootHash.toString('hex') === state.rootHash) {
        return 'known';
      }
      const maxBytes = await room.maxBytes(state ? state.bytes + state.codeBytes : 0);
      const follows = state && same && step.mcSeqno > state.head && step.previous === state.head;
      if (state && follows) {
        const before = state;
        await commit(() => shrink(applyStep(tables, before, step, nextOffset), maxBytes));
        return 'added';
      }
      const start = emptyState(step, await below(step.mcSeqno));
      await commit(() => {
        clearTables(tables);
        return applyStep(tables, start, step, nextOffset);
      });
      return 'begun';
    },
    view: () => (closed || state === null ? null : createView(tables)),
    clear,
    async close() {
      if (closed) return;
      closed = true;
      await tables.root.close();
    },
  };
}

function emptyState({ mcSeqno, globalId }: LiveStep, below: Below): WindowState {
  return {
    version: WINDOW_VERSION,
    first: mcSeqno,
    head: mcSeqno,
    globalId,
    rootHash: '',
    nextOffset: 0,
    nextNumber: 0,
    bytes: 0,
    codeBytes: 0,
    below,
  };
}

/** How large the window may be: looked up at the disk from time to time. */
function createRoom({ folder, maxBytes }: WindowOptions) {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let room = maxBytes;
  return {
    async maxBytes(taken: number): Promise<number> {
      if (performance.now() - lookedAt > LOOK_AT_DISK_MS) {
        lookedAt = performance.now();
        const { bavail, bsize } = await statfs(folder);
        room = Math.min(maxBytes, (taken + bavail * bsize) * DISK_SHARE);
      }
      return room;
    },
  };
}
