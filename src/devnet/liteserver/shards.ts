import { Builder, type Cell, Slice, toBoc, type Visit } from '../../chain/builder.ts';
import { findLeaf } from '../../chain/dictionary.ts';
import type { BlockIdExt, Hash, Shard } from '../../chain/model.ts';
import { FULL_SHARD, shardChildren, shardContains } from '../../chain/shard-ident.ts';
import { blockIdExtToTl, shardFromTl, type TlBlockIdExt } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import { KEY_BITS } from '../augmentations.ts';
import type { BlockPlace } from '../model.ts';
import type { Blocks } from './blocks.ts';
import { HEADER, prove, showBlockShards, showHeader, showStateShards } from './proofs.ts';
import { badRequest, notReady } from './refusals.ts';

/** A shard as a masterchain block registers it. */
export interface ShardLeaf {
  id: BlockIdExt;
  /** `bt_leaf$0` with the `ShardDescr`. */
  cell: Cell;
}

/** Shows the way to the shard that holds a prefix of 64 bits; null when its workchain is not registered. */
function showShard(shardHashes: Cell | null, workchain: number, prefix: Buffer, visit: Visit): ShardLeaf | null {
  const key = Buffer.alloc(4);
  key.writeInt32BE(workchain);
  const tree = findLeaf(shardHashes, KEY_BITS.workchain, key, visit)?.ref();
  if (tree === undefined) return null;
  let cell = tree;
  let shard: Shard = FULL_SHARD;
  for (let node = new Slice(cell, visit); node.bit(); node = new Slice(cell, visit)) {
    const [left, right] = shardChildren(shard);
    const isLeft = shardContains(left, prefix);
    const children = [node.ref(), node.ref()];
    cell = children[isLeft ? 0 : 1];
    shard = isLeft ? left : right;
  }
  return { id: readShardDescr(cell, workchain, shard), cell };
}

/** `shard_descr#b`, `shard_descr_new#a`: seq_no, reg_mc_seqno, start_lt, end_lt, root_hash, file_hash. */
function readShardDescr(cell: Cell, workchain: number, shard: Shard): BlockIdExt {
  const slice = new Slice(cell).skip(1 + 4);
  const seqno = slice.u(32);
  slice.skip(32 + 64 + 64);
  return { workchain, shard, seqno, rootHash: slice.bytes(32), fileHash: slice.bytes(32) };
}

/** The shard block with an account as of a masterchain block, and the proof of it out of the masterchain state. */
export function shardOfAccount(
  blocks: Blocks,
  master: BlockPlace,
  workchain: number,
  account: Hash,
): { place: BlockPlace; proof: Buffer } {
  const prefix = account.subarray(0, 8);
  const leaf = showShard(showStateShards(blocks.state(master), ignore), workchain, prefix, ignore);
  if (leaf === null) throw notReady(`workchain ${workchain} is not in masterchain block ${master.seqno}`);
  return { place: blocks.find(blockIdExtToTl(leaf.id)), proof: shardProof(blocks, master, leaf.id) };
}

function ignore(): void {}

/** From a masterchain block over its state to the entry of one shard. */
function shardProof(blocks: Blocks, master: BlockPlace, { workchain, shard }: BlockIdExt): Buffer {
  const state = blocks.state(master);
  return blocks.proof(master, `shard ${workchain}:${shard}`, () =>
    blocks.stateProof(master, (visit) => {
      showShard(showStateShards(state, visit), workchain, Buffer.from(shard, 'hex'), visit);
    }),
  );
}

/** The proof that a masterchain block registers a shard block, out of the block alone. */
export function shardLink(blocks: Blocks, master: BlockPlace, { workchain, shard }: BlockIdExt): Buffer {
  const root = blocks.root(master);
  return blocks.proof(master, `link ${workchain}:${shard}`, () =>
    toBoc(
      prove(root, (visit) => {
        showHeader(root, 0, visit);
        showShard(showBlockShards(root, visit), workchain, Buffer.from(shard, 'hex'), visit);
      }),
    ),
  );
}

const NO_BLOCK: TlBlockIdExt = {
  ...{ workchain: 0, shard: 0n, seqno: 0 },
  ...{ rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) },
};

export function shardHandlers(blocks: Blocks): LiteHandlers {
  return {
    getAllShardsInfo({ id }) {
      const master = blocks.master(id);
      const tl = blockIdExtToTl(master);
      const shards = master.seqno === 0 ? null : showBlockShards(blocks.root(master), ignore);
      const data = toBoc(new Builder().maybeRef(shards).cell());
      if (master.seqno === 0) return { id: tl, proof: Buffer.alloc(0), data };
      const proof = blocks.proof(master, 'shards', () => allShardsProof(blocks.root(master)));
      return { id: tl, proof, data };
    },

    getShardInfo({ id, workchain, shard, exact }) {
      const master = blocks.master(id);
      const wanted = shardFromTl(shard);
      const leaf = showShard(
        showStateShards(blocks.state(master), ignore),
        workchain,
        Buffer.from(wanted, 'hex'),
        ignore,
      );
      const shardProofOf = (at: BlockIdExt) => shardProof(blocks, master, at);
      const tl = blockIdExtToTl(master);
      if (leaf === null || (exact && leaf.id.shard !== wanted)) {
        const nearest = leaf?.id ?? { ...master, workchain, shard: wanted };
        return { id: tl, shardblk: NO_BLOCK, shardProof: shardProofOf(nearest), shardDescr: Buffer.alloc(0) };
      }
      const shardblk = blockIdExtToTl(leaf.id);
      return { id: tl, shardblk, shardProof: shardProofOf(leaf.id), shardDescr: toBoc(leaf.cell) };
    },

    getShardBlockProof({ id }) {
      const place = blocks.find(id);
      if (place.seqno === 0) throw badRequest('a zero state has no proof');
      const master = blocks.masterAt(place.mcSeqno);
      const masterchainId = blockIdExtToTl(master);
      // A step of this chain registers every block it makes, so that one link leads to each.
      const links =
        place.workchain === -1 ? [] : [{ id: blockIdExtToTl(place), proof: shardLink(blocks, master, place) }];
      return { masterchainId, links };
    },
  };
}

/** From the block to the hash of its `ShardHashes`, as nodes prove it since they take it from the block. */
function allShardsProof(root: Cell): Buffer {
  const shown = prove(root, (visit) => {
    showHeader(root, HEADER.extra, visit);
    showBlockShards(root, visit);
  });
  return toBoc(shown);
}
