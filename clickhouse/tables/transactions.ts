import { type Boc, openBoc } from '../../src/chain/boc.ts';
import { DecodeError } from '../../src/chain/errors.ts';
import type { Transaction } from '../../src/chain/model.ts';
import { decodeTransaction } from '../../src/chain/transaction.ts';
import { knowsAfter } from '../states.ts';
import { type BlockRow, blocks } from './blocks.ts';
import { address, bool, bytes, hash, hashOrNone, nullable, shard, u8, u16, u32, u64, u128 } from './columns.ts';
import { phaseColumns, phasesOf } from './phases.ts';
import { type RowOf, table } from './table.ts';

const columns = {
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
  ...phaseColumns,
};

/** A row, and what those know who make it or read it in a step. */
export interface TransactionRow extends RowOf<typeof columns> {
  transaction: Transaction;
  /** The bag that it was read from. */
  boc: Boc;
  /** Its place among the transactions of the step, by lt, then account. */
  at: number;
  /** The place of its block among the blocks of the step. */
  block: number;
}

export const transactions = table({
  name: 'transactions',
  columns,
  kind: 'fact',
  key: ['account', 'lt'],
  clock: 'lt',
  indexes: [
    {
      name: 'transactions_by_lt',
      key: ['lt', 'account'],
      also: [
        ...['mcSeqno', 'now', 'shard', 'seqno', 'inOpcode', 'hash', 'traceId', 'aborted', 'totalFees'],
        ...Object.keys(phaseColumns),
      ],
    },
    { name: 'transactions_by_time', key: ['now', 'lt', 'account'], also: ['mcSeqno', 'shard', 'seqno'] },
    { name: 'transactions_by_hash', key: ['hash'], also: ['account', 'lt'] },
    {
      name: 'transactions_by_external',
      // The root of a trace that a message from outside began is who received it.
      where: `external_hash != ${hashOrNone.none} AND trace_id = hash`,
      key: ['externalHash', 'lt', 'account'],
      also: ['mcSeqno'],
    },
    {
      name: 'account_states_by_hash',
      shared: true,
      each: { as: 'hash', of: ['stateAfter'] },
      key: ['hash'],
      also: ['account', 'lt'],
    },
  ],
  inStatus: true,
  // All else is in the transaction itself.
  carried: {
    columns: { block: u16, globalVersion: u8, traceId: hash, externalHash: hashOrNone, states: bytes, payload: bytes },
    pack: ({ block, globalVersion, traceId, externalHash, states, payload }: TransactionRow) => ({
      block,
      globalVersion,
      traceId,
      externalHash,
      states,
      payload,
    }),
    unpack(packed, step, at): TransactionRow {
      const block = step.of(blocks).at(packed.block);
      if (!block) throw new DecodeError(`the step has no block ${packed.block}`, 'transactions');
      const boc = openBoc(packed.payload);
      const transaction = decodeTransaction(boc, boc.roots[0], block.workchain);
      return transactionRow(transaction, { ...packed, boc, at, in: block });
    },
  },
});

/** Where a transaction stands and what is known around it. */
export interface TransactionFacts
  extends Pick<
    TransactionRow,
    'boc' | 'at' | 'block' | 'globalVersion' | 'traceId' | 'externalHash' | 'states' | 'payload'
  > {
  in: Pick<BlockRow, 'shard' | 'seqno' | 'mcSeqno'>;
}

export function transactionRow(transaction: Transaction, facts: TransactionFacts): TransactionRow {
  const { account, lt, hash, now, inMsg, description, totalFees, stateAfter } = transaction;
  const { boc, at, block, globalVersion, traceId, externalHash, states, payload } = facts;
  const { shard, seqno, mcSeqno } = facts.in;
  const phases = phasesOf(transaction);
  return {
    account,
    lt,
    hash,
    mcSeqno,
    now,
    shard,
    seqno,
    traceId,
    externalHash,
    inOpcode: inMsg?.opcode ?? null,
    aborted: description.aborted ?? false,
    totalFees,
    globalVersion: Math.min(globalVersion, 255),
    stateAfter: knowsAfter(states) ? stateAfter : null,
    states,
    payload,
    prevLt: phases.prevLt,
    origStatus: phases.origStatus,
    endStatus: phases.endStatus,
    descr: phases.descr,
    destroyed: phases.destroyed,
    storageFees: phases.storageFees,
    credit: phases.credit,
    compute: phases.compute,
    computeSuccess: phases.computeSuccess,
    exitCode: phases.exitCode,
    gasUsed: phases.gasUsed,
    gasLimit: phases.gasLimit,
    gasFees: phases.gasFees,
    vmSteps: phases.vmSteps,
    actionSuccess: phases.actionSuccess,
    actionResultCode: phases.actionResultCode,
    fwdFees: phases.fwdFees,
    actionFees: phases.actionFees,
    totActions: phases.totActions,
    msgsCreated: phases.msgsCreated,
    bounce: phases.bounce,
    inValue: phases.inValue,
    transaction,
    boc,
    at,
    block,
  };
}
