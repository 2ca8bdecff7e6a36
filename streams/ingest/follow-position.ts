import type { Logger } from 'pino';
import type { BlockIdExt } from '../../src/chain/model.ts';
import { FULL_SHARD } from '../../src/chain/shard-ident.ts';
import { type BlockProver, type ChainNode, NodeError } from '../../src/node/chain-node.ts';
import type { EventLog } from '../log.ts';
import { type BlockPlace, firstStep } from '../step-search.ts';
import type { TopicNames } from '../topics.ts';
import { ANOTHER_LOG, IngestError, sameHashes } from './check.ts';
import type { BlockFetcher, MasterLink } from './follow-fetch.ts';
import type { Patience } from './follow-patience.ts';
import { firstSeqno, type StartPoint, startText } from './follow-start.ts';
import { type LoggedEnd, readLoggedEnd } from './logged.ts';

/** Where a run begins. */
export interface Position {
  /** First step to append. */
  next: number;
  /** Blocks of it that the log has. */
  tail: BlockPlace[];
  sealedSeqno: number | null;
  /** End of the topic of blocks. */
  nextOffset: number;
  globalId: number | null;
  /** Root hash of the zero state. */
  zeroState: Buffer;
  /** The masterchain block before the first step. */
  before(fetcher: BlockFetcher): Promise<MasterLink>;
  /** @throws {IngestError} `network` when the node's zero state is not the log's */
  checkNetwork(): Promise<void>;
}

export interface PositionParts {
  log: EventLog;
  topics: TopicNames;
  node: ChainNode;
  prover?: BlockProver | null;
  options: { from: StartPoint };
  logger: Pick<Logger, 'info' | 'warn'>;
  patience: Patience;
  head: BlockIdExt;
  signal: AbortSignal;
}

/** Where the log is of another chain than the node. */
const REMEDY = `Follow it with ${ANOTHER_LOG}; --network none serves what this log holds`;

/**
 * Behind the last sealed step of the log, or where the options say when it is empty.
 * @throws {IngestError} `network` when the log is of another chain than the node
 */
export async function readPosition(parts: PositionParts): Promise<Position> {
  const { log, topics, node, options, patience, head, signal } = parts;
  const end = await readLoggedEnd(log, topics.blocks);
  const nodeZero = await patience.untilDone('asking for the zero state', () => node.zeroState(signal));
  const zeroState = end.zeroState ?? Buffer.from(nodeZero.rootHash);
  const checkNetwork = async (): Promise<void> => {
    const { rootHash } = await node.zeroState(signal);
    if (rootHash.equals(zeroState)) return;
    const what = `the node is of a network with zero state ${rootHash.toString('hex')}`;
    const other = `${what}, the log holds the one of ${zeroState.toString('hex')}. ${REMEDY}`;
    throw new IngestError('network', null, other);
  };
  await patience.untilDone('asking for the zero state', checkNetwork);
  if (end.master !== null && head.seqno >= end.master.id.seqno) await checkSealed(parts, end.master.id);
  const from = end.sealed !== null ? end.sealed.mcSeqno + 1 : end.tail.at(0)?.mcSeqno;
  const next =
    from ?? (await patience.untilDone('finding the start', () => firstSeqno(options.from, node, head, signal)));
  await announce(parts, end, next);
  const zero: BlockIdExt = { workchain: -1, shard: FULL_SHARD, seqno: 0, ...nodeZero };
  return {
    next,
    tail: end.tail,
    sealedSeqno: end.sealed?.mcSeqno ?? null,
    nextOffset: await log.end(topics.blocks),
    globalId: end.globalId,
    zeroState,
    checkNetwork,
    before: (fetcher) => masterBefore(parts, end, next, zero, fetcher),
  };
}

/** The node must have the log's last masterchain block, unless it keeps blocks of that age no more. */
async function checkSealed({ node, prover, patience, signal }: PositionParts, sealed: BlockIdExt): Promise<void> {
  const { workchain, shard, seqno } = sealed;
  const found = await patience.untilDone(`looking up masterchain block ${seqno}`, async () => {
    try {
      const id = await node.lookupBlock({ workchain, shard, seqno }, signal);
      // A single server's word is not enough to call the log one of another chain.
      if (!sameHashes(id, sealed)) await prover?.prove(id, signal);
      return id;
    } catch (error) {
      if (error instanceof NodeError && error.code === 'not_found') return null;
      throw error;
    }
  });
  if (found === null || sameHashes(found, sealed)) return;
  const hashes = `root hash ${found.rootHash.toString('hex')} at the node, ${sealed.rootHash.toString('hex')} in the log`;
  const what = `the node's masterchain block ${seqno} is not the one the log ends with (${hashes})`;
  throw new IngestError('network', null, `${what}: another network, or a chain that began anew. ${REMEDY}`);
}

async function announce({ log, topics, options, logger, head }: PositionParts, end: LoggedEnd, next: number) {
  if (end.sealed === null && end.tail.length === 0) {
    logger.info({ seqno: next, head: head.seqno }, `the log is empty: starting with masterchain block ${next}`);
    return;
  }
  const behind = Math.max(0, head.seqno - next + 1);
  const what = `going on with masterchain block ${next}, ${behind} behind the head`;
  const first = (await firstStep(log, topics.blocks))?.mcSeqno ?? next;
  const { from } = options;
  const asStarted =
    from === 'genesis' ? first === 1 : typeof from === 'object' && 'seqno' in from && from.seqno === first;
  const hint = asStarted
    ? ''
    : `; the start "${startText(from)}" is for an empty log, this one begins with step ${first}`;
  logger.info({ seqno: next, head: head.seqno }, what + hint);
}

/** Its shard tops tell where the first step begins. */
async function masterBefore(
  { logger }: PositionParts,
  end: LoggedEnd,
  next: number,
  zero: BlockIdExt,
  fetcher: BlockFetcher,
): Promise<MasterLink> {
  if (end.master !== null) return end.master;
  if (next === 1) return { id: zero, tops: [] };
  const before = await fetcher.oldMaster(next - 1);
  if (before !== null) {
    // All that follows is held to it.
    await fetcher.confirm(before);
    return before;
  }
  logger.warn(
    { seqno: next },
    `no server has masterchain block ${next - 1}: of step ${next}, shard blocks built before it may be missing`,
  );
  return { id: null, tops: null };
}
