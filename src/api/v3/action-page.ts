/**
 * A page of actions in the order of the contract. Inside a trace sources cut it by `end_lt`; of a time window it ends by
 * `end_utime`, then id (spec v3 endpoints 4.3), which is another order of those that end in one second.
 */
import { compareActions } from '../../../clickhouse/queries/action-order.ts';
import { traceOrder } from '../../../clickhouse/queries/traces.ts';
import { distinct, hashKey } from '../../chain/hash.ts';
import type { Hash } from '../../chain/model.ts';
import type { ActionFilter, ActionRecord, Rows } from '../../chain/records.ts';
import type { Asked } from './route.ts';

/** More than two traces have: an action's place in its trace is a number of 16 bits. */
const ALL = { limit: 2 * 65_536, offset: 0 };

export async function actionPage(
  filter: ActionFilter,
  { source, context }: Pick<Asked, 'source' | 'context'>,
): Promise<Rows<ActionRecord>> {
  const page = await source.actions(filter, context);
  const traceIds = traceOrder(filter) === 'time' ? cutTraces(page.rows, filter) : [];
  if (traceIds.length === 0) return page;
  // Without the page's place, which is inside one of them.
  const { rows: whole } = await source.actions({ ...filter, traceIds, page: ALL, cursor: undefined }, context);
  const rows = [...page.rows];
  for (const traceId of traceIds) {
    const start = rows.findIndex((row) => row.traceId.equals(traceId));
    const shown = rows.filter((row) => row.traceId.equals(traceId));
    const all = whole.filter((row) => row.traceId.equals(traceId));
    const first = placeOf(shown, all, filter);
    // Told again between the two questions.
    if (first !== null) rows.splice(start, shown.length, ...all.slice(first, first + shown.length));
  }
  return { ...page, rows };
}

/** The traces in which a page begins or ends, where there may be more of them. */
function cutTraces(rows: readonly ActionRecord[], { page: { limit, offset }, cursor }: ActionFilter): Hash[] {
  const begun = offset > 0 || (cursor !== undefined && cursor !== '') ? rows.slice(0, 1) : [];
  const unfinished = rows.length < limit ? [] : rows.slice(-1);
  return distinct([...begun, ...unfinished].map(({ traceId }) => traceId));
}

/** How many of a trace the sources put before those of the page; null where these are not among them. */
function placeOf(shown: readonly ActionRecord[], all: readonly ActionRecord[], filter: ActionFilter): number | null {
  const byNumber = (rows: readonly ActionRecord[]): string[] =>
    [...rows].sort((a, b) => compareActions(a, b, filter, 'time')).map(({ actionId }) => hashKey(actionId));
  const [ours, theirs] = [byNumber(shown), byNumber(all)];
  const first = theirs.indexOf(ours[0]);
  return first >= 0 && ours.every((id, i) => theirs[first + i] === id) ? first : null;
}
