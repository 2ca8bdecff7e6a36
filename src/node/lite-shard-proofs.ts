/** Checks of what servers show of shard blocks: that the masterchain commits them, and how long their queues are. */
import { masterExtraOf } from '../chain/block.ts';
import { type Boc, openBoc, PROOF_LIMITS } from '../chain/boc.ts';
import { Cursor } from '../chain/cursor.ts';
import { decodeHeader } from '../chain/header.ts';
import { virtualRoot } from '../chain/merkle-root.ts';
import type { BlockIdExt } from '../chain/model.ts';
import { blockIdExtFromTl, type LiteAnswer, sameBlock } from './lite-api.ts';
import { LieError } from './lite-faults.ts';
import { openState, topIn } from './lite-proofs.ts';

/** A step from a masterchain block down to a shard block. */
export interface ShardLink {
  id: BlockIdExt;
  /** Merkle proof of the block before it, which names this one. */
  proof: Buffer;
}

/** Nodes answer no more links at a time. */
const MAX_LINKS = 16;

/**
 * The links of an answer from a masterchain block, which the caller has to believe, down to the shard block asked for.
 * @throws {LieError} @throws {ProofError} @throws {DecodeError}
 */
export function provenShardLinks(
  answer: LiteAnswer<'getShardBlockProof'>,
  id: BlockIdExt,
): { master: BlockIdExt; links: ShardLink[] } {
  const master = blockIdExtFromTl(answer.masterchainId);
  if (master.workchain !== -1) throw new LieError('masterchain block of another workchain');
  if (answer.links.length > MAX_LINKS) throw new LieError(`${answer.links.length} links to a shard block`);
  const links = answer.links.map((link) => ({ id: blockIdExtFromTl(link.id), proof: Buffer.from(link.proof) }));
  let at = master;
  for (const link of links) {
    const boc = openBoc(link.proof, PROOF_LIMITS);
    virtualRoot(boc, boc.roots[0], at.rootHash, 'link to a shard block');
    if (!(at === master ? commits(boc, link.id) : continues(boc, link.id))) {
      throw new LieError(`link to a block that ${at === master ? 'is not committed' : 'does not come before'}`);
    }
    at = link.id;
  }
  if (!sameBlock(at, id)) throw new LieError('links to another block than asked for');
  return { master, links };
}

/** Whether a masterchain block registers the block as the top of its shard. */
function commits(boc: Boc, { workchain, shard, seqno, rootHash, fileHash }: BlockIdExt): boolean {
  const extra = masterExtraOf(boc);
  if (extra === null) throw new LieError('masterchain block without its extra');
  const top = topIn(boc, extra.shardHashes ?? -1, workchain, Buffer.from(shard, 'hex'));
  return top.seqno === seqno && top.rootHash.equals(rootHash) && top.fileHash.equals(fileHash);
}

/** Whether a shard block names the block as one before it. */
function continues(boc: Boc, id: BlockIdExt): boolean {
  return decodeHeader(boc).prev.some((prev) => sameBlock(prev, id));
}

/**
 * Messages in the queue of a block's state, as the state itself says.
 * @throws {LieError} where the state does not say, or says something else @throws {ProofError} @throws {DecodeError}
 */
export function provenQueueSize(answer: LiteAnswer<'getBlockOutMsgQueueSize'>, id: BlockIdExt): number {
  if (!sameBlock(blockIdExtFromTl(answer.id), id)) throw new LieError('queue of another block');
  if (answer.proof === undefined) throw new LieError('queue without the proof that was asked for');
  const { boc, root } = openState(answer.proof, id);
  const state = new Cursor(boc, root);
  state.tag(32, 0x9023afe2, 'ShardStateUnsplit');
  // OutMsgQueueInfo: the queue with its least lt, what was processed, then out_msg_queue_extra#0 with the same of the
  // dispatch queue and the size.
  const info = state.open();
  info.maybeRef();
  info.skip(64);
  info.maybeRef();
  const size = info.bit() ? storedSize(info) : null;
  if (size === null || BigInt(size) !== answer.size) throw new LieError('queue of another size than its state says');
  return size;
}

function storedSize(info: Cursor): number | null {
  info.tag(4, 0, 'OutMsgQueueExtra');
  info.maybeRef();
  info.skip(64);
  return info.bit() ? info.u(48) : null;
}
