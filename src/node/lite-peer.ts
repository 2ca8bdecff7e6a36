import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../chain/errors.ts';
import type { BlockIdExt } from '../chain/model.ts';
import { AdnlError } from './adnl.ts';
import type { LiteServerAddress } from './global-config.ts';
import { blockIdExtFromTl, LITE_ERROR, LiteServerError } from './lite-api.ts';
import { checkNetwork } from './lite-checks.ts';
import { connectLite, type ExchangeOptions, type LiteConnection } from './lite-connection.ts';
import { type FaultKind, faultKinds, judge, LieError } from './lite-faults.ts';
import { backOff, type LiteLimits } from './lite-limits.ts';

export type PeerState =
  /** On the way to its first answer. */
  | 'connecting'
  | 'ready'
  /** Until the next attempt to connect. */
  | 'waiting'
  /** Left alone because of what it did. */
  | 'resting'
  | 'closed';

/** One server of the pool: keeps a connection, follows the server's head, counts what it does wrong. */
export interface LitePeer {
  readonly name: string;
  readonly address: LiteServerAddress;
  readonly state: PeerState;
  /** Newest masterchain block the server says it has; null while there is no connection. */
  readonly head: BlockIdExt | null;
  readonly inFlight: number;
  /** Smoothed time of an answer; null before the first. */
  readonly latencyMs: number | null;
  readonly faults: Readonly<Record<FaultKind, number>>;
  /** The last thing it did wrong. */
  readonly lastFault: string | null;
  /** Milliseconds of rest that are left. */
  readonly restsMs: number;
  /** True until the first attempt to connect has come to an end, for some seconds at most. */
  readonly fresh: boolean;
  /** The lower the better: latency, load, share of failures. */
  score(): number;
  /** As {@link LiteConnection.exchange}; measures the time. @throws {AdnlError} when there is no connection */
  exchange(body: Buffer, options: ExchangeOptions): Promise<Buffer>;
  succeeded(): void;
  /** Counts a fault and sends the server to rest when it has to. */
  fault(kind: FaultKind, error: unknown): void;
  /** Resolves when everything has ended after the signal. */
  readonly done: Promise<void>;
}

export interface PeerContext {
  limits: LiteLimits;
  /** Zero state of the network, as the config has it. */
  zeroState: BlockIdExt;
  signal: AbortSignal;
  onHead(peer: LitePeer): void;
  /** The state is another. */
  onChange(): void;
  /** A call has ended. */
  onSlot(): void;
  onFault(peer: LitePeer, kind: FaultKind, error: unknown): void;
}

/** Where each server stands and what it did wrong last, for who waits for one of them. */
export function standing(peers: readonly Pick<LitePeer, 'name' | 'state' | 'lastFault'>[]): string {
  return peers.map(({ name, state, lastFault }) => [`${name} ${state}`, lastFault ?? []].flat().join(', ')).join('; ');
}

/** A session that lasted so long clears the account of failed connections. */
const STABLE_MS = 30_000;
/** Shortest time between two questions for the head when the server does not wait as asked. */
const MIN_POLL_MS = 200;

/** As long as calls wait for a server that has only begun to connect. */
const FRESH_MS = 3_000;

const SMOOTHING = 0.1;
/** Latency assumed before the first answer. */
const UNKNOWN_MS = 20;
/** Half-life of what is known about a server's latency. */
const FORGET_MS = 60_000;

function smooth(mean: number | null, next: number): number {
  return mean === null ? next : mean + SMOOTHING * (next - mean);
}

/** Starts at once; ends by the signal. */
export function createLitePeer(address: LiteServerAddress, context: PeerContext): LitePeer {
  const { limits, zeroState, signal } = context;
  const faults = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  let state: PeerState = 'connecting';
  let connection: LiteConnection | null = null;
  let head: BlockIdExt | null = null;
  let latencyMs: number | null = null;
  let measuredAt = 0;
  let errorRate = 0;
  let inARow = 0;
  let rests = 0;
  let restUntil = 0;
  let busyUntil = 0;
  let lastFault: string | null = null;
  let fresh = true;
  let inFlight = 0;

  function enter(next: PeerState): void {
    state = next;
    context.onChange();
  }

  function rest(firstMs: number): void {
    const now = performance.now();
    if (now - restUntil > limits.maxRestMs) rests = 0;
    restUntil = now + backOff(firstMs, rests++, limits.maxRestMs);
    inARow = 0;
    if (connection === null) return;
    head = null;
    connection.close('left alone for a while');
    enter('resting');
  }

  function fault(kind: FaultKind, error: unknown): void {
    faults[kind]++;
    errorRate += SMOOTHING * (1 - errorRate);
    lastFault = `${kind}: ${errorMessage(error)}`;
    context.onFault(peer, kind, error);
    if (kind === 'busy') busyUntil = performance.now() + backOff(limits.backoffMs, 2, limits.maxBackoffMs);
    if (restUntil > performance.now()) return;
    if (kind === 'lie' || kind === 'garbage' || kind === 'flood' || kind === 'stale') rest(limits.lieRestMs);
    else if (++inARow >= limits.breakerFaults) rest(limits.restMs);
  }

  /** Asks for the head, first waiting for the next one when told so, and takes it. */
  async function askHead(live: LiteConnection, wait?: ExchangeOptions['wait']): Promise<void> {
    const timeoutMs = limits.attemptMs + (wait?.timeoutMs ?? 0);
    const info = await live.query({ method: 'getMasterchainInfo' }, { signal, timeoutMs, wait });
    checkNetwork(info, zeroState);
    const next = blockIdExtFromTl(info.last);
    if (next.workchain !== -1) throw new LieError('its masterchain head is no masterchain block');
    const news = head === null || next.seqno !== head.seqno || !next.rootHash.equals(head.rootHash);
    head = next;
    if (news && state === 'ready') context.onHead(peer);
  }

  /** One turn of following the head; not every server waits as asked. */
  async function followOnce(live: LiteConnection): Promise<void> {
    const startedAt = performance.now();
    const known = head?.seqno ?? 0;
    try {
      await askHead(live, { seqno: known + 1, timeoutMs: limits.pollMs });
      if (head !== null && head.seqno > known) return;
    } catch (error) {
      // The end of a wait without a block comes as an error of either code.
      if (!(error instanceof LiteServerError)) throw error;
      if (error.code !== LITE_ERROR.timeout && error.code !== LITE_ERROR.notReady) {
        await delay(backOff(MIN_POLL_MS, 2, limits.pollMs), undefined, { signal });
        await askHead(live);
      }
    }
    const early = MIN_POLL_MS - (performance.now() - startedAt);
    if (early > 0) await delay(early, undefined, { signal });
  }

  async function session(): Promise<void> {
    enter('connecting');
    const live = await connectLite(address, signal, limits);
    connection = live;
    const ended = new Promise<never>((_, reject) => live.onClose(reject));
    const follow = async (): Promise<never> => {
      await askHead(live);
      fresh = false;
      enter('ready');
      context.onHead(peer);
      for (;;) await followOnce(live);
    };
    try {
      await Promise.race([follow(), ended]);
    } finally {
      connection = null;
      head = null;
      live.close();
    }
  }

  function settle(): void {
    if (!fresh) return;
    fresh = false;
    context.onChange();
  }

  async function run(): Promise<void> {
    let failures = 0;
    const freshTimer = setTimeout(settle, FRESH_MS);
    freshTimer.unref();
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        await session();
      } catch (error) {
        if (signal.aborted) break;
        failures = performance.now() - startedAt > STABLE_MS ? 0 : failures + 1;
        if (restUntil <= performance.now()) sessionFault(error);
      }
      fresh = false;
      const restMs = restUntil - performance.now();
      enter(restMs > 0 ? 'resting' : 'waiting');
      const pauseMs = Math.max(restMs, backOff(limits.backoffMs, failures - 1, limits.maxBackoffMs));
      // It rejects when the pool ends, and so does the loop.
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    clearTimeout(freshTimer);
    enter('closed');
  }

  function sessionFault(error: unknown): void {
    const verdict = judge(error);
    fault(verdict?.kind === 'fault' ? verdict.fault : 'reset', error);
  }

  async function exchange(body: Buffer, options: ExchangeOptions): Promise<Buffer> {
    if (connection === null) throw new AdnlError('closed', 'not connected');
    const startedAt = performance.now();
    inFlight++;
    try {
      return await connection.exchange(body, options);
    } finally {
      const tookMs = performance.now() - startedAt;
      if (options.wait === undefined) {
        latencyMs = smooth(latencyMs, tookMs);
        measuredAt = performance.now();
      }
      inFlight--;
      context.onSlot();
    }
  }

  const peer: LitePeer = {
    name: `${address.host}:${address.port}`,
    address,
    get state() {
      return state;
    },
    get head() {
      return head;
    },
    get inFlight() {
      return inFlight;
    },
    get latencyMs() {
      return latencyMs;
    },
    faults,
    get lastFault() {
      return lastFault;
    },
    get restsMs() {
      return Math.max(0, restUntil - performance.now());
    },
    get fresh() {
      return fresh;
    },
    score() {
      const load = 1 + inFlight;
      const busy = busyUntil > performance.now() ? 10 : 1;
      // An old measurement is forgotten by and by, else a server that was slow once would never be asked again.
      const age = performance.now() - measuredAt;
      const expectedMs = (latencyMs ?? UNKNOWN_MS) * 0.5 ** (age / FORGET_MS);
      return (expectedMs + 1) * load * (1 + 10 * errorRate) * busy;
    },
    exchange,
    succeeded() {
      inARow = 0;
      errorRate -= SMOOTHING * errorRate;
    },
    fault,
    // Begins when the peer is complete.
    done: Promise.resolve().then(run),
  };
  return peer;
}
