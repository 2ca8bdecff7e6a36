/** What a pool and its threads say to each other. */
import type { CellText, GetMethodCall, GetMethodResult, TransactionContext, TransactionResult } from './executor.ts';

export interface TransactionJob {
  kind: 'transaction';
  /** `ShardAccount`. */
  shardAccount: CellText;
  /** `Message Any`. */
  message: CellText;
  context: TransactionContext;
}

export interface TickTockJob {
  kind: 'tick_tock';
  shardAccount: CellText;
  isTock: boolean;
  context: TransactionContext;
}

export interface GetMethodJob {
  kind: 'get_method';
  call: GetMethodCall;
}

export type Job = TransactionJob | TickTockJob | GetMethodJob;
export type JobResult<J extends Job> = J extends GetMethodJob ? GetMethodResult : TransactionResult;

export type ToWorker =
  | { type: 'config'; key: string; text: CellText }
  | { type: 'forget'; key: string }
  | { type: 'job'; config: string; job: Job };

export type FromWorker =
  | { type: 'ready' }
  /** `broken`: the executor has to be instantiated anew. */
  | { type: 'done'; result: GetMethodResult | TransactionResult; broken: boolean }
  | { type: 'failed'; reason: string; broken: boolean };
