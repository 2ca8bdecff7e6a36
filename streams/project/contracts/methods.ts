/** Get-methods in the projector's own threads: what a run sees follows from the step alone. */
import { LRUCache } from 'lru-cache';
import { atMost } from '../../../src/at-most.ts';
import { Builder, type Cell } from '../../../src/chain/builder.ts';
import { plain, updateDictionary } from '../../../src/chain/dictionary.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import { methodId } from '../../../src/chain/interfaces.ts';
import type { Hash } from '../../../src/chain/model.ts';
import { KNOWN_VERSION } from '../../../src/tvm/config.ts';
import { type ChainView, GAS_LIMIT, isUnwritable, type ObservedRun, runGetMethod } from '../../../src/tvm/contract.ts';
import { textCell } from '../../../src/tvm/executor.ts';
import {
  createTvmPool,
  type TvmConfig,
  TvmError,
  type TvmPool,
  TvmTimeoutError,
  tvmConfig,
} from '../../../src/tvm/pool.ts';
import { readStack, StackLimitError, type StackValue, writeStack } from '../../../src/tvm/stack.ts';
import type { Counters } from '../counters.ts';
import type { DecodedStep } from '../decode.ts';
import type { CodeStore } from './codes.ts';
import { OtherKind, Results } from './stack.ts';
import { missingCode, NotShown, type Subject } from './subject.ts';

/** A contract whose methods use up their limits: not asked any further in the step. */
export class Exhausting extends OtherKind {
  override name = 'Exhausting';
}

const WORKERS = 1;
/** The projector asks for no more at a time than a step has contracts, and those in turns. */
const MAX_QUEUED = 100_000;
/** A run ends with its gas long before (some 250 ms). */
const TIMEOUT_MS = 5_000;
/** On a machine that does much else: what is told of a contract must not depend on that. */
const PATIENCE_MS = 120_000;
/** Codes that are remembered to hang. */
const HANGING_CODES = 10_000;
const RUN_GAS = Number(GAS_LIMIT);
/** Contracts of mainnet use up to 61,000 for all that they are asked. */
const USUAL_GAS = 100_000;
const CONTRACT_GAS = 2 * RUN_GAS;
/** Of all that use more than usual: a second of the executor, whatever a step deploys. */
const STEP_GAS = 2 * CONTRACT_GAS;
/** Exit codes of a run that used up its gas. */
const OUT_OF_GAS = new Set([13, -14]);
/** Stacks of runs that are remembered. */
const REMEMBERED_BYTES = 32 * 1024 * 1024;
const REMEMBERED_ENTRY_BYTES = 512;
/** Of what a method leaves. */
const LIMITS = { maxDepth: 64, maxValues: 1_000 };

/** What is told of a step besides its states. The runs see its time and its configuration. */
export interface StepView {
  /** Generation time of its masterchain block, Unix seconds. */
  now: number;
  config: TvmConfig;
  /** Of the network; null where that is not known. */
  globalId: number | null;
}

/** What the runs that tell of one contract may use yet, those of others that it has asked included. */
export interface Gas {
  left: number;
  /** Of a contract that is asked among others: what needs more is asked again behind them. Never taken back. */
  isShort: boolean;
  readonly isUsual: boolean;
}

export const usualGas = (): Gas => ({ left: USUAL_GAS, isShort: false, isUsual: true });

/** What the contracts of a step have that use more than usual, in turns. Those who find nothing left are not asked. */
export function gasOfStep() {
  let left = STEP_GAS;
  return {
    /** Calls `ask` with what one contract may use; null when the step has nothing left. */
    async take<T>(ask: (gas: Gas) => Promise<T>): Promise<T | null> {
      if (left <= 0) return null;
      const gas = { left: CONTRACT_GAS, isShort: false, isUsual: false };
      const answer = await ask(gas);
      left -= CONTRACT_GAS - gas.left;
      return answer;
    },
  };
}

interface Around {
  step: StepView;
  codes: CodeStore;
  gas: Gas;
  signal: AbortSignal;
}

export type Methods = ReturnType<typeof createMethods>;

/** @param shared threads to share; without it there is one of its own */
export function createMethods(counters: Counters, shared?: TvmPool) {
  const pool = shared ?? ownPool();
  const configs = new Map<string, TvmConfig>();
  const hanging = new LRUCache<string, true>(atMost(HANGING_CODES));

  /** Parameter 8 alone: most methods read no other, and the whole configuration costs a run five times as much. */
  function configOf(version: number, capabilities: bigint): TvmConfig {
    const key = `${version} ${capabilities}`;
    const known = configs.get(key);
    if (known !== undefined) return known;
    const config = tvmConfig(versionConfig(version, capabilities));
    configs.set(key, config);
    return config;
  }

  const runs = createRuns();

  async function run(
    subject: Subject,
    method: string,
    args: readonly StackValue[],
    { step, codes, signal }: Omit<Around, 'gas'>,
    gasLimit: number,
  ): Promise<Ran> {
    const missing: Hash[] = [];
    const library = async (hash: Hash): Promise<Cell | null> => {
      const [found] = await codes.load([hash], signal);
      if (found === undefined) missing.push(hash);
      return found === undefined ? null : textCell(found.text);
    };
    const chain: ChainView = { config: step.config, prevBlocks: null, library };
    const { account: address, data, balance, extraCurrencies } = subject;
    const state = {
      address,
      code: subject.code.text,
      data: data.toString('base64'),
      balance,
      extraCurrencies,
      libraries: subject.code.libraries,
    };
    try {
      counters.methodRuns++;
      const options = { now: step.now, signal, gasLimit: String(gasLimit), limits: LIMITS };
      const done = await runGetMethod(pool, chain, state, methodId(method), args, options);
      // Another step may know the library, and with more gas it ends in another way.
      if (gasLimit < RUN_GAS && OUT_OF_GAS.has(done.exitCode)) return { ...done, seen: 'more', missing: null };
      return missing.length > 0 ? { ...done, seen: 'more', missing: missing[0] } : { ...done, missing: null };
    } catch (error) {
      if (!(error instanceof TvmError || error instanceof StackLimitError || error instanceof DecodeError)) throw error;
      counters.methodFailures++;
      if (error instanceof TvmTimeoutError) {
        hanging.set(hashKey(subject.codeHash), true);
        throw new Exhausting(`${method} hangs`);
      }
      if (isUnwritable(error)) throw new Exhausting(`what ${method} leaves cannot be written out`);
      throw new OtherKind(`${method} cannot be run: ${error.message}`, { cause: error });
    }
  }

  return {
    /** The version that the step's masterchain block names stands for parameter 8. */
    view({ blocks }: DecodedStep): StepView {
      const { header } = blocks[blocks.length - 1].record;
      const { version, capabilities } = header.genSoftware ?? { version: 0, capabilities: '0' };
      const known = Math.min(version, KNOWN_VERSION.version);
      const config = configOf(known, BigInt(capabilities) & KNOWN_VERSION.capabilities);
      return { now: header.genUtime, config, globalId: header.globalId };
    },
    /**
     * What a run used counts also where it is remembered, and one that cannot be run as if it had used all it may: so
     * what is told of a contract does not depend on what is remembered.
     *
     * @throws {OtherKind} when the method fails, and when the gas is short @throws {NotShown} for a library that is not known
     */
    async call(
      subject: Subject,
      method: string,
      args: readonly StackValue[],
      { gas, ...around }: Around,
    ): Promise<Results> {
      const code = hashKey(subject.codeHash);
      // Whatever data it has: each try costs seconds.
      if (hanging.has(code)) throw new Exhausting('its code hangs');
      if (gas.left <= 0) {
        gas.isShort = gas.isUsual;
        throw new Exhausting('what it is asked uses more gas than one contract is worth');
      }
      const key = `${code}${hashKey(subject.dataHash)}${method} ${around.step.config.key} ${argumentsKey(args)}`;
      const limit = gas.isUsual ? gas.left : RUN_GAS;
      const { exitCode, stack, gasUsed, missing } = await runs
        .once(key, hashKey(subject.account), () => run(subject, method, args, around, limit))
        .catch((error: unknown) => {
          gas.left -= RUN_GAS;
          throw error;
        });
      gas.left -= gasUsed;
      if (gas.isUsual && (gas.left < 0 || OUT_OF_GAS.has(exitCode))) gas.isShort = true;
      if (isDone(exitCode)) return new Results(stack);
      if (missing !== null) throw new NotShown(missingCode(missing));
      if (OUT_OF_GAS.has(exitCode)) throw new Exhausting(`${method} uses up its gas`);
      throw new OtherKind(`${method} ends with exit code ${exitCode}`);
    },
    close: () => pool.close(),
  };
}

function ownPool(): TvmPool {
  return createTvmPool({ workers: WORKERS, maxQueued: MAX_QUEUED, timeoutMs: TIMEOUT_MS, patienceMs: PATIENCE_MS });
}

const isDone = (exitCode: number): boolean => exitCode === 0 || exitCode === 1;

/** Arguments are few and small; most methods have none. */
const argumentsKey = (args: readonly StackValue[]): string =>
  args.length === 0 ? '' : hashKey(writeStack(args).hash());

/** A run, and the first library that nobody has shown of those it asked for. */
type Ran = ObservedRun & { missing: Hash | null };

type Left = Pick<Ran, 'exitCode' | 'stack' | 'gasUsed' | 'missing'>;

/**
 * What runs left that saw nothing but their code, data and arguments, or their address besides: the same whenever they
 * are run again, so remembering them changes no row. Of those under way at the same time the others wait for the first.
 */
function createRuns() {
  const cache = new LRUCache<string, Pick<Ran, 'exitCode' | 'stackText' | 'gasUsed'>>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ stackText }) => stackText.length + REMEMBERED_ENTRY_BYTES,
  });
  const running = new Map<string, Promise<unknown>>();
  const find = (key: string, address: string): Left | null => {
    const found = cache.get(key) ?? cache.get(`${address}${key}`);
    if (found === undefined) return null;
    const { exitCode, gasUsed, stackText } = found;
    return { exitCode, gasUsed, stack: readStack(textCell(stackText), LIMITS), missing: null };
  };
  return {
    async once(key: string, address: string, run: () => Promise<Ran>): Promise<Left> {
      let known = find(key, address);
      const other = running.get(key);
      if (known === null && other) {
        // Its failure is its own.
        await other.catch(() => undefined);
        known = find(key, address);
      }
      if (known !== null) return known;
      const done = run();
      if (!running.has(key)) running.set(key, done);
      try {
        const { exitCode, stack, gasUsed, stackText, seen, missing } = await done;
        if (seen !== 'more') cache.set(seen === 'nothing' ? key : `${address}${key}`, { exitCode, gasUsed, stackText });
        return { exitCode, stack, gasUsed, missing };
      } finally {
        if (running.get(key) === done) running.delete(key);
      }
    },
  };
}

/** A configuration with parameter 8 and nothing else. */
function versionConfig(version: number, capabilities: bigint): Cell {
  const param = new Builder().u(0xc4, 8).u(version, 32).big(capabilities, 64).cell();
  const leaf = { extra: null, value: new Builder().ref(param).cell() };
  const { root } = updateDictionary(null, 32, plain, [{ key: Buffer.from([0, 0, 0, 8]), leaf }]);
  if (root === null) throw new Error('a dictionary with one key has a root');
  return root;
}
