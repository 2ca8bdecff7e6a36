/**
 * What is told of traces before they are final, and what is taken back of it. Who has heard that a trace is pending or
 * confirmed hears at last that it is final, from its step like everybody else, or that it is invalidated, and never both;
 * no trace is told at a lower level than before. What says less than steps that were told already is not told.
 */
import { LRUCache } from 'lru-cache';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import { receivedAmong } from '../pending/indexed.ts';
import { surer } from '../pending/merge.ts';
import type { OpenTrace, PendingStore, PendingEvent as Said } from '../pending/store.ts';
import { createAudience } from './audience.ts';
import { type FeedEvent, idOf } from './events.ts';
import type { Line } from './line.ts';
import type { FeedMetrics } from './metrics.ts';
import { type PendingSurroundings, pendingSurroundings } from './pending-around.ts';
import { isState, type PendingEvent, pendingEvents } from './pending-events.ts';
import { comparePlaces, endOf, type Place } from './place.ts';
import type { Heard, Invalidated, Prospect } from './prospect.ts';
import type { FeedStep } from './step.ts';
import { createStoredTraces } from './stored-trace.ts';
import { createToldStates } from './told-states.ts';
import { createToldSteps } from './told-steps.ts';

export interface Prospects {
  /** A line is told of what happens from now on. @param isNew it was not told of anything before, and did not resume */
  join(line: Line, isNew: boolean): void;
  leave(line: Line): void;
  /** It resumes behind a cursor of this step. */
  resumed(line: Line, mcSeqno: number): void;
  closed(line: Line): void;
  /** A step is told now, all of it, before anything else. */
  step(step: FeedStep): void;
  /** A line was told of something final. */
  told(line: Line, event: FeedEvent, trace: string): void;
  /** All were told of the steps up to the position. */
  settle(): void;
  /** Steps up to this one were told to nobody. */
  skipped(mcSeqno: number): void;
  /** Resolves when all that was said so far is told. */
  idle(): Promise<void>;
  close(): void;
}

export interface ProspectsOptions {
  pending: PendingStore;
  source: ChainSource;
  queryTimeoutMs: number;
  /** Up to where all who listen were told of what is final. */
  position: () => Place;
  /** A line has no more room. */
  onFull: (line: Line) => void;
  metrics: FeedMetrics;
  signal: AbortSignal;
  report: (error: unknown) => void;
}

/** Pairs of a line and a trace that it has heard of: above it no more is told of what is not final. */
const MOST_HEARD = 500_000;
/** Traces at a time; the tracker has a limit of its own (`--pending-traces`). */
const MOST_PROSPECTS = 50_000;
/** For whoever resumes; each with its transactions. The topic holds those of five minutes. */
const KEPT_INVALIDATED = 1_024;
/**
 * That those who say what is pending may be behind the steps that are told: somewhat more than they go through after a
 * pause (MOST_BEHIND of src/pending/session.ts).
 */
const SLACK_STEPS = 144;
const SWEEP_MS = 1_000;
const AGAIN_MS = 500;

/** One who came back. */
interface Resuming {
  /** The step behind which he did. */
  since: number;
  /** Traces that he was told of as taken back since he is back. */
  told: Set<string>;
}

export function createProspects(options: ProspectsOptions): Prospects {
  const { pending, source, position, metrics, signal, report } = options;
  const audience = createAudience<Line>();
  const steps = createToldSteps(position().mcSeqno + 1);
  const prospects = new Map<string, Prospect>();
  const ending = new Set<Prospect>();
  /** Traces that a line has heard of. */
  const heardBy = new Map<Line, Set<Prospect>>();
  /** Those who came back, until they have been told all that was taken back meanwhile. */
  const resuming = new Map<Line, Resuming>();
  /** Of those who began without a cursor, the step behind which they did. */
  const begunBehind = new WeakMap<Line, number>();
  const invalidated = new LRUCache<string, Invalidated>({ max: KEPT_INVALIDATED });
  const states = createToldStates();
  const around = new WeakMap<OpenTrace, PendingSurroundings>();
  /** By trace: of several that wait the newest is told. */
  const waiting = new Map<string, Said>();
  /** How many listen who want each. */
  const wanted = { addressBook: 0, metadata: 0 };
  const stored = createStoredTraces(source, () => ({ signal, timeoutMs: options.queryTimeoutMs }));
  let heardCount = 0;
  let working: Promise<void> | null = null;

  function count(line: Line, change: 1 | -1): void {
    if (line.subscription.addressBook) wanted.addressBook += change;
    if (line.subscription.metadata) wanted.metadata += change;
  }

  async function loaded(one: OpenTrace, what: { addressBook: boolean; metadata: boolean }) {
    const made = around.get(one) ?? pendingSurroundings(one, source);
    around.set(one, made);
    await made.load(what, { signal, timeoutMs: options.queryTimeoutMs });
    return made;
  }

  /** The newest step that is taken into account in what was said of a trace. */
  function knownAt({ nodes }: OpenTrace, mcSeqno: number): number {
    let newest = mcSeqno;
    for (const { node } of nodes) if (node.finality === 'finalized') newest = Math.max(newest, node.mcSeqno);
    return newest;
  }

  function prospectOf(hash: string, one: OpenTrace, mcSeqno: number): Prospect {
    const known = prospects.get(hash);
    if (known !== undefined) return known;
    const fresh = { heard: new Map(), states: new Map(), endedAt: null, isInvalid: false };
    const made: Prospect = { hash, one, mcSeqno, level: 'pending', actionLevel: 'pending', ...fresh };
    if (prospects.size < MOST_PROSPECTS) prospects.set(hash, made);
    else metrics.leftOut('traces');
    return made;
  }

  /** False when no more can be noted: then it is not told. */
  function note(prospect: Prospect, line: Line): Heard | null {
    const known = prospect.heard.get(line);
    if (known !== undefined) return known;
    if (heardCount >= MOST_HEARD || !prospects.has(prospect.hash)) return null;
    const heard: Heard = { one: null, isFinal: false, since: 0, wasFinal: null };
    prospect.heard.set(line, heard);
    heardCount++;
    const own = heardBy.get(line) ?? new Set();
    heardBy.set(line, own.add(prospect));
    return heard;
  }

  function forget(prospect: Prospect, line: Line): void {
    if (!prospect.heard.delete(line)) return;
    heardCount--;
    const own = heardBy.get(line);
    own?.delete(prospect);
    if (own?.size === 0) heardBy.delete(line);
  }

  function drop(prospect: Prospect): void {
    ending.delete(prospect);
    prospects.delete(prospect.hash);
  }

  function take(said: Said): void {
    if (said.kind === 'invalidated') takeInvalidated(said);
    else takeTrace(said);
  }

  function takeTrace({ trace: one, mcSeqno }: Extract<Said, { kind: 'trace' }>): void {
    const hash = one.trace.hashNorm.toString('base64');
    const prospect = prospectOf(hash, one, mcSeqno);
    [prospect.one, prospect.mcSeqno] = [one, mcSeqno];
    // It is open: nobody who comes back is told that it does not come.
    invalidated.delete(hash);
    if (prospect.isInvalid) begin(prospect);
    if (one.finality === 'finalized') end(prospect, knownAt(one, mcSeqno));
  }

  async function tell(said: Said): Promise<void> {
    if (said.kind === 'invalidated') return take(said);
    const { trace: one, mcSeqno } = said;
    const { addressBook, metadata } = wanted;
    const beside = await loaded(one, { addressBook: addressBook > 0, metadata: metadata > 0 });
    const hash = one.trace.hashNorm.toString('base64');
    if (one.finality !== 'finalized' && !steps.isCurrent(hash, knownAt(one, mcSeqno))) return metrics.leftOut('old');
    const before = prospects.get(hash)?.one ?? null;
    const prospect = prospectOf(hash, one, mcSeqno);
    if (before !== null) states.takeBack(prospect, before, one);
    take(said);
    const full = new Set<Line>();
    for (const event of pendingEvents(one, before, position())) {
      if (!rises(prospect, event)) continue;
      for (const line of audience.hearers(event)) if (!tellTo(line, event, prospect, beside)) full.add(line);
    }
    for (const line of full) options.onFull(line);
  }

  /** Not again at a level below one that was told. */
  function rises(prospect: Prospect, event: PendingEvent): boolean {
    const { finality } = event;
    if (event.type === 'trace_transactions') {
      if (surer(prospect.level, finality)) return false;
      prospect.level = finality;
    } else if (event.type === 'actions' || event.type === 'trace') {
      if (surer(prospect.actionLevel, finality)) return false;
      prospect.actionLevel = finality;
    } else if (isState(event)) return states.isNewest(event);
    return true;
  }

  /** False when the line has no more room. */
  function tellTo(line: Line, event: PendingEvent, prospect: Prospect, beside: PendingSurroundings): boolean {
    if (isState(event)) {
      states.heard(prospect, event, line);
      return line.tell(event, beside);
    }
    const heard = note(prospect, line);
    if (heard === null) {
      metrics.leftOut('heard');
      return true;
    }
    heard.one = prospect.one;
    return line.tell(event, beside);
  }

  function takeInvalidated(said: Extract<Said, { kind: 'invalidated' }>): void {
    const { hashNorm, before, mcSeqno, account, live } = said;
    const hash = hashNorm.toString('base64');
    const prospect = prospects.get(hash);
    // It was told as final, in part at least: that stands.
    if (steps.has(hash)) {
      if (prospect !== undefined) end(prospect, position().mcSeqno);
      return;
    }
    if (before !== null) invalidated.set(hash, { one: before, mcSeqno });
    if (prospect === undefined) {
      if (live && account !== undefined) sayNever(hashNorm, account);
      return;
    }
    states.takeBack(prospect, prospect.one, null);
    prospect.isInvalid = true;
    end(prospect, 0);
  }

  /** Of a message that nobody could be told of: whoever waited for it hears that it does not come. */
  function sayNever(hashNorm: Hash, account: Address): void {
    for (const line of audience.awaiting(account, hashNorm.toString('base64'))) invalidate(line, hashNorm);
  }

  /** Its message was sent again, and is accepted again. */
  function begin(prospect: Prospect): void {
    ending.delete(prospect);
    [prospect.isInvalid, prospect.endedAt] = [false, null];
    for (const heard of prospect.heard.values()) heard.wasFinal = null;
    [prospect.level, prospect.actionLevel] = ['pending', 'pending'];
  }

  function end(prospect: Prospect, mcSeqno: number): void {
    prospect.endedAt = mcSeqno;
    ending.add(prospect);
    settleOne(prospect);
  }

  /**
   * A trace is over: who heard of it and of nothing final is told that what he heard is not so. Who is behind is told
   * when he has heard as much.
   */
  function settleOne(prospect: Prospect): void {
    const { endedAt } = prospect;
    if (endedAt === null || position().mcSeqno < endedAt) return;
    for (const [line, heard] of [...prospect.heard]) {
      if (!prospect.isInvalid && comparePlaces(line.place, endOf(endedAt)) < 0) continue;
      if (line.state === 'behind' && !heard.isFinal && heard.one !== null) continue;
      const isKnown = heard.isFinal || (!prospect.isInvalid && endedAt <= heard.since);
      // Over v1 one may hear of what is pending alone: what is final is then not missing.
      const isOver = prospect.isInvalid || !line.subscription.isV1;
      const isMissing = heard.one !== null && !isKnown && isOver;
      if (isMissing && !prospect.isInvalid) {
        if (heard.wasFinal === null) void lookUp(prospect, line, heard);
        if (typeof heard.wasFinal !== 'boolean') continue;
      }
      forget(prospect, line);
      if (isMissing && heard.wasFinal !== true) invalidate(line, prospect.one.trace.hashNorm);
    }
    if (prospect.heard.size === 0) drop(prospect);
  }

  /** Before anything is taken back of a trace that has come, what is stored of it is looked at. */
  async function lookUp(prospect: Prospect, line: Line, heard: Heard): Promise<void> {
    const { generation } = line;
    const { hashNorm } = prospect.one.trace;
    heard.wasFinal = 'asked';
    try {
      const told = await stored.hasTold(hashNorm, (event) => line.asksFor(event), begunBehind.get(line) ?? 0);
      heard.wasFinal = line.generation === generation ? told : null;
    } catch (error) {
      if (signal.aborted) return;
      heard.wasFinal = null;
      report(error);
      return;
    }
    if (prospects.get(prospect.hash) === prospect) settleOne(prospect);
  }

  function invalidate(line: Line, hashNorm: Hash): void {
    if (line.state !== 'live') return;
    const hash = hashNorm.toString('base64');
    resuming.get(line)?.told.add(hash);
    const message = { type: 'trace_invalidated', trace_external_hash_norm: hash };
    line.takeBack(message, idOf('trace_invalidated ', [hashNorm]));
  }

  /**
   * Tells one who comes back how things stand, then what was taken back: what is taken back in between is one of both.
   * Again until all is told, for as long as he is live; when he is live again it goes on.
   */
  async function bringUp(line: Line): Promise<void> {
    const turn = {};
    turns.set(line, turn);
    const { generation } = line;
    const isSame = (): boolean =>
      line.state === 'live' && line.generation === generation && turns.get(line) === turn && !signal.aborted;
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
  const turns = new WeakMap<Line, object>();

  /** How things stand with what is open, but for what he has heard. */
  async function tellOpen(line: Line, isSame: () => boolean): Promise<void> {
    for (const prospect of candidates(line)) {
      const beside = await besideOf(prospect, line);
      if (!isSame()) return;
      const { one, hash, endedAt } = prospect;
      if (endedAt !== null) continue;
      if (!steps.isCurrent(hash, knownAt(one, prospect.mcSeqno))) {
        if (resuming.has(line)) assumeHeard(prospect, line);
        continue;
      }
      let room = true;
      for (const event of pendingEvents(one, prospect.heard.get(line)?.one ?? null, position())) {
        if (isState(event) || !line.hears(event)) continue;
        room = tellTo(line, event, prospect, beside) && room;
      }
      if (!room) return options.onFull(line);
    }
  }

  /** Of the version that there is when it is read. */
  async function besideOf(prospect: Prospect, { subscription }: Line): Promise<PendingSurroundings> {
    for (;;) {
      const { one } = prospect;
      const beside = await loaded(one, subscription);
      if (prospect.one === one) return beside;
    }
  }

  /** How things stand cannot be said now: should the trace not come, that is to be told. */
  function assumeHeard(prospect: Prospect, line: Line): void {
    const events = pendingEvents(prospect.one, null, position());
    if (!events.some((event) => !isState(event) && line.hears(event))) return;
    const heard = note(prospect, line);
    if (heard === null || heard.one !== null) return;
    [heard.one, heard.since] = [prospect.one, position().mcSeqno];
  }

  function candidates({ subscription: { addresses, traceHashes, filter } }: Line): Prospect[] {
    if (filter.everything) return [...prospects.values()];
    const traces = addresses.flatMap((address) => pending.byAccount(address));
    const hashes = new Set([...traces.map(({ trace }) => trace.hashNorm.toString('base64')), ...traceHashes]);
    return [...hashes].flatMap((hash) => prospects.get(hash) ?? []);
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
    const due = [...invalidated.entries()].filter(([hash, { one, mcSeqno }]) => {
      if (mcSeqno < back.since - SLACK_STEPS || back.told.has(hash)) return false;
      return pendingEvents(one, null, position()).some((event) => isHeard(event) && line.asksFor(event));
    });
    const traces = due.map(([, { one }]) => one.trace);
    const received = await receivedAmong(traces, source, { signal, timeoutMs: options.queryTimeoutMs });
    if (!isSame()) return;
    for (const [hash, { one }] of due) {
      if (received.has(hashKey(one.trace.hashNorm))) invalidated.delete(hash);
      else if (!back.told.has(hash)) invalidate(line, one.trace.hashNorm);
    }
    resuming.delete(line);
  }

  async function work(): Promise<void> {
    while (waiting.size > 0 && !signal.aborted) {
      const [[hash, said]] = waiting;
      waiting.delete(hash);
      try {
        await tell(said);
      } catch (error) {
        if (signal.aborted) return;
        // What is not final is not asked for again: its next version or its step follows.
        metrics.leftOut('failed');
        report(error);
      }
    }
  }

  const stop = pending.onEvent((said) => {
    const hashNorm = said.kind === 'trace' ? said.trace.trace.hashNorm : said.hashNorm;
    const hash = hashNorm.toString('base64');
    if (!said.live || (audience.size === 0 && heardCount === 0 && !waiting.has(hash))) return take(said);
    waiting.set(hash, said);
    working ??= work().finally(() => {
      working = null;
    });
  });

  /** Those that the store knows no more have had their time. */
  const sweeping = setInterval(() => {
    for (const prospect of prospects.values()) {
      if (prospect.endedAt !== null || waiting.has(prospect.hash)) continue;
      if (pending.get(prospect.one.trace.hashNorm) === undefined) end(prospect, position().mcSeqno);
    }
  }, SWEEP_MS).unref();

  return {
    join(line, isNew) {
      if (line.subscription.minFinality !== 'finalized') {
        audience.add(line);
        count(line, 1);
      }
      const ended = [...(heardBy.get(line) ?? [])].filter(({ endedAt }) => endedAt !== null);
      for (const prospect of ended) settleOne(prospect);
      const back = resuming.get(line);
      for (const { hash } of ended) back?.told.add(hash);
      if (line.subscription.minFinality === 'finalized') {
        resuming.delete(line);
        return;
      }
      if (isNew) begunBehind.set(line, position().mcSeqno);
      if (!isNew || back !== undefined) void bringUp(line);
    },
    leave(line) {
      const before = audience.size;
      audience.remove(line);
      if (audience.size < before) count(line, -1);
    },
    resumed: (line, since) => void resuming.set(line, { since, told: new Set() }),
    closed(line) {
      resuming.delete(line);
      for (const prospect of [...(heardBy.get(line) ?? [])]) {
        forget(prospect, line);
        if (prospect.endedAt !== null && prospect.heard.size === 0) drop(prospect);
      }
    },
    step: ({ mcSeqno, traces }) => steps.add(mcSeqno, traces),
    told(line, event, trace) {
      if (event.type === 'account_state_change' || event.type === 'jettons_change') states.isNewest(event);
      const prospect = trace === '' ? undefined : prospects.get(trace);
      const heard = prospect && note(prospect, line);
      if (heard) heard.isFinal = true;
    },
    settle() {
      for (const prospect of [...ending]) settleOne(prospect);
    },
    skipped: (mcSeqno) => steps.skip(mcSeqno),
    async idle() {
      while (working !== null) await working;
    },
    close() {
      stop();
      clearInterval(sweeping);
    },
  };
}
