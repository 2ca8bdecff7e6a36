/**
 * Code, data and extra currencies that state updates never show. A block prunes what it does not change, so an account
 * that was there before the log began, or that is only used, shows the hashes of its code and data and not the cells.
 * For each such account the node is asked once; from then on the projection can fill the pruned branches of later states
 * from what it has, extra currencies as long as their dictionary is the same. The queue is bounded: what does not fit is
 * dropped, counted, and asked for when the account is used again.
 */
import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { atMost } from '../../src/at-most.ts';
import { accountStatesAfter } from '../../src/chain/accounts.ts';
import { rawAddress } from '../../src/chain/address.ts';
import { decodeBlock } from '../../src/chain/block.ts';
import { type Boc, openBoc } from '../../src/chain/boc.ts';
import { DecodeError } from '../../src/chain/errors.ts';
import type { AccountState, Address, BlockIdExt } from '../../src/chain/model.ts';
import type { ChainNode } from '../../src/node/chain-node.ts';
import { decodeCellEnvelope, encodeCellRecord } from '../cell-record.ts';
import { blockKey } from '../envelope.ts';
import type { EventLog } from '../log.ts';
import type { Missing } from '../missing.ts';
import { createSeldom } from '../seldom.ts';
import {
  type Answer,
  type AskedState,
  askAccount,
  askContract,
  askLibraries,
  LIBRARIES_PER_CALL,
  libraryOf,
} from './cell-answers.ts';
import type { StepWriter } from './follow-append.ts';
import { DEFAULT_PAUSES, type Patience, refetchReason } from './follow-patience.ts';
import type { FetchedStep } from './follow-steps.ts';
import { createKnownExtras } from './known-extras.ts';

/**
 * `dropped`: the queue was full. `failed`: no server has the state, or the answer did not have the state's hash.
 * `absent`: an account that contracts name is none.
 */
export type CellEvent = 'asked' | 'answered' | 'dropped' | 'failed' | 'oversized' | 'absent';

export interface CellLimits {
  /** Accounts and libraries that wait to be asked for. */
  queue: number;
  /** Requests at the same time. */
  concurrency: number;
  /** Larger cells are not kept, as the projection would not store them. */
  maxBytes: number;
  /** Only steps this near to the head: liteservers forget older states. About an hour of the mainnet. */
  lagSteps: number;
  /** Questions a second about what contracts name and the log never showed; 0 asks none. */
  perSecond: number;
  /** The same about what answers mention. */
  mentionedPerSecond: number;
}

const USUAL_LIMITS = { queue: 2_000, concurrency: 4, lagSteps: 10_000 };

/** Those that are settings, and any of the others. */
export type SetCellLimits = Omit<CellLimits, keyof typeof USUAL_LIMITS> & Partial<CellLimits>;

export interface CellsOptions {
  node: ChainNode;
  log: EventLog;
  topic: string;
  writer: StepWriter;
  patience: Pick<Patience, 'pause'>;
  limits: SetCellLimits;
  logger: Pick<Logger, 'warn'>;
  onEvent?: (event: CellEvent) => void;
  /** Of a failure that is no matter of the node's, as a log that cannot be written. */
  onError: (error: unknown) => void;
  signal: AbortSignal;
}

export interface Cells {
  /** Learns from the topic what was answered before. */
  recall(): Promise<void>;
  /** Looks for accounts to ask for in steps that are in the log. */
  look(steps: readonly FetchedStep[], headSeqno: number): Promise<void>;
  /**
   * Asks for what the log lacks as of the newest step that is in it, once that is near to the head. Resolves when that
   * is answered or nobody has it; false for what was asked for within the hour, or is in the log.
   */
  ask(missing: Missing): Promise<boolean>;
  /** Resolves when nothing waits and nothing is being asked. */
  idle(): Promise<void>;
}

/** An account to ask for. */
interface Question extends AskedState {
  /** Its data is wanted; else only its code. */
  data: boolean;
  /** How often it was used again while it was being asked for. */
  followUps: number;
}

const KNOWN_CODES = 100_000;
const KNOWN_ACCOUNTS = 500_000;
/** A library that no server knows is asked for again after this time. */
const LIBRARY_RETRY_MS = 600_000;
/** Records of the topic's end that tell what needs no question after a restart. */
const RECALLED_RECORDS = 100_000;
const RECALL_BYTES = 16 * 1024 * 1024;
const TRIES = 3;
/** An account that contracts name is not asked for again within this time, whatever the answer. */
const CONTRACT_RETRY_MS = 3_600_000;
/** An account used in every block can outrun its answers; then the projection has to do without. */
const MAX_FOLLOW_UPS = 8;

export function createCells(options: CellsOptions): Cells {
  const { node, log, topic, writer, patience, logger, signal, onError } = options;
  const limits = { ...USUAL_LIMITS, ...options.limits };
  const note = (event: CellEvent): void => options.onEvent?.(event);
  const known = createKnown();
  const waiting = new Map<string, Question>();
  const waitingLibraries = new Map<string, { globalId: number; mcSeqno: number }>();
  const asking = new Map<string, number>();
  const mayTellFailure = createSeldom(DEFAULT_PAUSES.lineMs);
  let idleWaiters: (() => void)[] = [];
  let running = 0;
  const newest = createNewest(signal);

  function touch(state: AccountState, block: BlockIdExt, step: FetchedStep, boc: Boc): void {
    const account = rawAddress(state.account);
    const { globalId } = step.master;
    if (state.dataComplete) known.accounts.set(account, step.mcSeqno);
    if (state.codeComplete && state.codeCell !== null && state.codeHash !== null) {
      known.codes.set(state.codeHash.toString('hex'), true);
      wantLibrary(libraryOf(boc, state.codeCell), globalId, step.mcSeqno);
    }
    const code = state.codeHash !== null && !state.codeComplete && !known.codes.has(state.codeHash.toString('hex'));
    const data = state.dataHash !== null && !state.dataComplete && !isKnown(account, step.mcSeqno);
    const extra = known.extras.look(account, state.extraPruned);
    if (!code && !data && extra === null) return;
    const followUps = asking.has(account) ? (asking.get(account) ?? 0) + 1 : 0;
    if (followUps > MAX_FOLLOW_UPS || (!waiting.has(account) && waiting.size >= limits.queue)) {
      note('dropped');
      return;
    }
    waiting.set(account, {
      account: Buffer.from(state.account),
      stateHash: Buffer.from(state.hash),
      lt: state.lastTransactionLt,
      transaction: Buffer.from(state.lastTransactionHash),
      block,
      mcSeqno: step.mcSeqno,
      globalId,
      extra,
      data,
      followUps,
    });
  }

  function wantLibrary(hash: string | null, globalId: number, mcSeqno: number): void {
    if (hash === null || known.libraries.has(hash) || waitingLibraries.has(hash)) return;
    if (waitingLibraries.size >= limits.queue) note('dropped');
    else waitingLibraries.set(hash, { globalId, mcSeqno });
  }

  /** An answer serves the steps behind its record. A step used before, but looked into later, has outrun it. */
  function isKnown(account: string, mcSeqno: number): boolean {
    const from = known.accounts.get(account);
    return from !== undefined && mcSeqno >= from;
  }

  /** The first step that the answers serve. */
  async function keep(answers: readonly Answer[]): Promise<number> {
    const fitting = answers.filter(({ boc }) => boc.length <= limits.maxBytes);
    for (let at = fitting.length; at < answers.length; at++) note('oversized');
    return writer.between(async (after, newest) => {
      const records = fitting.map((answer) => encodeCellRecord({ ...answer, after, receivedAtMs: Date.now() }));
      if (records.length > 0) await log.append(topic, records);
      return (newest ?? 0) + 1;
    });
  }

  async function answerAccount(asked: Question): Promise<void> {
    const answers = await persistently(() => askAccount(node, asked, signal));
    if (answers === null) return;
    const fresh = answers.filter(({ kind, hash }) =>
      kind === 'data' ? asked.data : kind === 'account' || !known.codes.has(hash.toString('hex')),
    );
    const from = await keep(fresh);
    const account = rawAddress(asked.account);
    if (asked.data) known.accounts.set(account, from);
    // They are those of the state that was asked for: where the log has a later step, it may have another by now.
    if (asked.extra !== null && from === asked.mcSeqno + 1) known.extras.learned(account, asked.extra);
    for (const { kind, hash, library } of answers) {
      if (kind !== 'code') continue;
      known.codes.set(hash.toString('hex'), true);
      wantLibrary(library, asked.globalId, asked.mcSeqno);
    }
    note('answered');
  }

  async function answerLibraries(asked: ReadonlyMap<string, { globalId: number; mcSeqno: number }>): Promise<void> {
    for (const hash of asked.keys()) known.libraries.set(hash, true, { ttl: LIBRARY_RETRY_MS });
    const found = await persistently(() => askLibraries(node, asked, signal));
    if (found === null) return;
    await keep(found);
    for (const { hash } of found) known.libraries.set(hash.toString('hex'), true, { ttl: 0 });
    for (let at = 0; at < asked.size; at++) note(at < found.length ? 'answered' : 'failed');
  }

  async function askForContract(account: Address): Promise<boolean> {
    const answer = await persistently(async () => {
      const { master, mcSeqno } = await newest.get();
      return [await askContract(node, { account, block: master.id, mcSeqno, globalId: master.globalId }, signal)];
    });
    if (answer === null) return false;
    const [found] = answer;
    if (found === null) {
      note('absent');
      return true;
    }
    await keep([found]);
    if (found.code !== null) known.codes.set(found.code, true);
    wantLibrary(found.library, found.globalId, found.mcSeqno);
    pump();
    note('answered');
    return true;
  }

  /** Null when the node cannot answer: that is counted, and the projection does without. */
  async function persistently<T>(ask: () => Promise<T>): Promise<T | null> {
    for (let attempt = 0; ; attempt++) {
      note('asked');
      try {
        return await ask();
      } catch (error) {
        signal.throwIfAborted();
        const reason = refetchReason(error);
        if (reason === null) throw error;
        if (reason !== 'not_found' && attempt + 1 < TRIES) {
          await patience.pause(reason, attempt);
          continue;
        }
        note('failed');
        if (mayTellFailure()) logger.warn({ reason: String(error) }, 'cells that no block shows cannot be had');
        return null;
      }
    }
  }

  function begin(work: Promise<void>, done: () => void): void {
    running++;
    const end = (): void => {
      running--;
      done();
      pump();
    };
    work.then(end, (error: unknown) => {
      if (!signal.aborted) onError(error);
      end();
    });
  }

  function pump(): void {
    while (!signal.aborted && running < limits.concurrency && waitingLibraries.size > 0) {
      const some = new Map([...waitingLibraries].slice(0, LIBRARIES_PER_CALL));
      for (const hash of some.keys()) waitingLibraries.delete(hash);
      begin(answerLibraries(some), () => undefined);
    }
    for (const [account, asked] of waiting) {
      if (signal.aborted || running >= limits.concurrency) break;
      // One question an account at a time: a later state is asked for when the earlier one was answered.
      if (asking.has(account)) continue;
      waiting.delete(account);
      asking.set(account, asked.followUps);
      begin(answerAccount(asked), () => asking.delete(account));
    }
    if (running > 0 || (!signal.aborted && waiting.size + waitingLibraries.size > 0)) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  }

  function lookInto(step: FetchedStep, block: FetchedStep['blocks'][number]): void {
    try {
      const decoded = decodeBlock(openBoc(block.boc));
      for (const state of accountStatesAfter(decoded)) touch(state, block.id, step, decoded.boc);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      // The projection will say what is wrong with the block; here it only means that nothing is asked.
      logger.warn({ err: error, block: blockKey(block.id) }, 'states of a block cannot be read');
    }
  }

  return {
    recall: () => recallAnswers(log, topic, known, signal),
    async look(steps, headSeqno) {
      for (const step of steps) {
        if (headSeqno - step.mcSeqno > limits.lagSteps) continue;
        newest.set(step);
        for (const block of step.blocks) {
          lookInto(step, block);
          pump();
          await turn();
        }
      }
    },
    async ask({ account, hash }) {
      const code = hash?.toString('hex') ?? null;
      const isKnown = (): boolean => code !== null && (known.codes.has(code) || known.libraries.has(code));
      if (isKnown()) return false;
      const address = account && rawAddress(account);
      const asks = address !== null && !known.contracts.has(address);
      if (account !== null && asks && (await askForContract(account))) known.contracts.set(rawAddress(account), true);
      if (code === null || isKnown()) return asks;
      // No code that the account has: what a library cell stands for, perhaps.
      const { master, mcSeqno } = await newest.get();
      wantLibrary(code, master.globalId, mcSeqno);
      pump();
      return true;
    },
    idle: () =>
      new Promise((resolve) => {
        idleWaiters.push(resolve);
        pump();
      }),
  };
}

function createKnown() {
  return {
    extras: createKnownExtras(KNOWN_CODES),
    codes: new LRUCache<string, true>(atMost(KNOWN_CODES)),
    /** The first step for which the log has the data of the step before in full, or can make it up. */
    accounts: new LRUCache<string, number>(atMost(KNOWN_ACCOUNTS)),
    libraries: new LRUCache<string, true>(atMost(KNOWN_CODES)),
    /** Accounts that were asked for because contracts name them. */
    contracts: new LRUCache<string, true>({ ...atMost(KNOWN_CODES), ttl: CONTRACT_RETRY_MS }),
  };
}

/** The newest step that is in the log and near to the head. */
function createNewest(signal: AbortSignal) {
  let step: FetchedStep | null = null;
  const first = new EventEmitter();
  return {
    set(newer: FetchedStep): void {
      step = newer;
      first.emit('step');
    },
    async get(): Promise<FetchedStep> {
      if (step === null) await once(first, 'step', { signal });
      if (step === null) throw new Error('there is a step');
      return step;
    },
  };
}

/** Steps follow each other without a gap, so an account once answered has needed no question since. */
async function recallAnswers(
  log: EventLog,
  topic: string,
  known: ReturnType<typeof createKnown>,
  signal: AbortSignal,
): Promise<void> {
  const end = await log.end(topic);
  const from = Math.max(await log.low(topic), end - RECALLED_RECORDS);
  if (from >= end) return;
  for await (const batch of log.read(topic, from, { maxBytes: RECALL_BYTES, signal, stopAtEnd: true })) {
    for (const record of batch) {
      const { kind, hash, account } = decodeCellEnvelope(record, topic);
      if (kind === 'data' && account !== null) known.accounts.set(rawAddress(account), 0);
      else if (kind === 'code') known.codes.set(hash.toString('hex'), true);
      else if (kind === 'account' && account !== null) known.contracts.set(rawAddress(account), true);
      else if (kind === 'library') known.libraries.set(hash.toString('hex'), true);
    }
  }
}
