import {
  actionEnds,
  actionOrder,
  compareActions,
  compareByTime,
  nextActions,
  readActionCursor,
} from '../../clickhouse/queries/action-order.ts';
import { type TraceOrder, traceOrder } from '../../clickhouse/queries/traces.ts';
import { contentTest } from '../chain/actions/content.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { ActionFilter, ActionRecord, Rows } from '../chain/records.ts';
import { HeldAction } from './action-row.ts';
import { Candidate } from './candidate.ts';
import { idOf } from './chunk.ts';
import { behindPrefix, columnOf, keyPrefix, layoutOf } from './kind.ts';
import { actionKind, traceKind, typeKey } from './kinds.ts';
import { listPage, pageOf, WHOLE } from './listing.ts';
import { aheadOf, Selected, type Selection } from './select.ts';
import type { Sides } from './sides.ts';
import { isAllOf, tracedHere, traceRows } from './traces.ts';

const CLOCKS = { traceEndLt: 'lt', traceEndUtime: 'utime' } as const;
const BY_ID = layoutOf(actionKind, 'id');
const BY_TRACE = layoutOf(actionKind, 'trace');
/** Actions read for one page of those whose content is asked about: some 10 ms. */
const ENOUGH_CONTENTS = 500;
const TYPE_BYTES = actionKind.columns.type.bytes;
const HASH_BYTES = 32;

/** Actions from the window and the tables below it. */
export async function actions(filter: ActionFilter, sides: Sides): Promise<Rows<ActionRecord>> {
  const { view, below, whole, context } = sides;
  const { mcSeqno, page } = filter;
  const order = traceOrder(filter);
  const told = filter.told ?? view.head;
  if (mcSeqno !== undefined && mcSeqno < view.first) return below.actions({ ...filter, told }, context);
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
  const content = contentTest(filter);
  const says = (row: Candidate): boolean => content === null || content(new HeldAction(row.row).content);
  const isNewer = aheadOf(actionKind, selection, CLOCKS, view.below);
  // What was told again here may be of a trace that has left the window: that is the tables' to tell.
  let toldBelow = false;
  const also = (row: Candidate): boolean => {
    if (!supports(row)) return false;
    // By its key, mostly: rows are read that are shown.
    const isHere = isNewer(row) || row.value(actionKind, 'endMcSeqno') >= view.first;
    toldBelow ||= !isHere;
    return isHere && says(row);
  };
  const load = (row: Candidate): ActionRecord => new HeldAction(row.row);
  const named = namedActions(filter, sides);
  if (named === 'unknown' || (named === null && told < view.head)) return whole.actions(filter, context);
  if (named !== null) {
    // Told again since.
    if (named.rows.some((row) => row.mcSeqno > told)) return whole.actions(filter, context);
    const selected = new Selected(actionKind, selection, (row) => supports(row) && named.test(row) && says(row));
    const found = selected.sorted(named.rows.filter((row) => selected.passes(row)));
    return answer(found.slice(page.offset, page.offset + page.limit).map(load), filter, order);
  }
  const found =
    mcSeqno === undefined
      ? await listPage(view, {
          kind: actionKind,
          selection,
          also,
          ...(content === null ? {} : { enough: ENOUGH_CONTENTS }),
          clocks: CLOCKS,
          page,
          load,
          valuesOf: ({ traceEndLt, traceEndUtime, traceId, number }) => [
            order === 'time' ? traceEndUtime : traceEndLt,
            traceId,
            number,
          ],
          fetch: async (part) => {
            const { rows } = await below.actions({ ...filter, told, toldBelow, page: part }, context);
            return rows.sort((a, b) => compareActions(a, b, filter, order));
          },
        })
      : pageIn(endedIn(mcSeqno, sides), (rows) => pageOf({ kind: actionKind, selection, also, page, load, rows }));
  return found === WHOLE ? whole.actions(filter, context) : answer(found, filter, order);
}

function answer(rows: ActionRecord[], filter: ActionFilter, order: TraceOrder): Rows<ActionRecord> {
  const nextCursor = nextActions(rows, filter, order);
  if (order === 'time') rows.sort((a, b) => compareByTime(a, b, filter));
  return { rows, nextCursor };
}

const pageIn = <R>(rows: Candidate[] | null, page: (rows: Candidate[]) => R[]): R[] | typeof WHOLE =>
  rows === null ? WHOLE : page(rows);

/** The actions of the traces that ended in a step of the window; null where one of them was told again above. */
function endedIn(mcSeqno: number, sides: Sides): Candidate[] | null {
  const { view } = sides;
  const ids = new Map<string, Hash>();
  for (const { row } of view.rowsOf(traceKind, mcSeqno)) {
    if (columnOf(traceKind, row, 'state') !== 'complete') continue;
    const traceId = Buffer.from(columnOf(traceKind, row, 'traceId'));
    ids.set(hashKey(traceId), traceId);
  }
  return actionsOf([...ids.values()], sides);
}

/** Keys of types by the set of these, which most requests share. */
const keysOfTypes = new WeakMap<ReadonlySet<string>, ReadonlySet<string>>();

function typeKeys(types: ReadonlySet<string>): ReadonlySet<string> {
  const known = keysOfTypes.get(types);
  if (known) return known;
  const keys = new Set([...types].map((type) => hashKey(typeKey(type))));
  keysOfTypes.set(types, keys);
  return keys;
}

/** A composite action that the client knows stands for its parts; without it they are shown themselves. */
function supportTest({ types, supported }: ActionFilter): (row: Candidate) => boolean {
  if (supported === null) return () => true;
  const known = typeKeys(supported);
  return (row) => {
    const own = row.locate('type');
    if (types.length === 0 && !known.has(own.toString('latin1', row.at, row.at + TYPE_BYTES))) return false;
    if (row.value(actionKind, 'ancestors') === 0) return true;
    return !new HeldAction(row.row).ancestors.some((type) => supported.has(type));
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
function namedActions(filter: ActionFilter, sides: Sides): Named | 'unknown' | null {
  const { view } = sides;
  const { actionIds, traceIds, txHashes, messageHashes } = filter;
  const traced = txHashes.length > 0 || messageHashes.length > 0;
  if ([actionIds, traceIds, txHashes, messageHashes].filter(({ length }) => length > 0).length > 1) return 'unknown';
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
    const rows = ids && actionsOf(ids, sides);
    if (!transactions || !rows) return 'unknown';
    const wanted = new Set(transactions.map(({ hash }) => hashKey(hash)));
    return { rows, test: (row) => hasTransaction(row, wanted) };
  }
  if (traceIds.length === 0) return null;
  const rows = actionsOf(traceIds, sides);
  return rows === null ? 'unknown' : { rows, test: () => true };
}

/** A trace that grew in the window was completed there, if it was; null where one of them may have been before. */
function actionsOf(traceIds: readonly Hash[], sides: Sides): Candidate[] | null {
  const { view, isToldAbove } = sides;
  const found: Candidate[] = [];
  for (const traceId of distinct(traceIds)) {
    const newest = traceRows(view, traceId, 1);
    if (newest.length === 0 || !isAllOf(newest, sides) || isToldAbove?.(traceId)) return null;
    const low = keyPrefix(actionKind, BY_TRACE, [traceId]);
    for (const { value } of view.range(BY_TRACE, { low, high: behindPrefix(low) })) {
      const id = Buffer.from(idOf(value));
      found.push(Candidate.of(view, actionKind, id, view.row(actionKind, id)));
    }
  }
  return found;
}

function hasTransaction(row: Candidate, wanted: ReadonlySet<string>): boolean {
  const { transactions } = new HeldAction(row.row);
  for (let at = 0; at < transactions.length; at += HASH_BYTES) {
    if (wanted.has(transactions.toString('latin1', at, at + HASH_BYTES))) return true;
  }
  return false;
}
