import type { BlockId, BlockIdExt, Hash } from '../chain/model.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import { type AccountBoc, type ChainNode, isNotFound, NodeError } from './chain-node.ts';
import {
  BY_SEQNO,
  blockIdExtFromTl,
  blockIdExtToTl,
  blockIdToTl,
  decodeAnswer,
  encodeRequest,
  type LiteAnswer,
  type LiteMethod,
  type LiteRequest,
  sameBlock,
  shardToTl,
} from './lite-api.ts';
import { LieError } from './lite-faults.ts';
import type { Heads } from './lite-heads.ts';
import { askLibraries } from './lite-libraries.ts';
import type { LiteLimits } from './lite-limits.ts';
import { type LitePeer, standing } from './lite-peer.ts';
import { checkBlock, checkHeader, checkLookup, type FoundBlock, provenAccount } from './lite-proofs.ts';
import { ALL, type Asker } from './lite-race.ts';

/** Servers answer at most so many. */
const MAX_LIBRARIES = 16;

/** Blocks with the same second that are stepped over in a search by time. */
const MAX_STEPS = 64;

export interface LiteChainContext {
  peers: readonly LitePeer[];
  asker: Asker;
  heads: Heads;
  limits: LiteLimits;
  zeroState: BlockIdExt;
  /** A server says that a masterchain block has this id, which is not proven. */
  claimed(peer: LitePeer, id: BlockIdExt): void;
}

/** The chain as the servers of a pool show it, every answer checked against the hashes it was asked by. */
export function createLiteChain({ peers, asker, heads, limits, zeroState, claimed }: LiteChainContext): ChainNode {
  function ask<M extends LiteMethod, T>(
    request: LiteRequest<M>,
    signal: AbortSignal,
    read: (answer: LiteAnswer<M>, peer: LitePeer) => T,
    minMcSeqno?: number,
  ): Promise<T> {
    const { method } = request;
    const { timeoutMs } = limits;
    const check = (bytes: Buffer, peer: LitePeer): T => read(decodeAnswer(method, bytes), peer);
    return asker.ask({
      name: method,
      body: encodeRequest(request),
      check,
      signal,
      timeoutMs,
      minMcSeqno,
      opinions: ALL,
    });
  }

  /** Where the id is of the masterchain, servers that are not that far are asked last. No wait beyond what is known. */
  function seqnoToHave(id: BlockId): number | undefined {
    const head = heads.best();
    return id.workchain === -1 && head !== null && id.seqno <= head.seqno ? id.seqno : undefined;
  }

  async function head(signal: AbortSignal): Promise<BlockIdExt> {
    const found = await heads.settled(limits.timeoutMs, signal);
    if (found !== null) return found;
    throw new NodeError('unavailable', `head: no server in ${limits.timeoutMs} ms (${standing(peers)})`);
  }

  function lookup(request: LiteRequest<'lookupBlock'>, signal: AbortSignal): Promise<FoundBlock> {
    const { workchain, shard, seqno } = request.id;
    const read = (answer: LiteAnswer<'lookupBlock'>, peer: LitePeer): FoundBlock => {
      const found = checkLookup(answer, request);
      if (found.id.workchain === -1) claimed(peer, found.id);
      return found;
    };
    const minMcSeqno =
      request.mode === BY_SEQNO && workchain === -1 ? seqnoToHave({ workchain, shard: FULL_SHARD, seqno }) : undefined;
    return ask({ ...request, id: { workchain, shard, seqno } }, signal, read, minMcSeqno);
  }

  async function lookupBlock(id: BlockId, signal: AbortSignal): Promise<BlockIdExt> {
    const { id: found } = await lookup({ method: 'lookupBlock', mode: BY_SEQNO, id: blockIdToTl(id) }, signal);
    if (found.shard === id.shard) return found;
    // A server looks by prefix: after a split or merge another shard has this seqno.
    throw new NodeError('not_found', `lookupBlock: seqno ${id.seqno} is in shard ${found.shard}, not ${id.shard}`);
  }

  function header(id: BlockIdExt, signal: AbortSignal): Promise<FoundBlock> {
    const read = (answer: LiteAnswer<'getBlockHeader'>): FoundBlock => {
      if (!sameBlock(blockIdExtFromTl(answer.id), id)) throw new LieError('header of another block');
      return { id, ...checkHeader(answer.headerProof, id) };
    };
    return ask({ method: 'getBlockHeader', id: blockIdExtToTl(id), mode: 0 }, signal, read, seqnoToHave(id));
  }

  /** Newest block of a shard: the head itself, or the top the head's shard table has for it. */
  async function newest(shard: Pick<BlockId, 'workchain' | 'shard'>, signal: AbortSignal): Promise<FoundBlock> {
    const master = await head(signal);
    if (shard.workchain === -1) return header(master, signal);
    const read = (answer: LiteAnswer<'getShardInfo'>): BlockIdExt => blockIdExtFromTl(answer.shardblk);
    const { workchain } = shard;
    const request = { id: blockIdExtToTl(master), workchain, shard: shardToTl(shard.shard), exact: false };
    return header(await ask({ method: 'getShardInfo', ...request }, signal, read, master.seqno), signal);
  }

  /**
   * Servers find the first block at or after a time. The one wanted is the last before the first of the next second;
   * stepping back also serves servers that find the last block at or before a time.
   */
  async function lookupByUtime(
    shard: Pick<BlockId, 'workchain' | 'shard'>,
    utime: number,
    signal: AbortSignal,
  ): Promise<BlockIdExt> {
    let found = await firstAfter(shard, utime, signal);
    for (let step = 0; step < MAX_STEPS; step++) {
      if (found.genUtime <= utime) return found.id;
      if (found.id.seqno <= 1) break;
      const id = blockIdToTl({ ...shard, seqno: found.id.seqno - 1 });
      found = await lookup({ method: 'lookupBlock', mode: BY_SEQNO, id }, signal);
    }
    throw new NodeError(
      'not_found',
      `lookupBlock: no block of ${shard.workchain}:${shard.shard} at or before ${utime}`,
    );
  }

  async function firstAfter(
    shard: Pick<BlockId, 'workchain' | 'shard'>,
    utime: number,
    signal: AbortSignal,
  ): Promise<FoundBlock> {
    const id = { workchain: shard.workchain, shard: shardToTl(shard.shard), seqno: 0 };
    try {
      return await lookup({ method: 'lookupBlock', mode: 4, id, utime: utime + 1 }, signal);
    } catch (error) {
      // Nothing after that time yet: the newest block is the one, or no block is.
      if (isNotFound(error)) return newest(shard, signal);
      throw error;
    }
  }

  async function block(id: BlockIdExt, signal: AbortSignal): Promise<Buffer> {
    return ask(
      { method: 'getBlock', id: blockIdExtToTl(id) },
      signal,
      (answer) => checkBlock(answer, id),
      seqnoToHave(id),
    );
  }

  async function account(id: BlockIdExt, workchain: number, hash: Hash, signal: AbortSignal): Promise<AccountBoc> {
    const read = (answer: LiteAnswer<'getAccountState'>): AccountBoc => {
      const { boc, lastTransactionHash, lastTransactionLt } = provenAccount(answer, id, workchain, hash);
      return { boc, lastTransactionHash, lastTransactionLt };
    };
    const request = { id: blockIdExtToTl(id), account: { workchain, id: hash } };
    return ask({ method: 'getAccountState', ...request }, signal, read, seqnoToHave(id));
  }

  async function libraries(hashes: readonly Hash[], signal: AbortSignal): Promise<Map<string, Buffer>> {
    if (hashes.length > MAX_LIBRARIES) throw new RangeError(`${hashes.length} libraries, at most ${MAX_LIBRARIES}`);
    if (hashes.length === 0) return new Map();
    return askLibraries(asker, hashes, { signal, timeoutMs: limits.timeoutMs, opinions: ALL });
  }

  async function waitMasterchainBlock(
    seqno: number,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<BlockIdExt | null> {
    const newestId = await heads.waitFor(seqno, timeoutMs, signal);
    if (newestId === null || newestId.seqno === seqno) return newestId;
    return lookupBlock({ workchain: -1, shard: FULL_SHARD, seqno }, signal);
  }

  const { rootHash, fileHash } = zeroState;
  return {
    head,
    zeroState: async () => ({ rootHash, fileHash }),
    waitMasterchainBlock,
    lookupBlock,
    lookupByUtime,
    block,
    account,
    libraries,
  };
}
