/** Who comes back: how things stand with what is not final, and what was taken back of it while he was away. */
import { LRUCache } from 'lru-cache';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { receivedAmong } from '../pending/indexed.ts';
import { MOST_BEHIND } from '../pending/lifetimes.ts';
import { surer } from '../pending/merge.ts';
import type { OpenTrace, PendingStore } from '../pending/store.ts';
import type { HeardTraces, Prospect } from './heard-traces.ts';
import type { Line } from './line.ts';
import type { PendingSurroundings } from './pending-around.ts';
import { isState, type PendingEvent, pendingEvents } from './pending-events.ts';
import type { Place } from './place.ts';

export interface Returns {
  /** A line resumes behind a cursor of this step. */
  resumed(line: Line, mcSeqno: number): void;
  /** Whether it has come back, and is not yet told all that was taken back meanwhile. */
  isBack(line: Line): boolean;
  /** A line that came back knows of it by now. */
  knows(line: Line, trace: string): void;
  forget(line: Line): void;
  /** A trace was taken back; what was known of it when it was. */
  takenBack(trace: string, version: OpenTrace, mcSeqno: number): void;
  /** It is open: nobody who comes back is told that it does not come. */
  opened(trace: string): void;
  /**
   * Tells one who comes back how things stand, then what was taken back: what is taken back in between is one of both.
   * Again until all is told, for as long as he is live; when he is live again it goes on.
   */
  bringUp(line: Line): Promise<void>;
  /** Whether it is being told how things stand. */
  isTold(line: Line): boolean;
}

export interface ReturnsOptions {
  pending: PendingStore;
  source: ChainSource;
  heard: HeardTraces;
  context: QueryContext;
  /** Up to where all who listen were told of what is final. */
  position: () => Place;
  /** Whether what was said of it is not older than what steps have told. */
  isCurrent(prospect: Prospect): boolean;
  /** What events of a trace are told with, for one who wants it. */
  loaded(version: OpenTrace, wants: { addressBook: boolean; metadata: boolean }): Promise<PendingSurroundings>;
  /** False when the line has no more room. */
  tellTo(line: Line, event: PendingEvent, prospect: Prospect, beside: PendingSurroundings): boolean;
  invalidate(line: Line, hashNorm: Hash): void;
  /** A line has no more room. */
  onFull(line: Line): void;
  report(error: unknown): void;
}

/** One who came back. */
interface Resuming {
  /** The step behind which he did. */
  since: number;
  /** Traces that he was told of as taken back since he is back. */
  told: Set<string>;
}

/** Each with its transactions. The topic holds those of five minutes. */
const KEPT_INVALIDATED = 1_024;
/**
 * That those who say what is pending may be behind the steps that are told: somewhat more than they go through after a
 * pause.
 */
const SLACK_STEPS = MOST_BEHIND + 16;
const AGAIN_MS = 500;

export function createReturns(options: ReturnsOptions): Returns {
  const { pending, source, heard, context, position, isCurrent, loaded, tellTo, invalidate, onFull, report } = options;
  /** Until they have been told all that was taken back meanwhile. */
  const resuming = new Map<Line, Resuming>();
  /** Of those who are being told how things stand. */
  const turns = new WeakMap<Line, object>();
  const invalidated = new LRUCache<string, { version: OpenTrace; mcSeqno: number }>({ max: KEPT_INVALIDATED });

  async function bringUp(line: Line): Promise<void> {
    const turn = {};
    turns.set(line, turn);
    try {
      await bringUpIn(turn, line);
    } finally {
      if (turns.get(line) === turn) turns.delete(line);
    }
  }

  async function bringUpIn(turn: object, line: Line): Promise<void> {
    const { generation } = line;
    const isSame = (): boolean =>
      line.state === 'live' && line.generation === generation && turns.get(line) === turn && !context.signal.aborted;
    while (isSame()) {
      try {
        await tellOpen(line, isSame);
        if (isSame()) await tellInvalidated(line, isSame);
        return;
      } catch (error) {
        if (!isSame()) return;
        report(error);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
      }
    }
  }

  /** How things stand with what is open, but for what he has heard. */
  async function tellOpen(line: Line, isSame: () => boolean): Promise<void> {
    for (const prospect of candidates(line)) {
      const beside = await besideOf(prospect, line);
      if (!isSame()) return;
      const { version, endedAt } = prospect;
      if (endedAt !== null) continue;
      if (!isCurrent(prospect)) {
        if (resuming.has(line)) assumeHeard(prospect, line);
        continue;
      }
      let room = true;
      for (const event of pendingEvents(version, prospect.heard.get(line)?.version ?? null, position())) {
        if (isState(event) || !line.hears(event)) continue;
        room = tellTo(line, event, prospect, beside) && room;
      }
      if (!room) return onFull(line);
    }
  }

  /** Of the version that there is when it is read. */
  async function besideOf(prospect: Prospect, { subscription }: Line): Promise<PendingSurroundings> {
    for (;;) {
      const { version } = prospect;
      const beside = await loaded(version, subscription);
      if (prospect.version === version) return beside;
    }
  }

  /** How things stand cannot be said now: should the trace not come, that is to be told. */
  function assumeHeard(prospect: Prospect, line: Line): void {
    const events = pendingEvents(prospect.version, null, position());
    if (!events.some((event) => !isState(event) && line.hears(event))) return;
    const noted = heard.note(prospect, line);
    if (noted === null || noted.version !== null) return;
    [noted.version, noted.since] = [prospect.version, position().mcSeqno];
  }

  function candidates({ subscription: { addresses, traceHashes, filter } }: Line): Prospect[] {
    if (filter.everything) return [...heard.all()];
    // Actions are heard by accounts of theirs too, which need not have a transaction in the trace.
    const traces = addresses.flatMap((address) => [...pending.byAccount(address), ...pending.byActor(address)]);
    const hashes = new Set([...traces.map(({ trace }) => trace.hashNorm.toString('base64')), ...traceHashes]);
    return [...hashes].flatMap((hash) => heard.get(hash) ?? []);
  }

  /**
   * What was taken back since a cursor, of what one with this subscription may have heard; but for what came after all,
   * which may have been told as final while nobody listened here.
   */
  async function tellInvalidated(line: Line, isSame: () => boolean): Promise<void> {
    const back = resuming.get(line);
    if (back === undefined) return;
    const { minFinality } = line.subscription;
    const isHeard = (event: PendingEvent): boolean => !isState(event) && !surer(minFinality, event.finality);
    const due = [...invalidated.entries()].filter(([hash, { version, mcSeqno }]) => {
      if (mcSeqno < back.since - SLACK_STEPS || back.told.has(hash)) return false;
      return pendingEvents(version, null, position()).some((event) => isHeard(event) && line.asksFor(event));
    });
    const traces = due.map(([, { version }]) => version.trace);
    const received = await receivedAmong(traces, source, context);
    if (!isSame()) return;
    for (const [hash, { version }] of due) {
      const { hashNorm } = version.trace;
      if (received.has(hashKey(hashNorm))) invalidated.delete(hash);
      else if (!back.told.has(hash)) invalidate(line, hashNorm);
    }
    resuming.delete(line);
  }

  return {
    resumed: (line, since) => void resuming.set(line, { since, told: new Set() }),
    isBack: (line) => resuming.has(line),
    knows: (line, trace) => void resuming.get(line)?.told.add(trace),
    forget: (line) => void resuming.delete(line),
    takenBack: (trace, version, mcSeqno) => void invalidated.set(trace, { version, mcSeqno }),
    opened: (trace) => void invalidated.delete(trace),
    bringUp,
    isTold: (line) => turns.has(line),
  };
}
