/** What a filter asks of actions, as conditions of SQL. */
import { opcodeText } from '../../src/chain/actions/kind.ts';
import { rawAddress } from '../../src/chain/address.ts';
import { distinct, hashKey } from '../../src/chain/hash.ts';
import type { Address, Hash } from '../../src/chain/model.ts';
import type { ActionFilter, QueryContext } from '../../src/chain/records.ts';
import { bytes, list, textLiteral } from '../literal.ts';
import { actions as actionTable } from '../tables/actions.ts';
import { type ActionKey, actionEnds } from './action-order.ts';
import { all, among, type Condition, where } from './conditions.ts';
import { addresses, hashes } from './keys.ts';
import type { Reading } from './reading.ts';
import { tracedTransactions } from './traces.ts';

export const KEY_COLUMNS = ['trace_end_lt', 'trace_id', 'number'];
export const KEY = KEY_COLUMNS.join(', ');
const HASH_BYTES = 32;
/** Whether a row is another telling than the first: as the tables have an index of it. */
const IS_AGAIN = 'mc_seqno - end_mc_seqno > 0';

/** What is asked of an action, by where it can be told. */
export interface Conditions {
  /** The newest step whose tellings count. */
  told: number;
  /** Where the tellings are that count or do not, as traces end: a part of the place. */
  ends: string[];
  /** The same for all tellings of an action. */
  place: string[];
  /** What the telling that counts must look like: by every table of actions. */
  typed: string[];
  /** By `actions` alone: the place, and the telling that counts. */
  ownPlace: string[];
  own: string[];
  /** Settings of each statement: how much it may read. */
  bounds: string[];
}

/** Null when nothing passes. */
export async function conditionsOf(
  reading: Reading,
  filter: ActionFilter,
  context: QueryContext,
): Promise<Conditions | null> {
  const { actionIds, excludeAccounts } = filter;
  const head = reading.head.seqno;
  const told = filter.told ?? head;
  const ends: Condition<ActionKey>[] = [
    { column: 'endMcSeqno', to: head },
    { column: 'mcSeqno', to: told },
    ...actionEnds(filter),
  ];
  const ended = [where(actionTable, ends)];
  const place = [...ended];
  const conditions: Conditions = {
    told,
    ends: ended,
    place,
    typed: typeConditions(filter),
    ownPlace: [],
    own: [],
    bounds: [],
  };
  let { traceIds } = filter;
  for (const named of namedTransactions(filter)) {
    const found = await tracedTransactions(reading, named, context);
    const ids = distinct(found.map(({ traceId }) => traceId));
    const known = new Set(ids.map(hashKey));
    traceIds = traceIds.length === 0 ? ids : traceIds.filter((id) => known.has(hashKey(id)));
    if (traceIds.length === 0) return null;
    conditions.own.push(hasTransaction(found.map(({ hash }) => hash)));
  }
  if (traceIds.length > 0) place.push(inTraces(traceIds, head));
  if (actionIds.length > 0) {
    const keys = `SELECT trace_end_lt, number FROM actions_by_id WHERE action_id IN ${hashes(actionIds)}`;
    conditions.ownPlace.push(`(trace_end_lt, number) IN (${keys})`);
    conditions.own.push(`action_id IN ${hashes(actionIds)}`);
  }
  conditions.own.push(...contentConditions(filter));
  if (excludeAccounts.length > 0) place.push(`(${KEY}) NOT IN (${keysOfAccounts(excludeAccounts, told)})`);
  return conditions;
}

/** Each of an action's transactions is looked for among these: the other way round takes the product of both lists. */
const hasTransaction = (named: readonly Hash[]): string =>
  `arrayExists(i -> substring(transactions, ${HASH_BYTES} * i + 1, ${HASH_BYTES}) IN ${list(named.map(bytes))},
    range(intDiv(length(transactions), ${HASH_BYTES})))`;

/** By their hashes and by messages: an action may have one transaction of the former and another one of the latter. */
function namedTransactions({
  txHashes,
  messageHashes,
}: ActionFilter): Pick<ActionFilter, 'txHashes' | 'messageHashes'>[] {
  return [
    ...(txHashes.length > 0 ? [{ txHashes, messageHashes: [] }] : []),
    ...(messageHashes.length > 0 ? [{ txHashes: [], messageHashes }] : []),
  ];
}

/** As `contentTest` (src/chain/actions/content.ts) tells it. */
function contentConditions({ opcodes = [], jettons = [], value = {} }: ActionFilter): string[] {
  const told = (name: string): string => `JSONExtractString(content, 1, '${name}')`;
  const worth = `toUInt256OrNull(if(JSONType(content, 1, 'value') = 'Null', ${told('amount')}, ${told('value')}))`;
  const bound = (number: string): string => `toUInt256(${textLiteral(number)})`;
  return [
    ...(opcodes.length > 0 ? [`${told('opcode')} IN ${list(opcodes.map(opcodeText).map(textLiteral))}`] : []),
    ...(jettons.length > 0
      ? [`(${jettons.map((jetton) => `position(content, ${textLiteral(rawAddress(jetton))}) > 0`).join(' OR ')})`]
      : []),
    ...(value.start === undefined ? [] : [`${worth} >= ${bound(value.start)}`]),
    ...(value.end === undefined ? [] : [`${worth} <= ${bound(value.end)}`]),
  ];
}

/** Keys of the actions that one of these accounts is named in. */
function keysOfAccounts(accounts: readonly Address[], told: number): string {
  return `SELECT ${KEY} FROM (SELECT account, ${KEY}, type FROM action_accounts
      WHERE account IN ${addresses(accounts)} AND mc_seqno <= ${told}
      ORDER BY account, ${KEY}, mc_seqno DESC LIMIT 1 BY account, ${KEY})
    WHERE type != ''`;
}

function inTraces(ids: readonly Hash[], head: number): string {
  return `(trace_end_lt, trace_id) IN (SELECT end_lt, trace_id FROM traces
    WHERE trace_id IN ${hashes(ids)} AND state = 'complete' AND mc_seqno <= ${head})`;
}

/** A composite action that the client knows stands for its parts; without it they are shown themselves. */
function typeConditions({ types, excludeTypes, supported }: ActionFilter): string[] {
  const words = (values: Iterable<string>): string => [...values].map(textLiteral).join(', ');
  const wanted = types.length > 0 ? types : supported;
  return [
    ...(wanted === null ? ["type != ''"] : [`type IN (${words(wanted)})`]),
    ...(excludeTypes.length > 0 ? [`type NOT IN (${words(excludeTypes)})`] : []),
    ...(supported === null ? [] : [`NOT hasAny(ancestors, [${words(supported)}])`]),
  ];
}

/** Where a filter finds actions, and what their tellings must look like there. */
export interface Where {
  table: 'actions' | 'action_accounts';
  /** What a telling is one of, in that table. */
  id: readonly string[];
  /** Which tellings are there at all, whatever else is asked of them. */
  ends: readonly string[];
  place: readonly string[];
  telling: readonly string[];
  /** Whether most rows pass, as far as can be told. */
  passesMost: boolean;
}

/** The tables of the accounts have all that is asked of those alone. */
export function whereOf({ accounts, types, mcSeqno }: ActionFilter, conditions: Conditions): Where {
  const { own, ownPlace, ends, place, typed, told } = conditions;
  const asksMore = own.length + ownPlace.length > 0;
  if (accounts.length > 0 && !asksMore) {
    const named = among('account', accounts.map(bytes));
    return {
      table: 'action_accounts',
      id: ['account', ...KEY_COLUMNS],
      ends: [named, ...ends],
      place: [named, ...place],
      telling: typed,
      passesMost: false,
    };
  }
  const named = accounts.length === 0 ? [] : [`(${KEY}) IN (${keysOfAccounts(accounts, told)})`];
  return {
    table: 'actions',
    id: KEY_COLUMNS,
    ends,
    place: [...place, ...ownPlace, ...named],
    telling: [...typed, ...own],
    passesMost: !asksMore && types.length === 0 && mcSeqno === undefined,
  };
}

export function toldAgain({ table, ends }: Pick<Where, 'table' | 'ends'>): string {
  return `FROM ${table} WHERE ${all([...ends, IS_AGAIN])}`;
}

/** The same, of the tellings that count alone: those after which nothing was told again. */
export function counting(where: Where): Where {
  const { table, id, ends, place } = where;
  const names = id.join(', ');
  const again = `SELECT ${names} ${toldAgain(where)}`;
  const newest = `SELECT ${names}, max(mc_seqno) FROM ${table} WHERE (${names}) IN (${again}) AND ${all(ends)} GROUP BY ${names}`;
  // What few rows are not is looked for in no index: 40 ms of 2,000,000 rows.
  const own = id.map((column) => `identity(${column})`).join(', ');
  const counts = `((${own}) NOT IN (${again}) OR (${own}, identity(mc_seqno)) IN (${newest}))`;
  return { ...where, place: [...place, counts] };
}
