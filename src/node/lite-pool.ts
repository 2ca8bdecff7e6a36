import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import { errorMessage } from '../chain/errors.ts';
import type { BlockIdExt, Hash } from '../chain/model.ts';
import { AdnlError } from './adnl.ts';
import { type BlockProver, type ChainNode, NodeError } from './chain-node.ts';
import type { GlobalConfig } from './global-config.ts';
import {
  blockIdExtToTl,
  decodeAnswer,
  decodeBody,
  encodeAnswer,
  encodeRequest,
  type LiteAnswer,
  type LiteMethod,
  type LiteRequest,
} from './lite-api.ts';
import { createLiteChain } from './lite-chain.ts';
import { checkAnswer } from './lite-checks.ts';
import { type FaultKind, judge, LieError } from './lite-faults.ts';
import { createHeads } from './lite-heads.ts';
import { askLibraries } from './lite-libraries.ts';
import { defaultLiteLimits, type LiteLimits } from './lite-limits.ts';
import { createLitePeer, type LitePeer, type PeerState } from './lite-peer.ts';
import { createPoolProver, type PoolProver } from './lite-pool-prover.ts';
import { checkHeader } from './lite-proofs.ts';
import { createAsker, type RaceMetrics } from './lite-race.ts';
import type { TrustedBlock } from './trusted-block.ts';

export interface PoolMetrics extends RaceMetrics {
  /** A server did something wrong. */
  fault?(server: string, kind: FaultKind): void;
}

export interface LitePoolOptions extends Partial<LiteLimits> {
  logger: Logger;
  /** Where proofs by signatures begin. Without it the pool has no prover. */
  trusted?: TrustedBlock | null;
  metrics?: PoolMetrics;
}

export interface QueryOptions {
  signal: AbortSignal;
  /** Over all attempts. Default `timeoutMs` of the limits. */
  timeoutMs?: number | undefined;
  /** Masterchain block the answering server must have; it is asked to wait for it (`waitMasterchainSeqno`). */
  minMcSeqno?: number | undefined;
}

/** How a server does, for a view of the pool. */
export interface ServerStatus {
  host: string;
  port: number;
  state: PeerState;
  /** Seqno of its newest masterchain block; null while unknown. */
  head: number | null;
  latencyMs: number | null;
  inFlight: number;
  /** What it did wrong since the start, by kind. */
  faults: Readonly<Record<FaultKind, number>>;
  lastFault: string | null;
  /** Milliseconds it will still be left alone. */
  restsMs: number;
}

/** Time to prove a head; it is a small answer. */
const PROOF_MS = 3_000;

/** All liteservers of a network as one chain node. */
export interface LitePool extends ChainNode {
  /** Holds masterchain blocks to the signatures of validators; null when the pool was given nothing to begin with. */
  readonly prover: BlockProver | null;
  /**
   * Any call of the protocol, to a server that can answer it; its answer is held to its proofs (lite-checks.ts). The
   * server's own error is the `cause`. @throws {NodeError}
   */
  query<M extends LiteMethod>(request: LiteRequest<M>, options: QueryOptions): Promise<LiteAnswer<M>>;
  /** The same in bytes: body of a call there, answer back. @throws {NodeError} @throws {TlError} for no call */
  queryBytes(body: Buffer, options: QueryOptions): Promise<Buffer>;
  /**
   * Sends an external message to several servers at once and resolves when the first has taken it; the others go on.
   * @throws {NodeError} `refused` when every server asked refuses it, with the last reason
   */
  sendMessage(boc: Buffer, signal: AbortSignal): Promise<void>;
  servers(): ServerStatus[];
  /** Ends all calls and connections. */
  close(): Promise<void>;
}

/** Connects to every server of the config and stays connected. */
export function createLitePool(config: GlobalConfig, options: LitePoolOptions): LitePool {
  const { logger, metrics = {}, trusted = null, ...changed } = options;
  const limits: LiteLimits = { ...defaultLiteLimits, ...changed };
  const controller = new AbortController();
  // Every server listens to it.
  setMaxListeners(0, controller.signal);
  const peers: LitePeer[] = [];
  const heads = createHeads({ peers, limits, prove, signal: controller.signal });
  const asker = createAsker(peers, limits, metrics, controller.signal);

  function onFault(peer: LitePeer, kind: FaultKind, error: unknown): void {
    metrics.fault?.(peer.name, kind);
    const grave = kind === 'lie' || kind === 'garbage' || kind === 'stale';
    logger[grave ? 'warn' : 'debug']({ err: error, server: peer.name, kind }, 'a liteserver failed');
  }

  /** The head a server claims, proven by its header. */
  async function prove(peer: LitePeer, head: BlockIdExt): Promise<void> {
    const body = encodeRequest({ method: 'getBlockHeader', id: blockIdExtToTl(head), mode: 0 });
    try {
      const answer = await peer.exchange(body, {
        signal: controller.signal,
        timeoutMs: Math.min(limits.attemptMs, PROOF_MS),
      });
      checkHeader(decodeAnswer('getBlockHeader', answer).headerProof, head);
      await prover?.proveBy(peer, head, controller.signal);
    } catch (error) {
      if (controller.signal.aborted || error instanceof NodeError) throw error;
      // Whatever the reason, a head that stands against others is shown or not believed; who has too much to do, is slow
      // or gone does not lie.
      const verdict = judge(error);
      const fault = verdict?.kind === 'fault' ? verdict.fault : null;
      if (fault === 'busy' || fault === 'timeout') peer.fault(fault, error);
      else if (!(error instanceof AdnlError)) {
        peer.fault('lie', new LieError(`claims head ${head.seqno} and does not show it: ${errorMessage(error)}`));
      }
      throw error;
    }
  }

  async function queryBytes(body: Buffer, query: QueryOptions): Promise<Buffer> {
    const { request } = decodeBody(body);
    if (request.method === 'getLibraries') return queryLibraries(request.libraryList, query);
    return ask(request.method, body, query, (answer) => {
      checkAnswer(request, answer, config.zeroState);
      return answer;
    });
  }

  async function queryLibraries(hashes: readonly Hash[], query: QueryOptions): Promise<Buffer> {
    const { signal, timeoutMs = limits.timeoutMs, minMcSeqno } = query;
    const found = await askLibraries(asker, hashes, { signal, timeoutMs, minMcSeqno });
    const result = [...found].map(([hash, data]) => ({ hash: Buffer.from(hash, 'hex'), data }));
    return encodeAnswer('getLibraries', { result });
  }

  function ask<T>(name: string, body: Buffer, query: QueryOptions, check: (answer: Buffer) => T): Promise<T> {
    const { signal, timeoutMs = limits.timeoutMs, minMcSeqno } = query;
    return asker.ask({ name, body, check, signal, timeoutMs, minMcSeqno });
  }

  async function sendMessage(boc: Buffer, signal: AbortSignal): Promise<void> {
    const body = encodeRequest({ method: 'sendMessage', body: boc });
    const ready = peers.filter((peer) => peer.state === 'ready').sort((a, b) => a.score() - b.score());
    const chosen = ready.slice(0, limits.sendTo);
    if (chosen.length === 0) {
      await ask('sendMessage', body, { signal }, (answer) => decodeAnswer('sendMessage', answer));
      return;
    }
    const attempts = chosen.map(async (peer) => {
      try {
        const answer = await peer.exchange(body, { signal, timeoutMs: limits.attemptMs });
        decodeAnswer('sendMessage', answer);
      } catch (error) {
        throw new SendFailure(peer, error);
      }
    });
    try {
      await Promise.any(attempts);
    } catch (error) {
      if (signal.aborted) throw new NodeError('aborted', 'sendMessage: aborted', { cause: signal.reason });
      throw sendError(error);
    }
  }

  const claimed = (peer: LitePeer, id: BlockIdExt): void => prover?.claimed(peer, id);
  const chain = createLiteChain({ peers, asker, heads, limits, zeroState: config.zeroState, claimed });
  const prover: PoolProver | null =
    trusted === null ? null : createPoolProver({ asker, limits, logger, trusted, head: chain.head });
  const context = {
    limits,
    zeroState: config.zeroState,
    signal: controller.signal,
    onHead: (peer: LitePeer) => {
      if (peer.head !== null) claimed(peer, peer.head);
      heads.note(peer);
    },
    onChange: () => {
      asker.peerChanged();
      heads.recheck();
    },
    onSlot: () => asker.slotFree(),
    onFault,
  };
  for (const address of config.liteservers) peers.push(createLitePeer(address, context));

  return {
    ...chain,
    prover,
    query: async (request, query) => decodeAnswer(request.method, await queryBytes(encodeRequest(request), query)),
    queryBytes,
    sendMessage,
    servers: () => peers.map(statusOf),
    async close() {
      controller.abort(new Error('the pool is closed'));
      await Promise.all(peers.map((peer) => peer.done));
    },
  };
}

/** A server that did not take a message. */
class SendFailure extends Error {
  constructor(peer: LitePeer, cause: unknown) {
    super(`${peer.name}: ${errorMessage(cause)}`, { cause });
    this.name = 'SendFailure';
  }
}

/** A reason for refusal says more than a connection that broke, so it is what the caller gets. */
function sendError(error: unknown): NodeError {
  const failures: unknown[] = error instanceof AggregateError ? error.errors : [error];
  const reasons = failures.filter((failure) => failure instanceof SendFailure);
  const refusal = reasons.findLast((failure) => judge(failure.cause)?.kind === 'refused');
  const told = refusal ?? reasons.at(-1);
  return new NodeError(refusal === undefined ? 'unavailable' : 'refused', `sendMessage: ${told?.message ?? error}`, {
    cause: told?.cause ?? error,
  });
}

function statusOf(peer: LitePeer): ServerStatus {
  const { address, state, head, latencyMs, inFlight, faults, lastFault, restsMs } = peer;
  const { host, port } = address;
  return {
    host,
    port,
    state,
    head: head?.seqno ?? null,
    latencyMs,
    inFlight,
    faults: { ...faults },
    lastFault,
    restsMs,
  };
}
