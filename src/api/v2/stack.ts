/**
 * Stacks of get-methods as v2 spells them: pairs such as `["num", "0x1f"]` in `runGetMethod`, objects with `@type` in
 * `runGetMethodStd` and inside tuples and lists of the pairs.
 */
import { Cell, parseSent } from '../../chain/builder.ts';
import { DecodeError } from '../../chain/errors.ts';
import { serializeTree } from '../../chain/serialize.ts';
import { listItems, listOf, NULL, type StackValue } from '../../tvm/stack.ts';
import { ApiError, Refusal } from '../errors.ts';
import { type CellText, createCellText } from '../stack-cells.ts';
import { hexNumber, readStackNumber, told } from '../stack-number.ts';

/** Limits of what is asked: the reference's. */
const MAX_ENTRIES = 8000;
const MAX_DEPTH = 1024;

/** Cells of one written as nested objects: the same cell stands there as often as it is referred to. */
const MAX_OBJECT_CELLS = 1024;
/** Those of all cells of an answer. */
const MAX_ANSWER_OBJECT_CELLS = 16 * MAX_OBJECT_CELLS;

type Entries = readonly unknown[];

/**
 * Reads the `stack` of `runGetMethod`. Throws ApiError: 422, 500 for bytes that are no cell, or 542 for a tag that
 * stands for nothing.
 */
export function readPairs(entries: Entries): StackValue[] {
  const count = createCount();
  return entries.map((entry) => readPair(entry, count, 0));
}

/** Reads the `stack` of `runGetMethodStd`. Throws ApiError: 422, 500 or 542. */
export function readTyped(entries: Entries): StackValue[] {
  const count = createCount();
  return entries.map((entry) => readObject(entry, count, 0));
}

type Count = (depth: number) => void;

function createCount(): Count {
  let entries = 0;
  return (depth) => {
    if (++entries > MAX_ENTRIES) throw malformed(`more than ${MAX_ENTRIES} stack entries`);
    if (depth > MAX_DEPTH) throw malformed(`stack entries nested deeper than ${MAX_DEPTH}`);
  };
}

function malformed(reason: string): ApiError {
  return new ApiError(422, `failed to parse post request: ${reason}`);
}

function unsupported(tag: string): ApiError {
  return new Refusal(542, `Unsupported stack entry type: ${told(tag, 64)}`);
}

function readPair(entry: unknown, count: Count, depth: number): StackValue {
  count(depth);
  const [tag, value]: unknown[] = Array.isArray(entry) && entry.length <= 2 ? entry : [];
  if (typeof tag !== 'string') throw malformed('a stack entry is a pair of tag and value');
  switch (tag) {
    case 'null':
      return NULL;
    case 'num':
    case 'int':
    case 'number':
    case 'integer':
      return readNumber(value);
    case 'tvm.Cell':
    case 'cell':
      return { type: 'cell', cell: readCell(value, tag) };
    case 'tvm.Slice':
    case 'slice':
      return { type: 'slice', cell: readCell(value, tag) };
    case 'tuple':
    case 'tvm.Tuple':
      return { type: 'tuple', items: readElements(value, count, depth + 1) };
    case 'list':
    case 'tvm.List':
      return listOf(readElements(value, count, depth + 1));
    default:
      throw unsupported(tag);
  }
}

function readNumber(value: unknown): StackValue {
  const read = readStackNumber(value);
  if (read === null) throw malformed(`Invalid number: ${told(value)}`);
  return { type: 'int', value: read };
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** What tonlib says of an entry's bytes that are no bag of cells: not the request is malformed, the node refuses it. */
const NO_CELL = 'cannot deserialize bag-of-cells';

/**
 * Base64 of a bag of cells, `{"bytes": base64}`, or cells written as objects, also as text.
 *
 * @param noCell the beginning of what is said of bytes that are no bag of cells
 */
export function readCell(value: unknown, tag: string, noCell = NO_CELL): Cell {
  if (value === '' || value === undefined) throw malformed(`Empty ${tag}`);
  if (typeof value === 'string')
    return value.startsWith('{') ? readCell(parseJson(value, tag), tag, noCell) : readBag(value, tag, noCell);
  if (!isRecord(value)) throw malformed(`Invalid ${tag}`);
  if (value.bytes !== undefined) {
    if (typeof value.bytes !== 'string' || value.bytes === '') throw malformed(`Empty ${tag}`);
    return readBag(value.bytes, tag, noCell);
  }
  try {
    // Written out and read again: whether an exotic cell is whole is told when a bag is opened.
    return parseSent(serializeTree([readCellObject(value, tag, { left: MAX_OBJECT_CELLS }, 0)]));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw malformed(`Invalid ${tag}: ${error.message}`);
  }
}

/** The padding may be left out. */
function readBag(text: string, tag: string, noCell: string): Cell {
  if (!BASE64.test(text) || text.replace(/=+$/, '').length % 4 === 1) throw malformed(`Invalid ${tag}: not base64`);
  try {
    return parseSent(Buffer.from(text, 'base64'));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new Refusal(500, `${noCell}: ${error.message}`, { cause: error });
  }
}

function parseJson(text: string, tag: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw malformed(`Invalid ${tag}: ${error.message}`);
  }
}

/**
 * `{"data": {"b64", "len"}, "refs": [...], "special"}`; the bits behind `len` may be anything. An exotic cell need not be
 * one. Throws ApiError, and DecodeError for one of an unknown type.
 */
function readCellObject(value: unknown, tag: string, budget: { left: number }, depth: number): Cell {
  if (--budget.left < 0 || depth > MAX_DEPTH) throw malformed(`Invalid ${tag}: too many cells`);
  if (!isRecord(value) || !isRecord(value.data)) throw malformed(`Invalid ${tag}`);
  const { b64, len } = value.data;
  const { refs = [], special = false } = value;
  if (typeof b64 !== 'string' || typeof len !== 'number' || !Array.isArray(refs)) throw malformed(`Invalid ${tag}`);
  const bytes = Buffer.from(b64, 'base64');
  const fits = Number.isInteger(len) && len >= 0 && len <= 1023 && bytes.length * 8 >= len;
  if (!fits || refs.length > 4) throw malformed(`Invalid ${tag}: ${len} bits, ${refs.length} references`);
  const data = Buffer.from(bytes.subarray(0, (len + 7) >> 3));
  if (len % 8 !== 0) {
    const tagBit = 0x80 >> (len % 8);
    data[data.length - 1] = (data[data.length - 1] & ~(2 * tagBit - 1)) | tagBit;
  }
  const children = refs.map((ref: unknown) => readCellObject(ref, tag, budget, depth + 1));
  return new Cell(data, len, children, special === true);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Elements of a tuple or list: objects, or pairs as some clients send them. */
function readElements(value: unknown, count: Count, depth: number): StackValue[] {
  if (!isRecord(value) || !Array.isArray(value.elements)) throw malformed('a tuple or list has elements');
  return value.elements.map((element: unknown) =>
    Array.isArray(element) ? readPair(element, count, depth) : readObject(element, count, depth),
  );
}

function readObject(entry: unknown, count: Count, depth: number): StackValue {
  count(depth);
  if (!isRecord(entry)) throw malformed('a stack entry is an object');
  switch (entry['@type']) {
    case 'tvm.stackEntryNumber':
      return readNumber(memberOf(entry.number, 'number'));
    case 'tvm.stackEntryCell':
      return { type: 'cell', cell: readCell(memberOf(entry.cell, 'bytes'), 'tvm.cell') };
    case 'tvm.stackEntrySlice':
      return { type: 'slice', cell: readCell(memberOf(entry.slice, 'bytes'), 'tvm.slice') };
    case 'tvm.stackEntryTuple':
      return { type: 'tuple', items: readElements(entry.tuple, count, depth + 1) };
    case 'tvm.stackEntryList':
      return listOf(readElements(entry.list, count, depth + 1));
    case 'tvm.stackEntryUnsupported':
      throw unsupported(entry['@type']);
    default:
      throw malformed(`@type of no stack entry: ${told(entry['@type'], 64)}`);
  }
}

function memberOf(value: unknown, name: string): unknown {
  if (!isRecord(value)) throw malformed(`a stack entry without its ${name}`);
  return value[name];
}

/** An entry as an object with `@type`. */
export type Typed =
  | { '@type': 'tvm.stackEntryNumber'; number: { '@type': 'tvm.numberDecimal'; number: string } }
  | { '@type': 'tvm.stackEntryCell'; cell: { '@type': 'tvm.cell'; bytes: string } }
  | { '@type': 'tvm.stackEntrySlice'; slice: { '@type': 'tvm.slice'; bytes: string } }
  | { '@type': 'tvm.stackEntryTuple'; tuple: { '@type': 'tvm.tuple'; elements: Typed[] } }
  | { '@type': 'tvm.stackEntryList'; list: { '@type': 'tvm.list'; elements: Typed[] } }
  | { '@type': 'tvm.stackEntryUnsupported' };

export interface CellObject {
  data: { b64: string; len: number };
  refs: CellObject[];
  special: boolean;
}

/** An entry as a pair. */
export type Pair =
  | ['num', string]
  | ['cell', { bytes: string; object?: CellObject }]
  | ['tuple', { '@type': 'tvm.tuple'; elements: Typed[] }]
  | ['list', { '@type': 'tvm.list'; elements: Typed[] }]
  | ['unsupported', ''];

/** Deepest nesting of tuples and lists in a result where the caller says nothing else: the reference's. */
export const RESULT_DEPTH = 100;

/** What a stack is printed with. */
interface Print {
  maxDepth: number;
  cellText: CellText;
  /** Cells that may still be written as objects. */
  objectCells: number;
}

function createPrint(maxDepth: number): Print {
  return { maxDepth, cellText: createCellText(), objectCells: MAX_ANSWER_OBJECT_CELLS };
}

/**
 * The `stack` of an answer of `runGetMethodStd`. Throws ApiError 533 for one nested as deep as `maxDepth`, 500 for one
 * whose cells are too long.
 */
export function typedStack(values: readonly StackValue[], maxDepth = RESULT_DEPTH): Typed[] {
  const print = createPrint(maxDepth);
  return values.map((value) => typed(value, print, 1));
}

/** The `stack` of an answer of `runGetMethod`. Throws as {@link typedStack}. */
export function pairStack(values: readonly StackValue[], maxDepth = RESULT_DEPTH): Pair[] {
  const print = createPrint(maxDepth);
  return values.map((value) => pair(value, print));
}

function pair(value: StackValue, print: Print): Pair {
  switch (value.type) {
    case 'int':
      return ['num', hexNumber(value.value)];
    case 'cell':
    case 'slice':
      return ['cell', cellValue(value.cell, print)];
    case 'null':
    case 'tuple': {
      const items = listItems(value);
      if (items !== null) return ['list', { '@type': 'tvm.list', elements: inner(items, print, 1) }];
      return ['tuple', { '@type': 'tvm.tuple', elements: inner(itemsOf(value), print, 1) }];
    }
    default:
      return ['unsupported', ''];
  }
}

function typed(value: StackValue, print: Print, depth: number): Typed {
  switch (value.type) {
    case 'int':
      return {
        '@type': 'tvm.stackEntryNumber',
        number: { '@type': 'tvm.numberDecimal', number: value.value.toString() },
      };
    case 'cell':
      return { '@type': 'tvm.stackEntryCell', cell: { '@type': 'tvm.cell', bytes: print.cellText(value.cell) } };
    case 'slice':
      return { '@type': 'tvm.stackEntrySlice', slice: { '@type': 'tvm.slice', bytes: print.cellText(value.cell) } };
    case 'null':
    case 'tuple': {
      const items = listItems(value);
      if (items === null) {
        const elements = inner(itemsOf(value), print, depth);
        return { '@type': 'tvm.stackEntryTuple', tuple: { '@type': 'tvm.tuple', elements } };
      }
      const elements = inner(items, print, depth);
      return { '@type': 'tvm.stackEntryList', list: { '@type': 'tvm.list', elements } };
    }
    default:
      return { '@type': 'tvm.stackEntryUnsupported' };
  }
}

function itemsOf(value: StackValue): readonly StackValue[] {
  return value.type === 'tuple' ? value.items : [];
}

/** What stands in a tuple or list that itself stands at a depth. */
function inner(items: readonly StackValue[], print: Print, depth: number): Typed[] {
  const { maxDepth } = print;
  if (depth >= maxDepth) throw new Refusal(533, `Result stack depth >= ${maxDepth}`);
  return items.map((item) => typed(item, print, depth + 1));
}

/** The bag of cells, and the cells as nested objects where that is not too much. */
function cellValue(cell: Cell, print: Print): { bytes: string; object?: CellObject } {
  const bytes = print.cellText(cell);
  const most = Math.min(MAX_OBJECT_CELLS, print.objectCells);
  const cells = unfolded(cell, most);
  if (cells > most) return { bytes };
  print.objectCells -= cells;
  return { bytes, object: cellObject(cell) };
}

/** How many objects a tree makes, counted no further than the limit. */
function unfolded(cell: Cell, limit: number): number {
  let count = 1;
  for (const ref of cell.refs) {
    if (count > limit) break;
    count += unfolded(ref, limit - count);
  }
  return count;
}

function cellObject(cell: Cell): CellObject {
  return {
    data: { b64: cell.data.toString('base64'), len: cell.bits },
    refs: cell.refs.map(cellObject),
    special: cell.exotic,
  };
}
