import { type Boc, cellType, depthAt, openBoc } from '../boc.ts';
import { type Cell, parseBoc, toBoc } from '../builder.ts';
import { Cursor } from '../cursor.ts';
import { cellHash, type LooseCell, looseHash } from '../hash.ts';
import type { Hash } from '../model.ts';
import { serialize, serializeLoose } from '../serialize.ts';

/**
 * A cell of an open bag, or what a cell holds behind some place in it: the payload that ends a message body. Nothing is
 * copied or hashed until asked for.
 */
export class CellView {
  readonly boc: Boc;
  private readonly index: number;
  /** First bit, counted from the start of the bag, and first reference, an index into `boc.refs`. */
  private readonly at: number;
  private readonly ref: number;

  private constructor(boc: Boc, index: number, at: number, ref: number) {
    this.boc = boc;
    this.index = index;
    this.at = at;
    this.ref = ref;
  }

  /** A whole cell of a bag. */
  static of(boc: Boc, cell: number): CellView {
    return new CellView(boc, cell, boc.pos[cell] * 8, boc.refStart[cell]);
  }

  /** What a cursor has not read yet. The cursor is not moved. */
  static rest(cursor: Cursor): CellView {
    return new CellView(cursor.boc, cursor.cell, cursor.at, cursor.ref);
  }

  /** The root of a serialised bag with one root. The bytes are kept, not copied. Throws DecodeError. */
  static parse(bytes: Buffer): CellView {
    const boc = openBoc(bytes, { maxRoots: 1 });
    return CellView.of(boc, boc.roots[0]);
  }

  /** A cell that was built, to be written into a body. */
  static from(cell: Cell): CellView {
    return CellView.parse(toBoc(cell));
  }

  get bits(): number {
    return this.boc.pos[this.index] * 8 + this.boc.bits[this.index] - this.at;
  }

  get refs(): number {
    return this.boc.refStart[this.index] + (this.boc.d1[this.index] & 7) - this.ref;
  }

  /** Of the cell that it is or is part of: longest path of references below it. */
  get depth(): number {
    return depthAt(this.boc, this.index, 3);
  }

  get isExotic(): boolean {
    return cellType(this.boc, this.index) !== 0;
  }

  /** The first 32 bits; null when there are fewer, or the cell is exotic. */
  get opcode(): number | null {
    return this.bits < 32 || this.isExotic ? null : this.cursor().u(32);
  }

  /** A cursor at its first bit. Throws DecodeError when the cell is exotic. */
  cursor(): Cursor {
    const cursor = new Cursor(this.boc, this.index);
    cursor.at = this.at;
    cursor.ref = this.ref;
    return cursor;
  }

  /** Views of one bag with the same place are of the same. */
  get place(): string {
    return `${this.index}:${this.at}:${this.ref}`;
  }

  hash(): Hash {
    return this.isWhole ? cellHash(this.boc, this.index) : looseHash(this.boc, this.loose());
  }

  /** A bag of its own, without a checksum. */
  serialize(): Buffer {
    const options = { crc: false };
    if (this.isWhole) return serialize(this.boc, this.index, options);
    return serializeLoose(this.boc, this.loose(), options);
  }

  /** As an object of the builder. */
  build(): Cell {
    return parseBoc(this.serialize());
  }

  private get isWhole(): boolean {
    return this.at === this.boc.pos[this.index] * 8 && this.ref === this.boc.refStart[this.index];
  }

  private loose(): LooseCell {
    return this.cursor().rest();
  }
}
