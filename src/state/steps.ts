/** Masterchain steps as states are asked for at them: the newest one that is shown, or one by its seqno. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, BlockHeader } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { FULL_SHARD, shardContains } from '../chain/shard-ident.ts';
import { NodeError } from '../node/chain-node.ts';
import { BY_SEQNO, blockIdExtToTl, blockIdToTl, LITE_ERROR, LiteServerError } from '../node/lite-api.ts';
import { provenMasterHeader } from '../node/lite-proofs.ts';
import type { Liteservers } from '../node/liteservers.ts';
import { forNodes } from './nodes.ts';

/** A masterchain block, and where the tops of its shards are known. */
export interface Step {
  /** Of the masterchain block. */
  header: BlockHeader;
  /** The masterchain block and the top of every shard; null for a step that is not indexed. */
  tops: readonly BlockHeader[] | null;
}

export interface Steps {
  /**
   * @param seqno the newest step when undefined
   * @throws {NodeError} `not_found` for a step that is not there (yet)
   */
  step(seqno: number | undefined, context: QueryContext): Promise<Step>;
}

/** Steps that are remembered: the newest ones are asked for most. */
const KEPT_STEPS = 256;

/** How long a question about the newest step waits for the first one of an index, and how often it looks, in ms. */
const FIRST_STEP_MS = 3_000;
const LOOK_MS = 200;

/** What nodes say of a block they do not have. */
export function blockNotFound(): NodeError {
  const cause = new LiteServerError(LITE_ERROR.notReady, 'ltdb: block not found');
  return new NodeError('not_found', cause.message, { cause });
}

export function createSteps(source: ChainSource, liteservers: Liteservers): Steps {
  const kept = new LRUCache<string, Step>({ max: KEPT_STEPS });

  async function indexed(header: BlockHeader, context: QueryContext): Promise<Step> {
    const key = hashKey(header.rootHash);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const state = await source.shardState(header.seqno, context);
    const step = { header, tops: state.map((block) => block.header) };
    // A step whose tops are being written is read again.
    if (state.length > 0) kept.set(key, step);
    return step;
  }

  /** One from before the index, or out of a gap in it: proven from the newest step that is indexed. */
  async function asked(seqno: number, head: BlockHeader, context: QueryContext): Promise<Step> {
    const key = `${hashKey(head.rootHash)}${seqno}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const id = blockIdToTl({ workchain: -1, shard: FULL_SHARD, seqno });
    const answer = await liteservers.query(
      { method: 'lookupBlockWithProof', mode: BY_SEQNO, id, mcBlockId: blockIdExtToTl(head) },
      { ...forNodes(context), minMcSeqno: head.seqno },
    );
    const step = { header: provenMasterHeader(answer, head, seqno), tops: null };
    kept.set(key, step);
    return step;
  }

  /** A service that has just begun shows its first step soon. @throws {NodeError} `not_found` when it does not */
  async function newest(context: QueryContext): Promise<BlockHeader> {
    const giveUpAt = performance.now() + Math.min(FIRST_STEP_MS, context.timeoutMs);
    for (;;) {
      const info = await source.masterchainInfo(context);
      if (info !== null) return info.last.header;
      if (performance.now() > giveUpAt) throw new NodeError('not_found', 'no masterchain block is indexed yet');
      await sleep(LOOK_MS, undefined, { signal: context.signal });
    }
  }

  return {
    async step(seqno, context) {
      const head = await newest(context);
      if (seqno === undefined || seqno === head.seqno) return indexed(head, context);
      if (seqno > head.seqno || seqno < 1) throw blockNotFound();
      const filter = { workchain: -1, shard: FULL_SHARD, seqno, utime: {}, lt: {} };
      const page = { limit: 1, offset: 0 };
      const [found] = (await source.blocks({ ...filter, sort: 'asc', page }, context)).rows;
      return found === undefined ? asked(seqno, head, context) : indexed(found.header, context);
    },
  };
}

/** The top of the shard that holds an account; null where the step does not show it. */
export function topOf({ tops }: Step, account: Address): BlockHeader | null {
  const workchain = (account.readUInt32BE(0) ^ 0x80000000) | 0;
  const id = account.subarray(4);
  return tops?.find((top) => top.workchain === workchain && shardContains(top.shard, id)) ?? null;
}
