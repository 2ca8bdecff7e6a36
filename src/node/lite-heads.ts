import { setMaxListeners } from 'node:events';
import type { BlockIdExt } from '../chain/model.ts';
import { NodeError } from './chain-node.ts';
import type { LiteLimits } from './lite-limits.ts';
import type { LitePeer } from './lite-peer.ts';

/**
 * Knows the newest masterchain block. A server's word is taken as long as no other server contradicts it by far; then
 * whoever is ahead has to prove its head, and only after that is the other one called stale. So one server with a
 * made-up head cannot send all the others away. Nor can it have all wait for blocks that never come: who stays alone at
 * a head for some seconds has to prove it, too.
 */
export interface Heads {
  /** Newest block of a server in good standing. */
  best(): BlockIdExt | null;
  /**
   * The same once every server had its chance to connect: the first to answer may be one that is years behind. Null
   * when there is no server after `timeoutMs`.
   */
  settled(timeoutMs: number, signal: AbortSignal): Promise<BlockIdExt | null>;
  /** Waits until a server in good standing has block `seqno`; null when none has after `timeoutMs`. */
  waitFor(seqno: number, timeoutMs: number, signal: AbortSignal): Promise<BlockIdExt | null>;
  /** A server has another head. */
  note(peer: LitePeer): void;
  /** A server came or went. */
  recheck(): void;
}

export interface HeadsContext {
  peers: readonly LitePeer[];
  limits: LiteLimits;
  /** Ends every wait. */
  signal: AbortSignal;
  /** Asks the server for the header of its head and checks it. Rejects with what was wrong; has counted it. */
  prove(peer: LitePeer, head: BlockIdExt): Promise<void>;
}

export function createHeads({ peers, limits, prove, signal: end }: HeadsContext): Heads {
  /** Seqno up to which a server has shown that it has what it says. */
  const proven = new Map<LitePeer, number>();
  const proving = new Set<LitePeer>();
  /** Who did not show its head, for whatever reason: it does not count while others have not come to it. */
  const doubted = new Set<LitePeer>();
  const waiting = new Set<() => void>();
  let lead: NodeJS.Timeout | null = null;

  const seqnoOf = (peer: LitePeer): number => (peer.state === 'ready' ? (peer.head?.seqno ?? -1) : -1);
  const isProven = (peer: LitePeer): boolean => {
    const upTo = proven.get(peer);
    return upTo !== undefined && seqnoOf(peer) <= upTo + limits.maxLagBlocks;
  };

  /** Another server is so far behind this one that one of the two is wrong. */
  function contested(peer: LitePeer): boolean {
    const seqno = seqnoOf(peer);
    return peers.some((other) => seqnoOf(other) >= 0 && (tooFar(other, seqno) || contradicts(other, peer)));
  }
  function tooFar(peer: LitePeer, best: number): boolean {
    return seqnoOf(peer) < best - limits.maxLagBlocks;
  }
  function contradicts(a: LitePeer, b: LitePeer): boolean {
    if (a === b || a.head === null || b.head === null || a.head.seqno !== b.head.seqno) return false;
    return !a.head.rootHash.equals(b.head.rootHash);
  }

  function foremost(among: readonly LitePeer[]): LitePeer | null {
    let found: LitePeer | null = null;
    for (const peer of among) {
      if (seqnoOf(peer) > (found === null ? -1 : seqnoOf(found))) found = peer;
    }
    return found;
  }

  /** Null, too, while the foremost server is contested and has not proven its head. */
  function best(): BlockIdExt | null {
    const found = foremost(peers.filter((peer) => !doubted.has(peer))) ?? foremost(peers);
    return found === null || (contested(found) && !isProven(found)) ? null : found.head;
  }

  const isReached = (peer: LitePeer, seqno: number): boolean =>
    peers.some((other) => other !== peer && seqnoOf(other) >= seqno);

  /** The server that no other one has reached; null where there is none, or no other at all. */
  function leader(): LitePeer | null {
    const found = foremost(peers);
    const hasOthers = peers.some((other) => other !== found && seqnoOf(other) >= 0);
    return found !== null && hasOthers && !isReached(found, seqnoOf(found)) ? found : null;
  }

  /** Looks again after a while whether the leader of now is followed to where it is. */
  function watchLead(): void {
    const peer = leader();
    if (peer === null || lead !== null || end.aborted) return;
    const seqno = seqnoOf(peer);
    lead = setTimeout(() => {
      lead = null;
      if (!isReached(peer, seqno) && (proven.get(peer) ?? -1) < seqno) void challenge(peer);
      watchLead();
    }, limits.leadMs).unref();
  }

  async function challenge(peer: LitePeer): Promise<void> {
    const { head } = peer;
    if (head === null || proving.has(peer)) return;
    proving.add(peer);
    try {
      // There is no block before the first to prove.
      if (head.seqno > 0) await prove(peer, head);
      proven.set(peer, head.seqno);
      doubted.delete(peer);
    } catch {
      // Counted against the server by `prove`.
      proven.delete(peer);
      doubted.add(peer);
    } finally {
      proving.delete(peer);
    }
    settle();
  }

  /** Proves heads that are contested, then sends away who is far behind a proven one. */
  function settle(): void {
    for (const peer of doubted) {
      if (seqnoOf(peer) >= 0 && isReached(peer, seqnoOf(peer))) doubted.delete(peer);
    }
    for (const peer of peers) {
      if (seqnoOf(peer) >= 0 && !isProven(peer) && contested(peer)) void challenge(peer);
    }
    const top = Math.max(-1, ...peers.filter(isProven).map(seqnoOf));
    for (const peer of peers) {
      if (seqnoOf(peer) >= 0 && tooFar(peer, top)) {
        peer.fault('stale', new Error(`its head is ${seqnoOf(peer)}, others have ${top}`));
      }
    }
    watchLead();
    recheck();
  }

  function recheck(): void {
    for (const check of [...waiting]) check();
  }

  /** The first value `probe` gives that is not null; null after `timeoutMs`. */
  function until(probe: () => BlockIdExt | null, timeoutMs: number, signal: AbortSignal): Promise<BlockIdExt | null> {
    const signals = [signal, end];
    return new Promise((resolve, reject) => {
      const finish = (conclude: () => void): void => {
        clearTimeout(timer);
        waiting.delete(check);
        for (const one of signals) one.removeEventListener('abort', abort);
        conclude();
      };
      const check = (): void => {
        const found = probe();
        if (found !== null) finish(() => resolve(found));
      };
      const abort = (): void => finish(() => reject(aborted(signals)));
      const timer = setTimeout(() => finish(() => resolve(null)), timeoutMs);
      for (const one of signals) {
        setMaxListeners(0, one);
        one.addEventListener('abort', abort, { once: true });
      }
      waiting.add(check);
      if (signals.some((one) => one.aborted)) abort();
      else check();
    });
  }

  function since(seqno: number): BlockIdExt | null {
    const head = best();
    return head !== null && head.seqno >= seqno ? head : null;
  }

  return {
    best,
    settled: (timeoutMs, signal) => until(() => (peers.some((peer) => peer.fresh) ? null : best()), timeoutMs, signal),
    waitFor: (seqno, timeoutMs, signal) => until(() => since(seqno), timeoutMs, signal),
    note: settle,
    recheck,
  };
}

function aborted(signals: readonly AbortSignal[]): NodeError {
  const cause = signals.find((one) => one.aborted)?.reason;
  return new NodeError('aborted', 'waiting for a masterchain block: aborted', { cause });
}
