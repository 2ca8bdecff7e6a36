/**
 * What is told of traces before they are final: of each the newest version, to whoever asks for it, at no lower level
 * than before, and nothing that says less than steps that were told already. How it ends for those who heard of it:
 * endings.ts; what one who comes back is told: returns.ts.
 */
import type { ChainSource } from '../chain/chain-source.ts';
import type { Address, Hash } from '../chain/model.ts';
import { surer } from '../pending/merge.ts';
import type { OpenTrace, PendingStore, PendingEvent as Said } from '../pending/store.ts';
import { createAudience } from './audience.ts';
import { createEndings } from './endings.ts';
import type { FeedEvent } from './events.ts';
import { createHeardTraces, type Prospect } from './heard-traces.ts';
import type { Line } from './line.ts';
import type { FeedMetrics } from './metrics.ts';
import { type PendingSurroundings, pendingSurroundings } from './pending-around.ts';
import { isState, type PendingEvent, pendingEvents } from './pending-events.ts';
import type { Place } from './place.ts';
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
  const states = createToldStates();
  const around = new WeakMap<OpenTrace, PendingSurroundings>();
  /** By trace: of several that wait the newest is told. */
  const waiting = new Map<string, Said>();
  /** How many listen who want each. */
  const wanted = { addressBook: 0, metadata: 0 };
  const context = { signal, timeoutMs: options.queryTimeoutMs };
  const stored = createStoredTraces(source, context);
  const endings = createEndings({
    heard: traces,
    stored,
    position,
    knows: (line, trace) => returns.knows(line, trace),
    signal,
    report,
  });
  const returns = createReturns({
    pending,
    source,
    heard: traces,
    context,
    position,
    isCurrent: ({ hash, version, mcSeqno }) => steps.isCurrent(hash, knownAt(version, mcSeqno)),
    loaded,
    tellTo,
    invalidate: endings.invalidate,
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

  async function loaded(version: OpenTrace, what: { addressBook: boolean; metadata: boolean }) {
    const made = around.get(version) ?? pendingSurroundings(version, source);
    around.set(version, made);
    await made.load(what, context);
    return made;
  }

  /** The newest step that is taken into account in what was said of a trace. */
  function knownAt({ nodes }: OpenTrace, mcSeqno: number): number {
    let newest = mcSeqno;
    for (const { node } of nodes) if (node.finality === 'finalized') newest = Math.max(newest, node.mcSeqno);
    return newest;
  }

  function take(said: Said): void {
    if (said.kind === 'invalidated') takeInvalidated(said);
    else takeTrace(said);
  }

  function takeTrace({ trace: version, mcSeqno }: Extract<Said, { kind: 'trace' }>): void {
    const hash = version.trace.hashNorm.toString('base64');
    const prospect = traces.of(hash, version, mcSeqno);
    [prospect.version, prospect.mcSeqno] = [version, mcSeqno];
    returns.opened(hash);
    if (prospect.isInvalid) endings.begin(prospect);
    if (version.finality === 'finalized') endings.end(prospect, knownAt(version, mcSeqno));
  }

  async function tell(said: Said): Promise<void> {
    if (said.kind === 'invalidated') return take(said);
    const { trace: version, mcSeqno } = said;
    const hash = version.trace.hashNorm.toString('base64');
    const isFinal = version.finality === 'finalized';
    if (!isFinal && !(await isCurrent(version, mcSeqno))) return metrics.leftOut('old');
    let asked = wants();
    let beside = await loaded(version, asked);
    // Others may have come meanwhile, who want more.
    while ((wants().addressBook && !asked.addressBook) || (wants().metadata && !asked.metadata)) {
      asked = wants();
      beside = await loaded(version, asked);
    }
    if (!isFinal && steps.hasBehind(hash, knownAt(version, mcSeqno))) return metrics.leftOut('old');
    const before = traces.get(hash)?.version ?? null;
    const prospect = traces.of(hash, version, mcSeqno);
    if (before !== null) states.takeBack(prospect, before, version);
    take(said);
    const full = new Set<Line>();
    const told = (line: Line, event: PendingEvent): void => {
      if (!tellTo(line, event, prospect, beside)) full.add(line);
    };
    /** What each has heard of before any of this. */
    const lasts = new Map<Line, OpenTrace | null>();
    const lastOf = (line: Line): OpenTrace | null => {
      const last = lasts.has(line) ? lasts.get(line) : prospect.heard.get(line)?.version;
      lasts.set(line, last ?? null);
      return last ?? null;
    };
    /** Who is being told how things stand, and did not hear of the version before: to him more is new. */
    const late = new Map<Line, OpenTrace | null>();
    for (const event of pendingEvents(version, before, position())) {
      if (!rises(prospect, event)) continue;
      for (const line of audience.hearers(event)) {
        const last = lastOf(line);
        if (isState(event) || last === before || !returns.isTold(line)) told(line, event);
        else late.set(line, last);
      }
    }
    for (const [line, last] of late) {
      for (const event of pendingEvents(version, last, position())) {
        if (!isState(event) && line.hears(event)) told(line, event);
      }
    }
    for (const line of full) options.onFull(line);
  }

  /** Whether no step says more than what was said of a trace: of steps that nobody was told of the index knows. */
  async function isCurrent(version: OpenTrace, mcSeqno: number): Promise<boolean> {
    const { hashNorm } = version.trace;
    const hash = hashNorm.toString('base64');
    const known = knownAt(version, mcSeqno);
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
    [heard.version, heard.isLeft] = [prospect.version, false];
    return line.tell(event, beside);
  }

  function takeInvalidated(said: Extract<Said, { kind: 'invalidated' }>): void {
    const { hashNorm, before, mcSeqno, account, live } = said;
    const hash = hashNorm.toString('base64');
    const prospect = traces.get(hash);
    // It was told as final, in part at least: that stands.
    if (steps.has(hash)) {
      if (prospect !== undefined) endings.end(prospect, position().mcSeqno);
      return;
    }
    if (before !== null) returns.takenBack(hash, before, mcSeqno);
    if (prospect === undefined) {
      if (live && account !== undefined) sayNever(hashNorm, account);
      return;
    }
    states.takeBack(prospect, prospect.version, null);
    prospect.isInvalid = true;
    endings.end(prospect, 0);
  }

  /** Of a message that nobody could be told of: whoever waited for it hears that it does not come. */
  function sayNever(hashNorm: Hash, account: Address): void {
    for (const line of audience.awaiting(account, hashNorm.toString('base64'))) endings.invalidate(line, hashNorm);
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
      if (pending.get(prospect.version.trace.hashNorm) === undefined) endings.end(prospect, position().mcSeqno);
    }
  }, SWEEP_MS).unref();

  return {
    join(line, how) {
      if (line.subscription.minFinality !== 'finalized') {
        audience.add(line);
        count(line, 1);
      }
      const ended = traces.by(line).filter(({ endedAt }) => endedAt !== null);
      for (const prospect of ended) endings.settle(prospect);
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
      const asksFor = (version: OpenTrace): boolean =>
        pendingEvents(version, null, position()).some((event) => !isState(event) && line.asksFor(event));
      for (const prospect of traces.by(line)) {
        const heard = prospect.heard.get(line);
        if (heard === undefined || heard.version === null || heard.isLeft) continue;
        // What is final is not noted of one who is told nothing else.
        heard.isLeft = line.subscription.minFinality === 'finalized' || !asksFor(heard.version);
      }
    },
    resumed: returns.resumed,
    closed(line) {
      returns.forget(line);
      for (const prospect of traces.by(line)) {
        traces.forget(prospect, line);
        if (prospect.endedAt !== null && prospect.heard.size === 0) endings.drop(prospect);
      }
    },
    step: ({ mcSeqno, traces }) => steps.add(mcSeqno, traces),
    told(line, event, trace) {
      if (event.type === 'account_state_change' || event.type === 'jettons_change') states.isNewest(event);
      const prospect = trace === '' ? undefined : traces.get(trace);
      const heard = prospect && traces.note(prospect, line);
      if (heard) heard.isFinal = true;
    },
    settle: endings.settleAll,
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
