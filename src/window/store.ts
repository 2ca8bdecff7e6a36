/** Rows of steps into the tables of their kinds, and out of them again. */
import { codes } from '../../clickhouse/tables/accounts.ts';
import { type BlockRow, blocks } from '../../clickhouse/tables/blocks.ts';
import type { ProjectedStep } from '../../streams/projected-step.ts';
import { ChunkWriter, chunkKey, ID_BYTES, idIn, idOf, idOfChunk, rowAt, rowOfId, rowsIn, stepKey } from './chunk.ts';
import type { Batch, Packing, Snapshot, TableOptions } from './engine.ts';
import type { TransactionForm } from './form.ts';
import { packing } from './form.ts';
import { FormGroups, groupKey, isFirstOfGroup } from './form-groups.ts';
import { behindPrefix, entryValue, groupOf, type Kind, keysOf, type Layout, layoutOf, tablesOf } from './kind.ts';
import { KINDS, retoldKind, transactionKind } from './kinds.ts';
import { narrowKey, narrowValue } from './narrow.ts';
import { type Origin, type Place, placeOf } from './placing.ts';
import { type Retelling, type WriteRow, writeRows } from './step.ts';

const TOLD_AGAIN = layoutOf(retoldKind, 'trace');

/** Masterchain seqno to what is noted of the step. */
export const STEPS = 'steps';
/** The id of a transaction to its form. */
export const FORMS = 'forms';
/** Codes by hash; they belong to no step. */
export const CODES = 'codes';

export function tableOptions(form: TransactionForm | null): TableOptions[] {
  const packed: Packing = form ? packing(form) : {};
  return [{ name: STEPS }, ...tablesOf(KINDS), { name: FORMS, packing: packed }, { name: CODES }];
}

/** Greatest lt and time of a step's blocks. */
export interface StepEnds {
  maxLt: bigint;
  maxUtime: number;
}

/** Between what the blocks of a step are. */
export interface StepSpan extends StepEnds {
  minLt: bigint;
  minUtime: number;
}

/** What is noted of a step, to take it out again. */
export interface StepNote extends StepEnds {
  /** Of its keys and values, before they are packed and laid out. */
  bytes: number;
}

export function endsOf(rows: readonly Pick<BlockRow, 'startLt' | 'endLt' | 'genUtime'>[]): StepSpan {
  const times = rows.map(({ genUtime }) => genUtime);
  return {
    minLt: rows.reduce((least, { startLt }) => (BigInt(startLt) < least ? BigInt(startLt) : least), MAX_LT),
    maxLt: rows.reduce((most, { endLt }) => (BigInt(endLt) > most ? BigInt(endLt) : most), 0n),
    minUtime: Math.min(MAX_UTIME, ...times),
    maxUtime: Math.max(0, ...times),
  };
}

const MAX_LT = 0xffff_ffff_ffff_ffffn;
const MAX_UTIME = 0xffff_ffff;

/** Whether a row is found on a way by its step alone: what rises with the steps is then where its blocks are. */
export function spannedBy({ minLt, maxLt, minUtime, maxUtime }: StepSpan): (layout: Layout, row: Buffer) => boolean {
  return ({ rises, key: [{ from }] }, row) => {
    if (rises === null) return false;
    if (rises === 'utime') return isBetween(row.readUInt32BE(from), minUtime, maxUtime);
    return isBetween(row.readBigUInt64BE(from), minLt, maxLt);
  };
}

const isBetween = <T extends number | bigint>(value: T, low: T, high: T): boolean => value >= low && value <= high;

const NOTE_BYTES = 18;

function encodeNote({ bytes, maxLt, maxUtime }: StepNote): Buffer {
  const note = Buffer.allocUnsafe(NOTE_BYTES);
  note.writeUIntBE(bytes, 0, 6);
  note.writeBigUInt64BE(maxLt, 6);
  note.writeUInt32BE(maxUtime, 14);
  return note;
}

function decodeNote(note: Buffer): StepNote {
  return { bytes: note.readUIntBE(0, 6), maxLt: note.readBigUInt64BE(6), maxUtime: note.readUInt32BE(14) };
}

/** How a store differs from the window. */
export interface Keeping {
  origin: Origin;
  /** No keys are kept of ways that rise with the steps, but of rows that are outside of what their step spans. */
  byStep: boolean;
  /** Keys and what stands beside them are kept as narrow.ts says. */
  isNarrow: boolean;
  /** Ways of which no keys are kept. */
  leftOut: ReadonlySet<Layout>;
  /** The table of forms that are kept in groups; null where each is kept by itself. */
  formGroups: string | null;
}

const AS_WINDOW: Keeping = { origin: null, byStep: false, isNarrow: false, leftOut: new Set(), formGroups: null };

/** The steps of one commit: written, and taken out. */
export class Change {
  readonly #snapshot: Snapshot;
  readonly #batch: Batch;
  readonly #form: TransactionForm | null;
  readonly #kinds: readonly Kind[];
  readonly #keeping: Keeping;
  /** Keys of rows of which the newest stays, as this commit has them, with what is the newest. */
  readonly #newest = new Map<string, Buffer>();
  /** Rows that this commit has, of those that may be written anew together. */
  readonly #together = new Map<string, Buffer[]>();
  readonly #codes = new Set<string>();
  #bytes = 0;
  #codeBytes = 0;

  constructor(
    snapshot: Snapshot,
    batch: Batch,
    form: TransactionForm | null,
    kinds: readonly Kind[] = KINDS,
    keeping: Keeping = AS_WINDOW,
  ) {
    this.#snapshot = snapshot;
    this.#batch = batch;
    this.#form = form;
    this.#kinds = kinds;
    this.#keeping = keeping;
  }

  write(step: ProjectedStep): StepNote {
    const note = this.writeRows(step.mcSeqno, endsOf(step.rows.of(blocks)), (write) => {
      writeRows(step, this.#form, this.retellingIn(step.mcSeqno), write);
    });
    this.#writeCodes(step);
    return note;
  }

  /** What is to be known to write the actions that a step has told. */
  retellingIn(mcSeqno: number): Retelling {
    return {
      forget: (kind, row) => this.#forget(kind, row),
      isToldLater: (traceId) => this.#isToldLater(traceId, mcSeqno),
    };
  }

  /** Writes what `give` gives of a step, those of one kind behind another. */
  writeRows(mcSeqno: number, ends: StepSpan, give: (write: WriteRow) => void): StepNote {
    const { origin, byStep, isNarrow, leftOut } = this.#keeping;
    const isFoundByStep = byStep ? spannedBy(ends) : () => false;
    const began = this.#bytes;
    const writers = new Map<Kind, ChunkWriter>();
    const writerOf = (kind: Kind): ChunkWriter => {
      let found = writers.get(kind);
      if (!found) {
        found = new ChunkWriter(mcSeqno, kind.chunkBytes, (chunkKey, chunk) => {
          const { table, key } = placeOf(kind, chunkKey, origin);
          this.#append(table, key, chunk);
        });
        writers.set(kind, found);
      }
      return found;
    };
    const groups = new FormGroups((key, group) => this.#putForms(key, group));
    give((kind, row, form) => {
      if (kind.newest !== null && !this.#isNewest(kind, row)) return row;
      const id = writerOf(kind).add(row);
      for (const layout of kind.layouts) {
        if (leftOut.has(layout) || isFoundByStep(layout, row)) continue;
        const value = entryValue(layout, row, id);
        const kept = isNarrow ? narrowValue(kind, layout, value) : value;
        for (const key of this.#keysOf(layout, row)) this.#put(layout.table, key, kept);
      }
      if (kind.together !== null) this.#groupOf(kind, kind.together, row).push(row);
      if (form && this.#keeping.formGroups === null) this.#append(FORMS, id, form);
      else if (form) groups.add(id, form);
      return id;
    });
    for (const writer of [...writers.values(), groups]) writer.flush();
    const { maxLt, maxUtime } = ends;
    const note = { bytes: this.#bytes - began + NOTE_BYTES, maxLt, maxUtime };
    if (origin === null) this.#append(STEPS, stepKey(mcSeqno), encodeNote(note));
    else this.#put(STEPS, stepKey(mcSeqno), encodeNote(note));
    return note;
  }

  #putForms(first: Buffer, group: Buffer): void {
    const place = this.#placeOfGroup(first);
    if (place) this.#append(place.table, place.key, group);
  }

  #placeOfGroup(first: Buffer): Place | null {
    const { formGroups, origin } = this.#keeping;
    return formGroups === null ? null : placeOf({ table: formGroups }, groupKey(first), origin);
  }

  #put(table: string, key: Buffer, value: Buffer): void {
    this.#batch.put(table, key, value);
    this.#bytes += key.length + value.length;
  }

  #append(table: string, key: Buffer, value: Buffer): void {
    this.#batch.append(table, key, value);
    this.#bytes += key.length + value.length;
  }

  /** Remembers that it is; what was the newest before is led to no more. */
  #isNewest(kind: Kind, row: Buffer): boolean {
    const [layout] = kind.layouts;
    const [key] = keysOf(layout, row);
    const text = layout.table + key.toString('latin1');
    const [{ from, at, bytes }] = layout.also;
    const own = row.subarray(from, from + bytes);
    const known = this.#newest.get(text) ?? this.#peek(layout, key)?.subarray(at, at + bytes);
    if (known && known.compare(own) > 0) return false;
    this.#newest.set(text, own);
    return true;
  }

  #isToldLater(traceId: Buffer, mcSeqno: number): boolean {
    const text = TOLD_AGAIN.table + traceId.toString('latin1');
    const [{ at, bytes }] = TOLD_AGAIN.also;
    const known = this.#newest.get(text) ?? this.#peek(TOLD_AGAIN, traceId)?.subarray(at, at + bytes);
    return known !== undefined && retoldKind.columns.mcSeqno.get(known, 0) > mcSeqno;
  }

  #groupOf(kind: Kind, way: Layout, row: Buffer): Buffer[] {
    const text = kind.name + groupOf(way, row).toString('latin1');
    const found = this.#together.get(text) ?? [];
    this.#together.set(text, found);
    return found;
  }

  /** What was written together with such a row is led to no more. */
  #forget(kind: Kind, row: Buffer): void {
    const { together: way } = kind;
    if (way === null) throw new Error(`rows of ${kind.name} stay`);
    const low = this.#keyOf(way, groupOf(way, row));
    const ids = Array.from(this.#snapshot.range(way.table, { low, high: behindPrefix(low) }), ({ value }) =>
      Buffer.from(idOf(value)),
    );
    const before = ids.flatMap((id) => {
      const place = placeOf(kind, chunkKey(id), this.#keeping.origin);
      const chunk = this.#snapshot.get(place.table, place.key);
      return chunk ? [rowOfId(chunk, id)] : [];
    });
    const own = this.#groupOf(kind, way, row);
    for (const one of [...before, ...own.splice(0)]) {
      this.#deleteKeys(kind, one);
    }
  }

  #writeCodes({ rows }: ProjectedStep): void {
    for (const { codeHash: hash, methods, boc } of rows.of(codes)) {
      const text = hash.toString('latin1');
      if (this.#codes.has(text) || this.#snapshot.peek(CODES, hash)) continue;
      this.#codes.add(text);
      const value = encodeCode(methods, boc);
      this.#batch.put(CODES, hash, value);
      this.#codeBytes += hash.length + value.length;
    }
  }

  /** Bytes of codes written since this was last asked. */
  takeCodeBytes(): number {
    const taken = this.#codeBytes;
    this.#codeBytes = 0;
    return taken;
  }

  /** Takes out a step of the snapshot. What a later step has written since, under the same key, stays. */
  evict(mcSeqno: number): StepNote {
    const prefix = stepKey(mcSeqno);
    const note = this.#snapshot.get(STEPS, prefix);
    if (note === undefined) throw new Error(`step ${mcSeqno} is missing in the window`);
    for (const kind of this.#kinds) {
      const { table, key: low } = placeOf(kind, prefix, this.#keeping.origin);
      for (const { key, value } of this.#snapshot.range(table, { low, high: behindPrefix(low) })) {
        this.#evictChunk(kind, idOfChunk(key, mcSeqno), value);
        this.#batch.delete(table, key);
      }
    }
    this.#batch.delete(STEPS, prefix);
    return decodeNote(note);
  }

  #evictChunk(kind: Kind, key: Buffer, chunk: Buffer): void {
    for (let place = 0; place < rowsIn(chunk); place++) {
      const row = rowAt(chunk, place);
      const id = idIn(key, place);
      if (kind.table === transactionKind.table) this.#evictForm(id);
      if ((kind.newest !== null || kind.together !== null) && !this.#leadsTo(kind, row, id)) continue;
      this.#deleteKeys(kind, row);
    }
  }

  #evictForm(id: Buffer): void {
    if (this.#form) this.#batch.delete(FORMS, id);
    const place = isFirstOfGroup(id) ? this.#placeOfGroup(id) : null;
    if (place) this.#batch.delete(place.table, place.key);
  }

  #deleteKeys({ layouts }: Kind, row: Buffer): void {
    for (const layout of layouts) for (const key of this.#keysOf(layout, row)) this.#batch.delete(layout.table, key);
  }

  #keysOf(layout: Layout, row: Buffer): Buffer[] {
    const keys = keysOf(layout, row);
    return this.#keeping.isNarrow ? keys.map((key) => narrowKey(layout, key)) : keys;
  }

  #keyOf(layout: Layout, key: Buffer): Buffer {
    return this.#keeping.isNarrow ? narrowKey(layout, key) : key;
  }

  #peek(layout: Layout, key: Buffer): Buffer | undefined {
    return this.#snapshot.peek(layout.table, this.#keyOf(layout, key));
  }

  #leadsTo(kind: Kind, row: Buffer, id: Buffer): boolean {
    const layout = kind.together ?? kind.layouts[0];
    const [key] = keysOf(layout, row);
    if (kind.together && this.#together.has(kind.name + groupOf(kind.together, row).toString('latin1'))) return false;
    if (this.#newest.has(layout.table + key.toString('latin1'))) return false;
    return this.#peek(layout, key)?.subarray(0, ID_BYTES).equals(id) ?? false;
  }

  /** The first step of the snapshot behind one. */
  stepBehind(mcSeqno: number): number | null {
    const [entry] = this.#snapshot.range(STEPS, { low: stepKey(mcSeqno + 1), high: null });
    return entry ? entry.key.readUInt32BE(0) : null;
  }

  forgetCodes(): void {
    for (const { key } of this.#snapshot.range(CODES, { low: Buffer.alloc(1), high: null })) {
      this.#batch.delete(CODES, key);
    }
  }
}

/** The keys of chunks rise while steps follow one another; here older ones come after newer ones. */
export function inAnyOrder({ put, delete: remove }: Batch): Batch {
  return { put, append: put, delete: remove };
}

/**
 * Puts in no order, at the end of a commit: keys that come in order between others leave each page of the engine half
 * empty. Of the ways by account in an archive that is filled downwards, half to four sevenths were full, and are two
 * thirds.
 */
export function shuffled({ put, append, delete: remove }: Batch): { batch: Batch; flush(): void } {
  /** The last of each key: a commit may put several, of an account in each of its steps. */
  const waiting = new Map<string, Parameters<Batch['put']>>();
  const flush = (): void => {
    const all = [...waiting.values()];
    waiting.clear();
    for (let i = all.length - 1; i > 0; i--) {
      const other = Math.floor(Math.random() * (i + 1));
      [all[i], all[other]] = [all[other], all[i]];
    }
    for (const one of all) put(...one);
  };
  const batch: Batch = {
    put: (table, key, value) => void waiting.set(`${table} ${key.toString('latin1')}`, [table, key, value]),
    append,
    delete(table, key) {
      // What is waiting may be what is to go.
      flush();
      remove(table, key);
    },
  };
  return { batch, flush };
}

function encodeCode(methods: readonly number[], boc: Buffer): Buffer {
  const head = Buffer.allocUnsafe(4 + 4 * methods.length);
  head.writeUInt32BE(methods.length, 0);
  for (const [i, method] of methods.entries()) head.writeUInt32BE(method, 4 + 4 * i);
  return Buffer.concat([head, boc]);
}
