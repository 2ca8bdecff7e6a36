/** Steps read for the feed: once for all who are at the same place, the newest ones kept. */
import { LRUCache } from 'lru-cache';
import { formReceived } from '../api/v3/render/forms.ts';
import { atMost } from '../at-most.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type {
  BlockFilter,
  QueryContext,
  StepRange,
  StepRecords,
  StepRun,
  TransactionFilter,
  TransactionRecord,
} from '../chain/records.ts';
import { hashNormOf } from '../pending/merge.ts';
import { type AccountSteps, createAccountSteps } from './account-steps.ts';
import { createSenders } from './senders.ts';
import { type Asked, createStep, type FeedStep, type Wants } from './step.ts';
import { walletStates } from './token-events.ts';
import { settledTraces } from './trace-events.ts';

export interface StepReader {
  read(mcSeqno: number, signal: AbortSignal): Promise<FeedStep>;
  /** Steps that follow one another, from the first of the range on, with all that is wanted of them: one at least. */
  run(range: StepRange, wants: Wants, signal: AbortSignal): Promise<FeedStep[]>;
  /** The first step from this one on that is there, up to `last`; null when there is none. */
  nextExisting(from: number, last: number, signal: AbortSignal): Promise<number | null>;
  /** Those in which these accounts have transactions, behind a step. */
  ofAccounts(accounts: readonly Address[], mcSeqno: number, signal: AbortSignal): Promise<AccountSteps>;
  first(signal: AbortSignal): Promise<number | null>;
  /** The first step of this time or later; null when there is none. */
  atTime(utime: number, signal: AbortSignal): Promise<number | null>;
}

export interface StepReaderOptions {
  source: ChainSource;
  queryTimeoutMs: number;
  /** Transactions of the steps that are kept. */
  keptTransactions: number;
}

/** Steps on their way, and the signal of who asked for them. */
interface Reading {
  steps: Promise<ReadonlyMap<number, FeedStep>>;
  signal: AbortSignal;
}

/** Of the listings by hash. */
const PAGE = 1000;
/** Hashes in one question. */
const ASKED_AT_ONCE = 500;
const KEPT_TRACES = 100_000;
/** Blocks looked through in one question for a step that is there. */
const LOOKED_THROUGH = 1000;
const MASTERCHAIN = -1;

export function createStepReader({ source, queryTimeoutMs, keptTransactions }: StepReaderOptions): StepReader {
  const context = (signal: AbortSignal): QueryContext => ({ signal, timeoutMs: queryTimeoutMs });
  const kept = new LRUCache<number, FeedStep>({
    maxSize: keptTransactions,
    sizeCalculation: ({ weight }) => weight,
  });
  /** Steps that are on their way, each with all that are read with it. */
  const reading = new Map<number, Reading>();
  const traces = createTraces(source);
  const asked: Asked = {
    source,
    senders: createSenders(source),
    settled: settledTraces(source),
    wallets: walletStates(source),
  };
  const onLoaded = (step: FeedStep): void => void (kept.has(step.mcSeqno) && kept.set(step.mcSeqno, step));

  async function stepsOf(range: StepRange, signal: AbortSignal): Promise<ReadonlyMap<number, FeedStep>> {
    const run = await source.steps(range, context(signal));
    await traces.learn(
      run.steps.flatMap(({ transactions }) => transactions),
      context(signal),
    );
    const steps = new Map<number, FeedStep>();
    for (const { mcSeqno, utime, transactions: records, blocks } of numbered(range.first, run)) {
      const exists = utime !== null || records.length > 0;
      const traceHashes = traces.of(records);
      const facts = { mcSeqno, utime: utime ?? 0, exists, records, blocks, traceHashes };
      const step = createStep({ ...facts, ...asked, context, onLoaded });
      steps.set(mcSeqno, step);
      kept.set(mcSeqno, step);
    }
    return steps;
  }

  /** Those of the range that nobody reads yet, up to the first that somebody has. */
  function begin({ first, last, enough }: StepRange, signal: AbortSignal): Promise<ReadonlyMap<number, FeedStep>> {
    let end = first;
    while (end < last && !kept.has(end + 1) && !reading.has(end + 1)) end++;
    const steps = stepsOf({ first, last: end, enough }, signal).finally(() => {
      for (let at = first; at <= end; at++) reading.delete(at);
    });
    for (let at = first; at <= end; at++) reading.set(at, { steps, signal });
    return steps;
  }

  /** With whoever reads the first of the range already; when he has gone before it came, anew. */
  async function readFrom(range: StepRange, signal: AbortSignal): Promise<ReadonlyMap<number, FeedStep>> {
    for (;;) {
      const under = reading.get(range.first);
      if (under === undefined) return begin(range, signal);
      try {
        return await under.steps;
      } catch (error) {
        if (signal.aborted || !under.signal.aborted) throw error;
      }
    }
  }

  async function read(mcSeqno: number, signal: AbortSignal): Promise<FeedStep> {
    for (;;) {
      const known = kept.get(mcSeqno);
      if (known !== undefined) return known;
      const step = (await readFrom({ first: mcSeqno, last: mcSeqno, enough: 1 }, signal)).get(mcSeqno);
      // Else the others that it was to be read with were enough.
      if (step !== undefined) return step;
    }
  }

  async function run(range: StepRange, wants: Wants, signal: AbortSignal): Promise<FeedStep[]> {
    const { first, last, enough } = range;
    const steps: FeedStep[] = [];
    for (let at = first, count = 0; at <= last && count < enough; at++) {
      const known = kept.get(at);
      if (known === undefined) break;
      steps.push(known);
      count += known.transactions;
    }
    if (steps.length === 0) {
      const found = await readFrom(range, signal);
      for (let at = first; at <= last; at++) {
        const step = found.get(at);
        if (step === undefined) break;
        steps.push(step);
      }
      if (steps.length === 0) steps.push(await read(first, signal));
    }
    await Promise.all(steps.map((step) => (step.has(wants) ? undefined : step.load(wants, signal))));
    return steps;
  }

  return {
    read,
    run,
    async nextExisting(from, last, signal) {
      // Blocks are listed by time: from that of the step before on, not from the beginning of the chain.
      const before = from > 1 ? (await read(from - 1, signal)).utime : 0;
      const filter = blocksIn({ workchain: MASTERCHAIN, utime: { start: before } });
      let cursor: string | null = '';
      while (cursor !== null) {
        const page = await source.blocks({ ...filter, cursor }, context(signal));
        const found = page.rows.find(({ mcSeqno }) => mcSeqno >= from);
        if (found !== undefined) return found.mcSeqno <= last ? found.mcSeqno : null;
        cursor = page.nextCursor;
      }
      return null;
    },
    async ofAccounts(accounts, mcSeqno, signal) {
      const { utime } = await read(mcSeqno, signal);
      return createAccountSteps({ source, accounts, utime, context });
    },
    async first(signal) {
      return (await source.masterchainInfo(context(signal)))?.first.mcSeqno ?? null;
    },
    async atTime(utime, signal) {
      const filter = blocksIn({ workchain: MASTERCHAIN, utime: { start: utime }, limit: 1 });
      const { rows } = await source.blocks(filter, context(signal));
      return rows.at(0)?.mcSeqno ?? null;
    },
  };
}

/** All numbers that were read, in their order, without those in which there is nothing to read of. */
function* numbered(first: number, { steps, last }: StepRun): Generator<StepRecords> {
  const there = new Map(steps.map((step) => [step.mcSeqno, step]));
  for (let mcSeqno = first; mcSeqno <= last; mcSeqno++) {
    yield there.get(mcSeqno) ?? { mcSeqno, utime: null, transactions: [], blocks: [] };
  }
}

/** Normalised hashes of the messages that began traces, by trace id, which is the hash of the first transaction. */
function createTraces(source: ChainSource) {
  const known = new LRUCache<string, string>(atMost(KEPT_TRACES));
  return {
    /** Looks for the traces of these transactions that are not known. */
    async learn(records: readonly TransactionRecord[], context: QueryContext): Promise<void> {
      const missing = new Map<string, Hash>();
      for (const record of records) {
        const { traceId } = record;
        if (traceId === null) continue;
        const key = hashKey(traceId);
        if (traceId.equals(record.transaction.hash)) known.set(key, beganBy(record));
        else if (!known.has(key)) missing.set(key, traceId);
      }
      const hashes = [...missing].flatMap(([key, hash]) => (known.has(key) ? [] : [hash]));
      for (let at = 0; at < hashes.length; at += ASKED_AT_ONCE) {
        const asked = hashes.slice(at, at + ASKED_AT_ONCE);
        const { rows } = await source.transactions(transactionsIn({ hashes: asked }), context);
        for (const record of rows) known.set(hashKey(record.transaction.hash), beganBy(record));
      }
    },
    /** Standard base64, by trace id; empty for a trace that no external message began, or one that began before the log. */
    of(records: readonly TransactionRecord[]): Map<string, string> {
      const hashes = new Map<string, string>();
      for (const { traceId } of records) {
        if (traceId === null) continue;
        const key = hashKey(traceId);
        if (!hashes.has(key)) hashes.set(key, known.get(key) ?? '');
      }
      return hashes;
    },
  };
}

function beganBy({ form, transaction }: TransactionRecord): string {
  if (form !== undefined) {
    return formReceived(form)?.hashNorm ?? '';
  }
  const { inMsg } = transaction;
  if (inMsg === null || inMsg.kind !== 'external_in') return '';
  return hashNormOf(inMsg).toString('base64');
}

function transactionsIn(asked: Partial<TransactionFilter>): TransactionFilter {
  const page = { limit: PAGE, offset: 0 };
  return { accounts: [], excludeAccounts: [], hashes: [], utime: {}, ltWindow: {}, sort: 'asc', page, ...asked };
}

function blocksIn({ limit = LOOKED_THROUGH, ...asked }: Partial<BlockFilter> & { limit?: number }): BlockFilter {
  return { utime: {}, lt: {}, sort: 'asc', page: { limit, offset: 0 }, ...asked };
}
