import type { BoundedSource, ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { QueryContext, TraceFilter, TransactionFilter } from '../chain/records.ts';
import { codeHashOf, createAccounts } from '../window/accounts.ts';
import { actions } from '../window/actions.ts';
import { blocks, masterchainBlock } from '../window/blocks.ts';
import { layoutOf } from '../window/kind.ts';
import { retoldKind } from '../window/kinds.ts';
import { type Beneath, beneathIn, type Opened, type Sides } from '../window/sides.ts';
import { steps } from '../window/steps.ts';
import { traces } from '../window/traces.ts';
import { transactions, transactionsAt } from '../window/transactions.ts';
import type { View } from '../window/view.ts';
import type { Archive } from './archive.ts';
import { BoundedView } from './bounded.ts';
import { messagesByHash } from './messages.ts';

const TOLD_AGAIN = layoutOf(retoldKind, 'trace');

/**
 * What is below a window, from the archive where it knows it, and below the archive from the tables: by the code that
 * lists the window over the tables. An archive that does not reach up to the window is passed over: accounts may have
 * changed in the steps between.
 */
export function beneathArchive(archive: Pick<Archive, 'view'>, clickhouse: ClickHouseSource): Beneath {
  const tables = beneathIn(clickhouse);
  const accounts = createAccounts();

  function sidesOver(view: View, below: number, whole: BoundedSource): Omit<Sides, 'context'> {
    return { view: new BoundedView(view, below), below: clickhouse.below(view.first), whole };
  }

  function under(view: View, window: View): Pick<Sides, 'below' | 'whole'> {
    const alone = tables.open().under(window);
    if (view.head < window.first - 1 || view.first >= window.first) return alone;
    const sides = sidesOver(view, window.first, alone.below);
    const newest: Omit<Sides, 'context'> = { view, below: sides.below, whole: alone.whole };
    const accountStates: BoundedSource['accountStates'] = (wanted, codeHashes, includeBoc, context) =>
      accounts.accountStates(wanted, codeHashes, includeBoc, { ...newest, context });
    const isToldAbove = (traceId: Hash): boolean => window.beside(TOLD_AGAIN, traceId) !== null;
    const below: BoundedSource = {
      ...alone.below,
      transactions: (filter: TransactionFilter, context: QueryContext) => transactions(filter, { ...sides, context }),
      transactionsAt: (places, context) => transactionsAt(places, { ...sides, context }),
      steps: (range, context) => steps(range, { ...sides, context }),
      blocks: (filter, context) => blocks(filter, { ...sides, context }),
      traces: (filter, context) =>
        isNamed(filter) ? alone.below.traces(filter, context) : traces(filter, { ...sides, context, isToldAbove }),
      async actions(filter, context) {
        const ask = () => alone.below.actions(filter, context);
        if (isNamed(filter) || filter.actionIds.length > 0 || filter.toldBelow) return ask();
        const found = await actions(filter, { ...sides, context, isToldAbove });
        return found.rows.some(({ traceId }) => isToldAbove(traceId)) ? ask() : found;
      },
      hasMasterchainBlock: async (seqno, context) =>
        seqno < view.first
          ? sides.below.hasMasterchainBlock(seqno, context)
          : masterchainBlock(sides.view, seqno) !== null,
      accountStates,
      accountCodes: (wanted, context) => accountCodes(wanted, { ...newest, context }),
    };
    const whole: BoundedSource = {
      ...alone.whole,
      accountStates,
      traces: (filter, context) =>
        isFoundByKey(filter)
          ? traces(filter, { ...newest, context, isToldAbove })
          : alone.whole.traces(filter, context),
      async actions(filter, context) {
        const isKept = isFoundByKey(filter) || (!isNamed(filter) && filter.actionIds.length > 0);
        if (!isKept || (filter.told ?? window.head) < window.head) return alone.whole.actions(filter, context);
        const found = await actions({ ...filter, told: window.head }, { ...newest, context, isToldAbove });
        return found.rows.some(({ traceId }) => isToldAbove(traceId)) ? alone.whole.actions(filter, context) : found;
      },
      messages: async (filter, context) => messagesByHash(view, filter) ?? alone.whole.messages(filter, context),
    };
    return { below, whole };
  }

  return {
    open(): Opened {
      const view = archive.view();
      if (view === null) return tables.open();
      return { under: (window) => under(view, window), done: () => view.done() };
    },
  };
}

type Names = Pick<TraceFilter, 'traceIds' | 'txHashes' | 'messageHashes'>;

const isNamed = ({ traceIds, txHashes, messageHashes }: Names): boolean =>
  traceIds.length + txHashes.length + messageHashes.length > 0;

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
