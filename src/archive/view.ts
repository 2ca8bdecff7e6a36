import type { Hash } from '../chain/model.ts';
import { ID_BYTES, stepOf } from '../window/chunk.ts';
import type { Entry, Range, Snapshot } from '../window/engine.ts';
import type { ShownMessage } from '../window/form.ts';
import { formIn, groupKey } from '../window/form-groups.ts';
import { behindPrefix, entryValue, type Kind, type Layout } from '../window/kind.ts';
import { isNarrowed, narrowKey, narrowRange, widening } from '../window/narrow.ts';
import { mergeOrdered } from '../window/ordered.ts';
import { placeOf } from '../window/placing.ts';
import { type Found, SnapshotView } from '../window/view.ts';
import type { FormedView, KeptForms } from './forms.ts';
import { ARCHIVED_KINDS } from './kinds.ts';
import { risingEntries } from './rising.ts';
import type { ArchiveState } from './state.ts';

/** The archive at one moment. */
export interface ArchiveView extends FormedView {
  readonly state: ArchiveState;
  /** As `range`, without the steps from one on. */
  rangeBefore(layout: Layout, range: Range, end: number): Iterable<Entry>;
}

const KIND_OF = new Map(ARCHIVED_KINDS.flatMap((kind) => kind.layouts.map((layout) => [layout.table, kind])));

/** A class, not a factory: every request makes one. */
export class ArchiveSnapshot extends SnapshotView<ArchiveState> implements ArchiveView {
  readonly #forms: KeptForms | null;
  /** The group of forms that was read last. */
  #group: { first: Buffer; forms: Buffer | null } | null = null;

  /** @param forms null where none are kept */
  constructor(snapshot: Snapshot, state: ArchiveState, forms: KeptForms | null) {
    super(snapshot, state, false, state.origin);
    this.#forms = forms;
  }

  override form(id: Buffer, isAmongOthers = false): Buffer | null {
    if (this.#forms === null) return null;
    const first = groupKey(id);
    const known = this.#group?.first.equals(first) ? this.#group : null;
    if (known?.forms) return formIn(known.forms, id);
    const kept = isAmongOthers ? null : this.#forms.keptOf(this.state.tables);
    const text = id.toString('latin1');
    const found = kept?.get(this, text);
    if (found) return found;
    const { table, key } = placeOf(this.#forms, first, this.state.origin);
    // A group of which more are asked for is kept: it need not be unpacked again.
    const isKept = isAmongOthers || known !== null;
    const group = isKept ? this.snapshot.get(table, key) : this.snapshot.peek(table, key);
    // Written before forms were kept, or with those of another version.
    if (group === undefined) return null;
    this.#group = { first, forms: isKept ? group : null };
    if (isKept) return formIn(group, id);
    const form = Buffer.from(formIn(group, id));
    kept?.offer(this, text, () => form);
    return form;
  }

  messageIn(id: Buffer, hash: Hash): (ShownMessage & { form: Buffer }) | null {
    const form = this.form(id);
    const shown = form && this.#forms?.form.messageIn(form, hash);
    return shown ? { ...shown, form } : null;
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
