/**
 * What is told of traces before they are final, and what is taken back of it. Who has heard that a trace is pending or
 * confirmed hears at last that it is final, from its step like everybody else, or that it is invalidated, and never both;
 * no trace is told at a lower level than before. What says less than steps that were told already is not told.
 */
import type { ChainSource } from '../chain/chain-source.ts';
import type { Address, Hash } from '../chain/model.ts';
import { surer } from '../pending/merge.ts';
import type { OpenTrace, PendingStore, PendingEvent as Said } from '../pending/store.ts';
import { createAudience } from './audience.ts';
import { type FeedEvent, idOf } from './events.ts';
import { createHeardTraces, type Heard, type Prospect } from './heard-traces.ts';
import type { Line } from './line.ts';
import type { FeedMetrics } from './metrics.ts';
import { type PendingSurroundings, pendingSurroundings } from './pending-around.ts';
import { isState, type PendingEvent, pendingEvents } from './pending-events.ts';
import { comparePlaces, endOf, type Place } from './place.ts';
import { createReturns } from './returns.ts';
import type { FeedStep } from './step.ts';
import { createStoredTraces } from './stored-trace.ts';
import { createToldStates } from './told-states.ts';
import { createToldSteps } from './told-steps.ts';

export interface Prospects {
  /**
   * A line is told of what happens from now on.
   * @param how `new`: it was not told of anything before, and did not resume; `narrower`: it was, and asks for less
   */
  join(line: Line, how: 'new' | 'narrower' | 'again'): void;
  leave(line: Line): void;
  /** It has another subscription. */
  changed(line: Line): void;
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

const SWEEP_MS = 1_000;
export function createProspects(options: ProspectsOptions): Prospects {
  const { pending, source, position, metrics, signal, report } = options;
  const audience = createAudience<Line>();
  const steps = createToldSteps(position().mcSeqno + 1);
  /** Of those who began without a cursor, the step behind which they did. */
  const begunBehind = new WeakMap<Line, number>();
  const traces = createHeardTraces(metrics, begunBehind);
  const ending = new Set<Prospect>();
  const states = createToldStates();
  const around = new WeakMap<OpenTrace, PendingSurroundings>();
  /** By trace: of several that wait the newest is told. */
  const waiting = new Map<string, Said>();
  /** How many listen who want each. */
  const wanted = { addressBook: 0, metadata: 0 };
  const context = { signal, timeoutMs: options.queryTimeoutMs };
  const stored = createStoredTraces(source, context);
  const returns = createReturns({
    pending,
    source,
    heard: traces,
    context,
    position,
    isCurrent: ({ hash, one, mcSeqno }) => steps.isCurrent(hash, knownAt(one, mcSeqno)),
    loaded,
    tellTo,
    invalidate,
    onFull: options.onFull,
    report,
  });
  let working: Promise<void> | null = null;

  function count(line: Line, change: 1 | -1): void {
    if (line.subscription.addressBook) wanted.addressBook += change;
    if (line.subscription.metadata) wanted.metadata += change;
  }

  /** Of all who listen. */
  const wants = () => ({ addressBook: wanted.addressBook > 0, metadata: wanted.metadata > 0 });

  async function loaded(one: OpenTrace, what: { addressBook: boolean; metadata: boolean }) {
    const made = around.get(one) ?? pendingSurroundings(one, source);
    around.set(one, made);
    await made.load(what, context);
    return made;
  }

  /** The newest step that is taken into account in what was said of a trace. */
  function knownAt({ nodes }: OpenTrace, mcSeqno: number): number {
    let newest = mcSeqno;
    for (const { node } of nodes) if (node.finality === 'finalized') newest = Math.max(newest, node.mcSeqno);
    return newest;
  }

  function drop(prospect: Prospect): void {
    ending.delete(prospect);
    traces.drop(prospect);
  }

  function take(said: Said): void {
    if (said.kind === 'invalidated') takeInvalidated(said);
    else takeTrace(said);
  }

  function takeTrace({ trace: one, mcSeqno }: Extract<Said, { kind: 'trace' }>): void {
    const hash = one.trace.hashNorm.toString('base64');
    const prospect = traces.of(hash, one, mcSeqno);
    [prospect.one, prospect.mcSeqno] = [one, mcSeqno];
    returns.opened(hash);
    if (prospect.isInvalid) begin(prospect);
    if (one.finality === 'finalized') end(prospect, knownAt(one, mcSeqno));
  }

  async function tell(said: Said): Promise<void> {
    if (said.kind === 'invalidated') return take(said);
    const { trace: one, mcSeqno } = said;
    const hash = one.trace.hashNorm.toString('base64');
    const isFinal = one.finality === 'finalized';
    if (!isFinal && !(await isCurrent(one, mcSeqno))) return metrics.leftOut('old');
    let asked = wants();
    let beside = await loaded(one, asked);
    // Others may have come meanwhile, who want more.
    while ((wants().addressBook && !asked.addressBook) || (wants().metadata && !asked.metadata)) {
      asked = wants();
      beside = await loaded(one, asked);
    }
    if (!isFinal && steps.hasBehind(hash, knownAt(one, mcSeqno))) return metrics.leftOut('old');
    const before = traces.get(hash)?.one ?? null;
    const prospect = traces.of(hash, one, mcSeqno);
    if (before !== null) states.takeBack(prospect, before, one);
    take(said);
    const full = new Set<Line>();
    const told = (line: Line, event: PendingEvent): void => {
      if (!tellTo(line, event, prospect, beside)) full.add(line);
    };
    /** What each has heard of before any of this. */
    const lasts = new Map<Line, OpenTrace | null>();
    const lastOf = (line: Line): OpenTrace | null => {
      const last = lasts.has(line) ? lasts.get(line) : prospect.heard.get(line)?.one;
      lasts.set(line, last ?? null);
      return last ?? null;
    };
    /** Who is being told how things stand, and did not hear of the version before: to him more is new. */
    const late = new Map<Line, OpenTrace | null>();
    for (const event of pendingEvents(one, before, position())) {
      if (!rises(prospect, event)) continue;
      for (const line of audience.hearers(event)) {
        const last = lastOf(line);
        if (isState(event) || last === before || !returns.isTold(line)) told(line, event);
        else late.set(line, last);
      }
    }
    for (const [line, last] of late) {
      for (const event of pendingEvents(one, last, position())) {
        if (!isState(event) && line.hears(event)) told(line, event);
      }
    }
    for (const line of full) options.onFull(line);
  }

  /** Whether no step says more than what was said of a trace: of steps that nobody was told of the index knows. */
  async function isCurrent(one: OpenTrace, mcSeqno: number): Promise<boolean> {
    const { hashNorm } = one.trace;
    const hash = hashNorm.toString('base64');
    const known = knownAt(one, mcSeqno);
    if (steps.isCurrent(hash, known)) return true;
    if (steps.hasBehind(hash, known)) return false;
    const isStored = await stored.hasTold(hashNorm, () => true, known);
    return !isStored && !steps.hasBehind(hash, known);
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
    const heard = traces.note(prospect, line);
    if (heard === null) {
      metrics.leftOut('heard');
      return true;
    }
    [heard.one, heard.isLeft] = [prospect.one, false];
    return line.tell(event, beside);
  }

  function takeInvalidated(said: Extract<Said, { kind: 'invalidated' }>): void {
    const { hashNorm, before, mcSeqno, account, live } = said;
    const hash = hashNorm.toString('base64');
    const prospect = traces.get(hash);
    // It was told as final, in part at least: that stands.
    if (steps.has(hash)) {
      if (prospect !== undefined) end(prospect, position().mcSeqno);
      return;
    }
    if (before !== null) returns.takenBack(hash, before, mcSeqno);
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
   * A trace is over: who heard of it and of nothing final is told that what he heard is not so; where it came, in part at
   * least, only one who has asked for it all the time. Who is behind is told when he has heard as much.
   */
  function settleOne(prospect: Prospect): void {
    const { endedAt } = prospect;
    if (endedAt === null || position().mcSeqno < endedAt) return;
    for (const [line, heard] of [...prospect.heard]) {
      if (!prospect.isInvalid && comparePlaces(line.place, endOf(endedAt)) < 0) continue;
      if (line.state === 'behind' && !heard.isFinal && heard.one !== null) continue;
      const isKnown = heard.isFinal || (!prospect.isInvalid && (heard.isLeft || endedAt <= heard.since));
      // Over v1 one may hear of what is pending alone: what is final is then not missing.
      const isOver = prospect.isInvalid || !line.subscription.isV1;
      const isMissing = heard.one !== null && !isKnown && isOver;
      if (isMissing && !prospect.isInvalid) {
        if (heard.wasFinal === null) void lookUp(prospect, line, heard);
        if (typeof heard.wasFinal !== 'boolean') continue;
      }
      traces.forget(prospect, line);
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
      const told = await stored.hasTold(hashNorm, (event) => line.asksFor(event), heard.begunBehind);
      heard.wasFinal = line.generation === generation ? told : null;
    } catch (error) {
      if (signal.aborted) return;
      heard.wasFinal = null;
      report(error);
      return;
    }
    if (traces.get(prospect.hash) === prospect) settleOne(prospect);
  }

  function invalidate(line: Line, hashNorm: Hash): void {
    if (line.state !== 'live') return;
    const hash = hashNorm.toString('base64');
    returns.knows(line, hash);
    const message = { type: 'trace_invalidated', trace_external_hash_norm: hash };
    line.takeBack(message, idOf('trace_invalidated ', [hashNorm]));
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
    if (!said.live || (audience.size === 0 && traces.isEmpty && !waiting.has(hash))) return take(said);
    waiting.set(hash, said);
    working ??= work().finally(() => {
      working = null;
    });
  });

  /** Those that the store knows no more have had their time. */
  const sweeping = setInterval(() => {
    for (const prospect of traces.all()) {
      if (prospect.endedAt !== null || waiting.has(prospect.hash)) continue;
      if (pending.get(prospect.one.trace.hashNorm) === undefined) end(prospect, position().mcSeqno);
    }
  }, SWEEP_MS).unref();

  return {
    join(line, how) {
      if (line.subscription.minFinality !== 'finalized') {
        audience.add(line);
        count(line, 1);
      }
      const ended = traces.by(line).filter(({ endedAt }) => endedAt !== null);
      for (const prospect of ended) settleOne(prospect);
      for (const { hash } of ended) returns.knows(line, hash);
      if (line.subscription.minFinality === 'finalized') return returns.forget(line);
      if (how === 'new') begunBehind.set(line, position().mcSeqno);
      const isOwed = how === 'again' || (how === 'narrower' && returns.isTold(line));
      if (isOwed || returns.isBack(line)) void returns.bringUp(line);
    },
    leave(line) {
      const before = audience.size;
      audience.remove(line);
      if (audience.size < before) count(line, -1);
    },
    changed(line) {
      const asksFor = (one: OpenTrace): boolean =>
        pendingEvents(one, null, position()).some((event) => !isState(event) && line.asksFor(event));
      for (const prospect of traces.by(line)) {
        const heard = prospect.heard.get(line);
        if (heard === undefined || heard.one === null || heard.isLeft) continue;
        // What is final is not noted of one who is told nothing else.
        heard.isLeft = line.subscription.minFinality === 'finalized' || !asksFor(heard.one);
      }
    },
    resumed: returns.resumed,
    closed(line) {
      returns.forget(line);
      for (const prospect of traces.by(line)) {
        traces.forget(prospect, line);
        if (prospect.endedAt !== null && prospect.heard.size === 0) drop(prospect);
      }
    },
    step: ({ mcSeqno, traces }) => steps.add(mcSeqno, traces),
    told(line, event, trace) {
      if (event.type === 'account_state_change' || event.type === 'jettons_change') states.isNewest(event);
      const prospect = trace === '' ? undefined : traces.get(trace);
      const heard = prospect && traces.note(prospect, line);
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
