/** What makes a block true, and what only its shard's state tells: asked of liteservers, held to proofs. */
import { checkLink, createSignerCache } from '../chain/block-proof.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { BlockId, BlockIdExt } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import type { SignatureSet } from '../chain/signatures.ts';
import { NodeError } from '../node/chain-node.ts';
import { BY_SEQNO, blockIdExtFromTl, blockIdExtToTl, blockIdToTl, sameBlock, shardToTl } from '../node/lite-api.ts';
import { linkFromTl } from '../node/lite-links.ts';
import { checkHeader } from '../node/lite-proofs.ts';
import { provenQueueSize, provenShardLinks, type ShardLink } from '../node/lite-shard-proofs.ts';
import type { Liteservers } from '../node/liteservers.ts';
import { forNodes } from './nodes.ts';
import type { Shards } from './shards.ts';
import type { Step, Steps } from './steps.ts';

/** A link from a masterchain block to an older one that its state remembers. */
export interface BackProof {
  toKeyBlock: boolean;
  from: BlockIdExt;
  to: BlockIdExt;
  destProof: Buffer;
  proof: Buffer;
  stateProof: Buffer;
}

export interface ShardBlockProof {
  from: BlockIdExt;
  master: BlockIdExt;
  /** Down to the shard block; none for a masterchain block. */
  links: ShardLink[];
  /** From `from` to `master`; null where they are the same. */
  back: BackProof | null;
}

export interface BlockProofs {
  /** Who signed a masterchain block. @throws {NodeError} @throws {NoNetworkError} */
  signatures(step: Step, context: QueryContext): Promise<SignatureSet>;
  /** That a block is of the chain that a step ends. @throws {NodeError} @throws {NoNetworkError} */
  shardBlockProof(block: BlockId, from: Step, context: QueryContext): Promise<ShardBlockProof>;
  /**
   * Messages in the queues of a step's tops, the masterchain's first, and the length above which a collator takes no
   * more external messages. @throws {NodeError} @throws {NoNetworkError}
   */
  queueSizes(step: Step, context: QueryContext): Promise<{ shards: { id: BlockIdExt; size: number }[]; limit: number }>;
}

/** Bits of a request for a proof: to a target; from any block, not only from key blocks. */
const TO_TARGET = 0x1001;
/** Answers that are followed on the way to a target. */
const MAX_ANSWERS = 8;
/** Questions to liteservers at a time for one answer. */
const AT_ONCE = 16;
const WITH_PROOF = 1;
const ONE_SHARD = 1;

export function createBlockProofs(
  source: ChainSource,
  liteservers: Liteservers,
  { step: stepAt, shards: shardsOf }: Steps & Shards,
  zeroState: (context: QueryContext) => Promise<BlockIdExt>,
): BlockProofs {
  /** The links from one masterchain block to another, each checked. */
  async function way(from: BlockIdExt, to: BlockIdExt, context: QueryContext) {
    const signers = createSignerCache();
    const links = [];
    let at = from;
    for (let i = 0; !sameBlock(at, to); i++) {
      if (i === MAX_ANSWERS) throw new NodeError('unavailable', `no proof of block ${to.seqno} in ${i} answers`);
      const [knownBlock, targetBlock] = [blockIdExtToTl(at), blockIdExtToTl(to)];
      const answer = await liteservers.query(
        { method: 'getBlockProof', mode: TO_TARGET, knownBlock, targetBlock },
        { ...forNodes(context), minMcSeqno: Math.max(at.seqno, to.seqno) },
      );
      for (const link of answer.steps.map(linkFromTl)) {
        if (!sameBlock(link.from, at)) throw new NodeError('unavailable', 'links that do not follow one another');
        checkLink(link, signers);
        links.push(link);
        at = link.to;
      }
      if (answer.steps.length === 0) throw new NodeError('unavailable', `no proof of block ${to.seqno}`);
    }
    return links;
  }

  /** Its header shows that there is such a block; that it is of the chain the links to it show. */
  async function find(block: BlockId, context: QueryContext): Promise<BlockIdExt> {
    const { signal, timeoutMs } = context;
    const { workchain, shard, seqno } = block;
    const filter = { workchain, shard, seqno, utime: {}, lt: {}, page: { limit: 1, offset: 0 } };
    const [found] = (await source.blocks({ ...filter, sort: 'asc' }, { signal, timeoutMs })).rows;
    if (found !== undefined) return found.header;
    const answer = await liteservers.query(
      { method: 'lookupBlock', mode: BY_SEQNO, id: blockIdToTl(block) },
      forNodes(context),
    );
    const id = blockIdExtFromTl(answer.id);
    checkHeader(answer.headerProof, id);
    return id;
  }

  async function committed(id: BlockIdExt, context: QueryContext) {
    if (id.workchain === -1) return { master: id, links: [] };
    const answer = await liteservers.query({ method: 'getShardBlockProof', id: blockIdExtToTl(id) }, forNodes(context));
    return provenShardLinks(answer, id);
  }

  async function queueSize(id: BlockIdExt, mcSeqno: number, context: QueryContext): Promise<number> {
    const answer = await liteservers.query(
      { method: 'getBlockOutMsgQueueSize', mode: WITH_PROOF, id: blockIdExtToTl(id), wantProof: true },
      { ...forNodes(context), minMcSeqno: mcSeqno },
    );
    return provenQueueSize(answer, id);
  }

  return {
    async signatures({ header }, context) {
      const { seqno } = header;
      const from = seqno === 1 ? await zeroState(context) : (await stepAt(seqno - 1, context)).header;
      const last = (await way(from, header, context)).at(-1);
      if (last?.kind !== 'forward') throw new NodeError('unavailable', `no signatures of block ${seqno}`);
      return last.signatures;
    },

    async shardBlockProof(block, { header: from }, context) {
      const { master, links } = await committed(await find(block, context), context);
      if (from.seqno < master.seqno) throw new NodeError('refused', 'from mc block is too old');
      const [back] = sameBlock(from, master) ? [null] : await way(from, master, context);
      if (back !== null && back.kind !== 'back') throw new NodeError('unavailable', 'no link back to an older block');
      return { from, master, links, back };
    },

    async queueSizes(step, context) {
      const { header } = step;
      const tops: BlockIdExt[] = [header, ...(await shardsOf(step))];
      const shards: { id: BlockIdExt; size: number }[] = [];
      for (let i = 0; i < tops.length; i += AT_ONCE) {
        const some = tops.slice(i, i + AT_ONCE);
        const sizes = await Promise.all(some.map((top) => queueSize(top, header.seqno, context)));
        for (const [j, size] of sizes.entries()) shards.push({ id: some[j], size });
      }
      const { extMsgQueueSizeLimit: limit } = await liteservers.query(
        { method: 'getOutMsgQueueSizes', mode: ONE_SHARD, wc: -1, shard: shardToTl(FULL_SHARD) },
        forNodes(context),
      );
      return { shards, limit };
    },
  };
}
