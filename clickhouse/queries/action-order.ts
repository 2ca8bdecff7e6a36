/** The order of actions, what a cursor of them says, and where their traces end: by tables and window alike. */
import { compareDecimal } from '../../src/chain/decimal.ts';
import type { ActionFilter, ActionRecord } from '../../src/chain/records.ts';
import type { ActionRow } from '../tables/actions.ts';
import type { Condition, Sorted } from './conditions.ts';
import { HEX32, LT, makeCursor, readCursor, TIME } from './keys.ts';
import type { TraceOrder } from './traces.ts';

export type ActionKey = Pick<
  ActionRow,
  'traceEndLt' | 'traceId' | 'number' | 'mcSeqno' | 'endMcSeqno' | 'traceEndUtime' | 'type' | 'ancestors'
>;

/** Of an action in its trace: 16 bits. */
const NUMBER = { test: (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 0xffff };

export function compareActions(a: ActionRecord, b: ActionRecord, { sort }: ActionFilter, order: TraceOrder): number {
  const byEnd = order === 'time' ? a.traceEndUtime - b.traceEndUtime : compareDecimal(a.traceEndLt, b.traceEndLt);
  return (sort === 'asc' ? 1 : -1) * (byEnd || a.traceId.compare(b.traceId) || a.number - b.number);
}

/** Inside a trace by time, where times are asked for: a page ends by `number`, which differs in what ends in one second. */
export function compareByTime(a: ActionRecord, b: ActionRecord, { sort }: ActionFilter): number {
  const sign = sort === 'asc' ? 1 : -1;
  const byTrace = a.traceEndUtime - b.traceEndUtime || a.traceId.compare(b.traceId);
  return sign * (byTrace || a.endUtime - b.endUtime || a.actionId.compare(b.actionId));
}

export function actionOrder({ sort }: Pick<ActionFilter, 'sort'>, order: TraceOrder): Sorted<ActionKey>[] {
  return [
    { column: order === 'time' ? 'traceEndUtime' : 'traceEndLt', sort },
    { column: 'traceId', sort },
    { column: 'number', sort },
  ];
}

/** The place that a cursor of actions says: end (lt or time), trace, number. Null at the beginning. */
export function readActionCursor({ cursor }: ActionFilter, order: TraceOrder): unknown[] | null {
  if (cursor === undefined) return null;
  const found = readCursor(cursor, order, [order === 'time' ? TIME : LT, HEX32, NUMBER]);
  if (found === null) return null;
  const [end, traceId, number] = found;
  return [order === 'time' ? Number(end) : end, Buffer.from(traceId, 'hex'), Number(number)];
}

/** The cursor behind a page; null when it was the last. */
export function nextActions(rows: readonly ActionRecord[], { page }: ActionFilter, order: TraceOrder): string | null {
  const last = rows.length < page.limit ? undefined : rows[rows.length - 1];
  if (!last) return null;
  const end = order === 'time' ? String(last.traceEndUtime) : last.traceEndLt;
  return makeCursor(order, [end, last.traceId.toString('hex'), String(last.number)]);
}

/** What a filter asks of the end of an action's trace. */
export function actionEnds({ utime, ltWindow, mcSeqno }: ActionFilter): Condition<ActionKey>[] {
  return [
    { column: 'traceEndLt', from: ltWindow.start, to: ltWindow.end },
    { column: 'traceEndUtime', from: utime.start, to: utime.end },
    ...(mcSeqno === undefined ? [] : [{ column: 'endMcSeqno', is: mcSeqno } as const]),
  ];
}
