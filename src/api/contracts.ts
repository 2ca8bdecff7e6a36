/** Contracts as both APIs run them: the state of a step, and what the newest step brings (mapping 4 of the contract). */
import { LRUCache } from 'lru-cache';
import { type Cell, parseBoc } from '../chain/builder.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, BlockIdExt } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { NoNetworkError } from '../node/liteservers.ts';
import type { AccountState } from '../state/account.ts';
import type { StateSource } from '../state/source.ts';
import type { Step } from '../state/steps.ts';
import { EMPTY, readAccount } from '../tvm/account.ts';
import { beyondExecutor, globalVersion } from '../tvm/config.ts';
import { type ChainView, type ContractState, contractState, type GetMethodRun, runGetMethod } from '../tvm/contract.ts';
import { type CellText, cellText } from '../tvm/executor.ts';
import { estimateFees, type FeeQuery, type Fees } from '../tvm/fees.ts';
import { type TvmConfig, type TvmPool, tvmConfig } from '../tvm/pool.ts';
import { previousBlocksTuple } from '../tvm/previous-blocks.ts';
import { type StackLimits, type StackValue, writeStackValue } from '../tvm/stack.ts';

/** A contract as of a step, to be asked any number of times. */
export interface OpenContract {
  account: AccountState;
  /** The masterchain block of the step. */
  block: BlockIdExt;
  run(method: number, stack: readonly StackValue[], limits?: StackLimits): Promise<GetMethodRun>;
}

export interface FeeRequest extends Pick<FeeQuery, 'address' | 'body' | 'init' | 'ignoreSignatures'> {}

export interface Contracts {
  /**
   * @param seqno the newest step when undefined
   * @throws {NodeError} @throws {NoNetworkError}
   */
  open(address: Address, seqno: number | undefined, context: QueryContext): Promise<OpenContract>;
  /** Fees of an external message at the newest step. @throws as `open`, {EstimateError}, {TvmError} */
  estimate(request: FeeRequest, context: QueryContext): Promise<Fees>;
  /** What the newest step's configuration has that the executor does not know; null where it knows all of it. */
  beyond(context: QueryContext): Promise<string | null>;
}

/** What an account without code answers: nothing runs, and the arguments stay with the id of the method on top. */
const NO_CODE = -13;

/** Contracts whose state is kept in the executor's form. */
const KEPT_BYTES = 32 * 1024 ** 2;
/** Steps whose surroundings are kept, and configurations in the executor's form. */
const KEPT_STEPS = 4;
const KEPT_CONFIGS = 2;

/** Counts runs that had to go without the previous blocks. */
export interface ContractMetrics {
  unknownBlocks(): void;
}

export function createContracts(states: StateSource, pool: TvmPool, metrics: ContractMetrics): Contracts {
  const kept = new LRUCache<string, ContractState>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ code, data }) => 500 + code.length + data.length,
  });
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

  async function viewOf(step: Step, context: QueryContext): Promise<ChainView> {
    const { timeoutMs } = context;
    return {
      ...(await surroundings(step, context)),
      async library(hash, signal) {
        const boc = (await states.libraries([hash], { signal, timeoutMs })).get(hashKey(hash));
        return boc === undefined ? null : parseBoc(boc);
      },
    };
  }

  /** Null without code. */
  function stateOf(account: AccountState): ContractState | null {
    const { account: address, code, data, balance, extraCurrencies, hash } = account;
    if (code === null) return null;
    const key = hashKey(address) + hashKey(hash);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const cells = { code: parseBoc(code), data: data === null ? EMPTY : parseBoc(data) };
    const state = contractState({ address, balance, extraCurrencies, ...cells });
    kept.set(key, state);
    return state;
  }

  return {
    async open(address, seqno, context) {
      const newest = await states.step(undefined, context);
      const step = seqno === undefined ? newest : await states.step(seqno, context);
      const account = await states.account(address, step, { cells: true }, context);
      const { workchain, shard, seqno: own, rootHash, fileHash } = step.header;
      const state = stateOf(account);
      return {
        account,
        block: { workchain, shard, seqno: own, rootHash, fileHash },
        async run(method, stack, limits) {
          if (state === null) {
            const left: StackValue[] = [...stack, { type: 'int', value: BigInt(method) }];
            return { exitCode: NO_CODE, gasUsed: 0, stack: left };
          }
          const { signal } = context;
          const options = { now: account.genUtime, signal, ...(limits && { limits }) };
          return runGetMethod(pool, await viewOf(newest, context), state, method, stack, options);
        },
      };
    },
    async estimate(request, context) {
      const step = await states.step(undefined, context);
      const { boc, genUtime } = await states.accountCell(request.address, step, context);
      const account = boc === null ? null : readAccount(parseBoc(boc));
      const query = { ...request, account, now: genUtime };
      return estimateFees(pool, await viewOf(step, context), query, context.signal);
    },
    async beyond(context) {
      const step = await states.step(undefined, context);
      return beyondExecutor(await states.config(step, context));
    },
  };
}
