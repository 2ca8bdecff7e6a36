import type { BlockIdExt } from '../../src/chain/model.ts';
import { FULL_SHARD } from '../../src/chain/shard-ident.ts';
import { type ChainNode, NodeError } from '../../src/node/chain-node.ts';
import { blockKey } from '../envelope.ts';
import type { ShardTop } from './assembly.ts';
import { type CheckedBlock, checkBlockAndTops, IngestError, sameHashes } from './check.ts';
import type { Patience } from './follow-patience.ts';
import { createLanes } from './lanes.ts';

/** A block from a node, checked against its id. */
export interface FetchedBlock extends CheckedBlock {
  boc: Buffer;
  /** Unix milliseconds. */
  receivedAtMs: number;
}

export interface FetchedMaster extends FetchedBlock {
  tops: ShardTop[];
}

/** What a step needs of the masterchain block before it; null parts are not known. */
export interface MasterLink {
  id: BlockIdExt | null;
  tops: ShardTop[] | null;
}

export interface BlockFetcher {
  /**
   * Masterchain block of a seqno, which follows `before`. The id is asked for unless given; an id that turns out
   * wrong is asked for again.
   */
  master(seqno: number, given: BlockIdExt | null, before: Promise<MasterLink>): Promise<FetchedMaster>;
  /** The same for a block that may be gone: null when no server knows it after a few tries. */
  oldMaster(seqno: number): Promise<FetchedMaster | null>;
  /**
   * A shard block of the step `mcSeqno`.
   * @param confirm asked when no server knows it after some tries: whether the masterchain block that commits it is true
   */
  shard(id: BlockIdExt, mcSeqno: number, confirm: () => Promise<unknown>): Promise<FetchedBlock>;
  /** The same for a block that may be gone. */
  oldShard(id: BlockIdExt, mcSeqno: number): Promise<FetchedBlock | null>;
}

export interface FetcherOptions {
  node: ChainNode;
  patience: Patience;
  /** Requests at the same time. */
  concurrency: number;
  /** `global_id` that every block must have; null lets the first one decide. */
  globalId: number | null;
  /** Told when blocks contradict each other; throws when the node is of another network by now. */
  onConflict: () => Promise<void>;
  onFetched?: (ms: number, bytes: number) => void;
  signal: AbortSignal;
}

const OLD_BLOCK_TRIES = 8;
/** A server may know a masterchain block a moment before it knows its shard blocks. */
const NEW_BLOCK_TRIES = 6;

/** Gets blocks until it has them. The steps nearest to the log's end are served first. */
export function createFetcher(options: FetcherOptions): BlockFetcher {
  const { node, patience, signal } = options;
  const lanes = createLanes(options.concurrency);
  let network = options.globalId;

  async function load(id: BlockIdExt, rank: number): Promise<FetchedMaster> {
    const since = performance.now();
    const boc = await lanes.run(rank, () => node.block(id, signal));
    options.onFetched?.(performance.now() - since, boc.length);
    const place = { file: `block ${blockKey(id)} as served`, line: null };
    const { block, tops } = checkBlockAndTops(boc, id, place);
    network ??= block.globalId;
    if (block.globalId !== network) {
      const what = `block ${blockKey(id)} is of network ${block.globalId} (global_id)`;
      throw new IngestError('network', null, `${what}, the log holds network ${network}`);
    }
    return { ...block, boc, receivedAtMs: Date.now(), tops };
  }

  const lookup = (seqno: number): Promise<BlockIdExt> =>
    lanes.run(seqno, () => node.lookupBlock({ workchain: -1, shard: FULL_SHARD, seqno }, signal));

  async function loadMaster(seqno: number, given: BlockIdExt | null): Promise<FetchedMaster> {
    const id = given ?? (await lookup(seqno));
    if (id.seqno !== seqno || id.workchain !== -1) {
      throw new IngestError('wrong_id', null, `asked for masterchain block ${seqno}, told of block ${blockKey(id)}`);
    }
    return load(id, seqno);
  }

  return {
    master: (seqno, given, before) =>
      patience.untilDone(`masterchain block ${seqno}`, async (attempt) => {
        const master = await loadMaster(seqno, attempt === 0 ? given : null);
        const link = await before;
        if (link.id === null || sameHashes(master.prev[0], link.id)) return master;
        await options.onConflict();
        const what = `masterchain block ${seqno} does not follow the masterchain block ${seqno - 1} that is known`;
        throw new IngestError('conflict', null, `${what}: other hashes`);
      }),
    oldMaster: (seqno) =>
      patience.untilDone(`masterchain block ${seqno}`, (attempt) => unlessGone(attempt, () => loadMaster(seqno, null))),
    shard: (id, mcSeqno, confirm) =>
      patience.untilDone(`block ${blockKey(id)} of step ${mcSeqno}`, async (attempt) => {
        try {
          return await load(id, mcSeqno);
        } catch (error) {
          if (isMissing(error) && attempt + 1 >= NEW_BLOCK_TRIES) await confirm();
          throw error;
        }
      }),
    oldShard: (id, mcSeqno) =>
      patience.untilDone(`block ${blockKey(id)} of step ${mcSeqno}`, (attempt) =>
        unlessGone(attempt, () => load(id, mcSeqno)),
      ),
  };
}

async function unlessGone<T>(attempt: number, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error) && attempt >= OLD_BLOCK_TRIES) return null;
    throw error;
  }
}

const isMissing = (error: unknown): boolean => error instanceof NodeError && error.code === 'not_found';
