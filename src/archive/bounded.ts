import type { Hash } from '../chain/model.ts';
import { stepOf } from '../window/chunk.ts';
import type { Entry, Range } from '../window/engine.ts';
import type { Kind, Layout } from '../window/kind.ts';
import type { Found, View } from '../window/view.ts';
import type { ArchiveView } from './view.ts';

/**
 * A view without its steps from one on, for rows that are written once: of those that later steps replace it has none
 * in place of the earlier one. A class, not a factory: every request makes one.
 */
export class BoundedView implements View {
  readonly #view: ArchiveView;
  readonly #end: number;

  constructor(view: ArchiveView, end: number) {
    this.#view = view;
    this.#end = end;
  }

  get first(): number {
    return this.#view.first;
  }
  get head(): number {
    return Math.min(this.#view.head, this.#end - 1);
  }
  get below() {
    return this.#view.below;
  }
  get globalId(): number {
    return this.#view.globalId;
  }

  range(layout: Layout, range: Range): Iterable<Entry> {
    return this.#view.rangeBefore(layout, range, this.#end);
  }
  row(kind: Kind, id: Buffer): Buffer {
    return this.#view.row(kind, id);
  }
  rowsOf(kind: Kind, mcSeqno: number): Found[] {
    return mcSeqno < this.#end ? this.#view.rowsOf(kind, mcSeqno) : [];
  }
  find(kind: Kind, layout: Layout, values: readonly unknown[]): Found | null {
    return this.#within(this.#view.find(kind, layout, values));
  }
  findByKey(kind: Kind, layout: Layout, key: Buffer): Found | null {
    return this.#within(this.#view.findByKey(kind, layout, key));
  }
  beside(layout: Layout, key: Buffer): Buffer | null {
    const [entry] = this.range(layout, { low: key, high: Buffer.concat([key, ZERO]) });
    return entry ? this.#view.beside(layout, key) : null;
  }
  form(id: Buffer, isAmongOthers?: boolean): Buffer | null {
    return this.#view.form(id, isAmongOthers);
  }
  code(hash: Hash) {
    return this.#view.code(hash);
  }
  methodsOf(hash: Hash): number[] | null {
    return this.#view.methodsOf(hash);
  }
  *steps(from: number, reverse = false): Iterable<number> {
    for (const step of this.#view.steps(from, reverse)) {
      if (step < this.#end) yield step;
      else if (!reverse) return;
    }
  }
  done(): void {
    this.#view.done();
  }

  #within(found: Found | null): Found | null {
    return found !== null && stepOf(found.id) < this.#end ? found : null;
  }
}

const ZERO = Buffer.alloc(1);
