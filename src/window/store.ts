/** Rows of steps into the tables of their kinds, and out of them again. */
import { codes } from '../../clickhouse/tables/accounts.ts';
import { blocks } from '../../clickhouse/tables/blocks.ts';
import type { ProjectedStep } from '../../streams/projected-steps.ts';
import type { Batch, Packing, Snapshot, TableOptions } from './engine.ts';
import type { TransactionForm } from './form.ts';
import { packing } from './form.ts';
import {
  behindPrefix,
  ChunkWriter,
  entryValue,
  ID_BYTES,
  idIn,
  type Kind,
  keysOf,
  rowAt,
  rowsIn,
  stepKey,
  tablesOf,
} from './kind.ts';
import { KINDS, transactionKind } from './kinds.ts';
import { writeRows } from './step.ts';

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

/** What is noted of a step, to take it out again. */
export interface StepNote {
  /** Of its keys and values, before they are packed and laid out. */
  bytes: number;
  maxLt: bigint;
  maxUtime: number;
}

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

/** The steps of one commit: written, and taken out. */
export class Change {
  readonly #snapshot: Snapshot;
  readonly #batch: Batch;
  readonly #form: TransactionForm | null;
  /** Keys of rows of which the newest stays, as this commit has them, with what is the newest. */
  readonly #newest = new Map<string, Buffer>();
  readonly #codes = new Set<string>();
  #bytes = 0;
  #codeBytes = 0;

  constructor(snapshot: Snapshot, batch: Batch, form: TransactionForm | null) {
    this.#snapshot = snapshot;
    this.#batch = batch;
    this.#form = form;
  }

  write(step: ProjectedStep): StepNote {
    const began = this.#bytes;
    const writers = new Map<Kind, ChunkWriter>();
    const writerOf = (kind: Kind): ChunkWriter => {
      let found = writers.get(kind);
      if (!found) {
        found = new ChunkWriter(step.mcSeqno, kind.chunkBytes, (key, chunk) => this.#append(kind.table, key, chunk));
        writers.set(kind, found);
      }
      return found;
    };
    writeRows(step, this.#form, (kind, row, form) => {
      if (kind.newest !== null && !this.#isNewest(kind, row)) return row;
      const id = writerOf(kind).add(row);
      for (const layout of kind.layouts) {
        const value = entryValue(layout, row, id);
        for (const key of keysOf(layout, row)) this.#put(layout.table, key, value);
      }
      if (form) this.#append(FORMS, id, form);
      return id;
    });
    for (const writer of writers.values()) writer.flush();
    this.#writeCodes(step);
    const ends = step.rows.of(blocks);
    const note = {
      bytes: this.#bytes - began + NOTE_BYTES,
      maxLt: ends.reduce((most, { endLt }) => (BigInt(endLt) > most ? BigInt(endLt) : most), 0n),
      maxUtime: Math.max(0, ...ends.map(({ genUtime }) => genUtime)),
    };
    this.#append(STEPS, stepKey(step.mcSeqno), encodeNote(note));
    return note;
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
    const known = this.#newest.get(text) ?? this.#snapshot.peek(layout.table, key)?.subarray(at, at + bytes);
    if (known && known.compare(own) > 0) return false;
    this.#newest.set(text, own);
    return true;
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
    const steps = { low: prefix, high: behindPrefix(prefix) };
    for (const kind of KINDS) {
      for (const { key, value } of this.#snapshot.range(kind.table, steps)) {
        this.#evictChunk(kind, key, value);
        this.#batch.delete(kind.table, key);
      }
    }
    this.#batch.delete(STEPS, prefix);
    return decodeNote(note);
  }

  #evictChunk(kind: Kind, key: Buffer, chunk: Buffer): void {
    for (let place = 0; place < rowsIn(chunk); place++) {
      const row = rowAt(chunk, place);
      const id = idIn(key, place);
      if (kind.table === transactionKind.table && this.#form) this.#batch.delete(FORMS, id);
      if (kind.newest !== null && !this.#leadsTo(kind, row, id)) continue;
      for (const layout of kind.layouts) {
        for (const own of keysOf(layout, row)) this.#batch.delete(layout.table, own);
      }
    }
  }

  #leadsTo({ layouts: [layout] }: Kind, row: Buffer, id: Buffer): boolean {
    const [key] = keysOf(layout, row);
    if (this.#newest.has(layout.table + key.toString('latin1'))) return false;
    return this.#snapshot.peek(layout.table, key)?.subarray(0, ID_BYTES).equals(id) ?? false;
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

export function encodeCode(methods: readonly number[], boc: Buffer): Buffer {
  const head = Buffer.allocUnsafe(4 + 4 * methods.length);
  head.writeUInt32BE(methods.length, 0);
  for (const [i, method] of methods.entries()) head.writeUInt32BE(method, 4 + 4 * i);
  return Buffer.concat([head, boc]);
}
