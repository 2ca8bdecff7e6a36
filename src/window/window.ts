import { statfs } from 'node:fs/promises';
import type { LiveStep, StoredStep } from '../../streams/live-steps.ts';
import { applyStep } from './apply.ts';
import { evictOldest } from './evict.ts';
import { formVersion, type TransactionForm } from './form.ts';
import { encodeWindowState, readWindowState, STATE_KEY, WINDOW_VERSION, type WindowState } from './state.ts';
import { clearTables, openTables } from './tables.ts';
import { createView, type View } from './view.ts';

export interface WindowOptions {
  /** On a local disk; made when it is not there. */
  folder: string;
  /** Most bytes of the file, about; less where the disk has less than twice as much to give. */
  maxBytes: number;
  /** Of transactions; they are kept without unless given. */
  form?: TransactionForm;
}

/** Greatest lt and time of any block in the steps before one; null when there is none. */
export type Below = WindowState['below'];

export interface Window {
  /** Where the window stands; null while it is empty. */
  readonly state: WindowState | null;
  /**
   * Writes steps in one commit and takes old ones out: one step at the head, several while catching up. Steps that
   * are here already are passed over; one that does not follow the head, or is of another network, empties the window
   * and begins it anew.
   * @param steps each behind the one before it
   * @param below asked when the window begins anew
   */
  apply(steps: readonly Arrival[], below: (mcSeqno: number) => Promise<Below>): Promise<Applied>;
  /** All reads of one request, from one snapshot; null while the window is empty. To be ended with `done()`. */
  view(): View | null;
  /** Whether it answers, for all who read it; a window that begins anew does not. */
  speak(speaks: boolean): Promise<void>;
  /** Forgets everything. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** A step, and where in the topic the next one begins. */
export type Arrival = Pick<StoredStep, 'step' | 'nextOffset'>;

export type Applied = 'known' | 'added' | 'begun';

type Base = WindowState | null | 'unknown';

/** Share of the free disk that the window may take. */
const DISK_SHARE = 0.5;
/** Of the window, for codes: above it they are forgotten and read from ClickHouse again. */
const CODES_SHARE = 0.05;
/** Steps taken out in one commit; the rest goes with the next ones. */
const EVICTED_AT_ONCE = 64;
const LOOK_AT_DISK_MS = 30_000;

/**
 * The newest steps on this host's disk. Several processes may follow the topic with one folder: each step is written by
 * one of them, and readers see whole steps only. Files that cannot be of use, of another version say, are emptied.
 */
export function openWindow(options: WindowOptions): Window {
  const tables = openTables(options.folder, options.form);
  let closed = false;
  const room = createRoom(options);
  const read = (): Base => readWindowState(tables);
  // Who follows the steps says when it answers again. Another process may be writing.
  tables.root.transactionSync(() => {
    const found = read();
    if (found === null || found === 'unknown' || !found.speaks) return;
    tables.meta.putSync(STATE_KEY, encodeWindowState({ ...found, speaks: false }));
  });

  /**
   * Runs in one transaction, so a step that cannot be written leaves nothing behind; false when the window is no
   * longer what the change was made for, because another process writes to it too.
   */
  function commit(base: Base, change: () => WindowState | null): Promise<boolean> {
    return tables.root.childTransaction(() => {
      if (!isSame(read(), base)) return false;
      const next = change();
      if (next) tables.meta.putSync(STATE_KEY, encodeWindowState(next));
      return true;
    });
  }

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

  /** Steps that follow one another, the first of them the head. */
  function add(base: WindowState, arrivals: readonly Arrival[], maxBytes: number): WindowState {
    return arrivals.reduce(
      (state, { step, nextOffset }) => shrink(applyStep(tables, state, step, nextOffset), maxBytes),
      base,
    );
  }

  function begin(base: Base, arrivals: readonly Arrival[], below: Below, maxBytes: number): Promise<boolean> {
    return commit(base, () => {
      clearTables(tables);
      return add(emptyState(arrivals[0].step, below, formVersion(tables.form)), arrivals, maxBytes);
    });
  }

  return {
    get state() {
      const state = closed ? null : read();
      return state === 'unknown' ? null : state;
    },
    async apply(steps, below) {
      for (;;) {
        tables.root.resetReadTxn();
        const base = read();
        const known = base === 'unknown' ? null : base;
        const maxBytes = await room.maxBytes(known ? known.bytes + known.codeBytes : 0);
        const arrivals = lastRun(known ? steps.filter(({ step }) => !isKnown(known, step)) : steps);
        const [first] = arrivals;
        if (first === undefined) return 'known';
        if (known && follows(known, first.step)) {
          if (await commit(base, () => add(known, arrivals, maxBytes))) return 'added';
        } else if (await begin(base, arrivals, await below(first.step.mcSeqno), maxBytes)) return 'begun';
      }
    },
    view: () => (closed ? null : createView(tables)),
    async speak(speaks) {
      while (!closed) {
        tables.root.resetReadTxn();
        const base = read();
        if (base === null || base === 'unknown' || base.speaks === speaks) return;
        if (await commit(base, () => ({ ...base, speaks }))) return;
      }
    },
    async clear() {
      const base = read();
      await commit(base, () => {
        clearTables(tables);
        return null;
      });
    },
    async close() {
      if (closed) return;
      closed = true;
      await tables.root.close();
    },
  };
}

/** The last steps of these that follow one another: what is before a hole would be thrown away again. */
function lastRun(arrivals: readonly Arrival[]): readonly Arrival[] {
  const hole = arrivals.findLastIndex(({ step }, i) => i > 0 && step.previous !== arrivals[i - 1].step.mcSeqno);
  return hole < 0 ? arrivals : arrivals.slice(hole);
}

function isSame(a: Base, b: Base): boolean {
  if (a === null || b === null || a === 'unknown' || b === 'unknown') return a === b;
  if (a.first !== b.first || a.head !== b.head || a.speaks !== b.speaks) return false;
  return a.rootHash === b.rootHash && a.nextNumber === b.nextNumber;
}

/** Here already, or below what is here. */
function isKnown(state: WindowState, step: LiveStep): boolean {
  if (state.globalId !== step.globalId || step.mcSeqno > state.head) return false;
  return step.mcSeqno < state.head || step.rootHash.toString('hex') === state.rootHash;
}

function follows(state: WindowState, step: LiveStep): boolean {
  return state.globalId === step.globalId && step.mcSeqno > state.head && step.previous === state.head;
}

function emptyState({ mcSeqno, globalId }: LiveStep, below: Below, form: string): WindowState {
  return {
    version: WINDOW_VERSION,
    form,
    first: mcSeqno,
    head: mcSeqno,
    globalId,
    rootHash: '',
    nextOffset: 0,
    nextNumber: 0,
    bytes: 0,
    codeBytes: 0,
    speaks: false,
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
