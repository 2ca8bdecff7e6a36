import type { BlockIdExt } from '../../src/chain/model.ts';
import { FULL_SHARD } from '../../src/chain/shard-ident.ts';
import { type ChainNode, NodeError } from '../../src/node/chain-node.ts';
import { blockKey } from '../envelope.ts';
import type { ShardTop } from './assembly.ts';
import { type CheckedBlock, checkBlockAndTops, IngestError, sameHashes } from './check.ts';
import { type Patience, refetchReason } from './follow-patience.ts';
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
  /** A shard block that a masterchain block commits. */
  shard(id: BlockIdExt, master: FetchedMaster): Promise<FetchedBlock>;
  /** The same for a block that may be gone. */
  oldShard(id: BlockIdExt, mcSeqno: number): Promise<FetchedBlock | null>;
  /** To be asked before a masterchain block is called wrong, or much fetched for it: rejects when nobody can prove it. */
  confirm(master: FetchedMaster): Promise<void>;
}

export interface FetcherOptions {
  node: ChainNode;
  patience: Patience;
  /** Requests at the same time. */
  concurrency: number;
  /** `global_id` that every block must have; where it is null and nothing is proven, the first one decides. */
  globalId: number | null;
  /** Told when blocks contradict each other; throws when the node is of another network by now. */
  onConflict: () => Promise<void>;
  /** Whether a masterchain block is true: rejects, with what ends the run, when nobody can prove it. Null: all are. */
  confirm: ((id: BlockIdExt) => Promise<unknown>) | null;
  onFetched?: (ms: number, bytes: number) => void;
  signal: AbortSignal;
}

const OLD_BLOCK_TRIES = 8;
/** Tries after each so many of which a block is doubted: a server may know one a moment before its shard blocks. */
const DOUBTED_EVERY = 6;

/**
 * Gets blocks until it has them. The steps nearest to the log's end are served first.
 *
 * Servers may make up a masterchain block. One that cannot be had, or read, whose shard blocks cannot be, or that does
 * not fit the others is doubted: it has to be proven before it is asked for again, or called wrong.
 */
export function createFetcher(options: FetcherOptions): BlockFetcher {
  const { node, patience, signal } = options;
  const lanes = createLanes(options.concurrency);
  /** One proof at a time: where one step is doubted, all that are fetched ahead may be. */
  const proofs = createLanes(1);
  let network = options.globalId;

  async function load(id: BlockIdExt, rank: number): Promise<FetchedMaster> {
    const since = performance.now();
    const boc = await lanes.run(rank, () => node.block(id, signal));
    options.onFetched?.(performance.now() - since, boc.length);
    const place = { file: `block ${blockKey(id)} as served`, line: null };
    const { block, tops } = checkBlockAndTops(boc, id, place);
    if (options.confirm === null) network ??= block.globalId;
    if (network !== null && block.globalId !== network) {
      const what = `block ${blockKey(id)} is of network ${block.globalId} (global_id)`;
      throw new IngestError('network', null, `${what}, the log holds network ${network}`);
    }
    return { ...block, boc, receivedAtMs: Date.now(), tops };
  }

  const lookup = (seqno: number): Promise<BlockIdExt> =>
    lanes.run(seqno, () => node.lookupBlock({ workchain: -1, shard: FULL_SHARD, seqno }, signal));

  async function idOf(seqno: number, given: BlockIdExt | null): Promise<BlockIdExt> {
    const id = given ?? (await lookup(seqno));
    if (id.seqno === seqno && id.workchain === -1) return id;
    throw new IngestError('wrong_id', null, `asked for masterchain block ${seqno}, told of block ${blockKey(id)}`);
  }

  async function confirm(id: BlockIdExt): Promise<void> {
    await proofs.run(id.seqno, async () => options.confirm?.(id));
  }

  /** Does what is to be done for a masterchain block, which is doubted where that fails. */
  async function doubting<T>(master: BlockIdExt, attempt: number, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isDoubtful(error, attempt)) await confirm(master);
      throw error;
    }
  }

  return {
    master: (seqno, given, before) =>
      patience.untilDone(`masterchain block ${seqno}`, async (attempt) => {
        const id = await idOf(seqno, attempt === 0 ? given : null);
        return doubting(id, attempt, async () => {
          const master = await load(id, seqno);
          const link = await before;
          if (link.id === null || sameHashes(master.prev[0], link.id)) return master;
          await options.onConflict();
          const what = `masterchain block ${seqno} does not follow the masterchain block ${seqno - 1} that is known`;
          throw new IngestError('conflict', null, `${what}: other hashes`);
        });
      }),
    oldMaster: (seqno) =>
      patience.untilDone(`masterchain block ${seqno}`, (attempt) =>
        unlessGone(attempt, async () => load(await idOf(seqno, null), seqno)),
      ),
    shard: (id, { id: master }) =>
      patience.untilDone(`block ${blockKey(id)} of step ${master.seqno}`, (attempt) =>
        doubting(master, attempt, () => load(id, master.seqno)),
      ),
    oldShard: (id, mcSeqno) =>
      patience.untilDone(`block ${blockKey(id)} of step ${mcSeqno}`, (attempt) =>
        unlessGone(attempt, () => load(id, mcSeqno)),
      ),
    confirm: ({ id }) => confirm(id),
  };
}

/** What is wrong with a block at once, what cannot be had or read when it stays so. */
function isDoubtful(error: unknown, attempt: number): boolean {
  if (error instanceof IngestError && (error.code === 'network' || error.code === 'conflict')) return true;
  const reason = refetchReason(error);
  return (reason === 'not_found' || reason === 'wrong') && (attempt + 1) % DOUBTED_EVERY === 0;
}

async function unlessGone<T>(attempt: number, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NodeError && error.code === 'not_found' && attempt >= OLD_BLOCK_TRIES) return null;
    throw error;
  }
}
