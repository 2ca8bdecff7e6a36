import { createRequire } from 'node:module';
import { z } from 'zod';
import type { Cell } from '../chain/builder.ts';
import { parseBoc, toBoc } from '../chain/builder.ts';
import type { Decimal } from '../chain/model.ts';

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
}

export type TransactionResult =
  | { accepted: true; transaction: CellText; shardAccount: CellText }
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
  randSeed: Buffer;
  gasLimit?: Decimal;
  libraries?: CellText | null;
}

export type GetMethodResult =
  | { success: true; exitCode: number; gasUsed: Decimal; stack: CellText; missingLibrary: string | null }
  | { success: false; reason: string };

/** The TVM of the node, compiled to WASM: runs transactions and get-methods under one configuration. Synchronous. */
export interface Executor {
  /** @param shardAccount `ShardAccount`; @param message `Message Any` */
  runTransaction(shardAccount: CellText, message: CellText, context: TransactionContext): TransactionResult;
  runTickTock(shardAccount: CellText, isTock: boolean, context: TransactionContext): TransactionResult;
  runGetMethod(call: GetMethodCall): GetMethodResult;
  /** Changes the configuration: makes a new emulator, about 1 ms for a compact one. */
  configure(config: CellText): void;
  close(): void;
}

/** The executor module broke its contract or ran into an error of its own. */
export class ExecutorError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ExecutorError';
  }
}

/** The exports of the emscripten module that are used here. */
interface Emulator {
  _malloc(size: number): number;
  _free(pointer: number): void;
  stringToUTF8(text: string, pointer: number, size: number): void;
  UTF8ToString(pointer: number): string;
  _create_emulator(config: number, verbosity: number): number;
  _destroy_emulator(emulator: number): void;
  _emulate_with_emulator(emulator: number, libs: number, account: number, message: number, params: number): number;
  _run_get_method(params: number, stack: number, config: number): number;
}

const methods = [
  '_malloc',
  '_free',
  'stringToUTF8',
  'UTF8ToString',
  '_create_emulator',
  '_destroy_emulator',
  '_emulate_with_emulator',
  '_run_get_method',
] as const;

function isEmulator(value: unknown): value is Emulator {
  if (typeof value !== 'object' || value === null) return false;
  const record: Record<string, unknown> = { ...value };
  return methods.every((name) => typeof record[name] === 'function');
}

let binary: Uint8Array | null = null;

async function loadEmulator(): Promise<Emulator> {
  const require = createRequire(import.meta.url);
  const factory: unknown = require('@ton/sandbox/dist/executor/emulator-emscripten.js');
  if (typeof factory !== 'function') throw new ExecutorError('the executor package has another layout');
  if (binary === null) {
    const packed: unknown = require('@ton/sandbox/dist/executor/emulator-emscripten.wasm.js');
    const { EmulatorEmscriptenWasm } = z.object({ EmulatorEmscriptenWasm: z.string() }).parse(packed);
    binary = new Uint8Array(Buffer.from(EmulatorEmscriptenWasm, 'base64'));
  }
  const module: unknown = await factory({ wasmBinary: binary });
  if (!isEmulator(module)) throw new ExecutorError('the executor lacks a function');
  return module;
}

const transactionAnswer = z.discriminatedUnion('fail', [
  z.object({ fail: z.literal(true), message: z.string().optional() }),
  z.object({
    fail: z.literal(false).optional(),
    output: z.union([
      z.object({ success: z.literal(true), transaction: z.string(), shard_account: z.string() }),
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
        missing_library: z.string().nullish(),
      }),
      z.object({ success: z.literal(false), error: z.string() }),
    ]),
  }),
]);

/**
 * Starts an executor. Loading the module takes about 0.2 s once a process.
 *
 * @param config root cell of the configuration dictionary (32-bit keys), as a bag of cells
 * @throws {ExecutorError} when the package has not the exports it is known for
 */
export async function createExecutor(config: CellText): Promise<Executor> {
  const emulator = await loadEmulator();
  const call = createCalls(emulator);
  let configText = config;
  let pointer = call.create(config);
  return {
    runTransaction: (shardAccount, message, context) =>
      transact(call.emulate(pointer, shardAccount, message, params(context), context.libraries ?? null)),
    runTickTock: (shardAccount, isTock, context) =>
      transact(
        call.emulate(
          pointer,
          shardAccount,
          '',
          { ...params(context), is_tick_tock: true, is_tock: isTock },
          context.libraries ?? null,
        ),
      ),
    runGetMethod: (request) => getMethod(call.getMethod(getMethodParams(request), request.stack, configText)),
    configure: (next) => {
      emulator._destroy_emulator(pointer);
      configText = next;
      pointer = call.create(next);
    },
    close: () => emulator._destroy_emulator(pointer),
  };
}

/** Calls with strings: copied into the module's memory and freed after the call. */
function createCalls(emulator: Emulator) {
  const place = (text: string): number => {
    const size = Buffer.byteLength(text) + 1;
    const pointer = emulator._malloc(size);
    emulator.stringToUTF8(text, pointer, size);
    return pointer;
  };
  const withStrings = (texts: readonly string[], run: (pointers: number[]) => number): number => {
    const pointers = texts.map(place);
    const result = run(pointers);
    for (const pointer of pointers) emulator._free(pointer);
    return result;
  };
  const answer = (pointer: number): unknown => {
    const text = emulator.UTF8ToString(pointer);
    emulator._free(pointer);
    return JSON.parse(text);
  };
  return {
    create: (config: string): number => {
      const pointer = withStrings([config], ([at]) => emulator._create_emulator(at, 0));
      if (pointer === 0) throw new ExecutorError('the executor refuses the configuration');
      return pointer;
    },
    emulate: (pointer: number, account: string, message: string, params: object, libs: string | null): unknown => {
      const texts = [account, message, JSON.stringify(params), ...(libs === null ? [] : [libs])];
      return answer(
        withStrings(texts, ([a, m, p, l]) => emulator._emulate_with_emulator(pointer, libs === null ? 0 : l, a, m, p)),
      );
    },
    getMethod: (params: object, stack: string, config: string): unknown =>
      answer(withStrings([JSON.stringify(params), stack, config], ([p, s, c]) => emulator._run_get_method(p, s, c))),
  };
}

function params(context: TransactionContext) {
  return {
    utime: context.now,
    lt: context.lt,
    rand_seed: context.randSeed.toString('hex'),
    ignore_chksig: false,
    debug_enabled: false,
  };
}

function getMethodParams(request: GetMethodCall) {
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
  };
}

function transact(answer: unknown): TransactionResult {
  const parsed = transactionAnswer.parse(answer);
  if (parsed.fail === true) throw new ExecutorError(parsed.message ?? 'the executor failed');
  const { output } = parsed;
  if (output.success) return { accepted: true, transaction: output.transaction, shardAccount: output.shard_account };
  return { accepted: false, reason: output.error, exitCode: output.vm_exit_code ?? null };
}

function getMethod(answer: unknown): GetMethodResult {
  const parsed = getMethodAnswer.parse(answer);
  if (parsed.fail === true) throw new ExecutorError(parsed.message ?? 'the executor failed');
  const { output } = parsed;
  if (!output.success) return { success: false, reason: output.error };
  return {
    success: true,
    exitCode: output.vm_exit_code,
    gasUsed: output.gas_used,
    stack: output.stack,
    missingLibrary: output.missing_library ?? null,
  };
}

/** A cell for the executor. */
export function cellText(cell: Cell): CellText {
  return toBoc(cell, { crc: false }).toString('base64');
}

/** A cell from the executor. Throws DecodeError. */
export function textCell(text: CellText): Cell {
  return parseBoc(Buffer.from(text, 'base64'));
}
