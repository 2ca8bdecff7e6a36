/** Whole steps as a source gives them, and as its listings have them. */
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { ChainSource } from '../src/chain/chain-source.ts';
import type { BlockRecord, Rows, TransactionFilter, TransactionRecord } from '../src/chain/records.ts';
import type { PublishedStep } from '../streams/steps-topic.ts';
import { context } from './windowed.ts';

export const EVERYTHING: TransactionFilter = {
  accounts: [],
  excludeAccounts: [],
  hashes: [],
  utime: {},
  ltWindow: {},
  sort: 'desc',
  page: { limit: 1_000, offset: 0 },
};

interface ToldStep {
  utime: number | null;
  transactions: string[];
  blocks: string[];
}

/** Short: what differs is printed whole. */
const digestOf = (told: unknown): string => createHash('sha256').update(JSON.stringify(told)).digest('base64');

const transactionDigest = ({ mcSeqno, block, traceId, globalVersion, stored }: TransactionRecord): string =>
  digestOf([mcSeqno, block, traceId, globalVersion, stored]);

const blockDigest = ({ header, txCount, createdBy, randSeed }: BlockRecord): string =>
  digestOf([header, txCount, createdBy, randSeed]);

/** Each step that a source gives, from the first to the last of these, as many at once as it likes. */
export async function wholeSteps(source: ChainSource, steps: readonly PublishedStep[], enough: number) {
  const told = new Map<number, ToldStep>();
  const last = steps[steps.length - 1].step.mcSeqno;
  for (let first = steps[0].step.mcSeqno; first <= last; ) {
    const run = await source.steps({ first, last, enough }, context());
    expect(run.last).toBeGreaterThanOrEqual(first);
    expect(run.last).toBeLessThanOrEqual(last);
    for (const { mcSeqno, utime, transactions, blocks } of run.steps) {
      expect(told.has(mcSeqno)).toBe(false);
      expect(mcSeqno).toBeLessThanOrEqual(run.last);
      told.set(mcSeqno, { utime, transactions: transactions.map(transactionDigest), blocks: blocks.map(blockDigest) });
    }
    first = run.last + 1;
  }
  return told;
}

/** The same of the listings. */
export async function listedSteps(source: ChainSource) {
  const told = new Map<number, ToldStep>();
  const at = (mcSeqno: number): ToldStep => {
    const found = told.get(mcSeqno) ?? { utime: null, transactions: [], blocks: [] };
    told.set(mcSeqno, found);
    return found;
  };
  const everyBlock = { utime: {}, lt: {}, sort: 'asc', page: { limit: 1_000, offset: 0 } } as const;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Rows<BlockRecord> = await source.blocks({ ...everyBlock, cursor }, context());
    for (const block of page.rows) {
      const step = at(block.mcSeqno);
      step.blocks.push(blockDigest(block));
      if (block.header.workchain === -1) step.utime = block.header.genUtime;
    }
    cursor = page.nextCursor;
  }
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Rows<TransactionRecord> = await source.transactions({ ...EVERYTHING, sort: 'asc', cursor }, context());
    for (const record of page.rows) at(record.mcSeqno).transactions.push(transactionDigest(record));
    cursor = page.nextCursor;
  }
  return told;
}
