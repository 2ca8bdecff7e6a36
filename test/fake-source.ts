/** A source for tests that knows nothing but what it is given, and notes what it was asked. */

import type { ChainSource } from '../src/chain/chain-source.ts';
import type { ContractSource } from '../src/chain/contract-records.ts';
import type { StepRecords, TransactionRecord } from '../src/chain/records.ts';

export interface FakeSource {
  source: ChainSource;
  /** The arguments of every call by method. */
  asked: { method: string; args: readonly unknown[] }[];
}

const EMPTY: Omit<ChainSource, 'steps'> = {
  masterchainInfo: async () => null,
  hasMasterchainBlock: async () => false,
  blocks: async () => ({ rows: [], nextCursor: null }),
  shardState: async () => [],
  transactions: async () => ({ rows: [], nextCursor: null }),
  transactionsByMessage: async () => [],
  adjacentTransactions: async () => [],
  transactionsAt: async () => [],
  messages: async () => ({ rows: [], nextCursor: null }),
  traces: async () => ({ rows: [], nextCursor: null }),
  actions: async () => ({ rows: [], nextCursor: null }),
  accountStates: async () => [],
  accountStatesAt: async () => [],
  book: async (accounts) => accounts.map((account) => ({ account, codeHash: null, methods: null })),
  topBalances: async () => [],
  contracts: noContracts(),
};

/** Contracts of which nothing is known. */
export function noContracts(): ContractSource {
  const none = async (): Promise<[]> => [];
  return {
    domainOf: () => null,
    jettonMasters: none,
    jettonWallets: none,
    jettonHolders: none,
    jettonBalances: none,
    jettonTransfers: none,
    jettonBurns: none,
    transferTokens: none,
    walletsAt: none,
    nftCollections: none,
    nftItems: none,
    nftTransfers: none,
    sellers: async () => ({ sales: [], auctions: [] }),
    nftSales: async () => ({ sales: [], auctions: [], telemint: [], items: new Map() }),
    dnsRecords: none,
    multisigWallets: none,
    multisigOrders: none,
    vestingContracts: none,
    tokens: async () => ({ items: [], collections: [], masters: [], wallets: [] }),
    documents: async () => new Map(),
  };
}

export function createFakeSource(answers: Partial<ChainSource> = {}): FakeSource {
  const asked: FakeSource['asked'] = [];
  const source: ChainSource = new Proxy(
    { ...EMPTY, steps: listedSteps(() => source), ...answers },
    {
      get(target, method, receiver) {
        const answer: unknown = Reflect.get(target, method, receiver);
        if (typeof answer !== 'function') return answer;
        return (...args: unknown[]) => {
          asked.push({ method: String(method), args });
          return Reflect.apply(answer, target, args);
        };
      },
    },
  );
  return { source, asked };
}

/** Whole steps as the listings have them. */
function listedSteps(source: () => Pick<ChainSource, 'blocks' | 'transactions'>): ChainSource['steps'] {
  const rest = { utime: {}, sort: 'asc' as const };
  return async ({ first, last, enough }, context) => {
    const steps: StepRecords[] = [];
    let mcSeqno = first;
    for (let count = 0; mcSeqno <= last && count < enough; mcSeqno++) {
      const page = { limit: 1000, offset: 0 };
      const transactions: TransactionRecord[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const asked = { accounts: [], excludeAccounts: [], hashes: [], ltWindow: {}, mcSeqno, cursor, page, ...rest };
        const found = await source().transactions(asked, context);
        transactions.push(...found.rows);
        cursor = found.nextCursor;
      }
      const { rows: blocks } = await source().blocks({ mcSeqno, lt: {}, page, ...rest }, context);
      if (blocks.length === 0 && transactions.length === 0) continue;
      const utime = blocks.find(({ header }) => header.workchain === -1)?.header.genUtime ?? null;
      steps.push({ mcSeqno, utime, transactions, blocks });
      count += transactions.length;
    }
    return { steps, last: mcSeqno - 1 };
  };
}
