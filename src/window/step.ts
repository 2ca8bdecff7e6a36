/** What a projected step has for the window: rows of each kind, and the forms of its transactions and actions. */
import { storedRecord } from '../../clickhouse/queries/transactions.ts';
import { accountData, accounts } from '../../clickhouse/tables/accounts.ts';
import { type ActionAccountRow, type ActionRow, actionAccounts, actions } from '../../clickhouse/tables/actions.ts';
import { blocks, shardTops } from '../../clickhouse/tables/blocks.ts';
import { type MessageRow, messages } from '../../clickhouse/tables/messages.ts';
import { traceAccounts, traces } from '../../clickhouse/tables/traces.ts';
import { type TransactionRow, transactions } from '../../clickhouse/tables/transactions.ts';
import type { ProjectedStep } from '../../streams/projected-step.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import { actionEntry } from './action-row.ts';
import { DETECTED } from './detected-rows.ts';
import { EVENTS } from './event-rows.ts';
import type { TransactionForm } from './form.ts';
import { encodeListing, encodeRow, type Kind } from './kind.ts';
import {
  accountKind,
  actionKind,
  blockKind,
  dataKind,
  messageKind,
  retoldKind,
  topKind,
  traceKind,
  transactionKind,
} from './kinds.ts';
import { hashesOf } from './token-rows.ts';

export interface Retelling {
  /** What earlier steps have written together with such a row is led to no more. */
  forget(kind: Kind, row: Buffer): void;
  /** Whether a later step that is here has told the actions of a trace again. */
  isToldLater(traceId: Buffer): boolean;
}

/** Takes a row, and its form where the kind has such; gives its id. */
export type WriteRow = (kind: Kind, row: Buffer, form?: Buffer) => Buffer;

const PLACE_BYTES = 3;

/** Writes the rows of a step, those of one kind behind another. */
export function writeRows(
  { rows }: ProjectedStep,
  form: TransactionForm | null,
  retelling: Retelling,
  write: WriteRow,
): void {
  const blockRows = rows.of(blocks);
  for (const row of blockRows) write(blockKind, encodeRow(blockKind, row, [row.info]));
  for (const row of rows.of(shardTops)) write(topKind, encodeRow(topKind, row));
  const places = rows
    .of(transactions)
    .map((row) => writeTransaction(row, blockRows[row.block].workchain, form, write).subarray(-PLACE_BYTES));
  for (const row of rows.of(messages)) write(messageKind, messageEntry(row, places[row.transaction.at]));
  for (const row of rows.of(accounts)) write(accountKind, encodeRow(accountKind, row, [row.state]));
  for (const row of rows.of(accountData)) write(dataKind, encodeRow(dataKind, row, [row.boc]));
  const ofTraces = grouped(rows.of(traceAccounts), ({ traceId }) => hashKey(traceId));
  for (const row of rows.of(traces)) {
    const own = row.state === 'complete' ? (ofTraces.get(hashKey(row.traceId)) ?? []) : [];
    write(traceKind, encodeListing(traceKind, row, own, [row.places]));
  }
  writeTold(toldActions(rows.of(actions), rows.of(actionAccounts), form), retelling, write);
  const hashOf = hashesOf(() => rows.of(transactions));
  for (const { kind, of } of [...DETECTED, ...EVENTS]) for (const row of of(rows, hashOf)) write(kind, row);
}

/** An action as a step has told it, and its row. */
export interface ToldAction {
  row: Pick<ActionRow, 'traceId' | 'mcSeqno' | 'endMcSeqno' | 'type'>;
  entry: Buffer;
}

export function toldActions(
  told: readonly ActionRow[],
  accountsOf: readonly Pick<ActionAccountRow, 'account' | 'traceId' | 'number' | 'mcSeqno' | 'type'>[],
  form: TransactionForm | null,
): ToldAction[] {
  const keyOf = ({ traceId, number, mcSeqno }: Pick<ActionRow, 'traceId' | 'number' | 'mcSeqno'>): string =>
    [hashKey(traceId), number, mcSeqno].join();
  // Those without type are named by it no more.
  const named = grouped(
    accountsOf.filter(({ type }) => type !== ''),
    keyOf,
  );
  return told.map((row) => {
    const found = named.get(keyOf(row)) ?? [];
    return { row, entry: actionEntry(row, found, row.type === '' ? null : form) };
  });
}

/**
 * Writes what a step has told, in place of what earlier steps have of the same traces; nothing of those that a later
 * one told again.
 */
export function writeTold(told: readonly ToldAction[], { forget, isToldLater }: Retelling, write: WriteRow): void {
  const newest = told.filter(({ row }) => !isToldLater(row.traceId));
  const again = newest.filter(({ row }) => row.mcSeqno > row.endMcSeqno);
  for (const { entry } of again) forget(actionKind, entry);
  for (const { row, entry } of newest) if (row.type !== '') write(actionKind, entry);
  const retold = new Map(again.map(({ row }) => [hashKey(row.traceId), row]));
  for (const row of retold.values()) write(retoldKind, encodeRow(retoldKind, row));
}

/** Accounts by what they belong to. */
export function grouped<R extends { account: Address }>(
  rows: readonly R[],
  keyOf: (row: R) => string,
): Map<string, Address[]> {
  const found = new Map<string, Address[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const own = found.get(key);
    if (own) own.push(row.account);
    else found.set(key, [row.account]);
  }
  return found;
}

function writeTransaction(
  row: TransactionRow,
  workchain: number,
  form: TransactionForm | null,
  write: WriteRow,
): Buffer {
  const { account, lt, now, hash, shard, seqno, mcSeqno, traceId, globalVersion, states, payload, transaction } = row;
  const { externalHash } = row;
  const values = {
    account,
    lt,
    now,
    shard,
    seqno,
    hash,
    traceId,
    externalHash,
    globalVersion,
    statesBytes: states.length,
  };
  const bytes = encodeRow(transactionKind, values, [states, payload]);
  if (form === null) return write(transactionKind, bytes);
  const place = { workchain, shard, seqno, mcSeqno, traceId, externalHash, globalVersion };
  // As it is read again, but for the transaction, which is decoded already.
  return write(transactionKind, bytes, form.of(storedRecord(place, states, payload, transaction)));
}

/** Column by column: a copy of the row would make its payload, which is kept with the transaction. */
function messageEntry(row: MessageRow, shownBy: Buffer): Buffer {
  return encodeRow(messageKind, {
    createdLt: row.createdLt,
    hash: row.hash,
    source: row.source,
    destination: row.destination,
    bodyHash: row.bodyHash,
    createdAt: row.createdAt,
    opcode: row.opcode,
    outMcSeqno: row.outMcSeqno,
    outLt: row.outLt,
    outTxHash: row.outTxHash,
    inMcSeqno: row.inMcSeqno,
    inLt: row.inLt,
    inTxHash: row.inTxHash,
    globalVersion: row.globalVersion,
    shownVersion: row.transaction.globalVersion,
    shownBy,
    index: row.index,
    hashNorm: row.hashNorm,
  });
}
