import { type Boc, cellType, MERKLE_PROOF } from './boc.ts';
import { Cursor } from './cursor.ts';
import { section } from './errors.ts';
import { hashAt, sha256Of } from './hash.ts';
import type { BlockHeader, BlockIdExt, Decimal, ExtBlockRef, Hash, Shard } from './model.ts';
import { readShardIdent, shardChildren, shardParent } from './shard-ident.ts';

/**
 * The header of a block, from the bag of the block or from a Merkle proof that holds its `BlockInfo`. `at` is the
 * cell of either, the first root unless said otherwise.
 * `rootHash` and `fileHash` are computed when first asked for; the file hash is that of the bag's bytes, so from a
 * proof it means nothing. Throws DecodeError.
 */
export function decodeHeader(boc: Boc, at: number = boc.roots[0]): BlockHeader {
  const root = blockRoot(boc, at);
  return section('block', () => {
    const block = new Cursor(boc, root);
    block.tag(32, 0x11ef55aa, 'Block');
    const globalId = block.i(32);
    const info = block.nextRef();
    return section('info', () => withHashes(boc, root, readInfo(new Cursor(boc, info), globalId)));
  });
}

/**
 * `BlockInfo` by its cell, without the hashes of the block around it: from a bag that holds only the header.
 * Throws DecodeError.
 */
export function decodeBlockInfo(boc: Boc, cell: number, globalId: number): Omit<BlockHeader, 'rootHash' | 'fileHash'> {
  return section('block/info', () => readInfo(new Cursor(boc, cell), globalId));
}

/** The cell of the block itself: the one given, or what is below it when that is a Merkle proof. */
export function blockRoot(boc: Boc, at: number = boc.roots[0]): number {
  return cellType(boc, at) === MERKLE_PROOF ? boc.refs[boc.refStart[at]] : at;
}

function withHashes(boc: Boc, root: number, info: Omit<BlockHeader, 'rootHash' | 'fileHash'>): BlockHeader {
  let fileHash: Hash | undefined;
  return {
    ...info,
    get rootHash() {
      return hashAt(boc, root, 0);
    },
    get fileHash() {
      fileHash ??= sha256Of(boc.bytes);
      return fileHash;
    },
  };
}

function readFlags(cursor: Cursor) {
  return {
    notMaster: cursor.bit(),
    afterMerge: cursor.bit(),
    beforeSplit: cursor.bit(),
    afterSplit: cursor.bit(),
    wantSplit: cursor.bit(),
    wantMerge: cursor.bit(),
    keyBlock: cursor.bit(),
    vertSeqnoIncr: cursor.bit(),
    flags: cursor.u(8),
  };
}

/** `block_info#9bc7a987`. */
function readInfo(cursor: Cursor, globalId: number): Omit<BlockHeader, 'rootHash' | 'fileHash'> {
  cursor.tag(32, 0x9bc7a987, 'BlockInfo');
  const version = cursor.u(32);
  const flags = readFlags(cursor);
  const seqno = cursor.u(32);
  const vertSeqno = cursor.u(32);
  const { workchain, shard } = readShardIdent(cursor);
  const times = {
    genUtime: cursor.u(32),
    startLt: cursor.dec(64),
    endLt: cursor.dec(64),
    validatorListHashShort: cursor.u(32),
    catchainSeqno: cursor.u(32),
    minRefMcSeqno: cursor.u(32),
    prevKeyBlockSeqno: cursor.u(32),
    genSoftware: (flags.flags & 1) !== 0 ? readSoftware(cursor) : null,
  };
  const masterRef = flags.notMaster ? section('master_ref', () => readExtRef(cursor.open())) : null;
  const shards = previousShards(shard, flags.afterSplit, flags.afterMerge);
  const prev = section('prev_ref', () => readPrevious(cursor.open(), workchain, shards));
  return { workchain, shard, seqno, globalId, version, ...flags, vertSeqno, ...times, masterRef, prev };
}

/** `capabilities#c4 version:uint32 capabilities:uint64`. */
function readSoftware(cursor: Cursor): { version: number; capabilities: Decimal } {
  cursor.tag(8, 0xc4, 'GlobalVersion');
  return { version: cursor.u(32), capabilities: cursor.dec(64) };
}

/** `ext_blk_ref$_`. */
function readExtRef(cursor: Cursor): ExtBlockRef {
  return { endLt: cursor.dec(64), seqno: cursor.u(32), rootHash: cursor.hash(), fileHash: cursor.hash() };
}

function previousShards(shard: Shard, afterSplit: boolean, afterMerge: boolean): Shard[] {
  if (afterMerge) return shardChildren(shard);
  return [afterSplit ? shardParent(shard) : shard];
}

/** `BlkPrevInfo`: the reference itself, or two references to them after a merge. */
function readPrevious(cursor: Cursor, workchain: number, shards: Shard[]): (BlockIdExt & { endLt: Decimal })[] {
  return shards.map((shard) => ({ workchain, shard, ...readExtRef(shards.length === 1 ? cursor : cursor.open()) }));
}
