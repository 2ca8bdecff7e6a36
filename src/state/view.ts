/** What contracts that run at a step see of the chain: configuration, blocks before, libraries. */
import { LRUCache } from 'lru-cache';
import { type Cell, parseBoc } from '../chain/builder.ts';
import { hashKey } from '../chain/hash.ts';
import type { QueryContext } from '../chain/records.ts';
import { NoNetworkError } from '../node/liteservers.ts';
import { globalVersion } from '../tvm/config.ts';
import type { ChainView } from '../tvm/contract.ts';
import { type CellText, cellText } from '../tvm/executor.ts';
import { type TvmConfig, tvmConfig } from '../tvm/pool.ts';
import { previousBlocksTuple } from '../tvm/previous-blocks.ts';
import { writeStackValue } from '../tvm/stack.ts';
import type { StateSource } from './source.ts';
import type { Step } from './steps.ts';

/** @throws {NodeError} @throws {NoNetworkError} where neither our own data nor a network has the configuration */
export type ViewOf = (step: Step, context: QueryContext) => Promise<ChainView>;

/** Steps whose surroundings are kept, and configurations in the executor's form. */
const KEPT_STEPS = 4;
const KEPT_CONFIGS = 2;

/** Counts runs that had to go without the previous blocks. */
export interface ViewMetrics {
  unknownBlocks(): void;
}

export function createViews(states: StateSource, metrics: ViewMetrics): ViewOf {
  const configs = new LRUCache<Cell, TvmConfig>({ max: KEPT_CONFIGS });
  const steps = new LRUCache<string, Omit<ChainView, 'library'>>({ max: KEPT_STEPS });

  function configOf(root: Cell): TvmConfig {
    const known = configs.get(root);
    if (known !== undefined) return known;
    const config = tvmConfig(root);
    configs.set(root, config);
    return config;
  }

  /** Null where neither our own data nor a network can tell: hardly a contract asks. */
  async function prevBlocksOf(step: Step, config: Cell, context: QueryContext): Promise<CellText | null> {
    try {
      const blocks = await states.previousBlocks(step, context);
      return cellText(writeStackValue(previousBlocksTuple(blocks, globalVersion(config).version)));
    } catch (error) {
      if (!(error instanceof NoNetworkError)) throw error;
      metrics.unknownBlocks();
      return null;
    }
  }

  async function surroundings(step: Step, context: QueryContext): Promise<Omit<ChainView, 'library'>> {
    const key = hashKey(step.header.rootHash);
    const known = steps.get(key);
    if (known !== undefined) return known;
    const root = await states.config(step, context);
    const found = { config: configOf(root), prevBlocks: await prevBlocksOf(step, root, context) };
    steps.set(key, found);
    return found;
  }

  return async (step, context) => {
    const { timeoutMs, nodeTimeoutMs } = context;
    return {
      ...(await surroundings(step, context)),
      async library(hash, signal) {
        const boc = (await states.libraries([hash], { signal, timeoutMs, nodeTimeoutMs })).get(hashKey(hash));
        return boc === undefined ? null : parseBoc(boc);
      },
    };
  };
}
