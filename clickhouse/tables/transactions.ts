import type { BlockId, Hash, Transaction } from '../../src/chain/model.ts';
import { knowsAfter } from '../states.ts';
import { address, bool, bytes, hash, hashOrNone, nullable, shard, u8, u32, u64, u128 } from './columns.ts';
import { type Row, table } from './table.ts';

export const transactions = table({
  name: 'transactions',
  columns: {
    account: address,
    lt: u64,
    hash,
    mcSeqno: u32,
    now: u32,
    /** Of the block, as `seqno`; its workchain is that of the account. */
    shard,
    seqno: u32,
    traceId: hash,
    /** Hash of the message that began the trace; null when a trace began without one. */
    externalHash: hashOrNone,
    inOpcode: nullable(u32),
    aborted: bool,
    totalFees: u128,
    globalVersion: u8,
    /** Null when nothing but the hash is known of the state. */
    stateAfter: hashOrNone,
    /** What is known of the account before and after (clickhouse/states.ts). */
    states: bytes,
    /** The transaction as a bag of its own. */
    payload: bytes,
  },
  kind: 'fact',
  key: ['account', 'lt'],
  clock: 'lt',
  indexes: [
    {
      name: 'transactions_by_lt',
      key: ['lt', 'account'],
      also: ['mcSeqno', 'now', 'shard', 'seqno', 'inOpcode'],
    },
    { name: 'transactions_by_time', key: ['now', 'lt', 'account'], also: ['mcSeqno', 'shard', 'seqno'] },
    { name: 'transactions_by_hash', key: ['hash'], also: ['account', 'lt'] },
    {
      name: 'account_states_by_hash',
      shared: true,
      each: { as: 'hash', of: ['stateAfter'] },
      key: ['hash'],
      also: ['account', 'lt'],
    },
  ],
  inStatus: true,
});

/** Where a transaction stands and what is known around it. */
export interface TransactionFacts {
  block: BlockId;
  mcSeqno: number;
  globalVersion: number;
  traceId: Hash;
  externalHash: Hash | null;
  states: Buffer;
  payload: Buffer;
}

export type TransactionRow = Row<typeof transactions>;

export function transactionRow(transaction: Transaction, facts: TransactionFacts): TransactionRow {
  const { account, lt, hash, now, inMsg, description, totalFees, stateAfter } = transaction;
  const { block, mcSeqno, globalVersion, traceId, externalHash, states, payload } = facts;
  return {
    account,
    lt,
    hash,
    mcSeqno,
    now,
    shard: block.shard,
    seqno: block.seqno,
    traceId,
    externalHash,
    inOpcode: inMsg?.opcode ?? null,
    aborted: description.aborted ?? false,
    totalFees,
    globalVersion: Math.min(globalVersion, 255),
    stateAfter: knowsAfter(states) ? stateAfter : null,
    states,
    payload,
  };
}
