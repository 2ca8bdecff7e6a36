/** The masterchain blocks that contracts may ask for as of a step (`PrevBlocksInfo`: crypto/block/mc-config.cpp). */
import { LRUCache } from 'lru-cache';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { BlockIdExt } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import type { Step, Steps } from './steps.ts';

export interface PreviousBlocks {
  /** The step's own block and those before it, at most 16, the newest first. */
  last: BlockIdExt[];
  /** The last key block: the step's own where it is one. */
  keyBlock: BlockIdExt;
  /** Those whose seqno is a multiple of 100, at most 16, the newest first. */
  hundreds: BlockIdExt[];
}

const BLOCKS = 16;
const KEPT_STEPS = 16;

export function createPreviousBlocks(
  source: ChainSource,
  { step: stepAt }: Steps,
  zeroState: (context: QueryContext) => Promise<BlockIdExt>,
) {
  const kept = new LRUCache<string, PreviousBlocks>({ max: KEPT_STEPS });
  /** Old blocks never change; asked for once in a hundred steps. */
  const old = new LRUCache<number, BlockIdExt>({ max: 4 * BLOCKS });

  async function at(seqno: number, context: QueryContext): Promise<BlockIdExt> {
    const known = old.get(seqno);
    if (known !== undefined) return known;
    const id = seqno === 0 ? await zeroState(context) : idOf((await stepAt(seqno, context)).header);
    old.set(seqno, id);
    return id;
  }

  /** Out of one listing as far as they are indexed. */
  async function before({ header }: Step, context: QueryContext): Promise<BlockIdExt[]> {
    const page = { limit: BLOCKS - 1, offset: 0 };
    const filter = { workchain: -1, shard: FULL_SHARD, utime: {}, lt: { end: header.startLt }, page };
    const { rows } = await source.blocks({ ...filter, sort: 'desc' }, context);
    const listed = new Map(rows.map((row) => [row.header.seqno, idOf(row.header)]));
    const seqnos = Array.from({ length: BLOCKS - 1 }, (_, i) => header.seqno - 1 - i).filter((seqno) => seqno >= 0);
    return Promise.all(seqnos.map((seqno) => listed.get(seqno) ?? at(seqno, context)));
  }

  /** @throws {NodeError} @throws {NoNetworkError} where a block is not indexed and nobody can be asked */
  return async (step: Step, context: QueryContext): Promise<PreviousBlocks> => {
    const known = kept.get(hashKey(step.header.rootHash));
    if (known !== undefined) return known;
    const { header } = step;
    const own = idOf(header);
    const hundred = Math.floor(header.seqno / 100) * 100;
    const seqnos = Array.from({ length: BLOCKS }, (_, i) => hundred - 100 * i).filter((seqno) => seqno >= 0);
    const here = (seqno: number) => (seqno === header.seqno ? own : at(seqno, context));
    const [previous, keyBlock, hundreds] = await Promise.all([
      before(step, context),
      header.keyBlock ? own : at(header.prevKeyBlockSeqno, context),
      Promise.all(seqnos.map(here)),
    ]);
    const found = { last: [own, ...previous], keyBlock, hundreds };
    kept.set(hashKey(header.rootHash), found);
    return found;
  };
}

function idOf({ workchain, shard, seqno, rootHash, fileHash }: BlockIdExt): BlockIdExt {
  return { workchain, shard, seqno, rootHash, fileHash };
}
