/** What the archive keeps, and which rows of the tables that is: kinds of the window, with the same keys and forms. */
import type { RowReader } from '../../clickhouse/rowbinary.ts';
import { accountData, accounts } from '../../clickhouse/tables/accounts.ts';
import { blocks } from '../../clickhouse/tables/blocks.ts';
import { NO_LT } from '../../clickhouse/tables/columns.ts';
import { messages } from '../../clickhouse/tables/messages.ts';
import { columnNames } from '../../clickhouse/tables/sql.ts';
import { type Columns, partReaderOf, type RowOf } from '../../clickhouse/tables/table.ts';
import { transactions } from '../../clickhouse/tables/transactions.ts';
import { DETECTED } from '../window/detected-rows.ts';
import { EVENTS } from '../window/event-rows.ts';
import { encodeRow, type Kind, type Layout, layoutOf } from '../window/kind.ts';
import {
  accountKind,
  actionKind,
  blockKind,
  dataKind,
  retoldKind,
  traceKind,
  transactionKind,
} from '../window/kinds.ts';
import type { TokenRows } from '../window/token-rows.ts';
import { sentMessageKind, unplacedMessage } from './messages.ts';

/** A row as it is kept, and the step that wrote it. */
export interface ArchivedRow {
  mcSeqno: number;
  row: Buffer;
}

/** A kind, and how its rows are made of those of a table. */
export interface Archived {
  kind: Kind;
  table: string;
  columns: readonly string[];
  /** SQL: the step whose row it is. */
  step: string;
  /** SQL: which rows are kept; all unless given. */
  where?: string;
  /** In which the rows of a step are written. */
  order: string;
  read(rows: RowReader): ArchivedRow;
}

interface Declared<C extends Columns, N extends keyof C & string> {
  kind: Kind;
  table: { name: string; columns: C };
  names: readonly N[];
  order: string;
  step?: string;
  where?: string;
  encode(row: Pick<RowOf<C>, N>): Buffer;
}

function archived<C extends Columns, N extends keyof C & string>(
  { kind, table, names, order, encode, ...others }: Declared<C, N>,
  stepOf: (row: Pick<RowOf<C>, N>) => number,
): Archived {
  const read = partReaderOf(table.columns, names);
  return {
    kind,
    table: table.name,
    columns: columnNames(names),
    step: 'mc_seqno',
    ...others,
    order,
    read(rows) {
      const row = read(rows);
      return { mcSeqno: stepOf(row), row: encode(row) };
    },
  };
}

const NOBODY = Buffer.alloc(36);

export const ARCHIVED: readonly Archived[] = [
  archived(
    {
      kind: blockKind,
      table: blocks,
      names: [
        'mcSeqno',
        'workchain',
        'shard',
        'seqno',
        'genUtime',
        'startLt',
        'txCount',
        'globalId',
        'rootHash',
        'fileHash',
        'randSeed',
        'createdBy',
        'info',
      ],
      order: 'workchain DESC, shard, seqno',
      encode: (row) => encodeRow(blockKind, row, [row.info]),
    },
    ({ mcSeqno }) => mcSeqno,
  ),
  archived(
    {
      kind: transactionKind,
      table: transactions,
      names: [
        'account',
        'lt',
        'hash',
        'mcSeqno',
        'now',
        'shard',
        'seqno',
        'traceId',
        'externalHash',
        'globalVersion',
        'states',
        'payload',
      ],
      // As in the window: the first and last row of a step have the least and greatest lt.
      order: 'lt, account',
      encode: ({ states, payload, ...row }) =>
        encodeRow(transactionKind, { ...row, statesBytes: states.length }, [states, payload]),
    },
    ({ mcSeqno }) => mcSeqno,
  ),
  archived(
    {
      kind: accountKind,
      table: accounts,
      names: ['account', 'lt', 'mcSeqno', 'hash', 'lastTransactionHash', 'codeHash', 'state'],
      order: 'account, lt, mc_seqno',
      encode: (row) => encodeRow(accountKind, row, [row.state]),
    },
    ({ mcSeqno }) => mcSeqno,
  ),
  archived(
    {
      kind: dataKind,
      table: accountData,
      names: ['account', 'lt', 'mcSeqno', 'dataHash', 'boc'],
      order: 'account, lt',
      encode: (row) => encodeRow(dataKind, row, [row.boc]),
    },
    ({ mcSeqno }) => mcSeqno,
  ),
  archived(
    {
      kind: sentMessageKind,
      table: messages,
      names: ['hash', 'source', 'destination', 'outMcSeqno', 'outLt', 'inMcSeqno', 'inLt', 'globalVersion'],
      step: 'greatest(in_mc_seqno, out_mc_seqno)',
      where: `(created_lt != ${NO_LT} OR hash_norm != ${messages.columns.hashNorm.none})`,
      order: 'in_mc_seqno, hash',
      encode({ source, destination, outMcSeqno, inMcSeqno, inLt, outLt, hash, globalVersion }) {
        const received = inMcSeqno > 0;
        const account = (received ? destination : source) ?? NOBODY;
        const values = { hash, received: Number(received), globalVersion, outLt: outMcSeqno > 0 ? outLt : '0' };
        return unplacedMessage(values, { account, lt: received ? inLt : outLt });
      },
    },
    ({ inMcSeqno, outMcSeqno }) => Math.max(inMcSeqno, outMcSeqno),
  ),
];

/** What is told of tokens: their newest states, and what was done with them. */
export const ARCHIVED_TOKENS: readonly TokenRows[] = [...DETECTED, ...EVENTS];

/** Traces and actions are read with their accounts (traced.ts). */
export const ARCHIVED_KINDS: readonly Kind[] = [
  ...ARCHIVED.map(({ kind }) => kind),
  traceKind,
  actionKind,
  retoldKind,
  ...ARCHIVED_TOKENS.map(({ kind }) => kind),
];

/** Ways that the archive has no keys of: actions of a type, of whatever account, are asked of the tables. */
export const LEFT_OUT: ReadonlySet<Layout> = new Set([layoutOf(actionKind, 'type')]);

/** Tables that keep the newest row alone: what a step has left in them is gone once a later one has written it anew. */
export const NEWEST_TABLES: readonly string[] = [
  accounts.name,
  accountData.name,
  ...ARCHIVED_TOKENS.flatMap(({ table }) => (table.kind === 'newest' ? table.name : [])),
];
