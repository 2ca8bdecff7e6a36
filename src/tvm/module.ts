/**
 * The node's executor as the emscripten module of `@ton/sandbox`: compiled once a process, instantiated for each
 * thread, called with strings.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { z } from 'zod';

const require = createRequire(import.meta.url);

/** The exports of the emscripten module that are used here. */
export interface Emulator {
  _malloc(size: number): number;
  _free(pointer: number): void;
  stringToUTF8(text: string, pointer: number, size: number): void;
  UTF8ToString(pointer: number): string;
  _create_emulator(config: number, verbosity: number): number;
  _destroy_emulator(emulator: number): void;
  _emulate_with_emulator(emulator: number, libs: number, account: number, message: number, params: number): number;
  _run_get_method(params: number, stack: number, config: number): number;
  /** How many steps of a walk it may still make ({@link WALK}). */
  readonly walk: { left: number };
}

/** The executor module broke its contract or ran into an error of its own. */
export class ExecutorError extends Error {
  /** True when the instance cannot be used any more. */
  readonly broken: boolean;

  constructor(message: string, options?: ErrorOptions & { broken?: boolean }) {
    super(message, options);
    this.name = 'ExecutorError';
    this.broken = options?.broken ?? false;
  }
}

/** A get-method left more than can be written out. */
export class UnwritableError extends ExecutorError {
  constructor() {
    super('what the method left is too much to be written out', { broken: true });
  }
}

/**
 * The import by which the module calls what may throw and takes six arguments: twice for each value of a stack that is
 * written or read, and again for each of the actions that a get-method makes; in all else some hundred times a run, 25,000
 * in a loop of instructions that come here.
 */
const WALK = 'invoke_iiiiiii';

/** Counts the steps of walks, and ends one that has made too many. */
function boundWalks(imports: WebAssembly.Imports, walk: { left: number }): void {
  const found = Object.values(imports).flatMap((functions) =>
    Object.entries(functions).flatMap(([name, value]) =>
      typeof value === 'function' && value.name === WALK ? [{ functions, name, value }] : [],
    ),
  );
  if (found.length !== 1) throw new ExecutorError('the executor package has another layout');
  const [{ functions, name, value }] = found;
  // Each of them by its name: this is called for every value.
  functions[name] = (index: number, a: number, b: number, c: number, d: number, e: number, f: number): unknown => {
    if (--walk.left < 0) throw new UnwritableError();
    return value(index, a, b, c, d, e, f);
  };
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

function isEmulator(value: unknown): value is Omit<Emulator, 'walk'> {
  if (typeof value !== 'object' || value === null) return false;
  const record: Record<string, unknown> = { ...value };
  return methods.every((name) => typeof record[name] === 'function');
}

const FOLDER = '@ton/sandbox/dist/executor';

/** Compiles the executor, off the event loop. Takes about 0.1 s; the result may be handed to threads. */
export async function compileExecutor(): Promise<WebAssembly.Module> {
  const packed: unknown = require(`${FOLDER}/emulator-emscripten.wasm.js`);
  const { EmulatorEmscriptenWasm } = z.object({ EmulatorEmscriptenWasm: z.string() }).parse(packed);
  return WebAssembly.compile(Buffer.from(EmulatorEmscriptenWasm, 'base64'));
}

/**
 * Room for the stack of the C++ code. It is linked with 64 KB and unguarded: a result of some 300 nested pairs (the
 * elector's list of participants) overruns that and writes over other data.
 */
const STACK_BYTES = 8 << 20;

/** The module's minified export that moves the stack pointer, as the package's own loader names it. */
function stackExport(): string {
  const loader = readFileSync(require.resolve(`${FOLDER}/emulator-emscripten.js`), 'utf8');
  const name = /__emscripten_stack_restore=wasmExports\["(\w+)"\]/.exec(loader)?.[1];
  if (name === undefined) throw new ExecutorError('the executor package has another layout');
  return name;
}

/**
 * Instantiates the executor with memory of its own: 0.02 s, some 20 MB.
 *
 * @throws {ExecutorError} when the package has not the exports it is known for
 */
export async function instantiateExecutor(module: WebAssembly.Module): Promise<Emulator> {
  const factory: unknown = require(`${FOLDER}/emulator-emscripten.js`);
  if (typeof factory !== 'function') throw new ExecutorError('the executor package has another layout');
  let moveStack: unknown = null;
  const walk = { left: Number.POSITIVE_INFINITY };
  const emulator: unknown = await factory({
    print: () => undefined,
    printErr: () => undefined,
    instantiateWasm: (imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance, of: object) => void) => {
      boundWalks(imports, walk);
      const instance = new WebAssembly.Instance(module, imports);
      moveStack = instance.exports[stackExport()];
      done(instance, module);
      return instance.exports;
    },
  });
  if (!isEmulator(emulator) || typeof moveStack !== 'function')
    throw new ExecutorError('the executor lacks a function');
  const stack = emulator._malloc(STACK_BYTES);
  if (stack === 0) throw new ExecutorError('no memory for the executor');
  // It grows down from its end, which is aligned to 16 bytes.
  moveStack((stack + STACK_BYTES) & ~15);
  return Object.assign(emulator, { walk });
}
