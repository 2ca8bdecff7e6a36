/**
 * Older steps by key, in lmdb beside the window: its kinds of rows, its keys, its engine, and forms of its
 * transactions.
 */
import { stepKey } from '../window/chunk.ts';
import type { Engine, Noted, Snapshot, TableOptions } from '../window/engine.ts';
import { openEngine } from '../window/engine.ts';
import type { TransactionForm } from '../window/form.ts';
import { chunkTable, columnOf, tablesOf } from '../window/kind.ts';
import { blockKind, transactionKind } from '../window/kinds.ts';
import { tableDownwards } from '../window/placing.ts';
import { type WriteRow, writeTold } from '../window/step.ts';
import { Change, CODES, inAnyOrder, STEPS, shuffled } from '../window/store.ts';
import { FORM_TABLES, type Forms, formsOf, formTables, type KeptForms, keptForms, NO_FORMS } from './forms.ts';
import { ARCHIVED_KINDS, LEFT_OUT } from './kinds.ts';
import { Places, sentMessageKind } from './messages.ts';
import type { SlabStep } from './slab.ts';
import { SPANS, SpanWriter, type Within } from './spans.ts';
import { ARCHIVE_VERSION, type ArchiveState, decodeState, encodeState } from './state.ts';
import { ArchiveSnapshot, type ArchiveView } from './view.ts';

export interface Archive {
  /** Where it stands; null while it is empty. */
  readonly state: ArchiveState | null;
  /** What it takes on the disk, about. */
  readonly bytes: number;
  /** Root hash of a masterchain block that is here, hex; null for one that is not. */
  masterHash(mcSeqno: number): string | null;
  /** Empties it and begins it without a step, behind `head`. Gives the state then. */
  begin(state: Omit<ArchiveState, 'version' | 'first' | 'origin'>): Promise<ArchiveState>;
  /**
   * Writes steps in one commit, all before the first or all behind the last one that is here. A kill leaves all of a
   * commit or nothing. Gives the state then.
   * @param was the state that they go on from
   * @param span what is here then
   * @throws when it stands otherwise by now: another process writes it, too
   */
  add(
    was: ArchiveState,
    steps: readonly SlabStep[],
    span: Pick<ArchiveState, 'first' | 'head' | 'below'>,
  ): Promise<ArchiveState>;
  /** Takes out some of the oldest steps. */
  evict(): Promise<void>;
  /** All reads of one request; null while it is empty. To be ended with `done()`. */
  view(): ArchiveView | null;
  clear(): void;
  close(): Promise<void>;
}

const ANOTHER_WRITES = 'another process writes the archive';

/** Where it stands, of the same tables. */
const isSame = (a: ArchiveState, b: ArchiveState): boolean =>
  a.tables === b.tables && a.origin === b.origin && a.first === b.first && a.head === b.head;

/** Steps taken out in one commit. */
const EVICTED_AT_ONCE = 64;

export function archiveTables(form: TransactionForm | null): TableOptions[] {
  return [
    { name: STEPS },
    { name: SPANS },
    ...tablesOf(ARCHIVED_KINDS),
    ...ARCHIVED_KINDS.map((kind) => ({ ...chunkTable(kind), name: tableDownwards(kind) })),
    { name: CODES },
    ...(form ? formTables(form) : []),
  ];
}

const open = (folder: string, form: TransactionForm | null): Engine =>
  openEngine(folder, archiveTables(form), { lasting: true });

/**
 * To be written by one process. Its files may be deleted while none is running.
 * @param form kept of the transactions that are written from now on; null for none, and of any other none stays
 */
export function openArchive(folder: string, form: TransactionForm | null): Archive {
  const engine = open(folder, form);
  engine.dropOthers(FORM_TABLES);
  const stateOf = createReading(engine);
  const kept = keptForms(form);
  const changeIn = ({ origin }: ArchiveState, { snapshot, batch }: Within): Change =>
    new Change(snapshot, batch, null, ARCHIVED_KINDS, {
      origin,
      byStep: true,
      isNarrow: true,
      leftOut: LEFT_OUT,
      formGroups: kept?.table ?? null,
    });

  /** What is written while nobody else writes. */
  async function commit(
    write: (state: ArchiveState, within: Within) => ArchiveState,
    was: ArchiveState | null = null,
  ): Promise<ArchiveState> {
    const snapshot = engine.snapshot();
    try {
      const { noted, state } = stateOf(snapshot);
      if (state === null) throw new Error('the archive was not begun');
      if (was !== null && !isSame(was, state)) throw new Error(ANOTHER_WRITES);
      let after = state;
      const written = await engine.commit(noted, (batch) => {
        after = write(state, { snapshot, batch });
        return encodeState(after);
      });
      if (!written) throw new Error(ANOTHER_WRITES);
      return after;
    } finally {
      snapshot.done();
    }
  }

  return {
    get state() {
      return stateOf().state;
    },
    get bytes() {
      const snapshot = engine.snapshot();
      try {
        return snapshot.bytes();
      } finally {
        snapshot.done();
      }
    },
    masterHash(mcSeqno) {
      const view = viewOf(engine, stateOf, kept);
      if (view === null) return null;
      try {
        const rows = view.rowsOf(blockKind, mcSeqno);
        const found = rows.find(({ row }) => columnOf(blockKind, row, 'workchain') === -1);
        return found ? Buffer.from(columnOf(blockKind, found.row, 'rootHash')).toString('hex') : null;
      } finally {
        view.done();
      }
    },
    async begin(state) {
      engine.clear();
      const { head } = state;
      const begun = { ...state, version: ARCHIVE_VERSION, first: head + 1, origin: head } as const;
      if (!(await engine.commit(null, () => encodeState(begun)))) throw new Error(ANOTHER_WRITES);
      return begun;
    },
    async add(was, steps, span) {
      const forms = form === null ? NO_FORMS : await formsOf(steps, form);
      return commit((state, within) => {
        const isDownwards = steps.some(({ mcSeqno }) => mcSeqno < state.first);
        // Once the origin is gone, steps that are filled in come between others.
        const isBetween = isDownwards && state.first > state.origin + 1;
        const { batch, flush } = shuffled(isBetween ? inAnyOrder(within.batch) : within.batch);
        const change = changeIn(state, { ...within, batch });
        const spans = new SpanWriter(within, isDownwards);
        const inOrder = [...steps].sort((a, b) => (isDownwards ? b.mcSeqno - a.mcSeqno : a.mcSeqno - b.mcSeqno));
        for (const { mcSeqno, rows, told, ...own } of inOrder) {
          spans.add(mcSeqno, own);
          change.writeRows(mcSeqno, own, (write) => {
            writeSlabRows(rows, forms, write);
            writeTold(told, change.retellingIn(mcSeqno), write);
          });
        }
        flush();
        spans.write();
        return { ...state, ...span };
      }, was);
    },
    async evict() {
      await commit((state, within) => {
        const change = changeIn(state, within);
        let { first, below } = state;
        for (let i = 0; i < EVICTED_AT_ONCE; i++) {
          const oldest = change.stepBehind(first - 1);
          if (oldest === null) break;
          const { maxLt, maxUtime } = change.evict(oldest);
          within.batch.delete(SPANS, stepKey(oldest));
          const { lt, utime } = below ?? { lt: 0n, utime: 0 };
          below = { lt: maxLt > lt ? maxLt : lt, utime: Math.max(utime, maxUtime) };
          first = oldest + 1;
        }
        return { ...state, first, below };
      });
    },
    view: () => viewOf(engine, stateOf, kept),
    clear: () => engine.clear(),
    close: () => engine.close(),
  };
}

/** The archive that another process writes. */
export type ArchiveReader = Pick<Archive, 'view' | 'close'>;

/** @param form as the process that writes has it */
export function readArchive(folder: string, form: TransactionForm | null): ArchiveReader {
  const engine = open(folder, form);
  const stateOf = createReading(engine);
  const kept = keptForms(form);
  return { view: () => viewOf(engine, stateOf, kept), close: () => engine.close() };
}

/** Transactions before the messages that they show. */
function writeSlabRows(rows: SlabStep['rows'], forms: Forms, write: WriteRow): void {
  const places = new Places();
  for (const { kind, row } of rows) {
    const own = kind === sentMessageKind ? places.placed(row) : row;
    if (own === null) continue;
    const id = write(kind, own, forms.get(row));
    if (kind === transactionKind) places.note(row, id);
  }
}

type Reading = (snapshot?: Snapshot) => { noted: Noted | null; state: ArchiveState | null };

/** Read with every view, and mostly the same as for the one before. */
function createReading(engine: Engine): Reading {
  let last: { version: number; state: ArchiveState | null } | null = null;
  return (snapshot) => {
    const noted = engine.note(snapshot);
    if (noted === null) return { noted, state: null };
    if (last?.version !== noted.version) last = { version: noted.version, state: decodeState(noted.value) };
    return { noted, state: last.state };
  };
}

function viewOf(engine: Engine, stateOf: Reading, kept: KeptForms | null): ArchiveView | null {
  const snapshot = engine.snapshot();
  const { state } = stateOf(snapshot);
  if (state !== null && state.first <= state.head) return new ArchiveSnapshot(snapshot, state, kept);
  snapshot.done();
  return null;
}
