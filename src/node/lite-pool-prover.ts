import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { errorMessage } from '../chain/errors.ts';
import type { BlockIdExt } from '../chain/model.ts';
import { type BlockProver, NodeError, type ProvenBlock } from './chain-node.ts';
import { decodeAnswer, encodeRequest } from './lite-api.ts';
import { judge, LieError } from './lite-faults.ts';
import type { LiteLimits } from './lite-limits.ts';
import type { LitePeer } from './lite-peer.ts';
import { type AskProof, createLiteProver } from './lite-prover.ts';
import { ALL, type Asker } from './lite-race.ts';
import type { TrustedBlock } from './trusted-block.ts';

/** Blocks whose claimants are remembered: more than an ingester fetches ahead. */
const REMEMBERED_CLAIMS = 1_024;

/** Shortest time between two lines on the way over key blocks. */
const LINE_MS = 5_000;

/** A server may know a block before the signatures of it. */
const GRACE_MS = 500;

export interface PoolProver extends BlockProver {
  /** A server says that this is its head, or the block of a seqno, a time or an lt. */
  claimed(peer: LitePeer, id: BlockIdExt): void;
  /** Has one server prove a block. Rejects with what was wrong, which is not counted yet. */
  proveBy(peer: LitePeer, id: BlockIdExt, signal: AbortSignal): Promise<ProvenBlock>;
}

export interface PoolProverContext {
  asker: Asker;
  limits: LiteLimits;
  logger: Pick<Logger, 'info' | 'warn'>;
  trusted: TrustedBlock;
  head(signal: AbortSignal): Promise<BlockIdExt>;
}

/** The prover of a pool: asks whichever server can answer, and holds those to their word who told of a block. */
export function createPoolProver({ asker, limits, logger, trusted, head }: PoolProverContext): PoolProver {
  const claims = new LRUCache<string, Set<LitePeer>>({ max: REMEMBERED_CLAIMS });
  let saidAtMs = performance.now();

  const askAny: AskProof = (request, target, read, signal) =>
    asker.ask({
      name: request.method,
      body: encodeRequest(request),
      check: (bytes) => read(decodeAnswer('getBlockProof', bytes)),
      signal,
      timeoutMs: limits.timeoutMs,
      preferMcSeqno: target.seqno,
      opinions: ALL,
    });

  const askOne =
    (peer: LitePeer): AskProof =>
    async (request, _, read, signal) => {
      const bytes = await peer.exchange(encodeRequest(request), { signal, timeoutMs: limits.attemptMs });
      return read(decodeAnswer('getBlockProof', bytes));
    };

  const prover = createLiteProver({
    ask: askAny,
    head,
    trusted,
    onKeyBlock({ seqno }, target) {
      if (performance.now() - saidAtMs < LINE_MS) return;
      saidAtMs = performance.now();
      logger.info({ seqno, target: target.seqno }, `key block ${seqno} is proven, on the way to ${target.seqno}`);
    },
  });

  /** Nobody proves what a server told of: it has to, or it lied. */
  async function holdToClaims(id: BlockIdExt, failure: NodeError, signal: AbortSignal): Promise<ProvenBlock> {
    const claimants = claims.get(claimKey(id)) ?? new Set();
    claims.delete(claimKey(id));
    if (claimants.size > 0) await delay(GRACE_MS, undefined, { signal });
    for (const peer of claimants) {
      try {
        return await prover.proveBy(askOne(peer), id, signal);
      } catch (error) {
        signal.throwIfAborted();
        const verdict = judge(error);
        const lied = verdict?.kind === 'not_found' || verdict?.kind === 'refused';
        if (lied)
          peer.fault('lie', new LieError(`told of block ${id.seqno} and cannot prove it: ${errorMessage(error)}`));
        else if (verdict?.kind === 'fault') peer.fault(verdict.fault, error);
      }
    }
    throw failure;
  }

  return {
    async prove(id, signal) {
      try {
        const proven = await prover.prove(id, signal);
        claims.delete(claimKey(id));
        return proven;
      } catch (error) {
        if (!(error instanceof NodeError) || error.code !== 'not_found') throw error;
        return holdToClaims(id, error, signal);
      }
    },
    proveBy: (peer, id, signal) => prover.proveBy(askOne(peer), id, signal),
    claimed(peer, id) {
      const key = claimKey(id);
      claims.set(key, (claims.get(key) ?? new Set()).add(peer));
    },
    get keyBlock() {
      return prover.keyBlock;
    },
    get newest() {
      return prover.newest;
    },
  };
}

const claimKey = ({ seqno, rootHash, fileHash }: BlockIdExt): string =>
  `${seqno}${rootHash.toString('latin1')}${fileHash.toString('latin1')}`;
