/** Steps read for the feed: once for all who are at the same place, the newest ones kept. */
import { LRUCache } from 'lru-cache';
import { formMessages } from '../api/v3/render/forms.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { BlockFilter, QueryContext, TransactionFilter, TransactionRecord } from '../chain/records.ts';
import { type AccountSteps, createAccountSteps } from './account-steps.ts';
import { createSenders } from './senders.ts';
import { createStep, type FeedStep } from './step.ts';

export interface StepReader {
  read(mcSeqno: number, signal: AbortSignal): Promise<FeedStep>;
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
  const reading = new Map<number, Promise<FeedStep>>();
  const traces = createTraces(source);
  const senders = createSenders(source);

  async function transactionsOf(mcSeqno: number, signal: AbortSignal): Promise<TransactionRecord[]> {
    const records: TransactionRecord[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await source.transactions(transactionsIn({ mcSeqno, cursor }), {
        ...context(signal),
        withForms: true,
      });
      records.push(...page.rows);
      cursor = page.nextCursor;
    }
    return records;
  }

  async function make(mcSeqno: number, signal: AbortSignal): Promise<FeedStep> {
    const [records, { rows: blocks }] = await Promise.all([
      transactionsOf(mcSeqno, signal),
      source.blocks(blocksIn({ mcSeqno }), context(signal)),
    ]);
    const masterchain = blocks.find(({ header }) => header.workchain === MASTERCHAIN);
    const utime = masterchain?.header.genUtime ?? 0;
    const exists = masterchain !== undefined || records.length > 0;
    const traceHashes = await traces.of(records, context(signal));
    const onLoaded = (step: FeedStep): void => void (kept.has(mcSeqno) && kept.set(mcSeqno, step));
    return createStep({ mcSeqno, utime, exists, records, blocks, traceHashes, source, senders, context, onLoaded });
  }

  async function read(mcSeqno: number, signal: AbortSignal): Promise<FeedStep> {
    const there = kept.get(mcSeqno) ?? reading.get(mcSeqno);
    if (there !== undefined) return there;
    const made = make(mcSeqno, signal).finally(() => reading.delete(mcSeqno));
    reading.set(mcSeqno, made);
    const step = await made;
    kept.set(mcSeqno, step);
    return step;
  }

  return {
    read,
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

/** Normalised hashes of the messages that began traces, by trace id, which is the hash of the first transaction. */
function createTraces(source: ChainSource) {
  const known = new LRUCache<string, string>({ max: KEPT_TRACES });
  return {
    /** Standard base64; empty for a trace that no external message began. Traces that are not known are left out. */
    async of(records: readonly TransactionRecord[], context: QueryContext): Promise<Map<string, string>> {
      for (const record of records) {
        if (record.traceId?.equals(record.transaction.hash)) known.set(hashKey(record.traceId), beganBy(record));
      }
      const missing = new Map<string, Hash>();
      for (const { traceId } of records) {
        if (traceId !== null && !known.has(hashKey(traceId))) missing.set(hashKey(traceId), traceId);
      }
      const hashes = [...missing.values()];
      for (let at = 0; at < hashes.length; at += ASKED_AT_ONCE) {
        const asked = hashes.slice(at, at + ASKED_AT_ONCE);
        const { rows } = await source.transactions(transactionsIn({ hashes: asked }), context);
        for (const record of rows) known.set(hashKey(record.transaction.hash), beganBy(record));
      }
      const ids = records.flatMap(({ traceId }) => (traceId === null ? [] : [hashKey(traceId)]));
      return new Map(ids.map((id) => [id, known.get(id) ?? '']));
    },
  };
}

function beganBy({ form, transaction }: TransactionRecord): string {
  if (form !== undefined) {
    const [first] = formMessages(form);
    return first?.index === 0 ? (first.hashNorm ?? '') : '';
  }
  const { inMsg } = transaction;
  if (inMsg === null || inMsg.kind !== 'external_in') return '';
  return (inMsg.hashNorm() ?? inMsg.hash).toString('base64');
}

function transactionsIn(asked: Partial<TransactionFilter>): TransactionFilter {
  const page = { limit: PAGE, offset: 0 };
  return { accounts: [], excludeAccounts: [], hashes: [], utime: {}, ltWindow: {}, sort: 'asc', page, ...asked };
}

function blocksIn({ limit = LOOKED_THROUGH, ...asked }: Partial<BlockFilter> & { limit?: number }): BlockFilter {
  return { utime: {}, lt: {}, sort: 'asc', page: { limit, offset: 0 }, ...asked };
}
