/** A recorded chain, told step by step by a server of the feed; both are new for each test. */
import { afterEach, beforeEach, expect } from 'vitest';
import { rawAddress } from '../src/chain/address.ts';
import type { TransactionRecord } from '../src/chain/records.ts';
import type { FeedLimits } from '../src/feed/streaming.ts';
import { type FeedServer, serveFeed } from './feed-server.ts';
import { createFeedSource, type FeedSource } from './feed-source.ts';

export interface FedChain {
  readonly chain: FeedSource;
  readonly server: FeedServer;
  /** Begins to tell at this place of the list of steps. */
  start(at: number, limits?: Partial<FeedLimits>): Promise<void>;
  /** Tells all steps before this place, one after the other. */
  advanceTo(to: number): Promise<void>;
  /** Hashes of all transactions of the steps from one place of the list to another, in the order of the chain. */
  hashes(from: number, to: number): string[];
  /** The account with the most transactions between two places. */
  busiest(from: number, to: number): { address: string; transactions: string[] };
}

export const hashOf = ({ transaction }: Pick<TransactionRecord, 'transaction'>): string =>
  transaction.hash.toString('base64');

/** Hashes of the transactions that were told. */
export function told(events: Record<string, unknown>[], type = 'transactions'): string[] {
  return events
    .filter((event) => event.type === type)
    .flatMap((event) => (event.transactions as { hash: string }[]).map(({ hash }) => hash));
}

/** For a whole file: fails each test whose server failed at something. */
export function useFedChain(): FedChain {
  let chain: FeedSource;
  let server: FeedServer;

  beforeEach(() => {
    chain = createFeedSource('private');
  });

  afterEach(async () => {
    await server.close();
    expect(server.failures).toEqual([]);
  });

  return {
    get chain() {
      return chain;
    },
    get server() {
      return server;
    },
    async start(at, limits = {}) {
      chain.advance(chain.steps[at]);
      server = await serveFeed(chain, limits);
    },
    async advanceTo(to) {
      for (const step of chain.steps.slice(0, to)) {
        if (step <= chain.head.seqno) continue;
        chain.advance(step);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    hashes: (from, to) => chain.steps.slice(from, to).flatMap((step) => chain.transactionsOf(step).map(hashOf)),
    busiest(from, to) {
      const found = new Map<string, string[]>();
      for (const step of chain.steps.slice(from, to)) {
        for (const record of chain.transactionsOf(step)) {
          const address = rawAddress(record.transaction.account);
          found.set(address, [...(found.get(address) ?? []), hashOf(record)]);
        }
      }
      const [[address, transactions]] = [...found].sort((a, b) => b[1].length - a[1].length);
      return { address, transactions };
    },
  };
}
