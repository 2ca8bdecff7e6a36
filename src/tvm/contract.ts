/** Contracts as calls run on them: states, and get-methods with typed stacks and the libraries they need. */
import { rawAddress } from '../chain/address.ts';
import { Builder, type Cell } from '../chain/builder.ts';
import { crc16 } from '../chain/crc.ts';
import type { Address, Decimal, ExtraCurrencies, Hash } from '../chain/model.ts';
import type { Seen } from './environment.ts';
import { type CellText, cellText, type GetMethodCall, type GetMethodResult, textCell, UNWRITABLE } from './executor.ts';
import { libraryDictionary, namedLibraries } from './libraries.ts';
import {
  isLong,
  longRun,
  MOST_TOKENS,
  PAGE_LIMITS,
  PAGES,
  type Page,
  readPage,
  readTokens,
  takesLong,
} from './long-stack.ts';
import { type TvmConfig, TvmError, type TvmPool } from './pool.ts';
import { readStack, StackLimitError, type StackLimits, type StackValue, writeStack } from './stack.ts';

/** What a contract has, in the executor's form: make it once for as many calls as run on one state. */
export interface ContractState {
  address: Address;
  code: CellText;
  data: CellText;
  balance: Decimal;
  extraCurrencies: ExtraCurrencies;
  /** Libraries that the code names. */
  libraries: readonly Hash[];
}

/** Libraries of one account that are fetched before it runs, and rounds for those that turn up while it runs: tonlib's. */
const MAX_NAMED_LIBRARIES = 32;
const MAX_ROUNDS = 8;

export interface Contract {
  address: Address;
  code: Cell;
  data: Cell;
  balance: Decimal;
  extraCurrencies: ExtraCurrencies;
}

export function contractState(contract: Contract): ContractState {
  const { address, code, data, balance, extraCurrencies } = contract;
  const libraries = namedLibraries([code], MAX_NAMED_LIBRARIES);
  return { address, code: cellText(code), data: cellText(data), balance, extraCurrencies, libraries };
}

/** The masterchain step a call sees. */
export interface ChainView {
  config: TvmConfig;
  /** `PrevBlocksInfo` of the step's masterchain block (`VmStackValue`); null where it is not known. */
  prevBlocks: CellText | null;
  /** A public library by its hash, null when there is none. */
  library(hash: Hash, signal: AbortSignal): Promise<Cell | null>;
}

export interface GetMethodRun {
  exitCode: number;
  gasUsed: number;
  /** Bottom first; what the method left, also when it failed. */
  stack: StackValue[];
}

/** A run, and what it depended on. */
export interface ObservedRun extends GetMethodRun {
  /** The stack as it came from the executor. */
  stackText: CellText;
  /** Besides code, data and arguments. */
  seen: Seen;
  /** Whether it asked for a library that nobody has. */
  missedLibrary: boolean;
}

export interface GetMethodOptions {
  /** Unix seconds: generation time of the shard block that shows the state. */
  now: number;
  signal: AbortSignal;
  /** Default 1,000,000. */
  gasLimit?: Decimal;
  /** Of the result. */
  limits?: StackLimits;
  /** Takes and gives also stacks that are too long for cells. */
  longStacks?: boolean;
}

/** Id of a get-method by its name. */
export function methodId(name: string): number {
  return crc16(Buffer.from(name, 'utf8')) | 0x10000;
}

/**
 * Runs a get-method in the environment tonlib gives it: 1,000,000 gas, random seed and logical times 0.
 *
 * @throws {TvmError} and its kinds, {StackLimitError} for arguments or results over the limits, the signal's reason
 */
export async function runGetMethod(
  pool: TvmPool,
  view: ChainView,
  state: ContractState,
  method: number,
  stack: readonly StackValue[],
  options: GetMethodOptions,
): Promise<ObservedRun> {
  const { signal, gasLimit = GAS_LIMIT } = options;
  const libraries = await fetchLibraries(view, state.libraries, signal);
  const mayBeLong = options.longStacks === true && takesLong(view.config.root);
  const long = mayBeLong && isLong(stack) ? stack : null;
  const call = {
    code: state.code,
    data: state.data,
    address: rawAddress(state.address),
    methodId: method,
    stack: cellText(writeStack(long === null ? stack : [])),
    now: options.now,
    balance: state.balance,
    extraCurrencies: state.extraCurrencies,
    randSeed: Buffer.alloc(32),
    prevBlocks: view.prevBlocks,
    gasLimit,
  };
  /** Until it misses no library. */
  const run = async (changes: Partial<GetMethodCall>): Promise<GetMethodResult> => {
    for (let round = 0; ; round++) {
      const job = { kind: 'get_method', call: { ...call, ...changes, libraries: dictionaryText(libraries) } } as const;
      const result = await pool.run(job, view.config, signal);
      const missing = result.success && round < MAX_ROUNDS ? result.missingLibrary : null;
      const found = await fetchMissing(view, missing, signal);
      if (found === null) return result;
      libraries.push(found);
    }
  };
  if (long === null) {
    const result = await run({});
    if (result.success) return ranAs(result, readStack(textCell(result.stack), options.limits));
    if (result.reason !== UNWRITABLE || !mayBeLong) throw failureOf(result.reason);
  }
  return runLong(async (code, page) => {
    const around = longRun(code ?? textCell(state.code), method, long, BigInt(gasLimit), page);
    return run({ code: cellText(around.code), gasLimit: around.gasLimit, wholeConfig: true });
  });
}

/** What a get-method may use: tonlib's. */
export const GAS_LIMIT = '1000000';

type Done = Extract<GetMethodResult, { success: true }>;

function ranAs(done: Done, stack: StackValue[]): ObservedRun {
  const { exitCode, gasUsed, stack: stackText, seen, missingLibrary } = done;
  return { exitCode, gasUsed: Number(gasUsed), stack, stackText, seen, missedLibrary: missingLibrary !== null };
}

/** @param run of a code, the contract's own for null, with what stands around it */
async function runLong(run: (code: Cell | null, page: Page) => Promise<GetMethodResult>): Promise<ObservedRun> {
  const tokens: StackValue[] = [];
  let most: number = PAGES.usual;
  for (;;) {
    let result = await run(null, { skip: tokens.length, most });
    if (!result.success && result.reason === UNWRITABLE && most !== PAGES.small) {
      most = PAGES.small;
      result = await run(null, { skip: tokens.length, most });
    }
    if (!result.success) throw failureOf(result.reason);
    const values = readStack(textCell(result.stack), PAGE_LIMITS);
    const told = readPage(values);
    if (told === null) return endedEarly(result, values, await run(DROPS_ALL, { skip: 0, most }));
    tokens.push(...told.tokens);
    if (tokens.length + told.left > MOST_TOKENS) throw new StackLimitError('maxValues', MOST_TOKENS);
    if (told.left > 0) continue;
    const read = readTokens(tokens, told.gas);
    if (read === null) throw new TvmError('a stack cannot be read');
    return { ...ranAs(result, read.stack), gasUsed: Number(read.gasUsed) };
  }
}

/** `DEPTH, DROPX`: leaves none of its arguments. */
const DROPS_ALL = new Builder().bytes(Buffer.from('6865', 'hex')).cell();

/**
 * By an exception: of its gas is taken what was used before the contract, as one tells that leaves nothing.
 * @param empty a run of such a one
 */
function endedEarly(result: Done, values: StackValue[], empty: GetMethodResult): ObservedRun {
  const page = empty.success ? readPage(readStack(textCell(empty.stack), PAGE_LIMITS)) : null;
  const told = page && readTokens(page.tokens.slice(-1), page.gas);
  if (told === null) throw new TvmError('the gas of a contract cannot be told');
  const gasUsed = BigInt(result.gasUsed) - told.gasBefore;
  const [left] = values;
  const isOutOfGas = result.exitCode === OUT_OF_GAS && left?.type === 'int';
  const stack: StackValue[] = isOutOfGas ? [{ type: 'int', value: left.value - told.gasBefore }] : values;
  return { ...ranAs(result, stack), gasUsed: Number(gasUsed) };
}

/** What is left is the gas that was used. */
const OUT_OF_GAS = -14;

/** Deepest stack that the executor can write: it is a tree of cells, which has no more levels. */
export const MAX_RESULT_DEPTH = 1024;

/** How the executor begins what it says of arguments. */
const UNREADABLE = "Couldn't deserialize stack";

/** Arguments that the executor cannot read: cells that no chain has, or trees of them that are too deep. */
export class TvmArgumentError extends TvmError {}

/** Whether a method left a stack that the executor could not write. */
export function isUnwritable(error: Error): boolean {
  return error instanceof StackLimitError && error.limit === 'maxDepth' && error.most === MAX_RESULT_DEPTH;
}

function failureOf(reason: string): Error {
  if (reason === UNWRITABLE) return new StackLimitError('maxDepth', MAX_RESULT_DEPTH);
  return reason.startsWith(UNREADABLE) ? new TvmArgumentError(reason) : new TvmError(reason);
}

/** The dictionary of the libraries that code, or code and data, name, for the executor; null for none. */
export async function librariesFor(
  view: Pick<ChainView, 'library'>,
  roots: readonly Cell[],
  signal: AbortSignal,
): Promise<CellText | null> {
  const named = namedLibraries(roots, MAX_NAMED_LIBRARIES);
  return dictionaryText(await fetchLibraries(view, named, signal));
}

async function fetchLibraries(
  view: Pick<ChainView, 'library'>,
  hashes: readonly Hash[],
  signal: AbortSignal,
): Promise<Cell[]> {
  const found = await Promise.all(hashes.map((hash) => view.library(hash, signal)));
  return found.filter((cell) => cell !== null);
}

async function fetchMissing(view: ChainView, missing: string | null, signal: AbortSignal): Promise<Cell | null> {
  return missing === null ? null : view.library(Buffer.from(missing, 'hex'), signal);
}

function dictionaryText(libraries: readonly Cell[]): CellText | null {
  const dictionary = libraryDictionary(libraries);
  return dictionary === null ? null : cellText(dictionary);
}
