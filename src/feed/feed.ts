/**
 * What is told to all who listen, step by step. Those who keep up hear each step in the moment it can be seen; whoever
 * begins earlier, or takes less than there is, is told of the steps from his own place on until he is where the others
 * are. Nothing is left out on the way from one to the other: the two meet between two steps.
 */
import { EventEmitter, once, setMaxListeners } from 'node:events';
import type { Head } from '../../clickhouse/queries/head.ts';
import type { StepRange } from '../chain/records.ts';
import type { AccountSteps } from './account-steps.ts';
import { createAudience } from './audience.ts';
import { eventId, type FeedEvent } from './events.ts';
import { hearing } from './hearing.ts';
import { createLine, type Line, type Mark, type Sink } from './line.ts';
import type { FeedMetrics } from './metrics.ts';
import type { Notifier } from './notification.ts';
import { CursorError, comparePlaces, decodeCursor, encodeCursor, endOf, type Place } from './place.ts';
import { createProspects, type ProspectsOptions } from './prospects.ts';
import { NOTHING, type Start, type Subscription } from './protocol.ts';
import type { FeedStep, Wants } from './step.ts';
import type { StepReader } from './steps.ts';
import { createTurns } from './turns.ts';
import { wantsOf } from './wants.ts';

export interface Feed {
  /**
   * A listener to whom nothing is told before he subscribes.
   * @param how `isPatient`: it is never let go because it takes nothing; `begun`: what it says before it says anything
   */
  open(sink: Sink, how?: { isPatient?: boolean; begun?: Subscription }): Line;
  /**
   * Replaces what a line hears.
   * @throws {CursorError} when the stream cannot begin where the subscription says
   */
  subscribe(line: Line, subscription: Subscription, signal: AbortSignal): Promise<void>;
  /** Fewer addresses or traces; it goes on where it is. */
  narrow(line: Line, subscription: Subscription): void;
  close(line: Line): void;
  /** Behind what a line was told of, or what there was for it not to hear. */
  cursorOf(line: Line): string;
  /**
   * Behind which a stream begins; null begins it now.
   * @throws {CursorError} as `subscribe`
   */
  cursorAt(start: Start, signal: AbortSignal): Promise<string>;
  /**
   * The event at a cursor as a subscription is told of it; null when there is none.
   * @throws {CursorError} for what is no cursor of this network
   */
  find(mark: Mark, subscription: Subscription, signal: AbortSignal): Promise<Buffer | null>;
  /** Resolves when all is told that was said of what is not final. */
  settled(): Promise<void>;
  readonly figures: FeedFigures;
  /** Until the signal aborts; ends every line then. */
  run(signal: AbortSignal): Promise<void>;
}

export interface FeedFigures {
  lines: number;
  behind: number;
  addresses: number;
}

export interface FeedOptions {
  /** Of the source that the steps are read from: the newest step that all who ask are shown. */
  head: Pick<Head, 'seqno' | 'onAdvance'>;
  steps: StepReader;
  notifier: Notifier;
  /** Of the network; 0 before there is a step. */
  globalId: () => number;
  metrics: FeedMetrics;
  /** Milliseconds after which a listener that takes nothing is let go. */
  stallMs: number;
  /** Lines that are told of earlier steps at the same time; the others wait. */
  catchUps: number;
  /** Transactions that are read at once for the lines behind, all of them together. */
  runTransactions: number;
  /** Steps behind the head from which a line that chose so is moved to the head. */
  skipSteps: number;
  /** Steps above the head that a cursor of another host may be of. */
  aheadSteps: number;
  /** What is not final: where it is said, and what stands beside it. */
  pending: Pick<ProspectsOptions, 'pending' | 'source' | 'queryTimeoutMs'>;
  report: (error: unknown) => void;
}

/** Close codes of WebSocket. */
export const GOING_AWAY = 1001;
export const TOO_SLOW = 4008;

const RETRY_MS = 500;
/** Between two looks at who wants to know the head. */
const BEAT_MS = 250;
/** Steps read at once for a line that is told of them, at most. */
const RUN_STEPS = 64;
/** Longest that lines are told of earlier steps before all else has its turn, milliseconds. */
const TURN_MS = 5;
/** Steps behind the head from which on the steps of a few accounts are looked for. */
const FAR_STEPS = 32;
const FEW_ACCOUNTS = 16;
/** What happens in a step in which the account has a transaction. */
const OWN_STEPS: ReadonlySet<string> = new Set(['transactions', 'account_state_change', 'external_out']);

export function createFeed(options: FeedOptions): Feed {
  const { head, steps, notifier, globalId, metrics, report } = options;
  const lines = new Set<Line>();
  const audience = createAudience<Line>();
  const bell = new EventEmitter();
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  /** All up to here was told to the lines that are live. */
  let position = endOf(head.seqno);
  let catching = 0;
  /** Those, and the ones that wait for their turn or for room. */
  let catchingUp = 0;
  const waiting: (() => void)[] = [];
  head.onAdvance(() => bell.emit('advance'));
  const prospects = createProspects({
    ...options.pending,
    position: () => position,
    onFull: fallBehind,
    metrics,
    signal: ended.signal,
    report,
  });
  /** The subscription of a line that was live before. */
  const wasLive = new WeakMap<Line, number>();

  /** Tells one step to all who are live. What they want is looked at again at the end: it may have grown meanwhile. */
  async function tellLive(mcSeqno: number, signal: AbortSignal): Promise<void> {
    const step = await steps.read(mcSeqno, signal);
    if (!step.exists) {
      const last = head.seqno;
      const next = await steps.nextExisting(mcSeqno, last, signal);
      position = endOf(next === null ? last : next - 1);
      return;
    }
    for (let wants = wantsOf(audience.members()); !step.has(wants); wants = wantsOf(audience.members())) {
      await step.load(wants, signal);
    }
    position = endOf(mcSeqno);
    prospects.step(step);
    tellAll(step);
    for (const line of audience.members()) if (!slow.has(line)) passTo(line, position);
    // Those without room go on from their own place, however far the others are.
    for (const line of slow) fallBehind(line);
    slow.clear();
    prospects.settle();
  }
  const slow = new Set<Line>();

  function tellAll(step: FeedStep): void {
    const corked = new Set<Line>();
    try {
      for (const event of step.events) {
        for (const line of audience.hearers(event)) {
          if (!corked.has(line)) {
            corked.add(line);
            line.cork();
          }
          if (!tellTo(line, event, step)) slow.add(line);
        }
      }
    } finally {
      for (const line of corked) line.uncork();
    }
  }

  /** False when the line has no more room. */
  function tellTo(line: Line, event: FeedEvent, step: FeedStep): boolean {
    if (line.subscription.minFinality !== 'finalized') prospects.told(line, event, step.traceHash(event));
    return line.tell(event, step);
  }

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (position.mcSeqno >= head.seqno) {
        await once(bell, 'advance', { signal });
        continue;
      }
      if (audience.size === 0) {
        position = endOf(head.seqno);
        prospects.skipped(position.mcSeqno);
        continue;
      }
      await tellLive(position.mcSeqno + 1, signal);
    }
  }

  /** Never back: a line that heard more at another process may be live before its steps are told here. */
  function passTo(line: Line, place: Place): void {
    if (comparePlaces(line.place, place) < 0) line.place = place;
  }

  function goLive(line: Line): void {
    line.state = 'live';
    passTo(line, position);
    audience.add(line);
    const isNew = !line.announces && wasLive.get(line) !== line.generation;
    wasLive.set(line, line.generation);
    if (line.announces) line.say({ type: 'caught_up', cursor: encodeCursor(globalId(), line.place) });
    line.announces = false;
    prospects.join(line, isNew);
  }

  function leave(line: Line): void {
    audience.remove(line);
    prospects.leave(line);
  }

  function fallBehind(line: Line): void {
    if (line.state !== 'live') return;
    leave(line);
    line.state = 'behind';
    void catchUp(line);
  }

  /** From its own place to where the others are. */
  async function catchUp(line: Line): Promise<void> {
    const { generation } = line;
    const isSame = () => line.state === 'behind' && line.generation === generation;
    metrics.behind(1);
    catchingUp++;
    try {
      while (isSame()) {
        if (line.full && !(await waitForRoom(line))) continue;
        if (!isSame()) return;
        if (comparePlaces(line.place, position) >= 0) {
          goLive(line);
          return;
        }
        await inTurn(async () => {
          await turns.next();
          if (!isSame()) return;
          if (!(await skipToAccounts(line, isSame))) await tellNext(line, isSame);
        });
      }
    } catch (error) {
      if (ended.signal.aborted || !isSame()) return;
      report(error);
      // The source may be back soon; the place is kept.
      setTimeout(() => isSame() && void catchUp(line), RETRY_MS).unref();
    } finally {
      catchingUp--;
      metrics.behind(-1);
    }
  }

  /** Steps are read for a few lines at a time. Who waits for room has no part in it: he would keep the others from it. */
  async function inTurn(work: () => Promise<void>): Promise<void> {
    if (catching < options.catchUps) catching++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) catching--;
      else next();
    }
  }

  /**
   * Moves a line that is far behind and listens to a few accounts to before the next step of theirs, so that the others
   * need not be read. False when there was nothing to leave out.
   */
  async function skipToAccounts(line: Line, isSame: () => boolean): Promise<boolean> {
    const { mcSeqno } = line.place;
    const inside = comparePlaces(line.place, endOf(mcSeqno)) < 0;
    if (inside || position.mcSeqno - mcSeqno < FAR_STEPS || !isOfFewAccounts(line.subscription)) return false;
    const { addresses } = line.subscription;
    let plan = plans.get(line);
    if (plan?.generation !== line.generation || plan.last <= mcSeqno) {
      const { mcSeqno: last } = position;
      plan = { generation: line.generation, last, steps: await steps.ofAccounts(addresses, mcSeqno, ended.signal) };
      plans.set(line, plan);
    }
    const next = Math.min((await plan.steps.next(mcSeqno + 1, ended.signal)) ?? plan.last + 1, plan.last + 1);
    if (!isSame() || next === mcSeqno + 1) return false;
    line.place = endOf(next - 1);
    return true;
  }
  const plans = new WeakMap<Line, { generation: number; last: number; steps: AccountSteps }>();

  /** A share for each of the lines that are told of earlier steps now: those that wait, for room too, take none of it. */
  function runFrom(mcSeqno: number, line: Line): StepRange {
    const steps = isOfFewAccounts(line.subscription) ? 1 : RUN_STEPS;
    const last = Math.min(position.mcSeqno, mcSeqno + steps - 1);
    const told = Math.max(1, Math.min(catchingUp, options.catchUps));
    return { first: mcSeqno, last, enough: Math.ceil(options.runTransactions / told) };
  }

  /** What fails is asked for again when its turn has come. */
  async function readAhead(range: StepRange, wants: Wants, signal: AbortSignal): Promise<void> {
    try {
      await steps.run(range, wants, signal);
    } catch {
      // Told of then.
    }
  }

  /** The rest of the step a line is in, or the next ones; less when there is no more room. */
  async function tellNext(line: Line, isSame: () => boolean): Promise<void> {
    const { signal } = ended;
    const inside = comparePlaces(line.place, endOf(line.place.mcSeqno)) < 0;
    const mcSeqno = inside ? line.place.mcSeqno : line.place.mcSeqno + 1;
    const wants = wantsOf([line]);
    const run = await steps.run(runFrom(mcSeqno, line), wants, signal);
    if (!run[0].exists) {
      const next = await steps.nextExisting(mcSeqno, position.mcSeqno, signal);
      if (isSame()) line.place = next === null ? position : endOf(next - 1);
      return;
    }
    const behindRun = mcSeqno + run.length;
    // Where lines wait for their turn, others would push it out again before this one is told of it.
    const isAhead = run.length > 1 && behindRun <= position.mcSeqno && catchingUp <= options.catchUps;
    if (isAhead) void readAhead(runFrom(behindRun, line), wants, signal);
    const left = run.values();
    while (isSame() && tellTurn(line, left)) await turns.next();
  }

  /** Tells steps, one at least, until the turn is over. @returns whether there may be more of them, and room for it */
  function tellTurn(line: Line, left: Iterator<FeedStep>): boolean {
    line.cork();
    try {
      do {
        const { value: step, done } = left.next();
        if (done) return false;
        // In the middle of a step it goes on from there.
        if (!step.events.every((event) => !line.hears(event) || tellTo(line, event, step))) return false;
        line.place = endOf(step.mcSeqno);
      } while (!turns.isOver);
      return true;
    } finally {
      line.uncork();
    }
  }
  const turns = createTurns(TURN_MS);

  /** False when the line was let go, or has been moved to the head. */
  async function waitForRoom(line: Line): Promise<boolean> {
    if ((await line.room(line.patient ? null : options.stallMs, ended.signal)) === 'stalled') {
      metrics.stalled();
      line.end(TOO_SLOW, `too slow: go on from cursor ${encodeCursor(globalId(), line.place)}`);
      return false;
    }
    const lag = position.mcSeqno - line.place.mcSeqno;
    if (line.subscription.onLag !== 'skip' || lag <= options.skipSteps) return true;
    metrics.skipped();
    const [from, to] = [line.place, position].map((place) => encodeCursor(globalId(), place));
    line.place = position;
    line.say({ type: 'lagged', from_cursor: from, to_cursor: to });
    return false;
  }

  /** Tells those who asked for it where the chain is, so that silence is not taken for a stall. */
  async function beat(): Promise<void> {
    const now = Date.now() / 1000;
    const due = [...lines].filter(({ state, subscription: { headSeconds }, beatAt }) => {
      return headSeconds !== null && state === 'live' && now - beatAt >= headSeconds;
    });
    if (due.length === 0 || head.seqno === 0) return;
    const { mcSeqno } = position;
    const { utime } = await steps.read(mcSeqno, ended.signal);
    const cursor = encodeCursor(globalId(), endOf(mcSeqno));
    const lag = Math.max(0, Math.round(now - utime));
    for (const line of due) {
      line.beatAt = now;
      line.say({ type: 'head', mc_seqno: mcSeqno, utime, lag_seconds: lag, cursor });
    }
  }

  async function placeOf(start: Start, signal: AbortSignal): Promise<Place | null> {
    if (start === null) return null;
    const first = await steps.first(signal);
    if (first === null) throw new CursorError('there is no step yet: subscribe without a start');
    const oldest = endOf(first - 1);
    if ('utime' in start) return endOf(((await steps.atTime(start.utime, signal)) ?? head.seqno + 1) - 1);
    const place = 'cursor' in start ? decodeCursor(start.cursor, globalId()) : endOf(Math.max(0, start.mcSeqno - 1));
    if (comparePlaces(place, oldest) < 0) {
      if ('mcSeqno' in start && start.mcSeqno === 0) return oldest;
      throw new CursorError('cursor expired', encodeCursor(globalId(), oldest));
    }
    // Another host may have been further: what is told here begins behind it.
    if (place.mcSeqno > head.seqno + options.aheadSteps) {
      throw new CursorError('cursor is of a step far above the newest that this service has seen');
    }
    return place;
  }

  return {
    open(sink, { isPatient = false, begun = NOTHING } = {}) {
      const line = createLine({
        sink,
        notifier,
        globalId,
        place: position,
        subscription: begun,
        patient: isPatient,
        onTold: metrics.told,
      });
      lines.add(line);
      metrics.lines(lines.size);
      return line;
    },
    async subscribe(line, subscription, signal) {
      const place = await placeOf(subscription.start, signal);
      if (line.state === 'closed') return;
      leave(line);
      line.subscribe(subscription);
      if (place !== null && subscription.start !== null && 'cursor' in subscription.start) {
        prospects.resumed(line, place.mcSeqno);
      }
      line.announces = subscription.start !== null;
      // Who listens already and has not heard all goes on from there.
      if (place !== null) line.place = place;
      else if (line.state !== 'behind') passTo(line, position);
      line.state = 'behind';
      if (comparePlaces(line.place, position) >= 0 && !line.full) goLive(line);
      else void catchUp(line);
    },
    narrow(line, subscription) {
      const { state } = line;
      if (state === 'closed') return;
      leave(line);
      line.subscribe(subscription);
      if (state === 'live') {
        audience.add(line);
        wasLive.set(line, line.generation);
        prospects.join(line, true);
      }
      if (state === 'behind') void catchUp(line);
    },
    close(line) {
      leave(line);
      prospects.closed(line);
      if (!lines.delete(line)) return;
      line.end(GOING_AWAY, '');
      metrics.lines(lines.size);
    },
    cursorOf: (line) => encodeCursor(globalId(), line.place),
    async cursorAt(start, signal) {
      return encodeCursor(globalId(), (await placeOf(start, signal)) ?? endOf(head.seqno));
    },
    async find({ cursor, id }, subscription, signal) {
      const place = decodeCursor(cursor, globalId());
      if (place.mcSeqno > head.seqno) return null;
      const step = await steps.read(place.mcSeqno, signal);
      const wants = wantsOf([{ subscription }]);
      if (!step.has(wants)) await step.load(wants, signal);
      const event = step.events.find((one) => comparePlaces(one.place, place) === 0);
      // What was not final has the cursor of something else.
      return event === undefined || eventId(event) !== id
        ? null
        : notifier.bytes(event, subscription, hearing(subscription), step);
    },
    settled: () => prospects.idle(),
    get figures() {
      let behind = 0;
      for (const line of lines) if (line.state === 'behind') behind++;
      return { lines: lines.size, behind, addresses: audience.addresses };
    },
    async run(signal) {
      const stop = () => ended.abort(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      const beating = setInterval(() => void beat().catch(report), BEAT_MS);
      while (!ended.signal.aborted) {
        await follow(ended.signal).catch(async (error) => {
          if (ended.signal.aborted) return;
          report(error);
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
        });
      }
      clearInterval(beating);
      prospects.close();
      for (const line of lines) line.end(GOING_AWAY, 'the service ends');
      lines.clear();
    },
  };
}

/** And to nothing that happens elsewhere: a message that they sent is received in a step of another account. */
function isOfFewAccounts({ types, addresses, filter }: Subscription): boolean {
  const own = [...types].every((type) => OWN_STEPS.has(type));
  return !filter.everything && own && addresses.length > 0 && addresses.length <= FEW_ACCOUNTS;
}
