import type { BoundedSource, ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { perTables } from '../../clickhouse/tables-id.ts';
import type { EventFilter, TokenEvent } from '../chain/contract-records.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { ActionFilter, MessageFilter, QueryContext, TraceFilter, TransactionFilter } from '../chain/records.ts';
import { codeHashOf } from '../window/accounts.ts';
import { actions } from '../window/actions.ts';
import { blocks, masterchainBlock } from '../window/blocks.ts';
import { events, type Question } from '../window/events.ts';
import { layoutOf } from '../window/kind.ts';
import { retoldKind } from '../window/kinds.ts';
import { createMemory } from '../window/memory.ts';
import { hasMessage } from '../window/messages.ts';
import { type Beneath, beneathIn, type Opened, type Sides, type Under } from '../window/sides.ts';
import { steps } from '../window/steps.ts';
import { traces } from '../window/traces.ts';
import {
  endsIn,
  neighboursOf,
  transactions,
  transactionsAround,
  transactionsAt,
  transactionsInOrder,
} from '../window/transactions.ts';
import type { WindowView } from '../window/view.ts';
import type { Archive } from './archive.ts';
import { BoundedView } from './bounded.ts';
import { endsIn as endsInArchive, messageEndsByHash, messagesByHash } from './messages.ts';
import type { ArchiveView } from './view.ts';

const TOLD_AGAIN = layoutOf(retoldKind, 'trace');

/**
 * What is below a window, from the archive where it knows it, and below the archive from the tables: by the code that
 * lists the window over the tables. An archive that does not reach up to the window is passed over: accounts may have
 * changed in the steps between; so is one of other tables, until it has begun anew.
 */
export function beneathArchive(archive: Pick<Archive, 'view'>, clickhouse: ClickHouseSource): Beneath {
  const tables = beneathIn(clickhouse);
  const memoryOf = perTables(() => createMemory(clickhouse));

  function underBoth(view: ArchiveView, window: WindowView): Under {
    const alone = tables.open().under(window);
    if (view.head < window.first - 1 || view.first >= window.first || isOfOthers(view, window)) return alone;
    const { accounts, tokens, lists } = memoryOf(view.state.tables);
    const { wholeTo } = alone;
    const own: Omit<Sides, 'context'> = { view, below: clickhouse.below(view.first), whole: alone.whole, wholeTo };
    const sides = { ...own, view: new BoundedView(view, window.first), whole: alone.below };
    const accountStates: BoundedSource['accountStates'] = (wanted, codeHashes, cells, context) =>
      accounts.accountStates(wanted, codeHashes, cells, { ...own, context });
    const isToldAbove = (traceId: Hash): boolean => window.beside(TOLD_AGAIN, traceId) !== null;
    const askEvents =
      (question: Question) =>
      (filter: EventFilter, context: QueryContext): Promise<TokenEvent[]> =>
        events(question, filter, { ...sides, context });
    const below: BoundedSource = {
      ...alone.below,
      transactions: (filter: TransactionFilter, context: QueryContext) => transactions(filter, { ...sides, context }),
      transactionsAt: (places, context) => transactionsAt(places, { ...sides, context }),
      steps: (range, context) => steps(range, { ...sides, context }),
      blocks: (filter, context) => blocks(filter, { ...sides, context }),
      events: {
        ...alone.below.events,
        jettonTransfers: askEvents('jettonTransfers'),
        jettonBurns: askEvents('jettonBurns'),
        nftTransfers: askEvents('nftTransfers'),
      },
      traces: (filter, context) =>
        isNamed(filter) ? alone.below.traces(filter, context) : traces(filter, { ...sides, context, isToldAbove }),
      async actions(filter, context) {
        const ask = () => alone.below.actions(filter, context);
        if (isNamed(filter) || filter.actionIds.length > 0 || filter.toldBelow || isOfType(filter)) return ask();
        const found = await actions(filter, { ...sides, context, isToldAbove });
        return found.rows.some(({ traceId }) => isToldAbove(traceId)) ? ask() : found;
      },
      hasMasterchainBlock: async (seqno, context) =>
        seqno < view.first
          ? sides.below.hasMasterchainBlock(seqno, context)
          : masterchainBlock(sides.view, seqno) !== null,
      accountStates,
      accountCodes: (wanted, context) => accountCodes(wanted, { ...own, context }),
    };
    const { contracts } = alone.whole;
    /**
     * Of several messages the window may have some: what was sent before and received in it is known there as a whole,
     * and here perhaps as sent alone. One by itself is asked for here only when the window does not have it.
     */
    const isAbove = ({ messageHashes }: Pick<MessageFilter, 'messageHashes'>): boolean =>
      messageHashes.length > 1 && messageHashes.some((hash) => hasMessage(window, hash));
    const inWindow: Omit<Sides, 'context'> = { view: window, below, whole: alone.whole, wholeTo };
    const whole: BoundedSource = {
      ...alone.whole,
      accountStates,
      contracts: {
        ...contracts,
        tokens: (candidates, context) => tokens(candidates, { ...own, context }),
        jettonMasters: async (filter, context) =>
          (await lists.masters(filter, { ...own, context })) ?? contracts.jettonMasters(filter, context),
        nftCollections: async (filter, context) =>
          (await lists.collections(filter, { ...own, context })) ?? contracts.nftCollections(filter, context),
        jettonWallets: async (filter, context) =>
          (await lists.wallets(filter, { ...own, context })) ?? contracts.jettonWallets(filter, context),
        nftItems: async (filter, context) =>
          (await lists.items(filter, { ...own, context })) ?? contracts.nftItems(filter, context),
        dnsRecords: async (filter, context) =>
          (await lists.names(filter, { ...own, context })) ?? contracts.dnsRecords(filter, context),
      },
      traces: (filter, context) =>
        isFoundByKey(filter) ? traces(filter, { ...own, context, isToldAbove }) : alone.whole.traces(filter, context),
      async actions(filter, context) {
        const isKept = isFoundByKey(filter) || (!isNamed(filter) && filter.actionIds.length > 0);
        if (!isKept || (filter.told ?? window.head) < window.head) return alone.whole.actions(filter, context);
        const found = await actions({ ...filter, told: window.head }, { ...own, context, isToldAbove });
        return found.rows.some(({ traceId }) => isToldAbove(traceId)) ? alone.whole.actions(filter, context) : found;
      },
      messages: async (filter, context) =>
        (isAbove(filter) ? null : messagesByHash(view, filter, context)) ?? alone.whole.messages(filter, context),
      async transactionsByMessage(filter, context) {
        const found = isAbove(filter) ? null : messageEndsByHash(view, filter);
        if (found === null) return alone.whole.transactionsByMessage(filter, context);
        return transactionsAround(found, filter, { ...inWindow, context });
      },
      async adjacentTransactions(hash, direction, context) {
        const [above, here] = [endsIn(window), endsInArchive(view)];
        const places = neighboursOf(view, hash, direction, {
          sender: (message, receiver) => above.sender(message, receiver) ?? here.sender(message, receiver),
          receiver: (message, sender) => above.receiver(message, sender) ?? here.receiver(message, sender),
        });
        if (places === null) return alone.whole.adjacentTransactions(hash, direction, context);
        return transactionsInOrder(places, { ...inWindow, context });
      },
    };
    return { below, whole, wholeTo: view.head };
  }

  return {
    open(): Opened {
      const view = archive.view();
      if (view === null) return tables.open();
      return { under: (window) => underBoth(view, window), done: () => view.done() };
    },
  };
}

/** Filled from other tables than those of the window, where it is known which these are. */
const isOfOthers = ({ state: { tables } }: ArchiveView, { state }: WindowView): boolean =>
  state.tables !== '' && state.tables !== tables;

type Names = Pick<TraceFilter, 'traceIds' | 'txHashes' | 'messageHashes'>;

const isNamed = ({ traceIds, txHashes, messageHashes }: Names): boolean =>
  traceIds.length + txHashes.length + messageHashes.length > 0;

/** Found by its type: no keys are kept of that. */
const isOfType = ({ types, accounts }: Pick<ActionFilter, 'types' | 'accounts'>): boolean =>
  types.length > 0 && accounts.length === 0;

/** Messages are kept otherwise than in the window. */
const isFoundByKey = (filter: Names): boolean => isNamed(filter) && filter.messageHashes.length === 0;

/** The newest code of each account that has one, by the account as latin1 text. */
async function accountCodes(accounts: readonly Address[], { view, below, context }: Sides): Promise<Map<string, Hash>> {
  const found = new Map<string, Hash>();
  const missing: Address[] = [];
  for (const account of distinct(accounts)) {
    const code = codeHashOf(view, account);
    if (code === undefined) missing.push(account);
    else if (code !== null) found.set(hashKey(account), code);
  }
  if (missing.length > 0 && view.below !== null) {
    for (const [account, code] of await below.accountCodes(missing, context)) found.set(account, code);
  }
  return found;
}
