/**
 * Stacks that are too long for cells. The executor takes and gives a stack as a tree of cells in which each value stands
 * one level below the next, as do the items of a list; no tree has more than 1,024 levels, and no more than 3,500 values
 * are read and written in a call. For these the contract is run by a code of ours around its own: it pushes the
 * arguments, runs the contract, and takes what is left apart into tuples of tuples, a page of it in each run. The
 * contract sees the same stack, code, gas and registers as it would alone.
 */
import { Builder, type Cell } from '../chain/builder.ts';
import { globalVersion } from './config.ts';
import { NULL, type StackValue } from './stack.ts';

/** Values of arguments from which on they are pushed by code. */
const MANY = 500;

/** The first version that tells how much gas was used. */
const GAS_VERSION = 4;

/** For what stands around the contract: at most some ten million. */
const GAS_AROUND = 100_000_000n;

/** From where the gas is told to the contract's first instruction, and of that what follows on setting its limit. */
const GAS_BEFORE = 469n;
const GAS_BEHIND_LIMIT = 85n;
/** GASCONSUMED, which counts itself. */
const GAS_TOLD = 26n;
/** Values that continuations are given without gas for each. */
const FREE_VALUES = 32;

/** Whether arguments are too long to be given as they are. */
export function isLong(stack: readonly StackValue[]): boolean {
  let left = MANY;
  const waiting = [...stack];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (--left < 0) return true;
    if (value.type === 'tuple') waiting.push(...value.items);
  }
  return false;
}

/** Whether contracts can be run so under a configuration. */
export function takesLong(config: Cell): boolean {
  return globalVersion(config).version >= GAS_VERSION;
}

/** Which tokens of what is left a run gives. */
export interface Page {
  skip: number;
  most: number;
}

/** Tokens of a page, and of one with many tuples, which count for themselves and for their lengths. */
export const PAGES = { usual: 2800, small: 1000 } as const;
/** More are not asked for: they are of more values than the reference gives (7,999; a list of one is two of them). */
export const MOST_TOKENS = 12_000;

/** The code around a contract, and the gas that a run of it may use. */
export interface LongRun {
  code: Cell;
  gasLimit: string;
}

/**
 * @param stack pushed before the contract runs; null where it is given as usual
 * @param gasLimit of the contract itself
 */
export function longRun(
  code: Cell,
  method: number,
  stack: readonly StackValue[] | null,
  gasLimit: bigint,
  page: Page,
): LongRun {
  const before = stack === null ? null : pushes([...stack, { type: 'int', value: BigInt(method) }]);
  const around = new Builder();
  // DROP the id of the method, CALLREF.
  if (before !== null) around.bytes(hex('30db3c')).ref(before);
  // PUSHREF; c7[0][10], the own code, is the contract's: PUSH c7, DUP, INDEX 0, PUSH s2, SETINDEX 10, SETINDEX 0, POP c7.
  around.bytes(hex('88ed47206f10226f5a6f50ed57')).ref(code);
  // CTOS, BLESS, DUP, POP c3.
  around.bytes(hex('d0ed1e20ed53'));
  // GASCONSUMED, DUP, PUSHREFCONT, SETCONTARGS 1, -1: what comes behind the contract finds this at the bottom. POP c1.
  around.bytes(hex('f807208a')).ref(takenApart(page, true)).bytes(hex('ec1fed51'));
  // PUSHREFCONT, SETCONTARGS 1, -1, POP c0.
  around.bytes(hex('8a')).ref(takenApart(page, false)).bytes(hex('ec1fed50'));
  // GASCONSUMED, PUSHINT, ADD, SETGASLIMIT, JMPX.
  around.bytes(hex('f807'));
  pushInt(around, gasLimit + GAS_BEHIND_LIMIT);
  around.bytes(hex('a0f801d9'));
  return { code: around.cell(), gasLimit: String(gasLimit + GAS_AROUND) };
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** Tokens in a tuple. */
const INNER = 200;

/**
 * Takes values from the stack until there are none or the page is full, each a token. A tuple is its length in a tuple
 * of one, then its items, the last one first; pairs in pairs, as lists are, are their number twice in a tuple, what the
 * innermost ends with, then the first items, the innermost first; all else is as it is. Leaves how many values are left
 * over, the gas used when the contract had ended, and the tokens in tuples ($2, and the last of them, $1).
 * @param isOther for a contract that ended by `RETALT`: the run then ends so, too
 */
function takenApart({ skip, most }: Page, isOther: boolean): Cell {
  // DEPTH, GETGLOB 2, TLEN, LESSINT, AND: the depth, and a flag of all bits.
  const more = hex(`68f8426f88c1${(most / INNER).toString(16).padStart(2, '0')}b0`);
  // DEPTH, SETGLOB 6; while DUP, QTLEN, EQINT 2: UNTUPLE 2; DEPTH, GETGLOB 6, SUB, DUP, TUPLE 2.
  const pairs = hex('68f86695206f89c002926f22e868f846a1206f02');
  // DROP, GETGLOB 1, SWAP, TPUSH, DUP, TLEN, PUSHINT, LESS;
  // PUSHCONT { SETGLOB 1 }, PUSHCONT { GETGLOB 2, SWAP, TPUSH, SETGLOB 2, NIL, SETGLOB 1 }, IFELSE.
  const give = hex(`30f841016f8c206f8881${INNER.toString(16).padStart(4, '0')}b992f8619bf842016f8cf8626f00f861e2`);
  // DUP, QTLEN, EQINT 2, PUSHREFCONT, PUSHCONT { DUP, ISTUPLE, PUSHCONT { PUSHINT 255, EXPLODEVAR, TUPLE 1 }, IF }, IFELSE;
  // GETGLOB 5, DUP, PUSHCONT { DEC, SETGLOB 5, DROP }, PUSHREFCONT, IFELSE.
  const each = new Builder()
    .bytes(hex('206f89c0028a'))
    .ref(new Builder().bytes(pairs).cell())
    .bytes(hex('9c206f8a978100ff6f846f01dee2f8452094a5f865308a'))
    .ref(new Builder().bytes(give).cell())
    .bytes(hex('e2'));
  // GASCONSUMED, SETGLOB 3; as much gas as it takes: PUSHINT, SETGASLIMIT; NIL, SETGLOB 1, NIL, SETGLOB 2;
  // PUSHINT, SETGLOB 5; PUSHREFCONT, PUSHREFCONT, WHILE;
  // DEPTH, SETGLOB 4, DEPTH, DROPX, GETGLOB 4, GETGLOB 3, GETGLOB 2, GETGLOB 1.
  const builder = new Builder().bytes(hex('f807f863'));
  pushInt(builder, 10n * GAS_AROUND);
  builder.bytes(hex('f8016f00f8616f00f862'));
  pushInt(builder, BigInt(skip));
  builder.bytes(hex('f8658a')).ref(new Builder().bytes(more).cell()).bytes(hex('8a')).ref(each.cell());
  return builder.bytes(hex(`e868f8646865f844f843f842f841${isOther ? 'db31' : ''}`)).cell();
}

/** What a run has left of its page. */
export interface LongPage {
  tokens: StackValue[];
  /** Values that stand behind it, of which some may be tuples. */
  left: number;
  /** Gas used when the contract had ended. */
  gas: bigint;
}

/** Reads what {@link longRun} leaves; null where the contract did not come to its end. */
export function readPage(values: readonly StackValue[]): LongPage | null {
  const [over, gas, outer, inner, ...more] = values;
  if (more.length > 0 || over?.type !== 'int' || gas?.type !== 'int') return null;
  if (outer?.type !== 'tuple' || inner?.type !== 'tuple') return null;
  const tokens = [...outer.items, inner].flatMap((part) => (part.type === 'tuple' ? part.items : []));
  return { tokens, left: Number(over.value), gas: gas.value };
}

/** What a contract has left. */
export interface LongResult {
  stack: StackValue[];
  /** Of the contract alone. */
  gasUsed: bigint;
  /** Of what came before it. */
  gasBefore: bigint;
}

/** Puts the tokens of all pages together again. Null for nonsense. */
export function readTokens(tokens: readonly StackValue[], gas: bigint): LongResult | null {
  const stack: StackValue[] = [];
  // From the end the items of a tuple come before it, the first one first.
  for (const token of tokens.toReversed()) {
    const [length, isList] = token.type === 'tuple' ? token.items : [];
    if (length?.type !== 'int') stack.push(token);
    else if (isList === undefined) {
      stack.push({ type: 'tuple', items: stack.splice(stack.length - Number(length.value), Number(length.value)) });
    } else {
      const [...firsts] = stack.splice(stack.length - Number(length.value) - 1);
      const last = firsts.pop() ?? NULL;
      stack.push(firsts.reduceRight<StackValue>((rest, first) => ({ type: 'tuple', items: [first, rest] }), last));
    }
  }
  const told = stack.shift();
  if (told?.type !== 'int') return null;
  const gasBefore = told.value + GAS_BEFORE;
  // Those that were handed over, the one at the bottom with them.
  const handed = BigInt(Math.max(0, stack.length + 1 - FREE_VALUES));
  return { stack, gasUsed: gas - GAS_TOLD - handed - gasBefore, gasBefore };
}

/** Values of a page as executors give them. */
export const PAGE_LIMITS = { maxDepth: 4, maxValues: 4000 };

/** Code that pushes values: a tree of cells, each of which is called. */
function pushes(values: readonly StackValue[]): Cell {
  const cells: Cell[] = [];
  let current = new Builder();
  let refsLeft = 4;
  const write = (bits: number, refs: number): Builder => {
    if (current.bits + bits > 1023 || refs > refsLeft) {
      cells.push(current.cell());
      current = new Builder();
      refsLeft = 4;
    }
    refsLeft -= refs;
    return current;
  };
  pushAll(values, write);
  cells.push(current.cell());
  let level = cells;
  while (level.length > 1) {
    const above: Cell[] = [];
    for (let at = 0; at < level.length; at += 4) {
      const builder = new Builder();
      for (const cell of level.slice(at, at + 4)) builder.bytes(hex('db3c')).ref(cell);
      above.push(builder.cell());
    }
    level = above;
  }
  return level[0];
}

/** Room for so many bits and references. */
type Write = (bits: number, refs: number) => Builder;

function pushAll(values: readonly StackValue[], write: Write): void {
  for (const value of values) push(value, write);
}

function push(value: StackValue, write: Write): void {
  switch (value.type) {
    case 'null':
      write(8, 0).bytes(hex('6d'));
      break;
    case 'nan':
      write(16, 0).bytes(hex('83ff'));
      break;
    case 'int':
      pushInt(write(8 + 5 + 259, 0), value.value);
      break;
    case 'cell':
      write(8, 1).bytes(hex('88')).ref(value.cell);
      break;
    case 'slice':
      write(8, 1).bytes(hex('89')).ref(value.cell);
      break;
    case 'builder':
      // PUSHREFSLICE, NEWC, STSLICE.
      write(24, 1).bytes(hex('89c8ce')).ref(value.cell);
      break;
    case 'tuple':
      pushTuple(value.items, write);
      break;
    case 'continuation':
      throw new RangeError('a continuation cannot be an argument');
  }
}

/** A list is long, not deep: its pairs are made when all its items are there. */
function pushTuple(items: readonly StackValue[], write: Write): void {
  let rest: StackValue = { type: 'tuple', items: [...items] };
  let pairs = 0;
  while (rest.type === 'tuple' && rest.items.length === 2) {
    push(rest.items[0], write);
    rest = rest.items[1];
    pairs++;
  }
  if (rest.type === 'tuple') {
    pushAll(rest.items, write);
    const builder = write(40, 0);
    pushInt(builder, BigInt(rest.items.length));
    builder.bytes(hex('6f80'));
  } else push(rest, write);
  for (; pairs > 0; pairs--) write(16, 0).bytes(hex('6f02'));
}

/** PUSHINT in its shortest form. */
function pushInt(builder: Builder, value: bigint): void {
  if (value >= -5n && value <= 10n) builder.u(7, 4).u(Number(value & 15n), 4);
  else {
    let length = 0;
    while (value < -(1n << BigInt(8 * length + 18)) || value >= 1n << BigInt(8 * length + 18)) length++;
    const bits = 8 * length + 19;
    builder.u(0x82, 8).u(length, 5).big(BigInt.asUintN(bits, value), bits);
  }
}

/** How many values a reader of a stack gets: the items of a list count, not the pairs that it is made of. */
export function countValues(values: readonly StackValue[], most: number): number {
  let count = 0;
  const waiting = [...values];
  for (let value = waiting.pop(); value !== undefined && count <= most; value = waiting.pop()) {
    count++;
    if (value.type !== 'tuple') continue;
    let at: StackValue = value;
    const firsts: StackValue[] = [];
    for (; at.type === 'tuple' && at.items.length === 2; at = at.items[1]) firsts.push(at.items[0]);
    waiting.push(...(at.type === 'null' ? firsts : value.items));
  }
  return count;
}
