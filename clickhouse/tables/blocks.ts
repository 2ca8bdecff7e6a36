import type { BlockRecord } from '../../src/chain/records.ts';
import { bytes, hash, i32, shard, u32, u64 } from './columns.ts';
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

/** @param info the `BlockInfo` cell as a bag of its own */
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
  };
}

/** The top block of every shard as a masterchain block registers it. */
export const shardTops = table({
  name: 'shard_tops',
  columns: { mcSeqno: u32, workchain: i32, shard, seqno: u32 },
  kind: 'fact',
  key: ['mcSeqno', 'workchain', 'shard'],
});
