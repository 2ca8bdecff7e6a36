import { statfs } from 'node:fs/promises';
import { transactions } from '../../clickhouse/tables/transactions.ts';
import type { ProjectedStep } from '../../streams/projected-step.ts';
import type { PublishedStep } from '../../streams/steps-topic.ts';
import { type Noted, openEngine, type Snapshot } from './engine.ts';
import { formVersion, type TransactionForm } from './form.ts';
import { encodeWindowState, readWindowState, WINDOW_VERSION, type WindowState } from './state.ts';
import { Change, inAnyOrder, tableOptions } from './store.ts';
import { createView, type WindowView } from './view.ts';

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
  /**
   * Writes steps before the first one in one commit, where there is room for them: no step goes for an older one.
   * @param steps each behind the one before it, the last of them right before the step `first`
   * @param below of the first of them
   */
  prepend(steps: readonly ProjectedStep[], first: number, below: Below): Promise<Prepended>;
  /** All reads of one request, from one snapshot; null while the window is empty. To be ended with `done()`. */
  view(): WindowView | null;
  /** Whether it answers, for all who read it; a window that begins anew does not. */
  speak(speaks: boolean): Promise<void>;
  /** Forgets steps of other tables than these, which are those of the next ones. */
  belongTo(tables: string): void;
  /** Forgets everything. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** A step, and where in the topic the next one begins. */
export type Arrival = Pick<PublishedStep, 'step' | 'nextOffset'>;

export type Applied = 'known' | 'added' | 'begun';

/** `changed`: somebody else has written meanwhile; while the first step is the same it may be tried again. */
export type Prepended = 'added' | 'full' | 'changed';

/** Share of the free disk that the window may take. */
const DISK_SHARE = 0.5;
/** Of the window, for codes: above it they are forgotten and read from ClickHouse again. */
const CODES_SHARE = 0.05;
/** Steps taken out in one commit; the rest goes with the next ones. */
const EVICTED_AT_ONCE = 64;
const LOOK_AT_DISK_MS = 30_000;
/** What keys and values take on the disk, against their bytes, until there are enough of them to tell. */
const USUAL_SHARE = 1;
const ENOUGH_TO_TELL = 1024 ** 2;
/** Commits after which it is measured again: that takes as long as writing some transactions. */
const MEASURED_EVERY = 16;

/** Most bytes of transactions written in one commit, and of the window: some 20 ms without a turn of the event loop. */
const COMMIT_BYTES = 256 * 1024;
const COMMIT_SHARE = 1 / 16;

/** Of the window, up to where older steps are filled in; the newest take the rest before they take any out. */
const FILLED_UP_TO = 0.95;

/** Bytes of keys and values that there is room for, and what each takes on the disk. */
interface Room {
  bytes: number;
  share: number;
}

/**
 * The newest steps on this host's disk. Several processes may follow the topic with one folder: each step is written by
 * one of them, and readers see whole steps only. Files that cannot be of use, of another version say, are emptied.
 */
export function openWindow(options: WindowOptions): Window {
  const form = options.form ?? null;
  const engine = openEngine(options.folder, tableOptions(form));
  let closed = false;
  let tables = '';
  const disk = createDisk(options);
  const shareOf = createShare();
  const read = () => readWindowState(engine, form);

  function say(speaks: boolean): void {
    for (;;) {
      const { noted, state } = read();
      if (noted === null || state === null || state === 'unknown' || state.speaks === speaks) return;
      if (engine.setNote(noted, encodeWindowState({ ...state, speaks }))) return;
    }
  }

  // Who follows the steps says when it answers again.
  say(false);

  /** Steps that follow one another, the first of them the head. */
  async function add(noted: Noted | null, base: WindowState, arrivals: readonly Arrival[]): Promise<boolean> {
    const snapshot = engine.snapshot();
    try {
      const room = await roomFor(base, snapshot);
      return await engine.commit(noted, (batch) => {
        const change = new Change(snapshot, batch, form);
        const full = arrivals.reduce((state, arrival) => written(change, state, arrival), base);
        return encodeWindowState(shrink(change, full, room, arrivals[0].step.mcSeqno));
      });
    } finally {
      snapshot.done();
    }
  }

  async function roomFor(state: WindowState, snapshot: Snapshot): Promise<Room> {
    const share = shareOf(state, snapshot);
    return { share, bytes: (await disk.maxBytes(share * bytesOf(state))) / share };
  }

  return {
    get state() {
      const { state } = closed ? { state: null } : read();
      return state === 'unknown' ? null : state;
    },
    async prepend(steps, first, below) {
      const snapshot = engine.snapshot();
      try {
        const { noted, state } = readWindowState(engine, form, snapshot);
        if (state === null || state === 'unknown' || state.first !== first) return 'changed';
        const room = await roomFor(state, snapshot);
        if (bytesOf(state) > room.bytes * FILLED_UP_TO) return 'full';
        const added = await engine.commit(noted, (batch) => {
          const change = new Change(snapshot, inAnyOrder(batch), form);
          const bytes = steps.reduce((sum, step) => sum + change.write(step).bytes, state.stepBytes);
          const now = { ...state, first: steps[0].mcSeqno, below, stepBytes: bytes };
          now.codeBytes += change.takeCodeBytes();
          return encodeWindowState({ ...now, bytes: Math.ceil(bytesOf(now) * room.share) });
        });
        return added ? 'added' : 'changed';
      } finally {
        snapshot.done();
      }
    },
    async apply(steps, below) {
      let applied: Applied = 'known';
      for (;;) {
        const { noted, state } = read();
        const known = state === 'unknown' ? null : state;
        const arrivals = lastRun(known ? steps.filter(({ step }) => !isKnown(known, step)) : steps);
        const [first] = arrivals;
        if (first === undefined) return applied;
        const some = firstOf(arrivals, Math.min(COMMIT_BYTES, options.maxBytes * COMMIT_SHARE));
        if (known && follows(known, first.step)) {
          if ((await add(noted, known, some)) && applied === 'known') applied = 'added';
          continue;
        }
        const empty = emptyState(first.step, await below(first.step.mcSeqno), { form: formVersion(form), tables });
        engine.clear();
        if (await add(null, empty, some)) applied = 'begun';
      }
    },
    view: () => (closed ? null : createView(engine, form)),
    async speak(speaks) {
      if (!closed) say(speaks);
    },
    belongTo(id) {
      tables = id;
      const { state } = read();
      if (state !== null && state !== 'unknown' && state.tables !== id) engine.clear();
    },
    async clear() {
      engine.clear();
    },
    async close() {
      if (closed) return;
      closed = true;
      await engine.close();
    },
  };
}

function written(change: Change, state: WindowState, { step, nextOffset }: Arrival): WindowState {
  const { bytes } = change.write(step);
  return {
    ...state,
    head: step.mcSeqno,
    rootHash: step.rootHash.toString('hex'),
    nextOffset,
    stepBytes: state.stepBytes + bytes,
    codeBytes: state.codeBytes + change.takeCodeBytes(),
  };
}

/** Takes steps out until there is room; those of this commit stay, from `kept` on. */
function shrink(change: Change, before: WindowState, { bytes, share }: Room, kept: number): WindowState {
  let now = before;
  if (now.codeBytes > bytes * CODES_SHARE) {
    change.forgetCodes();
    now = { ...now, codeBytes: 0 };
  }
  for (let i = 0; i < EVICTED_AT_ONCE && now.first < kept && bytesOf(now) > bytes; i++) {
    const gone = change.evict(now.first);
    const { lt, utime } = now.below ?? { lt: 0n, utime: 0 };
    now = {
      ...now,
      first: change.stepBehind(now.first) ?? kept,
      stepBytes: Math.max(0, now.stepBytes - gone.bytes),
      below: { lt: gone.maxLt > lt ? gone.maxLt : lt, utime: Math.max(utime, gone.maxUtime) },
    };
  }
  return { ...now, bytes: Math.ceil(bytesOf(now) * share) };
}

/** Of keys and values. */
const bytesOf = ({ stepBytes, codeBytes }: WindowState): number => stepBytes + codeBytes;

/** What keys and values take on the disk, against their bytes; looked up from time to time. */
function createShare() {
  let share = USUAL_SHARE;
  let commits = 0;
  return (state: WindowState, snapshot: Snapshot): number => {
    const bytes = bytesOf(state);
    if (bytes < ENOUGH_TO_TELL) return USUAL_SHARE;
    if (commits++ % MEASURED_EVERY === 0) share = snapshot.bytes() / bytes;
    return share;
  };
}

/** The first steps of these, one at least, with about so many bytes of transactions. */
function firstOf(arrivals: readonly Arrival[], maxBytes: number): readonly Arrival[] {
  let bytes = 0;
  let count = 0;
  while (count < arrivals.length && (count === 0 || bytes < maxBytes)) {
    for (const { payload, states } of arrivals[count].step.rows.of(transactions))
      bytes += payload.length + states.length;
    count++;
  }
  return arrivals.slice(0, count);
}

/** The window that another process writes. */
export interface WindowReader {
  /** As `Window.view`. */
  view(): WindowView | null;
  close(): Promise<void>;
}

/** @param form that it is written with; one with others is as good as empty */
export function readWindow(folder: string, form: TransactionForm | null = null): WindowReader {
  const engine = openEngine(folder, tableOptions(form));
  let closed = false;
  return {
    view: () => (closed ? null : createView(engine, form)),
    close() {
      closed = true;
      return engine.close();
    },
  };
}

/** The last steps of these that follow one another: what is before a hole would be thrown away again. */
function lastRun(arrivals: readonly Arrival[]): readonly Arrival[] {
  const hole = arrivals.findLastIndex(({ step }, i) => i > 0 && step.previous !== arrivals[i - 1].step.mcSeqno);
  return hole < 0 ? arrivals : arrivals.slice(hole);
}

/** Here already, or below what is here. */
function isKnown(state: WindowState, step: ProjectedStep): boolean {
  if (state.globalId !== step.globalId || step.mcSeqno > state.head) return false;
  return step.mcSeqno < state.head || step.rootHash.toString('hex') === state.rootHash;
}

function follows(state: WindowState, step: ProjectedStep): boolean {
  return state.globalId === step.globalId && step.mcSeqno > state.head && step.previous === state.head;
}

function emptyState(
  { mcSeqno, globalId }: ProjectedStep,
  below: Below,
  made: Pick<WindowState, 'form' | 'tables'>,
): WindowState {
  return {
    version: WINDOW_VERSION,
    ...made,
    first: mcSeqno,
    head: mcSeqno,
    globalId,
    rootHash: '',
    nextOffset: 0,
    stepBytes: 0,
    bytes: 0,
    codeBytes: 0,
    speaks: false,
    below,
  };
}

/** How large the window may be: looked up at the disk from time to time. */
function createDisk({ folder, maxBytes }: WindowOptions) {
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
