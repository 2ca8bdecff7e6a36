/** Hours and days: what is kept of those that are over, the others counted as of the same step. */
import { columnName } from '../tables/sql.ts';
import {
  type Counted,
  countChain,
  countSubjects,
  keptChain,
  keptSubjects,
  openAt,
  type Resolution,
  SUMS,
  type SubjectKind,
} from '../tables/statistics.ts';
import type { Tables, View } from './view.ts';

const LAST = '4294967295';

const CHAIN_COLUMNS = {
  blocks: 'Of all chains',
  transactions: '',
  failed: 'Aborted transactions',
  messages: 'Received by transactions, or sent out of the chain',
  external_in: 'Messages from outside',
  traces: 'Begun',
  new_accounts: 'That came to exist',
  deployments: 'Accounts that became active',
  gas: 'Used',
  fees: 'Nanotons',
  value: 'Nanotons of the internal messages that were received',
  active_accounts: 'Different accounts with a transaction',
};

/** Both parts of what is told as of the head. */
function whole(
  { of, head }: Tables,
  resolution: Resolution,
  { kept, counted }: { kept: (asked: Counted) => string; counted: (asked: Counted) => string },
): string {
  const open = openAt(resolution, { upTo: head, of });
  return `${kept({ from: '0', to: open, upTo: head, of })} UNION ALL ${counted({ from: open, to: LAST, upTo: head, of })}`;
}

const chainOf = (name: string, resolution: Resolution, start: string): View => ({
  name,
  about: `What a${resolution === 'hour' ? 'n hour' : ' day'} of the chain adds up to, UTC`,
  columns: { [resolution]: 'Where it begins, UTC', ...CHAIN_COLUMNS },
  as: 'at step',
  select: (tables) => {
    const parts = whole(tables, resolution, {
      kept: (asked) => keptChain(resolution, asked),
      counted: (asked) => countChain(resolution, asked),
    });
    const columns = [...SUMS, 'activeAccounts'].map(columnName).map((column) => {
      const value = column === 'fees' || column === 'value' ? `toDecimal128(t.${column}, 0)` : `t.${column}`;
      return `${value} AS ${column}`;
    });
    return `SELECT ${start} AS ${resolution}, ${columns.join(', ')} FROM (${parts}) AS t`;
  },
});

const subjectsOf = (
  name: string,
  kind: SubjectKind,
  { about, columns }: { about: string; columns: Record<string, string> },
): View => ({
  name,
  about,
  columns: { hour: 'Where it begins, UTC', ...columns },
  as: 'at step',
  select: (tables) => {
    const parts = whole(tables, 'hour', {
      kept: (asked) => keptSubjects(kind, asked),
      counted: (asked) => countSubjects(kind, asked),
    });
    const values = Object.keys(columns).map((column) => `${SUBJECT_VALUES[column] ?? `t.${column}`} AS ${column}`);
    return `SELECT toDateTime(t.bucket, 'UTC') AS hour, ${values.join(', ')} FROM (${parts}) AS t WHERE t.count > 0`;
  },
});

/** Columns of the views that are not those of the table. */
const SUBJECT_VALUES: Record<string, string> = {
  opcode: "if(t.subject LIKE '0x%', reinterpretAsInt32(reverse(unhex(substring(t.subject, 3)))), NULL)",
  is_rest: "t.subject = 'other'",
  jetton_master: 't.subject',
  type: 't.subject',
  messages: 't.count',
  transfers: 't.count',
  actions: 't.count',
  amount: 'toDecimal128OrNull(toString(t.amount), 0)',
};

export const statisticsViews: readonly View[] = [
  chainOf('hourly', 'hour', "toDateTime(t.bucket, 'UTC')"),
  chainOf('daily', 'day', "toDate(toDateTime(t.bucket, 'UTC'))"),
  subjectsOf('hourly_opcodes', 'opcode', {
    about: 'Internal messages of an hour by opcode: the 256 of most messages, and the rest',
    columns: {
      opcode: 'Signed; NULL for messages without one, and for the rest',
      is_rest: 'Whether these are all other opcodes together',
      messages: 'Sent in the hour',
      amount: 'Nanotons',
      senders: 'Different ones',
      receivers: 'Different ones',
    },
  }),
  subjectsOf('hourly_jettons', 'jetton', {
    about: 'Transfers of an hour by jetton',
    columns: {
      jetton_master: 'Address',
      transfers: '',
      failed: '',
      amount: 'In the smallest units, of those that did not fail; NULL where it does not fit',
      senders: 'Different owners',
      receivers: 'Different owners',
    },
  }),
  subjectsOf('hourly_actions', 'action', {
    about: 'Actions of an hour by type, those that are no part of others',
    columns: { type: 'As `action_type` of /api/v3/actions', actions: '', failed: '' },
  }),
];
