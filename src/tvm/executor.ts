import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Cell } from '../chain/builder.ts';
import { parseBoc, toBoc } from '../chain/builder.ts';
import type { Decimal, ExtraCurrencies } from '../chain/model.ts';
import { CONFIG_PARTS, type ConfigPart, cutConfig, partSeen } from './config.ts';
import { type Seen, seenBy } from './environment.ts';
import { NO_LIBRARIES } from './libraries.ts';
import { compileExecutor, type Emulator, ExecutorError, instantiateExecutor } from './module.ts';

export { ExecutorError } from './module.ts';

/** A cell as the executor takes and gives it: a bag of cells in base64. */
export type CellText = string;

/** What every transaction needs besides account and message. */
export interface TransactionContext {
  /** Unix seconds. Must not go back behind the account's last storage payment. */
  now: number;
  /** The transaction's lt, at least the account's last and behind the message's. */
  lt: Decimal;
  /** 32 bytes, of the block: the executor mixes in the account. */
  randSeed: Buffer;
  /** Dictionary of libraries the code refers to. */
  libraries?: CellText | null;
  /** `PrevBlocksInfo` as a `VmStackValue`, for contracts that ask for the blocks before. */
  prevBlocks?: CellText | null;
  /** Every check of a signature succeeds. */
  ignoreSignatures?: boolean;
}

export type TransactionResult =
  /** `actions`: the list the contract left (`OutList`), null when its compute phase did not come to its end. */
  | { accepted: true; transaction: CellText; shardAccount: CellText; actions: CellText | null }
  /** The message was not accepted: no transaction. `exitCode` when the contract itself refused. */
  | { accepted: false; reason: string; exitCode: number | null };

export interface GetMethodCall {
  code: CellText;
  data: CellText;
  /** `workchain:hex`. */
  address: string;
  methodId: number;
  /** `VmStack` as a bag of cells. */
  stack: CellText;
  now: number;
  balance: Decimal;
  extraCurrencies?: ExtraCurrencies;
  randSeed: Buffer;
  /** Default 1,000,000, as tonlib's. */
  gasLimit?: Decimal;
  libraries?: CellText | null;
  /** `PrevBlocksInfo` as a `VmStackValue`. */
  prevBlocks?: CellText | null;
  /** Give it the whole configuration at once, and do not remember its code. */
  wholeConfig?: boolean;
}

export type GetMethodResult =
  /** `missingLibrary`: hash in hex, of the first library the run asked for in vain. */
  | { success: true; exitCode: number; gasUsed: Decimal; stack: CellText; missingLibrary: string | null; seen: Seen }
  | { success: false; reason: string };

/** The TVM of the node, compiled to WASM: runs transactions and get-methods under one configuration. Synchronous. */
export interface Executor {
  /** @param shardAccount `ShardAccount`; @param message `Message Any` */
  runTransaction(shardAccount: CellText, message: CellText, context: TransactionContext): TransactionResult;
  runTickTock(shardAccount: CellText, isTock: boolean, context: TransactionContext): TransactionResult;
  runGetMethod(call: GetMethodCall): GetMethodResult;
  /** Changes the configuration: makes a new emulator, about 1 ms for a compact one, 30 ms for mainnet's. */
  configure(config: CellText): void;
  close(): void;
}

const transactionAnswer = z.discriminatedUnion('fail', [
  z.object({ fail: z.literal(true), message: z.string().optional() }),
  z.object({
    fail: z.literal(false).optional(),
    output: z.union([
      z.object({
        success: z.literal(true),
        transaction: z.string(),
        shard_account: z.string(),
        actions: z.string().nullish(),
      }),
      z.object({ success: z.literal(false), error: z.string(), vm_exit_code: z.number().optional() }),
    ]),
  }),
]);

const getMethodAnswer = z.discriminatedUnion('fail', [
  z.object({ fail: z.literal(true), message: z.string().optional() }),
  z.object({
    fail: z.literal(false).optional(),
    output: z.union([
      z.object({
        success: z.literal(true),
        stack: z.string(),
        gas_used: z.string(),
        vm_exit_code: z.number(),
        vm_log: z.string(),
        missing_library: z.string().nullish(),
      }),
      z.object({ success: z.literal(false), error: z.string() }),
    ]),
  }),
]);

/** Why a get-method is told as failed whose stack the executor could not write. */
export const UNWRITABLE = "Couldn't serialize stack";

/**
 * Steps of the walk over the stack that a get-method left. The executor writes at most some 4,000 values, in 8,000 of
 * them, and reads long lists of arguments in 34,000; but of a value that stands in itself many times over it goes through
 * all the rest before it gives up: 2^n steps for n levels, which cost a contract the gas of n. The actions that a
 * get-method makes, which nobody carries out, are gone through again for each of them: 475,000 steps for 255 reserves.
 */
const MOST_WALKED = 1_000_000;

/** A call that the executor answered with an error of its own, not the contract's. */
const CANNOT_SET = "Can't set params";

/** An emulator keeps the libraries of the call before when it gets none: these are given instead. */
const WITHOUT_LIBRARIES = cellText(NO_LIBRARIES);

/** Runs whose part of the configuration is remembered, by less than their code: whoever asks names any method of it. */
const REMEMBERED_RUNS = 4096;

function runKey({ methodId, code }: GetMethodCall): string {
  return `${methodId} ${createHash('sha256').update(code).digest('base64')}`;
}

/**
 * Starts an executor. Compiling the module takes about 0.1 s, instances of a compiled one 0.02 s.
 *
 * @param config root cell of the configuration dictionary (32-bit keys), as a bag of cells
 * @param emulator an instance to share; without it an executor has one of its own
 * @param wholeConfig give get-methods the whole configuration also when they do not look at it: the same results, slower
 * @throws {ExecutorError} when the package has not the exports it is known for
 */
export async function createExecutor(config: CellText, emulator?: Emulator, wholeConfig = false): Promise<Executor> {
  const instance = emulator ?? (await instantiateExecutor(await compileExecutor()));
  const call = createCalls(instance);
  let current = holdConfig(call, config, wholeConfig);
  return {
    runTransaction: (shardAccount, message, context) => current.transact(shardAccount, message, context, {}),
    runTickTock: (shardAccount, isTock, context) =>
      current.transact(shardAccount, '', context, { is_tick_tock: true, is_tock: isTock }),
    runGetMethod: (request) => current.getMethod(request),
    configure: (next) => {
      current.release();
      current = holdConfig(call, next, wholeConfig);
    },
    close: () => current.release(),
  };
}

/** Everything that stands under one configuration, which stays in the module's memory. */
function holdConfig(call: Calls, config: CellText, wholeConfig: boolean) {
  const full = call.keep(config);
  const pointers = new Map<ConfigPart, number>([['whole', full]]);
  let emulator = 0;
  let libraries = false;
  let prevBlocks = false;
  /** Of runs that saw more than the least. */
  const seen = new Map<string, ConfigPart>();

  /** An emulator keeps what it was given last of the optional things: a new one has none. */
  function emulatorFor(context: TransactionContext): number {
    const stale = prevBlocks && (context.prevBlocks ?? null) === null;
    if (emulator !== 0 && !stale) return emulator;
    if (emulator !== 0) call.destroy(emulator);
    emulator = 0;
    emulator = call.create(full);
    libraries = false;
    prevBlocks = false;
    return emulator;
  }

  function pointerOf(part: ConfigPart): number {
    const known = pointers.get(part);
    if (known !== undefined) return known;
    const made = call.keep(part === 'whole' ? config : cellText(cutConfig(textCell(config), part)));
    pointers.set(part, made);
    return made;
  }

  return {
    transact(account: CellText, message: CellText, context: TransactionContext, more: object): TransactionResult {
      const pointer = emulatorFor(context);
      const given = context.libraries ?? (libraries ? WITHOUT_LIBRARIES : null);
      const answer = call.emulate(pointer, account, message, { ...params(context), ...more }, given);
      libraries ||= given !== null;
      prevBlocks ||= (context.prevBlocks ?? null) !== null;
      const parsed = transactionAnswer.parse(answer);
      if (parsed.fail !== true) return transacted(parsed.output);
      // Parameters that it could not set cost the emulator itself.
      if (parsed.message === CANNOT_SET) emulator = 0;
      throw new ExecutorError(parsed.message ?? 'the executor failed');
    },
    getMethod(request: GetMethodCall): GetMethodResult {
      const { prevBlocks: _unread, ...less } = request;
      const run = runKey(request);
      let part: ConfigPart = wholeConfig || request.wholeConfig === true ? 'whole' : (seen.get(run) ?? 'limits');
      for (;;) {
        const given = part === 'whole' ? request : less;
        const { result, log } = getMethod(call.getMethod(textsOf(given), pointerOf(part)));
        const needs = result.success && result.seen !== 'more' ? 'limits' : log === null ? 'whole' : partSeen(log);
        if (CONFIG_PARTS.indexOf(needs) <= CONFIG_PARTS.indexOf(part)) return result;
        if (seen.size === REMEMBERED_RUNS) seen.clear();
        seen.set(run, needs);
        part = needs;
      }
    },
    release(): void {
      if (emulator !== 0) call.destroy(emulator);
      emulator = 0;
      for (const pointer of pointers.values()) call.forget(pointer);
    },
  };
}

function textsOf(request: GetMethodCall): readonly [string, string] {
  return [JSON.stringify(getMethodParams(request)), request.stack];
}

type Calls = ReturnType<typeof createCalls>;

/** Calls with strings: copied into the module's memory and freed after the call. */
function createCalls(emulator: Emulator) {
  const keep = (text: string): number => {
    const size = Buffer.byteLength(text) + 1;
    const pointer = emulator._malloc(size);
    if (pointer === 0) throw new ExecutorError('the executor is out of memory', { broken: true });
    emulator.stringToUTF8(text, pointer, size);
    return pointer;
  };
  /** What the module throws are traps and C++ exceptions that nothing caught: it is not whole after them. */
  const guarded = <T>(run: () => T): T => {
    try {
      return run();
    } catch (error) {
      if (error instanceof ExecutorError) throw error;
      const reason = error instanceof Error ? error.message : `exception ${String(error)}`;
      throw new ExecutorError(`the executor broke down: ${reason}`, { cause: error, broken: true });
    }
  };
  const withStrings = (texts: readonly string[], run: (pointers: number[]) => number): number => {
    const pointers = texts.map(keep);
    const result = run(pointers);
    for (const pointer of pointers) emulator._free(pointer);
    return result;
  };
  const answer = (run: () => number): unknown => {
    const text = guarded(() => {
      const pointer = run();
      const result = emulator.UTF8ToString(pointer);
      emulator._free(pointer);
      return result;
    });
    return JSON.parse(text);
  };
  return {
    keep,
    forget: (pointer: number): void => emulator._free(pointer),
    create: (config: number): number => {
      const pointer = guarded(() => emulator._create_emulator(config, 0));
      if (pointer === 0) throw new ExecutorError('the executor refuses the configuration');
      return pointer;
    },
    destroy: (pointer: number): void => emulator._destroy_emulator(pointer),
    emulate: (pointer: number, account: string, message: string, params: object, libs: string | null): unknown => {
      const texts = [account, message, JSON.stringify(params), ...(libs === null ? [] : [libs])];
      return answer(() =>
        withStrings(texts, ([a, m, p, l]) => emulator._emulate_with_emulator(pointer, libs === null ? 0 : l, a, m, p)),
      );
    },
    /** @throws {UnwritableError} */
    getMethod: (texts: readonly [string, string], config: number): unknown => {
      emulator.walk.left = MOST_WALKED;
      try {
        return answer(() => withStrings(texts, ([p, s]) => emulator._run_get_method(p, s, config)));
      } finally {
        emulator.walk.left = Number.POSITIVE_INFINITY;
      }
    },
  };
}

function params(context: TransactionContext) {
  return {
    utime: context.now,
    lt: context.lt,
    rand_seed: context.randSeed.toString('hex'),
    ignore_chksig: context.ignoreSignatures ?? false,
    debug_enabled: false,
    ...(context.prevBlocks ? { prev_blocks_info: context.prevBlocks } : {}),
  };
}

function getMethodParams(request: GetMethodCall) {
  const currencies = Object.entries(request.extraCurrencies ?? {});
  return {
    code: request.code,
    data: request.data,
    verbosity: 0,
    libs: request.libraries ?? '',
    address: request.address,
    unixtime: request.now,
    balance: request.balance,
    rand_seed: request.randSeed.toString('hex'),
    gas_limit: request.gasLimit ?? '1000000',
    method_id: request.methodId,
    debug_enabled: false,
    ...(currencies.length === 0 ? {} : { extra_currencies: joinCurrencies(currencies) }),
    ...(request.prevBlocks ? { prev_blocks_info: request.prevBlocks } : {}),
  };
}

/** The executor writes `id=amount` for each member, without the space that it wants between two when it reads them. */
function joinCurrencies([[firstId, firstAmount], ...others]: readonly [string, Decimal][]) {
  return { [firstId]: [firstAmount, ...others.map(([id, amount]) => `${id}=${amount}`)].join(' ') };
}

type TransactionOutput = Extract<z.infer<typeof transactionAnswer>, { output: unknown }>['output'];

function transacted(output: TransactionOutput): TransactionResult {
  if (!output.success) return { accepted: false, reason: output.error, exitCode: output.vm_exit_code ?? null };
  const { transaction, shard_account: shardAccount, actions } = output;
  return { accepted: true, transaction, shardAccount, actions: actions ? actions : null };
}

/** With the instructions that ran, null when the executor does not tell them. */
function getMethod(answer: unknown): { result: GetMethodResult; log: string | null } {
  const parsed = getMethodAnswer.parse(answer);
  if (parsed.fail === true) throw new ExecutorError(parsed.message ?? 'the executor failed');
  const { output } = parsed;
  if (!output.success) return { result: { success: false, reason: output.error }, log: null };
  const result = {
    success: true,
    exitCode: output.vm_exit_code,
    gasUsed: output.gas_used,
    stack: output.stack,
    missingLibrary: output.missing_library ?? null,
    seen: seenBy(output.vm_log),
  } as const;
  return { result, log: output.vm_log };
}

/** A cell for the executor. */
export function cellText(cell: Cell): CellText {
  return toBoc(cell, { crc: false }).toString('base64');
}

/** A cell from the executor. Throws DecodeError. */
export function textCell(text: CellText): Cell {
  return parseBoc(Buffer.from(text, 'base64'));
}
