import {
  actionEnds,
  actionOrder,
  compareActions,
  compareByTime,
  nextActions,
  readActionCursor,
} from '../../clickhouse/queries/actions.ts';
import { type TraceOrder, traceOrder } from '../../clickhouse/queries/traces.ts';
import type { Hash } from '../chain/model.ts';
import type { ActionFilter, ActionRecord, Rows } from '../chain/records.ts';
import { HeldAction } from './action-row.ts';
import { behindPrefix, columnOf, idOf, keyPrefix, layoutOf } from './kind.ts';
import { actionKind, typeKey } from './kinds.ts';
import { listPage, stepPage, WHOLE } from './listing.ts';
import { Candidate, Selected, type Selection } from './select.ts';
import { distinct, type Sides, text } from './sides.ts';
import { tracedHere, traceRows } from './traces.ts';
import type { View } from './view.ts';

const CLOCKS = { traceEndLt: 'lt', traceEndUtime: 'utime' } as const;
const BY_ID = layoutOf(actionKind, 'id');
const BY_TRACE = layoutOf(actionKind, 'trace');
const TYPE_BYTES = actionKind.columns.type.bytes;
const HASH_BYTES = 32;

/** Actions from the window and the tables below it. */
export async function actions(filter: ActionFilter, sides: Sides): Promise<Rows<ActionRecord>> {
  const { view, below, whole, context } = sides;
  const { mcSeqno, page } = filter;
  const order = traceOrder(filter);
  if (mcSeqno !== undefined && mcSeqno < view.first) return below.actions(filter, context);
  const selection: Selection = {
    where: [
      ...actionEnds(filter),
      ...(filter.accounts.length > 0 ? [{ column: 'account', in: filter.accounts }] : []),
      ...(filter.excludeAccounts.length > 0 ? [{ column: 'account', notIn: filter.excludeAccounts }] : []),
      ...(filter.types.length > 0 ? [{ column: 'type', in: filter.types.map(typeKey) }] : []),
      ...(filter.excludeTypes.length > 0 ? [{ column: 'type', notIn: filter.excludeTypes.map(typeKey) }] : []),
    ],
    order: actionOrder(filter, order),
    after: readActionCursor(filter, order),
  };
  const supports = supportTest(filter);
  const load = (row: Candidate): ActionRecord => new HeldAction(row.row, row.mcSeqno);
  const named = namedActions(filter, view);
  if (named === 'unknown') return whole.actions(filter, context);
  if (named !== null) {
    const selected = new Selected(actionKind, selection, (row) => supports(row) && named.test(row));
    const found = selected.sorted(named.rows.filter((row) => selected.passes(row)));
    return answer(found.slice(page.offset, page.offset + page.limit).map(load), filter, order);
  }
  const found =
    mcSeqno === undefined
      ? await listPage(view, {
          kind: actionKind,
          selection,
          also: supports,
          clocks: CLOCKS,
          page,
          load,
          valuesOf: ({ traceEndLt, traceEndUtime, traceId, number }) => [
            order === 'time' ? traceEndUtime : traceEndLt,
            traceId,
            number,
          ],
          fetch: async (part) => {
            const { rows } = await below.actions({ ...filter, page: part }, context);
            return rows.sort((a, b) => compareActions(a, b, filter, order));
          },
        })
      : stepPage(view, { kind: actionKind, selection, also: supports, page, load, mcSeqno });
  return found === WHOLE ? whole.actions(filter, context) : answer(found, filter, order);
}

function answer(rows: ActionRecord[], filter: ActionFilter, order: TraceOrder): Rows<ActionRecord> {
  const nextCursor = nextActions(rows, filter, order);
  if (order === 'time') rows.sort((a, b) => compareByTime(a, b, filter));
  return { rows, nextCursor };
}

/** A composite action that the client knows stands for its parts; without it they are shown themselves. */
function supportTest({ types, supported }: ActionFilter): (row: Candidate) => boolean {
  if (supported === null) return () => true;
  const known = new Set([...supported].map((type) => text(typeKey(type))));
  return (row) => {
    const own = row.locate('type');
    if (types.length === 0 && !known.has(own.toString('latin1', row.at, row.at + TYPE_BYTES))) return false;
    if (row.value(actionKind, 'ancestors') === 0) return true;
    return !new HeldAction(row.row, row.mcSeqno).ancestors.some((type) => supported.has(type));
  };
}

interface Named {
  rows: Candidate[];
  /** What else must hold of them. */
  test: (row: Candidate) => boolean;
}

/**
 * The actions that a filter names, by themselves, their traces or their transactions; null when it names none, `unknown`
 * where the window does not tell.
 */
function namedActions(filter: ActionFilter, view: View): Named | 'unknown' | null {
  const { actionIds, traceIds, txHashes, messageHashes } = filter;
  const traced = txHashes.length > 0 || messageHashes.length > 0;
  if ([actionIds.length > 0, traceIds.length > 0, traced].filter(Boolean).length > 1) return 'unknown';
  if (actionIds.length > 0) {
    const rows = distinct(actionIds).map((actionId) => {
      const found = view.find(actionKind, BY_ID, [actionId]);
      return found && columnOf(actionKind, found.row, 'actionId').equals(actionId)
        ? Candidate.of(view, actionKind, found.id, found.row)
        : null;
    });
    return rows.every((row) => row !== null) ? { rows, test: () => true } : 'unknown';
  }
  if (traced) {
    const transactions = tracedHere(filter, view);
    const ids = transactions?.map(({ traceId }) => traceId);
    const rows = ids && actionsOf(ids, view);
    if (!transactions || !rows) return 'unknown';
    const wanted = new Set(transactions.map(({ hash }) => text(hash)));
    return { rows, test: (row) => hasTransaction(row, wanted) };
  }
  if (traceIds.length === 0) return null;
  const rows = actionsOf(traceIds, view);
  return rows === null ? 'unknown' : { rows, test: () => true };
}

/** A trace that grew in the window was completed there, if it was; null where one of them may have been before. */
function actionsOf(traceIds: readonly Hash[], view: View): Candidate[] | null {
  const found: Candidate[] = [];
  for (const traceId of distinct(traceIds)) {
    if (traceRows(view, traceId).length === 0) return null;
    const low = keyPrefix(actionKind, BY_TRACE, [traceId]);
    for (const { value } of view.range(BY_TRACE, { low, high: behindPrefix(low) })) {
      const id = Buffer.from(idOf(value));
      found.push(Candidate.of(view, actionKind, id, view.row(actionKind, id)));
    }
  }
  return found;
}

function hasTransaction(row: Candidate, wanted: ReadonlySet<string>): boolean {
  const { transactions } = new HeldAction(row.row, row.mcSeqno);
  for (let at = 0; at < transactions.length; at += HASH_BYTES) {
    if (wanted.has(transactions.toString('latin1', at, at + HASH_BYTES))) return true;
  }
  return false;
}
