/** Views for analysts: the tables in the names and value forms of Dune's TON tables (ton-studio/ton-etl). */

/** A view as it is declared. Its SQL is made for the database that holds the tables. */
export interface View {
  name: string;
  /** What a row is. */
  about: string;
  /** What each column means, in the order of the view. */
  columns: Readonly<Record<string, string>>;
  /** Exact at every step (`at step`), or the newest state alone, which may be one step ahead of the head. */
  as: 'at step' | 'newest';
  /** Column by which whole steps are cut out of it; absent where a view is no list of facts. */
  step?: string;
  /** What a later step may change in the rows of an earlier one; absent where nothing does. */
  changes?: string;
  /** Columns that tell rows of a step apart and give them an order. */
  order?: readonly string[];
  select(tables: Tables): string;
}

export interface Tables {
  /** The full name of a table. */
  of(name: string): string;
  /** The step up to which rows count, as SQL. */
  head: string;
}

/** Names which step a query sees: every view of a query sees the same one. Empty for the newest. */
export const HEAD_SETTING = 'log_comment';

/** @param database the one of the tables */
export function tablesOf(database: string): Tables {
  const of = (name: string) => `\`${database}\`.\`${name}\``;
  const newest = `(SELECT mc_seqno FROM ${of('projection_state')} WHERE done ORDER BY number DESC LIMIT 1)`;
  const asked = `getSetting('${HEAD_SETTING}')`;
  return { of, head: `if(${asked} = '', ${newest}, toUInt32OrZero(${asked}))` };
}

const NO_ADDRESS = "toFixedString('', 36)";
const NO_HASH = "toFixedString('', 32)";
const NONE_64 = '18446744073709551615';
const NONE_32 = '4294967295';

/** `0:` and upper-case hex. The indexes named `account_text` are of this very expression. */
export const address = (column: string): string =>
  `concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(${column}, 1, 4)))) - 2147483648), ':', ` +
  `hex(substring(${column}, 5, 32)))`;

export const isAddress = (column: string): string => `${column} != ${NO_ADDRESS}`;

export const addressOrNull = (column: string): string => `if(${isAddress(column)}, ${address(column)}, NULL)`;

export const hash = (column: string): string => `base64Encode(${column})`;

export const hashOrNull = (column: string): string => `if(${column} = ${NO_HASH}, NULL, base64Encode(${column}))`;

/** Amounts of the chain have at most 120 bits, which fit; NULL stays NULL. */
export const amount = (column: string): string => `toDecimal128(${column}, 0)`;

/** Of numbers that a contract chose: NULL where it does not fit. */
export const wideAmount = (column: string): string => `toDecimal128OrNull(toString(${column}), 0)`;

export const opcode = (column: string): string => `reinterpretAsInt32(${column})`;

export const ltOrNull = (column: string): string => `nullIf(${column}, ${NONE_64})`;

export const timeOrNull = (column: string): string => `nullIf(${column}, ${NONE_32})`;

/** The last two columns of a view of events, from seconds since 1970. */
export const times = (column: string): string =>
  `toDateTime(${column}, 'UTC') AS block_time, toDate(toDateTime(${column}, 'UTC')) AS block_date`;

export const TIMES = { block_time: 'Time, UTC', block_date: 'Day, UTC' } as const;
