import { type Boc, cellType, PRUNED } from './boc.ts';
import { Cursor } from './cursor.ts';
import { DecodeError } from './errors.ts';
import { type Allowance, walkAllowance, walkHashmap } from './hashmap.ts';
import type { Shard, ShardDescr } from './model.ts';
import { FULL_SHARD, readShard, shardChildren } from './shard-ident.ts';

/**
 * `ShardHashes`: a HashmapE 32 from workchain to a binary tree of `ShardDescr`. Ascending workchains (as unsigned
 * numbers), within one from the left shard to the right. Throws DecodeError.
 */
export function readShardHashes(boc: Boc, root: number): ShardDescr[] {
  const shards: ShardDescr[] = [];
  const limit = walkAllowance(boc);
  const leaf = (value: Cursor, key: Buffer): void => {
    readTree(boc, value.nextRef(), key.readInt32BE(0), FULL_SHARD, shards, limit);
  };
  walkHashmap(boc, root, { keyBits: 32, leaf }, limit);
  return shards;
}

/** `BinTree`: bt_leaf$0, bt_fork$1. The way to a leaf is its shard. */
function readTree(boc: Boc, cell: number, workchain: number, shard: Shard, out: ShardDescr[], limit: Allowance): void {
  if (--limit.allowance < 0) throw new DecodeError('tree of shards larger than its bag');
  if (cellType(boc, cell) === PRUNED) throw new DecodeError('pruned shard');
  const cursor = new Cursor(boc, cell);
  if (!cursor.bit()) {
    out.push(readDescr(cursor, workchain, shard));
    return;
  }
  const [left, right] = shardChildren(shard);
  readTree(boc, cursor.nextRef(), workchain, left, out, limit);
  readTree(boc, cursor.nextRef(), workchain, right, out, limit);
}

/** `shard_descr#b` and `shard_descr_new#a`: they differ in where the fees stand, which are not read here. */
function readDescr(cursor: Cursor, workchain: number, shard: Shard): ShardDescr {
  const tag = cursor.u(4);
  if (tag !== 0xa && tag !== 0xb) throw new DecodeError(`tag ${tag.toString(16)} is not ShardDescr`);
  const seqno = cursor.u(32);
  const regMcSeqno = cursor.u(32);
  const startLt = cursor.dec(64);
  const endLt = cursor.dec(64);
  const rootHash = cursor.hash();
  const fileHash = cursor.hash();
  const beforeSplit = cursor.bit();
  const beforeMerge = cursor.bit();
  const wantSplit = cursor.bit();
  const wantMerge = cursor.bit();
  // nx_cc_updated, flags, next_catchain_seqno
  cursor.skip(1 + 3 + 32);
  const nextValidatorShard = readShard(cursor);
  // min_ref_mc_seqno
  cursor.skip(32);
  const genUtime = cursor.u(32);
  return {
    workchain,
    shard,
    seqno,
    rootHash,
    fileHash,
    regMcSeqno,
    startLt,
    endLt,
    genUtime,
    beforeSplit,
    beforeMerge,
    wantSplit,
    wantMerge,
    nextValidatorShard,
  };
}
