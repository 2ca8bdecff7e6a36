/** Transfers and burns of tokens: found by their narrow keys, shown from the transactions that they are. */
import type { EventFilter, TokenEvent, TransferKind, TransferToken } from '../../src/chain/contract-records.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address, Decimal, Transaction } from '../../src/chain/model.ts';
import type { QueryContext, TransactionRecord } from '../../src/chain/records.ts';
import { bytes, list, u32, u64 } from '../literal.ts';
import { addressOrNone } from '../tables/columns.ts';
import { jettonTransfers } from '../tables/jettons.ts';
import { all, among, behind as behindPlace, orderBy } from './conditions.ts';
import { addresses } from './keys.ts';
import { pageEnd } from './page-end.ts';
import { collect, type Reading } from './reading.ts';
import type { Place } from './transactions.ts';

/** One kind of event: its table, and the columns of it that filters are about. */
interface EventKind {
  table: string;
  /** The wallet or the item: with `transaction_lt` the key. */
  contract: string;
  /** Master or collection. */
  token: string;
  /** By the side that an owner is on: the column, and the keys by it. */
  sides: readonly { direction: 'in' | 'out'; column: string; keys: string }[];
  keysByContract: string;
  /** Every state of the contracts, and the column of it that the token of their events comes from. */
  states: { table: string; token: string };
  keysByToken: string;
  condition: string | null;
}

const TRANSFERS: EventKind = {
  table: 'jetton_transfers',
  contract: 'source_wallet',
  token: 'jetton_master',
  sides: [
    { direction: 'out', column: 'source', keys: 'jetton_transfers_by_source' },
    { direction: 'in', column: 'destination', keys: 'jetton_transfers_by_destination' },
  ],
  keysByContract: 'jetton_transfers_by_wallet',
  states: { table: 'jetton_balances', token: 'jetton' },
  keysByToken: 'jetton_transfers_by_jetton',
  condition: 'NOT transaction_aborted',
};

const BURNS: EventKind = {
  table: 'jetton_burns',
  contract: 'jetton_wallet',
  token: 'jetton_master',
  sides: [{ direction: 'out', column: 'owner', keys: 'jetton_burns_by_owner' }],
  keysByContract: 'jetton_burns_by_wallet',
  states: { table: 'jetton_balances', token: 'jetton' },
  keysByToken: 'jetton_burns_by_jetton',
  condition: null,
};

const NFT_TRANSFERS: EventKind = {
  table: 'nft_transfers',
  contract: 'nft_address',
  token: 'nft_collection',
  sides: [
    { direction: 'out', column: 'old_owner', keys: 'nft_transfers_by_old_owner' },
    { direction: 'in', column: 'new_owner', keys: 'nft_transfers_by_new_owner' },
  ],
  keysByContract: 'nft_transfers_by_item',
  states: { table: 'nft_item_states', token: 'collection_address' },
  keysByToken: 'nft_transfers_by_collection',
  condition: null,
};

const TRANSFERS_OF: Readonly<Record<TransferKind, EventKind>> = {
  jetton_transfer: TRANSFERS,
  nft_transfer: NFT_TRANSFERS,
};

/** Of an event of the step's own transactions. */
const NONE_LATE = jettonTransfers.columns.transactionHash.literal(null);

interface EventPlace extends Place {
  now: number;
}

type EventKey = Pick<Transaction, 'now' | 'lt' | 'hash'>;

type FindTransactions = (
  places: readonly Place[],
  context: QueryContext,
  label?: string,
) => Promise<TransactionRecord[]>;

export type EventQueries = ReturnType<typeof eventQueries>;

export function eventQueries(reading: Reading, transactionsAt: FindTransactions) {
  const ask =
    (kind: EventKind) =>
    (filter: EventFilter, context: QueryContext): Promise<TokenEvent[]> =>
      events(kind, filter, context);

  async function events(kind: EventKind, filter: EventFilter, context: QueryContext): Promise<TokenEvent[]> {
    const { places, skipped } = await findPlaces(kind, filter, context);
    if (places.length === 0) return [];
    const [transactions, tokens] = await Promise.all([
      transactionsOf(kind, places, context),
      tokensOf(kind, places, context),
    ]);
    const { sort, behind, page } = filter;
    const sign = sort === 'asc' ? 1 : -1;
    const byTime = usesTime(filter);
    const compare = (a: EventKey, b: EventKey): number =>
      sign * ((byTime ? a.now - b.now : 0) || compareDecimal(a.lt, b.lt) || a.hash.compare(b.hash));
    const last = behind && { ...behind, now: behind.utime ?? 0 };
    // Ties are in order of the hash, which no key has: all of them were read, and those before the page are left out.
    const sorted = transactions
      .filter(({ transaction }) => last === undefined || compare(transaction, last) > 0)
      .sort(({ transaction: a }, { transaction: b }) => compare(a, b));
    return sorted.slice(skipped, skipped + page.limit).map((record) => ({
      transaction: record,
      token: tokens.get(placeKey(record.transaction)) ?? null,
    }));
  }

  /** Those of events that were told late are of steps before. */
  async function transactionsOf(kind: EventKind, places: readonly EventPlace[], context: QueryContext) {
    const found = await transactionsAt(places, context, kind.table);
    const here = new Set(found.map(({ transaction }) => placeKey(transaction)));
    const late = places.filter((place) => !here.has(placeKey(place))).map((place) => ({ ...place, since: 0 }));
    return late.length === 0 ? found : [...found, ...(await transactionsAt(late, context, kind.table))];
  }

  /**
   * The rows of a page, those with the same lt, and time where times are asked for, as its first and last included; how
   * many of them come before it.
   */
  async function findPlaces(kind: EventKind, filter: EventFilter, context: QueryContext) {
    const { behind, page: asked } = filter;
    // Of those at the place behind which it begins it is not known how many are behind it.
    const { limit, offset } = behind ? { limit: asked.offset + asked.limit, offset: 0 } : asked;
    const order = orderBy(orderOf(filter));
    const selected = selection(kind, { ...filter, behind: undefined }, reading.head.seqno);
    const bounded = selection(kind, filter, reading.head.seqno, endOf(kind, filter));
    // Shards stand at the same lt at different times.
    const at = ({ lt, now }: Pick<EventPlace, 'lt' | 'now'>): string[] => [
      `transaction_lt = ${u64(lt)}`,
      ...(usesTime(filter) ? [`transaction_now = ${u32(now)}`] : []),
    ];
    const read = async (sql: string) => collect(await reading.rows(sql, kind.table, context), readPlace);
    const skip = offset > 0 ? ` OFFSET ${offset}` : '';
    // A DISTINCT beside a LIMIT ends at so many rows, ties or not, so it stands by itself. In order it would look at each
    // row by itself: 2.7 s of 200,000 rows against 0.1 s.
    const [page, beside] = await Promise.all([
      read(
        `SELECT * FROM (${bounded()}) ORDER BY ${order} LIMIT ${limit}${skip} WITH TIES SETTINGS optimize_distinct_in_order = 0`,
      ),
      behind ? read(selected(at({ lt: behind.lt, now: behind.utime ?? 0 }))) : [],
    ]);
    if (behind) return { places: [...beside, ...page], skipped: asked.offset };
    if (page.length === 0 || offset === 0) return { places: page, skipped: 0 };
    const [{ lt, now }] = page;
    const ties = await read(selected(at({ lt, now })));
    const isTied = (place: EventPlace): boolean => place.lt === lt && (!usesTime(filter) || place.now === now);
    const others = page.filter((place) => !isTied(place));
    return { places: [...ties, ...others], skipped: ties.length - (page.length - others.length) };
  }

  /** The tokens of those of these transactions that are events of the kind. */
  async function tokensAt(
    kind: EventKind,
    places: readonly Place[],
    context: QueryContext,
    more: readonly string[] = [],
  ): Promise<TransferToken[]> {
    const steps = places.map(({ mcSeqno }) => mcSeqno);
    const keys = places.map(({ account, lt }) => `(${u64(lt)}, ${bytes(account)})`);
    const sql = `SELECT ${kind.contract}, transaction_lt, ${kind.token} FROM ${kind.table}
      WHERE ${all([`(transaction_lt, ${kind.contract}) IN ${list(keys)}`, ...more])}
      AND mc_seqno BETWEEN ${steps.reduce((a, b) => Math.min(a, b))} AND ${steps.reduce((a, b) => Math.max(a, b))}`;
    return collect(await reading.rows(sql, kind.table, context), (row) => ({
      account: row.fixed(36),
      lt: row.u64(),
      token: addressOrNone.read(row),
    }));
  }

  async function tokensOf(
    kind: EventKind,
    places: readonly EventPlace[],
    context: QueryContext,
  ): Promise<Map<string, Address | null>> {
    const found = await tokensAt(kind, places, context);
    return new Map(found.map((one) => [placeKey(one), one.token]));
  }

  async function transferTokens(
    kind: TransferKind,
    places: readonly Place[],
    context: QueryContext,
  ): Promise<TransferToken[]> {
    if (places.length === 0) return [];
    // Those that a step tells of its own transactions.
    const found = await tokensAt(TRANSFERS_OF[kind], places, context, [`transaction_hash = ${NONE_LATE}`]);
    // A row that came twice and is not merged yet.
    return [...new Map(found.map((one) => [placeKey(one), one])).values()];
  }

  return {
    jettonTransfers: ask(TRANSFERS),
    jettonBurns: ask(BURNS),
    nftTransfers: ask(NFT_TRANSFERS),
    transferTokens,
  };
}

/** Without the hash, which no key has. */
function orderOf(filter: EventFilter) {
  const { sort } = filter;
  const byLt = { column: 'transactionLt', sort } as const;
  return usesTime(filter) ? [{ column: 'transactionNow', sort } as const, byLt] : [byLt];
}

const usesTime = ({ utime }: EventFilter): boolean => utime.start !== undefined || utime.end !== undefined;

const placeKey = ({ account, lt }: { account: Address; lt: Decimal }): string => `${hashKey(account)}${lt}`;

/** Of an event that stands in its table, until it is merged. */
const COPIES = 2;

/** Where a page of the rows of one table ends, as a condition on them. */
function endOf({ contract }: EventKind, filter: EventFilter): (from: string) => string {
  const repeats = { key: ['transaction_lt', contract], most: COPIES };
  const of = usesTime(filter) ? 'transaction_now' : 'transaction_lt';
  return (from) => pageEnd({ from, by: 'transaction_lt', of, repeats }, filter);
}

/**
 * A query of contract, lt, step and time of the events asked for, without an order; further conditions may be added.
 * @param bound further ones on the rows of each table that are told by the others
 */
function selection(
  kind: EventKind,
  filter: EventFilter,
  head: number,
  bound?: (from: string) => string,
): (more?: readonly string[]) => string {
  const { owners, contracts, token, utime, ltWindow, behind } = filter;
  const place = behind && (usesTime(filter) ? [behind.utime, behind.lt] : [behind.lt]);
  const common = [
    ...(place ? [behindPlace(jettonTransfers, orderOf(filter), place)] : []),
    `mc_seqno <= ${u32(head)}`,
    ...(kind.condition === null ? [] : [kind.condition]),
    ...(ltWindow.start === undefined ? [] : [`transaction_lt >= ${u64(ltWindow.start)}`]),
    ...(ltWindow.end === undefined ? [] : [`transaction_lt <= ${u64(ltWindow.end)}`]),
    ...(utime.start === undefined ? [] : [`transaction_now >= ${u32(utime.start)}`]),
    ...(utime.end === undefined ? [] : [`transaction_now <= ${u32(utime.end)}`]),
  ];
  const ofContracts = contracts.length === 0 ? [] : [among(kind.contract, contracts.map(bytes))];
  const ofToken = token === undefined ? [] : [`${kind.token} = ${bytes(token)}`];
  const columns = `${kind.contract}, transaction_lt, mc_seqno, transaction_now`;
  // An event that two keys lead to, or that stands there twice until it is merged, is one event.
  const select = (table: string, conditions: readonly string[]) => {
    const from = `FROM ${table} WHERE ${all(conditions)}`;
    return `SELECT DISTINCT ${columns} ${from}${bound ? ` AND ${bound(from)}` : ''}`;
  };
  if (owners.length > 0) {
    const sides = kind.sides.filter(
      (side) => filter.direction === undefined || kind.sides.length === 1 || side.direction === filter.direction,
    );
    const one = (more: readonly string[]) =>
      sides.map(({ column, keys }) =>
        select(keys, [among(column, owners.map(bytes)), ...common, ...ofContracts, ...ofToken, ...more]),
      );
    return (more = []) => `SELECT DISTINCT ${columns} FROM (${one(more).join(' UNION ALL ')})`;
  }
  if (contracts.length > 0) {
    return (more = []) => {
      const conditions = [...ofContracts, ...common, ...more];
      const rows = token === undefined ? [] : [isOf(kind, token, contracts, conditions)];
      return select(kind.keysByContract, [...conditions, ...rows]);
    };
  }
  return (more = []) =>
    token === undefined
      ? select(kind.table, [...common, ...more])
      : select(kind.keysByToken, [...ofToken, ...common, ...more]);
}

/**
 * That keys of contracts are of events of a token, which the keys do not know. It is that of the contract, which only a
 * hostile one changes: for such alone the events are looked at, one by one.
 * @param conditions on the keys
 */
function isOf(kind: EventKind, token: Address, contracts: readonly Address[], conditions: readonly string[]): string {
  const { table, contract, keysByContract, states } = kind;
  const faithful = (more: readonly string[]) =>
    `SELECT address FROM ${states.table} WHERE address IN ${addresses(contracts)} GROUP BY address
      HAVING ${all([`min(${states.token}) = max(${states.token})`, ...more])}`;
  const key = `transaction_lt, ${contract}`;
  const others = `SELECT ${key} FROM ${keysByContract} WHERE ${all([...conditions, `${contract} NOT IN (${faithful([])})`])}`;
  const found = `SELECT ${key} FROM ${table} WHERE ${kind.token} = ${bytes(token)} AND (${key}) IN (${others})`;
  return `(${contract} IN (${faithful([`min(${states.token}) = ${bytes(token)}`])}) OR (${key}) IN (${found}))`;
}

function readPlace(rows: Parameters<Parameters<typeof collect>[1]>[0]): EventPlace {
  return { account: rows.fixed(36), lt: rows.u64(), mcSeqno: rows.u32(), now: rows.u32() };
}
