/**
 * Values of the TVM and their form in cells (`VmStack`, `VmStackValue`: crypto/block/block.tlb). Stacks are lists from
 * the bottom to the top: arguments and results in the order in which contracts name them.
 */
import { Builder, Cell, Slice } from '../chain/builder.ts';
import { DecodeError } from '../chain/errors.ts';

export type StackValue =
  | { type: 'null' }
  | { type: 'int'; value: bigint }
  | { type: 'nan' }
  /** `slice`: what it has left, as a cell of its own. */
  | { type: 'cell' | 'slice' | 'builder'; cell: Cell }
  | { type: 'tuple'; items: StackValue[] }
  /** Its form is the executor's own; it cannot be given back. */
  | { type: 'continuation' };

export const NULL: StackValue = Object.freeze({ type: 'null' });

export interface StackLimits {
  /** Tuples inside each other. */
  maxDepth: number;
  /** Values altogether, those in tuples included. */
  maxValues: number;
}

/** Limits of what is read and written: those the reference has for arguments. */
const defaultStackLimits: StackLimits = { maxDepth: 1024, maxValues: 8000 };

/** A stack is nested too deep or has too many values. */
export class StackLimitError extends DecodeError {
  readonly limit: keyof StackLimits;
  readonly most: number;

  constructor(limit: keyof StackLimits, most: number) {
    super(limit === 'maxDepth' ? `values nested deeper than ${most}` : `more than ${most} values`);
    this.name = 'StackLimitError';
    this.limit = limit;
    this.most = most;
  }
}

const TINY = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const WIDE = { min: -(2n ** 256n), max: 2n ** 256n - 1n };

/** Whether an integer has room in the TVM: 257 bits with the sign. */
export function fitsTvm(value: bigint): boolean {
  return value >= WIDE.min && value <= WIDE.max;
}

/** Counts values and depth against the limits. */
function createGauge(limits: StackLimits) {
  let left = limits.maxValues;
  return (depth: number): void => {
    if (depth > limits.maxDepth) throw new StackLimitError('maxDepth', limits.maxDepth);
    if (--left < 0) throw new StackLimitError('maxValues', limits.maxValues);
  };
}

type Gauge = ReturnType<typeof createGauge>;

/** Reads a `VmStack`. Throws DecodeError, StackLimitError among them. */
export function readStack(root: Cell, limits: StackLimits = defaultStackLimits): StackValue[] {
  const gauge = createGauge(limits);
  const slice = new Slice(root);
  const depth = slice.u(24);
  if (depth > limits.maxValues) throw new StackLimitError('maxValues', limits.maxValues);
  const values: StackValue[] = [];
  let at = slice;
  for (let left = depth; left > 0; left--) {
    const rest = at.open();
    values.push(readValue(at, gauge, 0));
    at = rest;
  }
  return values.reverse();
}

function readValue(slice: Slice, gauge: Gauge, depth: number): StackValue {
  gauge(depth);
  const tag = slice.u(8);
  switch (tag) {
    case 0:
      return NULL;
    case 1:
      return { type: 'int', value: BigInt.asIntN(64, slice.big(64)) };
    case 2:
      return readWide(slice);
    case 3:
      return { type: 'cell', cell: slice.ref() };
    case 4:
      return { type: 'slice', cell: readPart(slice) };
    case 5:
      return { type: 'builder', cell: slice.ref() };
    case 6:
      return { type: 'continuation' };
    case 7:
      return { type: 'tuple', items: readTuple(slice, gauge, depth + 1) };
    default:
      throw new DecodeError(`unknown stack value with tag ${tag}`);
  }
}

/** `vm_stk_int#0201_ value:int257` or `vm_stk_nan#02ff`. */
function readWide(slice: Slice): StackValue {
  if (slice.clone().u(8) === 0xff) return { type: 'nan' };
  slice.tag(7, 0, 'vm_stk_int');
  return { type: 'int', value: BigInt.asIntN(257, slice.big(257)) };
}

/**
 * A slice of an exotic cell (`XCTOS` leaves one) has bits like any other. The executor breaks down where it is given
 * one.
 */
const ordinary = (cell: Cell): Cell => (cell.exotic ? new Cell(cell.data, cell.bits, cell.refs) : cell);

/** `VmCellSlice`: bounds within a cell. */
function readPart(slice: Slice): Cell {
  const cell = slice.ref();
  const [fromBit, toBit, fromRef, toRef] = [slice.u(10), slice.u(10), slice.u(3), slice.u(3)];
  const { bits, refs } = cell;
  if (fromBit > toBit || toBit > bits || fromRef > toRef || toRef > refs.length) {
    throw new DecodeError('a slice reaches over the end of its cell');
  }
  const whole = ordinary(cell);
  if (fromBit === 0 && toBit === bits && fromRef === 0 && toRef === refs.length) return whole;
  const part = new Slice(whole).skip(fromBit);
  const builder = new Builder();
  for (let left = toBit - fromBit; left > 0; left -= Math.min(24, left))
    builder.u(part.u(Math.min(24, left)), Math.min(24, left));
  for (const ref of refs.slice(fromRef, toRef)) builder.ref(ref);
  return builder.cell();
}

/** `vm_stk_tuple#07 len:(## 16) data:(VmTuple len)`: the last item, and the others in a cell before it. */
function readTuple(slice: Slice, gauge: Gauge, depth: number): StackValue[] {
  const length = slice.u(16);
  const items: StackValue[] = [];
  let at = slice;
  for (let left = length; left > 0; left--) {
    const head = left > 1 ? at.open() : null;
    items.push(readValue(at.open(), gauge, depth));
    if (head === null) break;
    if (left === 2) {
      items.push(readValue(head, gauge, depth));
      break;
    }
    at = head;
  }
  return items.reverse();
}

/** Writes a `VmStack`. Throws StackLimitError, and RangeError for a continuation and integers over 257 bits. */
export function writeStack(values: readonly StackValue[], limits: StackLimits = defaultStackLimits): Cell {
  const gauge = createGauge(limits);
  let rest = new Builder().cell();
  values.forEach((value, i) => {
    const builder = new Builder();
    if (i === values.length - 1) builder.u(values.length, 24);
    rest = writeValue(builder.ref(rest), value, gauge, 0).cell();
  });
  return values.length === 0 ? new Builder().u(0, 24).cell() : rest;
}

/** Writes one `VmStackValue` as a cell of its own. Throws as {@link writeStack}. */
export function writeStackValue(value: StackValue, limits: StackLimits = defaultStackLimits): Cell {
  return writeValue(new Builder(), value, createGauge(limits), 0).cell();
}

function writeValue(builder: Builder, value: StackValue, gauge: Gauge, depth: number): Builder {
  gauge(depth);
  switch (value.type) {
    case 'null':
      return builder.u(0, 8);
    case 'nan':
      return builder.u(0x02ff, 16);
    case 'int':
      return writeInt(builder, value.value);
    case 'cell':
      return builder.u(3, 8).ref(value.cell);
    case 'slice':
      return builder
        .u(4, 8)
        .ref(ordinary(value.cell))
        .u(0, 10)
        .u(value.cell.bits, 10)
        .u(0, 3)
        .u(value.cell.refs.length, 3);
    case 'builder':
      return builder.u(5, 8).ref(ordinary(value.cell));
    case 'tuple':
      return writeTuple(builder, value.items, gauge, depth + 1);
    case 'continuation':
      throw new RangeError('a continuation cannot be an argument');
  }
}

function writeInt(builder: Builder, value: bigint): Builder {
  if (value >= TINY.min && value <= TINY.max) return builder.u(1, 8).big(BigInt.asUintN(64, value), 64);
  if (!fitsTvm(value)) throw new RangeError(`${value} has more than 257 bits`);
  return builder.u(0x0100, 15).big(BigInt.asUintN(257, value), 257);
}

function writeTuple(builder: Builder, items: readonly StackValue[], gauge: Gauge, depth: number): Builder {
  if (items.length > 255) throw new RangeError(`a tuple of ${items.length} values, 255 at most`);
  let head: Cell | null = null;
  let tail: Cell | null = null;
  for (const item of items) {
    const cell: Cell = writeValue(new Builder(), item, gauge, depth).cell();
    // With two before it the head is a tuple of its own; a single one stands there itself.
    if (tail !== null) head = head === null ? tail : new Builder().ref(head).ref(tail).cell();
    tail = cell;
  }
  builder.u(7, 8).u(items.length, 16);
  if (head !== null) builder.ref(head);
  return tail === null ? builder : builder.ref(tail);
}

/**
 * The items of a list: nested pairs (first, rest) that end in null, as the languages of contracts make them. Null for
 * anything else; null itself is the list without items.
 */
export function listItems(value: StackValue): StackValue[] | null {
  const items: StackValue[] = [];
  for (let at = value; at.type !== 'null'; at = at.items[1]) {
    if (at.type !== 'tuple' || at.items.length !== 2) return null;
    items.push(at.items[0]);
  }
  return items;
}

/** The list of some items. */
export function listOf(items: readonly StackValue[]): StackValue {
  return items.reduceRight<StackValue>((rest, item) => ({ type: 'tuple', items: [item, rest] }), NULL);
}
