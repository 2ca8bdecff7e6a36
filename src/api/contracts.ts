/** Contracts as both APIs run them: the state of a step, and what the newest step brings (mapping 4 of the contract). */
import { LRUCache } from 'lru-cache';
import { type Cell, parseBoc } from '../chain/builder.ts';
import { MAX_MESSAGE_DEPTH } from '../chain/external-message.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, BlockIdExt } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import type { AccountState } from '../state/account.ts';
import type { StateSource } from '../state/source.ts';
import type { ViewOf } from '../state/view.ts';
import { EMPTY, readAccount } from '../tvm/account.ts';
import { beyondExecutor } from '../tvm/config.ts';
import { type ContractState, contractState, type GetMethodRun, runGetMethod } from '../tvm/contract.ts';
import { estimateFees, type FeeQuery, type Fees } from '../tvm/fees.ts';
import { countValues } from '../tvm/long-stack.ts';
import type { TvmPool } from '../tvm/pool.ts';
import { StackLimitError, type StackLimits, type StackValue, writeStack } from '../tvm/stack.ts';
import { ApiError } from './errors.ts';
import { createKeptRuns, type KeptRuns } from './kept-runs.ts';

/** A contract as of a step, to be asked any number of times. */
export interface OpenContract {
  account: AccountState;
  /** The masterchain block of the step. */
  block: BlockIdExt;
  /** @param options `longStacks`: also such as are too long for cells, which takes some times as long */
  run(
    method: number,
    stack: readonly StackValue[],
    options?: { limits?: StackLimits; longStacks?: boolean },
  ): Promise<GetMethodRun>;
}

export interface FeeRequest extends Pick<FeeQuery, 'address' | 'body' | 'init' | 'ignoreSignatures'> {}

export interface Contracts {
  /**
   * @param seqno the newest step when undefined
   * @throws {NodeError} @throws {NoNetworkError}
   */
  open(address: Address, seqno: number | undefined, context: QueryContext): Promise<OpenContract>;
  /** Fees of an external message at the newest step. @throws as `open`, {EstimateError}, {TvmError}, {ApiError} */
  estimate(request: FeeRequest, context: QueryContext): Promise<Fees>;
  /** What the newest step's configuration has that the executor does not know; null where it knows all of it. */
  beyond(context: QueryContext): Promise<string | null>;
}

/** What an account without code answers: nothing runs, and the arguments stay with the id of the method on top. */
const NO_CODE = -13;

/** Values that a method may leave, those in tuples and lists included: the reference's. */
const MAX_LEFT = 7999;

/** Null for what is not to be kept. */
function argumentsKey(stack: readonly StackValue[]): string | null {
  if (stack.length === 0) return '';
  if (stack.length > MOST_ARGUMENTS || stack.some(({ type }) => type === 'tuple')) return null;
  return hashKey(writeStack(stack).hash());
}

function bounded<T extends GetMethodRun>(run: T): T {
  if (countValues(run.stack, MAX_LEFT) > MAX_LEFT) throw new StackLimitError('maxValues', MAX_LEFT);
  return run;
}

/** @throws {ApiError} for what cannot be sent, of which the executor breaks down */
function checkBody(body: Cell): void {
  if (body.exotic) throw new ApiError(422, 'body: an exotic cell, which no contract can be given as it is');
  // It may stand in a cell of its own.
  if (body.depth() >= MAX_MESSAGE_DEPTH) throw new ApiError(422, `body: nested deeper than ${MAX_MESSAGE_DEPTH - 1}`);
}

/** Contracts whose state is kept in the executor's form. */
const KEPT_BYTES = 32 * 1024 ** 2;

/** Arguments of runs that are kept: hardly a method takes more. */
const MOST_ARGUMENTS = 8;

/** @param runs where runs are kept; nowhere by default */
export function createContracts(
  states: StateSource,
  pool: TvmPool,
  viewOf: ViewOf,
  runs: KeptRuns = createKeptRuns(0),
): Contracts {
  const kept = new LRUCache<string, ContractState>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ code, data }) => 500 + code.length + data.length,
  });
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
        async run(method, stack, more) {
          if (state === null) {
            const left: StackValue[] = [...stack, { type: 'int', value: BigInt(method) }];
            return bounded({ exitCode: NO_CODE, gasUsed: 0, stack: left });
          }
          const { signal } = context;
          const options = { now: account.genUtime, signal, ...more };
          const view = await viewOf(newest, context);
          const run = () => runGetMethod(pool, view, state, method, stack, options);
          const given = argumentsKey(stack);
          if (given === null) return bounded(await run());
          const key = `${hashKey(account.account)}${hashKey(account.hash)}${view.config.key}${method} ${given}`;
          return bounded(await runs.once(key, run));
        },
      };
    },
    async estimate(request, context) {
      checkBody(request.body);
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
