import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { perTables } from '../../clickhouse/tables-id.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { EventFilter, TokenEvent } from '../chain/contract-records.ts';
import type { BlockRecord, QueryContext } from '../chain/records.ts';
import { actions } from './actions.ts';
import { blocks, edge, masterchainBlock, shardState } from './blocks.ts';
import { events, type Question } from './events.ts';
import { createMemory } from './memory.ts';
import { messages } from './messages.ts';
import { type Beneath, beneathIn, type Sides } from './sides.ts';
import type { WindowState } from './state.ts';
import { steps } from './steps.ts';
import { createTopBalances } from './top.ts';
import { traces } from './traces.ts';
import { adjacentTransactions, transactions, transactionsAt, transactionsByMessage } from './transactions.ts';
import type { WindowView } from './view.ts';
import type { Window } from './window.ts';

interface WindowSides extends Sides {
  view: WindowView;
  memory: Memory;
}

interface Memory extends ReturnType<typeof createMemory> {
  topBalances: ReturnType<typeof createTopBalances>;
  firstBlock: BlockRecord | null;
}

/**
 * Answers from the window what it can, and what lies below its first step from the tables: one boundary, one head, one
 * snapshot a request. While there is no view, the tables answer alone.
 */
export function createWindowSource(
  window: Pick<Window, 'view'>,
  clickhouse: ClickHouseSource,
  beneath: Beneath = beneathIn(clickhouse),
): ChainSource {
  const memoryOf = perTables<Memory>(() => ({
    ...createMemory(clickhouse),
    topBalances: createTopBalances(),
    firstBlock: null,
  }));
  const edges = { first: new WeakMap<WindowState, BlockRecord>(), last: new WeakMap<WindowState, BlockRecord>() };

  async function ask<T>(
    context: QueryContext,
    here: (sides: WindowSides) => Promise<T>,
    elsewhere: () => Promise<T>,
  ): Promise<T> {
    const opened = beneath.open();
    try {
      const view = window.view();
      if (view === null) return await elsewhere();
      try {
        return await here({ view, context, memory: memoryOf(view.state.tables), ...opened.under(view) });
      } finally {
        view.done();
      }
    } finally {
      opened.done();
    }
  }

  /** Looked for once a step: what asks most asks for it. */
  function edgeOf(view: WindowView, end: 'first' | 'last'): BlockRecord | null {
    const known = edges[end].get(view.state);
    if (known) return known;
    const found = edge(view, end);
    if (found) edges[end].set(view.state, found);
    return found;
  }

  /** The first block there is never changes. */
  async function first({ view, below, context, memory }: WindowSides): Promise<BlockRecord | null> {
    if (view.below === null) return edgeOf(view, 'first');
    memory.firstBlock ??= (await below.masterchainInfo(context))?.first ?? null;
    return memory.firstBlock ?? edgeOf(view, 'first');
  }

  function askEvents(question: Question, filter: EventFilter, context: QueryContext): Promise<TokenEvent[]> {
    return ask(
      context,
      (sides) => events(question, filter, sides),
      () => clickhouse.contracts[question](filter, context),
    );
  }

  return {
    masterchainInfo: (context) =>
      ask(
        context,
        async (sides) => {
          const newest = edgeOf(sides.view, 'last');
          const oldest = newest && (await first(sides));
          return newest && oldest ? { first: oldest, last: newest } : sides.whole.masterchainInfo(context);
        },
        () => clickhouse.masterchainInfo(context),
      ),
    hasMasterchainBlock: (seqno, context) =>
      ask(
        context,
        async ({ view, below }) => {
          if (seqno > view.head) return false;
          return seqno < view.first
            ? below.hasMasterchainBlock(seqno, context)
            : masterchainBlock(view, seqno) !== null;
        },
        () => clickhouse.hasMasterchainBlock(seqno, context),
      ),
    blocks: (filter, context) =>
      ask(
        context,
        (sides) => blocks(filter, sides),
        () => clickhouse.blocks(filter, context),
      ),
    shardState: (mcSeqno, context) =>
      ask(
        context,
        (sides) => shardState(mcSeqno, sides),
        () => clickhouse.shardState(mcSeqno, context),
      ),
    steps: (range, context) =>
      ask(
        context,
        (sides) => steps(range, sides),
        () => clickhouse.steps(range, context),
      ),
    transactions: (filter, context) =>
      ask(
        context,
        (sides) => transactions(filter, sides),
        () => clickhouse.transactions(filter, context),
      ),
    transactionsByMessage: (filter, context) =>
      ask(
        context,
        (sides) => transactionsByMessage(filter, sides),
        () => clickhouse.transactionsByMessage(filter, context),
      ),
    adjacentTransactions: (hash, direction, context) =>
      ask(
        context,
        (sides) => adjacentTransactions(hash, direction, sides),
        () => clickhouse.adjacentTransactions(hash, direction, context),
      ),
    transactionsAt: (places, context) =>
      ask(
        context,
        (sides) => transactionsAt(places, sides),
        () => clickhouse.transactionsAt(places, context),
      ),
    traces: (filter, context) =>
      ask(
        context,
        (sides) => traces(filter, sides),
        () => clickhouse.traces(filter, context),
      ),
    actions: (filter, context) =>
      ask(
        context,
        (sides) => actions(filter, sides),
        () => clickhouse.actions(filter, context),
      ),
    messages: (filter, context) =>
      ask(
        context,
        (sides) => messages(filter, sides),
        () => clickhouse.messages(filter, context),
      ),
    accountStates: (wanted, codeHashes, cells, context) =>
      ask(
        context,
        (sides) => sides.memory.accounts.accountStates(wanted, codeHashes, cells, sides),
        () => clickhouse.accountStates(wanted, codeHashes, cells, context),
      ),
    // Of the window's steps the newest states alone are there by key: the tables have all.
    accountStatesAt: (...question) => clickhouse.accountStatesAt(...question),
    book: (wanted, context) =>
      ask(
        context,
        (sides) => sides.memory.accounts.book(wanted, sides),
        () => clickhouse.book(wanted, context),
      ),
    topBalances: (page, context) =>
      ask(
        context,
        (sides) => sides.memory.topBalances(page, sides),
        () => clickhouse.topBalances(page, context),
      ),
    contracts: {
      ...clickhouse.contracts,
      tokens: (candidates, context) =>
        ask(
          context,
          (sides) => sides.memory.tokens(candidates, sides),
          () => clickhouse.contracts.tokens(candidates, context),
        ),
      sellers: (addresses, context) =>
        ask(
          context,
          (sides) => sides.memory.lists.sellers(addresses, sides),
          () => clickhouse.contracts.sellers(addresses, context),
        ),
      walletsAt: (places, context) =>
        ask(
          context,
          (sides) => sides.memory.walletsAt(places, sides),
          () => clickhouse.contracts.walletsAt(places, context),
        ),
      jettonWallets: (filter, context) =>
        ask(
          context,
          async (sides) =>
            (await sides.memory.holders(filter, sides)) ??
            (await sides.memory.lists.wallets(filter, sides)) ??
            sides.whole.contracts.jettonWallets(filter, context),
          () => clickhouse.contracts.jettonWallets(filter, context),
        ),
      jettonMasters: (filter, context) =>
        ask(
          context,
          async (sides) =>
            (await sides.memory.lists.masters(filter, sides)) ?? sides.whole.contracts.jettonMasters(filter, context),
          () => clickhouse.contracts.jettonMasters(filter, context),
        ),
      nftCollections: (filter, context) =>
        ask(
          context,
          async (sides) =>
            (await sides.memory.lists.collections(filter, sides)) ??
            sides.whole.contracts.nftCollections(filter, context),
          () => clickhouse.contracts.nftCollections(filter, context),
        ),
      nftItems: (filter, context) =>
        ask(
          context,
          async (sides) =>
            (await sides.memory.lists.items(filter, sides)) ?? sides.whole.contracts.nftItems(filter, context),
          () => clickhouse.contracts.nftItems(filter, context),
        ),
      dnsRecords: (filter, context) =>
        ask(
          context,
          async (sides) =>
            (await sides.memory.lists.names(filter, sides)) ?? sides.whole.contracts.dnsRecords(filter, context),
          () => clickhouse.contracts.dnsRecords(filter, context),
        ),
      jettonTransfers: (filter, context) => askEvents('jettonTransfers', filter, context),
      jettonBurns: (filter, context) => askEvents('jettonBurns', filter, context),
      nftTransfers: (filter, context) => askEvents('nftTransfers', filter, context),
    },
  };
}
