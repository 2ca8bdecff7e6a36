/** Get-methods in the projector's own threads: what a run sees follows from the step alone. */
import { LRUCache } from 'lru-cache';
import { Builder, type Cell } from '../../../src/chain/builder.ts';
import { plain, updateDictionary } from '../../../src/chain/dictionary.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import { methodId } from '../../../src/chain/interfaces.ts';
import type { Hash } from '../../../src/chain/model.ts';
import { KNOWN_VERSION } from '../../../src/tvm/config.ts';
import { type ChainView, runGetMethod } from '../../../src/tvm/contract.ts';
import { textCell } from '../../../src/tvm/executor.ts';
import { createTvmPool, type TvmConfig, TvmError, TvmTimeoutError, tvmConfig } from '../../../src/tvm/pool.ts';
import { StackLimitError, type StackValue } from '../../../src/tvm/stack.ts';
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
/** A run ends with its gas long before (some 250 ms): one that is still there then cannot write down what it left. */
const TIMEOUT_MS = 5_000;
/** Codes that are remembered to hang. */
const HANGING_CODES = 10_000;
/** Exit codes of a run that used up its gas. */
const OUT_OF_GAS = new Set([13, -14]);
/** Of what a method leaves. */
const LIMITS = { maxDepth: 64, maxValues: 1_000 };

/** What of a step the runs see. */
export interface StepView {
  /** Generation time of its masterchain block, Unix seconds. */
  now: number;
  config: TvmConfig;
}

export type Methods = ReturnType<typeof createMethods>;

export function createMethods(counters: Counters) {
  const pool = createTvmPool({ workers: WORKERS, maxQueued: MAX_QUEUED, timeoutMs: TIMEOUT_MS });
  const configs = new Map<string, TvmConfig>();
  const hanging = new LRUCache<string, true>({ max: HANGING_CODES });

  /** Parameter 8 alone: most methods read no other, and the whole configuration costs a run five times as much. */
  function configOf(version: number, capabilities: bigint): TvmConfig {
    const key = `${version} ${capabilities}`;
    const known = configs.get(key);
    if (known !== undefined) return known;
    const config = tvmConfig(versionConfig(version, capabilities));
    configs.set(key, config);
    return config;
  }

  return {
    /** The version that the step's masterchain block names stands for parameter 8. */
    view({ blocks }: DecodedStep): StepView {
      const { header } = blocks[blocks.length - 1].record;
      const { version, capabilities } = header.genSoftware ?? { version: 0, capabilities: '0' };
      const known = Math.min(version, KNOWN_VERSION.version);
      return { now: header.genUtime, config: configOf(known, BigInt(capabilities) & KNOWN_VERSION.capabilities) };
    },
    /** @throws {OtherKind} when the method fails @throws {NotShown} for a library that is not known */
    async call(
      subject: Subject,
      method: string,
      args: readonly StackValue[],
      { step, codes, signal }: { step: StepView; codes: CodeStore; signal: AbortSignal },
    ): Promise<Results> {
      const code = hashKey(subject.codeHash);
      // Whatever data it has: each try costs seconds.
      if (hanging.has(code)) throw new Exhausting('its code hangs');
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
        const options = { now: step.now, signal, limits: LIMITS };
        const run = await runGetMethod(pool, chain, state, methodId(method), args, options);
        if (run.exitCode === 0 || run.exitCode === 1) return new Results(run.stack);
        if (missing.length > 0) throw new NotShown(missingCode(missing[0]));
        if (OUT_OF_GAS.has(run.exitCode)) throw new Exhausting(`${method} uses up its gas`);
        throw new OtherKind(`${method} ends with exit code ${run.exitCode}`);
      } catch (error) {
        if (!(error instanceof TvmError || error instanceof StackLimitError || error instanceof DecodeError))
          throw error;
        counters.methodFailures++;
        if (error instanceof TvmTimeoutError) {
          hanging.set(code, true);
          throw new Exhausting(`${method} hangs`);
        }
        throw new OtherKind(`${method} cannot be run: ${error.message}`, { cause: error });
      }
    },
    close: () => pool.close(),
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
