/** A recorded chain in memory as a source for the feed, whose head can be moved step by step. */
import type { Head } from '../clickhouse/queries/head.ts';
import type { ChainSource } from '../src/chain/chain-source.ts';
import type { KnownState, TransactionRecord } from '../src/chain/records.ts';
import { createFakeSource } from './fake-source.ts';
import { type RecordedChain, type Recording, recordedChain } from './recorded-chain.ts';

export interface FeedSource {
  source: ChainSource;
  head: Pick<Head, 'seqno' | 'onAdvance'>;
  /** Masterchain seqnos that are there, ascending. */
  steps: number[];
  /** All transactions of a step by lt, then account. */
  transactionsOf(mcSeqno: number): TransactionRecord[];
  advance(to: number): void;
  /** The bag of cells that a transaction is stored as. */
  bagOf(record: TransactionRecord): Buffer;
  /** Steps whose transactions were asked for. */
  asked: { steps: number[] };
}

/** A block alone shows the last state of an account only; here every transaction has one. */
const MADE_UP_STATE: KnownState = {
  status: 'active',
  balance: '1000000000',
  extraCurrencies: {},
  frozenHash: null,
  codeHash: Buffer.alloc(32, 1),
  dataHash: null,
};

const decoded = new Map<Recording, RecordedChain>();

/** Decoded once, read by all. */
function chainOf(recording: Recording): RecordedChain {
  const chain = decoded.get(recording) ?? recordedChain(recording);
  decoded.set(recording, chain);
  return chain;
}

export function createFeedSource(recording: Recording): FeedSource {
  const chain = chainOf(recording);
  const byStep = new Map<number, TransactionRecord[]>();
  for (const record of chain.transactions.values()) {
    const { transaction, mcSeqno } = record;
    const began = transaction.inMsg === null || transaction.inMsg.kind === 'external_in';
    const known = { ...record, traceId: began ? transaction.hash : null, after: MADE_UP_STATE };
    byStep.set(mcSeqno, [...(byStep.get(mcSeqno) ?? []), known]);
  }
  for (const rows of byStep.values()) rows.sort(byLt);
  const blocks = [...chain.blocks.values()].sort(
    (a, b) => a.header.genUtime - b.header.genUtime || a.mcSeqno - b.mcSeqno,
  );
  const masterchain = blocks.filter(({ header }) => header.workchain === -1).sort((a, b) => a.mcSeqno - b.mcSeqno);
  let seqno = 0;
  const asked = { steps: [] as number[] };
  const listeners: ((from: number, to: number) => void)[] = [];
  const { source } = createFakeSource({
    masterchainInfo: async () =>
      seqno === 0 ? null : { first: masterchain[0], last: masterchain.find((block) => block.mcSeqno === seqno)! },
    transactions: async ({ mcSeqno, hashes, accounts, cursor, utime }) => {
      if (mcSeqno !== undefined) {
        asked.steps.push(mcSeqno);
        return { rows: byStep.get(mcSeqno) ?? [], nextCursor: null };
      }
      if (accounts.length === 0) {
        return {
          rows: hashes.flatMap((hash) => chain.transactions.get(hash.toString('base64')) ?? []),
          nextCursor: null,
        };
      }
      // In pages of three.
      const from = Number(cursor ?? 0);
      const own = [...byStep.values()]
        .flat()
        .filter(({ transaction: { account, now }, mcSeqno: step }) => {
          return step <= seqno && now >= (utime.start ?? 0) && accounts.some((one) => one.equals(account));
        })
        .sort(byLt);
      return { rows: own.slice(from, from + 3), nextCursor: from + 3 < own.length ? String(from + 3) : null };
    },
    blocks: async ({ mcSeqno, workchain, utime, page }) => ({
      rows: blocks
        .filter((block) => block.mcSeqno <= seqno && (mcSeqno === undefined || block.mcSeqno === mcSeqno))
        .filter(({ header }) => workchain === undefined || header.workchain === workchain)
        .filter(({ header }) => header.genUtime >= (utime.start ?? 0))
        .slice(0, page.limit),
      nextCursor: null,
    }),
    messages: async ({ messageHashes }) => ({
      rows: messageHashes.flatMap((hash) => chain.messages.get(hash.toString('base64')) ?? []),
      nextCursor: null,
    }),
  });
  return {
    source,
    head: {
      get seqno() {
        return seqno;
      },
      onAdvance: (listener) => listeners.push(listener),
    },
    asked,
    steps: masterchain.map((block) => block.mcSeqno),
    transactionsOf: (mcSeqno) => byStep.get(mcSeqno) ?? [],
    bagOf({ transaction: { hash } }) {
      const bag = chain.bags.get(hash.toString('base64'));
      if (bag === undefined) throw new Error(`transaction ${hash.toString('hex')} is not recorded`);
      return bag();
    },
    advance(to) {
      const from = seqno;
      seqno = to;
      for (const listener of listeners) listener(from, to);
    },
  };
}

function byLt({ transaction: a }: TransactionRecord, { transaction: b }: TransactionRecord): number {
  return a.lt.length - b.lt.length || (a.lt < b.lt ? -1 : a.lt > b.lt ? 1 : a.account.compare(b.account));
}
