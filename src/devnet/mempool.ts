import { type Cell, parseBoc } from '../chain/builder.ts';
import { DecodeError } from '../chain/errors.ts';
import { readExternalMessage } from '../chain/external-message.ts';
import {
  type CellText,
  cellText,
  type Executor,
  ExecutorError,
  type TransactionResult,
  textCell,
} from '../tvm/executor.ts';
import { type ExternalIn, readMessage } from './messages.ts';
import type { SubmitHow, SubmitResult } from './model.ts';
import { readTransaction } from './transaction.ts';

/** External messages are not larger (configuration parameter 43). */
const MAX_BYTES = 65_535;
const MAX_DEPTH = 512;

/** What the next block would run a message with. */
export interface CheckContext {
  executor: Executor;
  /** The account as of the head, for the executor. */
  account(destination: ExternalIn['destination']): CellText;
  now: number;
  lt: bigint;
  randSeed: Buffer;
}

/** External messages that wait for the next step. */
export interface Mempool {
  submit(boc: Buffer, context: CheckContext, how?: SubmitHow): SubmitResult;
  size(): number;
  /** Takes all out, in the order they came. Later ones are still checked against the states that these leave behind. */
  drain(): ExternalIn[];
  /** What was taken out is in a step: from now on its accounts are as the chain has them. */
  settle(): void;
  /** Puts back, in front, what found no room. */
  restore(messages: readonly ExternalIn[]): void;
}

export function createMempool(limit: number): Mempool {
  let waiting = new Map<string, ExternalIn>();
  /** Accounts as the waiting messages leave them, by address. */
  const ahead = new Map<string, { text: CellText; lt: bigint }>();

  const keyOf = ({ destination: { workchain, hash } }: ExternalIn): string => `${workchain}:${hash.toString('hex')}`;

  const check = (message: ExternalIn, context: CheckContext, how: SubmitHow | undefined): SubmitResult => {
    const key = keyOf(message);
    const known = how === undefined ? ahead.get(key) : undefined;
    const before = known ?? { text: context.account(message.destination), lt: context.lt };
    const result = run(message, before, context);
    if (!result.accepted) return refused(result.reason, result.exitCode);
    if (how === undefined) {
      const { endLt } = readTransaction(textCell(result.transaction));
      ahead.set(key, { text: result.shardAccount, lt: endLt });
    }
    return { accepted: true, hash: message.cell.hash() };
  };

  return {
    submit: (boc, context, how) => {
      if (waiting.size >= limit) return refused('too many messages wait');
      const message = readExternal(boc);
      if (typeof message === 'string') return refused(message);
      if (waiting.has(message.cell.key())) return refused('the message already waits');
      const result = check(message, context, how);
      if (result.accepted && how !== 'lost') waiting.set(message.cell.key(), message);
      return result;
    },
    size: () => waiting.size,
    drain: () => {
      const list = [...waiting.values()];
      waiting = new Map();
      return list;
    },
    settle: () => {
      const busy = new Set([...waiting.values()].map(keyOf));
      for (const key of ahead.keys()) if (!busy.has(key)) ahead.delete(key);
    },
    restore: (messages) => {
      waiting = new Map([...messages.map((message) => [message.cell.key(), message] as const), ...waiting]);
    },
  };
}

/** A message that the executor cannot even read is refused, whatever state its account is in. */
function run(message: ExternalIn, account: { text: CellText; lt: bigint }, context: CheckContext): TransactionResult {
  const { now, randSeed, executor } = context;
  try {
    return executor.runTransaction(account.text, cellText(message.cell), { now, lt: account.lt.toString(), randSeed });
  } catch (error) {
    if (!(error instanceof ExecutorError)) throw error;
    return { accepted: false, reason: error.message, exitCode: null };
  }
}

function refused(reason: string, exitCode: number | null = null): SubmitResult {
  return { accepted: false, reason, exitCode };
}

/** The message, or why it cannot be one. */
function readExternal(boc: Buffer): ExternalIn | string {
  try {
    const cell: Cell = parseBoc(boc, { maxBytes: MAX_BYTES, maxDepth: MAX_DEPTH });
    const message = readMessage(cell);
    if (message.kind !== 'external_in') return 'not an external message';
    // Refuses what no node takes, of which the executor breaks down.
    readExternalMessage(boc);
    const { workchain } = message.destination;
    return workchain === 0 || workchain === -1 ? message : `no workchain ${workchain}`;
  } catch (error) {
    if (error instanceof DecodeError) return `not a message: ${error.message}`;
    throw error;
  }
}
