/** Contracts as calls run on them: states, and get-methods with typed stacks and the libraries they need. */
import { rawAddress } from '../chain/address.ts';
import type { Cell } from '../chain/builder.ts';
import { crc16 } from '../chain/crc.ts';
import type { Address, Decimal, ExtraCurrencies, Hash } from '../chain/model.ts';
import type { Seen } from './environment.ts';
import { type CellText, cellText, textCell } from './executor.ts';
import { libraryDictionary, namedLibraries } from './libraries.ts';
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

/** Libraries of one code that are fetched before it runs, and rounds for those that turn up while it runs: tonlib's. */
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
  const libraries = namedLibraries(code, MAX_NAMED_LIBRARIES);
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
}

export interface GetMethodOptions {
  /** Unix seconds: generation time of the shard block that shows the state. */
  now: number;
  signal: AbortSignal;
  /** Default 1,000,000. */
  gasLimit?: Decimal;
  /** Of the result. */
  limits?: StackLimits;
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
  const { signal } = options;
  const libraries = await fetchLibraries(view, state.libraries, signal);
  const call = {
    code: state.code,
    data: state.data,
    address: rawAddress(state.address),
    methodId: method,
    stack: cellText(writeStack(stack)),
    now: options.now,
    balance: state.balance,
    extraCurrencies: state.extraCurrencies,
    randSeed: Buffer.alloc(32),
    prevBlocks: view.prevBlocks,
    ...(options.gasLimit === undefined ? {} : { gasLimit: options.gasLimit }),
  };
  for (let round = 0; ; round++) {
    const job = { kind: 'get_method', call: { ...call, libraries: dictionaryText(libraries) } } as const;
    const result = await pool.run(job, view.config, signal);
    if (!result.success) throw failureOf(result.reason);
    const missing = round < MAX_ROUNDS ? await fetchMissing(view, result.missingLibrary, signal) : null;
    if (missing === null) {
      const { exitCode, gasUsed, stack: stackText, seen } = result;
      const left = readStack(textCell(stackText), options.limits);
      return { exitCode, gasUsed: Number(gasUsed), stack: left, stackText, seen };
    }
    libraries.push(missing);
  }
}

/** Deepest stack that the executor can write: it is a tree of cells, which has no more levels. */
export const MAX_RESULT_DEPTH = 1024;

function failureOf(reason: string): Error {
  if (reason === "Couldn't serialize stack") return new StackLimitError('maxDepth', MAX_RESULT_DEPTH);
  return new TvmError(reason);
}

/** The dictionary of the libraries that some code names, for the executor; null for none. */
export async function librariesFor(
  view: ChainView,
  code: readonly Cell[],
  signal: AbortSignal,
): Promise<CellText | null> {
  const named = code.flatMap((root) => namedLibraries(root, MAX_NAMED_LIBRARIES));
  return dictionaryText(await fetchLibraries(view, named, signal));
}

async function fetchLibraries(view: ChainView, hashes: readonly Hash[], signal: AbortSignal): Promise<Cell[]> {
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
