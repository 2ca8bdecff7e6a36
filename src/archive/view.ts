import { ID_BYTES, stepOf } from '../window/chunk.ts';
import type { Entry, Range, Snapshot } from '../window/engine.ts';
import { behindPrefix, entryValue, type Kind, type Layout } from '../window/kind.ts';
import { isNarrowed, narrowKey, narrowRange, widening } from '../window/narrow.ts';
import { mergeOrdered } from '../window/ordered.ts';
import { type Found, SnapshotView, type View } from '../window/view.ts';
import { ARCHIVED_KINDS } from './kinds.ts';
import { risingEntries } from './rising.ts';
import type { ArchiveState } from './state.ts';

/** The archive at one moment. */
export interface ArchiveView extends View {
  readonly state: ArchiveState;
  /** As `range`, without the steps from one on. */
  rangeBefore(layout: Layout, range: Range, end: number): Iterable<Entry>;
}

const KIND_OF = new Map(ARCHIVED_KINDS.flatMap((kind) => kind.layouts.map((layout) => [layout.table, kind])));

/** A class, not a factory: every request makes one. */
export class ArchiveSnapshot extends SnapshotView<ArchiveState> implements ArchiveView {
  constructor(snapshot: Snapshot, state: ArchiveState) {
    super(snapshot, state, false, state.origin);
  }

  override range(layout: Layout, range: Range): Iterable<Entry> {
    return this.rangeBefore(layout, range, this.head + 1);
  }

  rangeBefore(layout: Layout, range: Range, end: number): Iterable<Entry> {
    const all = super.range(layout, narrowRange(layout, range));
    const bounded = isNarrowed(layout) || end <= this.head ? kept(all, end, layout, range) : all;
    const kind = KIND_OF.get(layout.table);
    if (layout.rises === null || kind === undefined) return bounded;
    const order = range.reverse ? descending : ascending;
    return mergeOrdered([bounded, risingEntries(this, { kind, layout, range, end })], order);
  }

  override findByKey(kind: Kind, layout: Layout, key: Buffer): Found | null {
    if (layout.rises === null) return super.findByKey(kind, layout, narrowKey(layout, key));
    for (const { value } of this.range(layout, { low: key, high: behindPrefix(key) })) {
      const id = Buffer.from(value.subarray(0, ID_BYTES));
      return { id, row: this.row(kind, id) };
    }
    return null;
  }

  /** From the row where the key does not have all of it. */
  override beside(layout: Layout, key: Buffer): Buffer | null {
    const kind = KIND_OF.get(layout.table);
    if (kind === undefined || kind.newest === null || layout.also.length < 2)
      return super.beside(layout, narrowKey(layout, key));
    const found = this.findByKey(kind, layout, key);
    return found && entryValue(layout, found.row, found.id).subarray(ID_BYTES);
  }
}

/** Entries of a range as they were written, without the steps from one on. */
function* kept(entries: Iterable<Entry>, end: number, layout: Layout, range: Range): Generator<Entry> {
  const widen = isNarrowed(layout) ? widening(layout, range) : null;
  for (const entry of entries) {
    if (stepOf(entry.value) >= end) continue;
    widen?.(entry);
    yield entry;
  }
}

const ascending = (a: Entry, b: Entry): number => a.key.compare(b.key);
const descending = (a: Entry, b: Entry): number => b.key.compare(a.key);
