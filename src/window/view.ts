import type { Hash } from '../chain/model.ts';
import { chunkKey, ID_BYTES, idIn, idOfChunk, rowAt, rowOfId, rowsIn, stepKey } from './chunk.ts';
import type { Engine, Entry, Range, Snapshot } from './engine.ts';
import type { TransactionForm } from './form.ts';
import { behindPrefix, type Kind, keyPrefix, type Layout } from './kind.ts';
import { type Origin, partsOf, placeOf, stepAt } from './placing.ts';
import { readWindowState, type WindowState } from './state.ts';
import { CODES, FORMS, STEPS } from './store.ts';

/** A row with what it is known by. */
export interface Found {
  id: Buffer;
  row: Buffer;
}

/** What a step has of a kind. */
interface StepRows {
  mcSeqno: number;
  rows: Found[];
}

/** Steps that are held, and where they are among all. */
export type Span = Pick<WindowState, 'first' | 'head' | 'below' | 'globalId'>;

/** The window at one moment. */
export interface WindowView extends View {
  /** The same object as long as the window is the same. */
  readonly state: WindowState;
}

/** Rows of some steps by key, at one moment. */
export interface View extends Span {
  /** Keys of a way, each with the id of its row and what stands beside it. */
  range(layout: Layout, range: Range): Iterable<Entry>;
  /** The row with an id, in memory that stays. */
  row(kind: Kind, id: Buffer): Buffer;
  /** The rows that a step has written, in their order. */
  rowsOf(kind: Kind, mcSeqno: number): Found[];
  /** The row that the values of a key lead to; null when they lead nowhere. */
  find(kind: Kind, layout: Layout, values: readonly unknown[]): Found | null;
  /** The same with the key as it is. */
  findByKey(kind: Kind, layout: Layout, key: Buffer): Found | null;
  /** What stands beside the id there. */
  beside(layout: Layout, key: Buffer): Buffer | null;
  /**
   * The form of a transaction; null where none is kept.
   * @param isAmongOthers those beside it in the same step are asked for next
   */
  form(id: Buffer, isAmongOthers?: boolean): Buffer | null;
  code(hash: Hash): { methods: number[]; boc: Buffer } | null;
  methodsOf(hash: Hash): number[] | null;
  /** Those from a number on, ascending, or from the newest down to it: numbers may be left out, by millions. */
  steps(from: number, reverse?: boolean): Iterable<number>;
  done(): void;
}

/** A snapshot of the tables; null when they are empty, or of another version. */
export function createView(engine: Engine, form: TransactionForm | null): WindowView | null {
  const snapshot = engine.snapshot();
  const { state } = readWindowState(engine, form, snapshot);
  if (state !== null && state !== 'unknown') return new SnapshotView(snapshot, state, form !== null);
  snapshot.done();
  return null;
}

/** A class, not a factory: every request makes one. */
export class SnapshotView<S extends Span> implements View {
  readonly state: S;
  protected readonly snapshot: Snapshot;
  readonly #forms: boolean;
  readonly #origin: Origin;

  constructor(snapshot: Snapshot, state: S, forms: boolean, origin: Origin = null) {
    this.snapshot = snapshot;
    this.state = state;
    this.#forms = forms;
    this.#origin = origin;
  }

  get first(): number {
    return this.state.first;
  }
  get head(): number {
    return this.state.head;
  }
  get below() {
    return this.state.below;
  }
  get globalId(): number {
    return this.state.globalId;
  }

  done(): void {
    this.snapshot.done();
  }
  range(layout: Layout, range: Range): Iterable<Entry> {
    return this.snapshot.range(layout.table, range);
  }
  row(kind: Kind, id: Buffer): Buffer {
    const { table, key } = placeOf(kind, chunkKey(id), this.#origin);
    const chunk = this.snapshot.peek(table, key);
    if (chunk === undefined) throw new Error(`${kind.name} ${id.toString('hex')} is missing in the window`);
    return Buffer.from(rowOfId(chunk, id));
  }
  rowsOf(kind: Kind, mcSeqno: number): Found[] {
    const found: Found[] = [];
    const { table, key: low } = placeOf(kind, stepKey(mcSeqno), this.#origin);
    for (const { key, value } of this.snapshot.range(table, { low, high: behindPrefix(low) })) {
      found.push(...foundIn(value, idOfChunk(key, mcSeqno)));
    }
    return found;
  }
  /** The rows of steps from `low` to before `end`, step by step; those without any are passed over. */
  *rowsBySteps(kind: Kind, low: number, end: number, reverse: boolean): Generator<StepRows> {
    let held: StepRows = { mcSeqno: 0, rows: [] };
    for (const part of partsOf(kind, low, end, reverse, this.#origin)) {
      for (const { key, value } of this.snapshot.range(part.table, part.range)) {
        const mcSeqno = stepAt(key, part, kind);
        if (held.mcSeqno !== mcSeqno) {
          if (held.rows.length > 0) yield held;
          held = { mcSeqno, rows: [] };
        }
        held.rows.push(...foundIn(value, idOfChunk(key, mcSeqno)));
      }
    }
    if (held.rows.length > 0) yield held;
  }
  find(kind: Kind, layout: Layout, values: readonly unknown[]): Found | null {
    return this.findByKey(kind, layout, keyPrefix(kind, layout, values));
  }
  findByKey(kind: Kind, layout: Layout, key: Buffer): Found | null {
    const found = this.snapshot.peek(layout.table, key);
    if (found === undefined) return null;
    const id = Buffer.from(found.subarray(0, ID_BYTES));
    return { id, row: this.row(kind, id) };
  }
  beside(layout: Layout, key: Buffer): Buffer | null {
    const found = this.snapshot.peek(layout.table, key);
    return found === undefined ? null : Buffer.from(found.subarray(ID_BYTES, layout.valueBytes));
  }
  form(id: Buffer): Buffer | null {
    return this.#forms ? (this.snapshot.get(FORMS, id) ?? null) : null;
  }
  code(hash: Hash): { methods: number[]; boc: Buffer } | null {
    const found = this.snapshot.get(CODES, hash);
    if (found === undefined) return null;
    const methods = decodeMethods(found);
    return { methods, boc: found.subarray(4 + 4 * methods.length) };
  }
  methodsOf(hash: Hash): number[] | null {
    const found = this.snapshot.peek(CODES, hash);
    return found === undefined ? null : decodeMethods(found);
  }
  /** Of a table that is no way. */
  entries(table: string, range: Range): Iterable<Entry> {
    return this.snapshot.range(table, range);
  }
  valueOf(table: string, key: Buffer): Buffer | null {
    return this.snapshot.get(table, key) ?? null;
  }
  *steps(from: number, reverse = false): Iterable<number> {
    for (const { key } of this.snapshot.range(STEPS, { low: stepKey(from), high: null, reverse })) {
      yield key.readUInt32BE(0);
    }
  }
}

/** @param first with which the ids of its rows begin */
function foundIn(chunk: Buffer, first: Buffer): Found[] {
  return Array.from({ length: rowsIn(chunk) }, (_, place) => ({ id: idIn(first, place), row: rowAt(chunk, place) }));
}

function decodeMethods(bytes: Buffer): number[] {
  return Array.from({ length: bytes.readUInt32BE(0) }, (_, i) => bytes.readUInt32BE(4 + 4 * i));
}
