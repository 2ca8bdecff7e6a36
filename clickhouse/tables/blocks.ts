import { addDecimals } from '../../src/chain/decimal.ts';
import type { Transaction } from '../../src/chain/model.ts';
import type { BlockRecord } from '../../src/chain/records.ts';
import { bytes, hash, i32, shard, u32, u64, u128 } from './columns.ts';
import { type Row, table } from './table.ts';

/** Blocks as a sealed step commits them. */
export const blocks = table({
  name: 'blocks',
  columns: {
    mcSeqno: u32,
    workchain: i32,
    shard,
    seqno: u32,
    genUtime: u32,
    startLt: u64,
    endLt: u64,
    txCount: u32,
    globalId: i32,
    rootHash: hash,
    fileHash: hash,
    randSeed: hash,
    createdBy: hash,
    /** The `BlockInfo` cell as a bag of its own. */
    info: bytes,
    /** What its transactions add up to: those that were aborted. */
    failed: u32,
    /** Received, or sent out of the chain. */
    messages: u32,
    externalIn: u32,
    /** Begun in it. */
    traces: u32,
    newAccounts: u32,
    /** Accounts that became active. */
    deployments: u32,
    gas: u64,
    fees: u128,
    /** Of the internal messages that were received. */
    value: u128,
  },
  kind: 'fact',
  key: ['mcSeqno', 'workchain', 'shard', 'seqno'],
  indexes: [
    { name: 'blocks_by_id', key: ['workchain', 'shard', 'seqno'], also: ['mcSeqno', 'startLt', 'endLt'] },
    { name: 'blocks_by_time', key: ['genUtime', 'workchain', 'shard', 'seqno'], also: ['mcSeqno', 'startLt'] },
    {
      name: 'blocks_by_hash',
      each: { as: 'hash', of: ['rootHash', 'fileHash'] },
      key: ['hash'],
      also: ['mcSeqno', 'workchain', 'shard', 'seqno'],
    },
  ],
  inStatus: true,
});

export type BlockRow = Row<typeof blocks>;

/** While the transactions of the block are counted. */
export type GrowingBlockRow = { -readonly [K in keyof BlockRow]: BlockRow[K] };

/** Without its transactions, which `countTransaction` adds. @param info the `BlockInfo` cell as a bag of its own */
export function blockRow({ header, mcSeqno, txCount, randSeed, createdBy }: BlockRecord, info: Buffer): BlockRow {
  const { workchain, shard, seqno, genUtime, startLt, endLt, globalId, rootHash, fileHash } = header;
  return {
    mcSeqno,
    workchain,
    shard,
    seqno,
    genUtime,
    startLt,
    endLt,
    txCount,
    globalId,
    rootHash,
    fileHash,
    randSeed,
    createdBy,
    info,
    failed: 0,
    messages: 0,
    externalIn: 0,
    traces: 0,
    newAccounts: 0,
    deployments: 0,
    gas: '0',
    fees: '0',
    value: '0',
  };
}

/** @param beginsTrace whether the transaction is the first one of its trace */
export function countTransaction(row: GrowingBlockRow, transaction: Transaction, beginsTrace: boolean): void {
  const { inMsg, outMsgs, description, origStatus, endStatus, totalFees } = transaction;
  if (description.aborted) row.failed++;
  if (beginsTrace) row.traces++;
  if (origStatus === 'nonexist' && endStatus !== 'nonexist') row.newAccounts++;
  if (origStatus !== 'active' && endStatus === 'active') row.deployments++;
  if (inMsg) row.messages++;
  if (inMsg?.kind === 'external_in') row.externalIn++;
  if (inMsg?.value) row.value = addDecimals(row.value, inMsg.value);
  for (const { kind } of outMsgs) if (kind === 'external_out') row.messages++;
  if (description.compute?.skipped === false) row.gas = addDecimals(row.gas, description.compute.gasUsed);
  row.fees = addDecimals(row.fees, totalFees);
}

/** The top block of every shard as a masterchain block registers it. */
export const shardTops = table({
  name: 'shard_tops',
  columns: { mcSeqno: u32, workchain: i32, shard, seqno: u32 },
  kind: 'fact',
  key: ['mcSeqno', 'workchain', 'shard'],
});
