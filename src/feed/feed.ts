/**
 * What is told to all who listen, step by step. Those who keep up hear each step in the moment it can be seen; whoever
 * begins earlier, or takes less than there is, is told of the steps from his own place on until he is where the others
 * are. Nothing is left out on the way from one to the other: the two meet between two steps.
 */
import { EventEmitter, once, setMaxListeners } from 'node:events';
import type { Head } from '../../clickhouse/queries/head.ts';
import { createAudience } from './audience.ts';
import { type BehindOptions, createBehind } from './behind.ts';
import { eventId, type FeedEvent } from './events.ts';
import { hearing } from './hearing.ts';
import { createLine, type Line, type Mark, type Sink } from './line.ts';
import type { FeedMetrics } from './metrics.ts';
import type { Notifier } from './notification.ts';
import { beginning, CursorError, comparePlaces, decodeCursor, encodeCursor, endOf, type Place } from './place.ts';
import { createProspects, type ProspectsOptions } from './prospects.ts';
import type { FeedStep } from './step.ts';
import type { StepReader } from './steps.ts';
import { goesOn, NOTHING, type Start, type Subscription } from './subscription.ts';
import { wantsOf } from './wants.ts';

export interface Feed {
  /**
   * A listener to whom nothing is told before he subscribes.
   * @param how `isPatient`: it is never let go because it takes nothing; `begun`: what it says before it says anything
   */
  open(sink: Sink, how?: { isPatient?: boolean; begun?: Subscription }): Line;
  /**
   * Replaces what a line hears.
   * @param begins called once it is replaced, before anything is told
   * @throws {CursorError} when the stream cannot begin where the subscription says
   */
  subscribe(line: Line, subscription: Subscription, signal: AbortSignal, begins?: () => void): Promise<void>;
  /** Fewer addresses or traces; it goes on where it is. */
  narrow(line: Line, subscription: Subscription): void;
  /** Waits until a line has room. False when it was let go because it took nothing for too long. */
  room(line: Line, signal: AbortSignal): Promise<boolean>;
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

export interface FeedOptions extends Pick<BehindOptions, 'stallMs' | 'catchUps' | 'runTransactions' | 'skipSteps'> {
  /** Of the source that the steps are read from: the newest step that all who ask are shown. */
  head: Pick<Head, 'seqno' | 'onAdvance'>;
  steps: StepReader;
  notifier: Notifier;
  /** Of the network; 0 before there is a step. */
  globalId: () => number;
  metrics: FeedMetrics;
  /** Steps above the head that a cursor of another host may be of. */
  aheadSteps: number;
  /** What is not final: where it is said, and what stands beside it. */
  pending: Pick<ProspectsOptions, 'pending' | 'source' | 'queryTimeoutMs'>;
  report: (error: unknown) => void;
}

/** Close code of WebSocket. */
const GOING_AWAY = 1001;

const RETRY_MS = 500;
/** How far back who asks for what there is begins: as long as TON Center keeps states, and twice as long as traces. */
const EXISTING_SECONDS = 60;
/** Between two looks at who wants to know the head. */
const BEAT_MS = 250;

/**
 * Tells lines what they subscribe to, in the order of the chain. Nothing is told before `run`; then a line that is live is
 * told of each step that the head reaches, and one that resumes or has no more room of those it lacks, read again from
 * `steps`, until it is live. What cannot be read is reported and tried again every half second.
 */
export function createFeed(options: FeedOptions): Feed {
  const { head, steps, notifier, globalId, metrics, report } = options;
  const lines = new Set<Line>();
  const audience = createAudience<Line>();
  const bell = new EventEmitter();
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  /** All up to here was told to the lines that are live. */
  let position = endOf(head.seqno);
  head.onAdvance(() => bell.emit('advance'));
  const prospects = createProspects({
    ...options.pending,
    position: () => position,
    onFull: fallBehind,
    metrics,
    signal: ended.signal,
    report,
  });
  const behind = createBehind({
    ...options,
    position: () => position,
    tell: tellTo,
    goLive,
    signal: ended.signal,
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
    const wanted = () => wantsOf(audience.members(), audience.traces);
    for (let wants = wanted(); !step.has(wants); wants = wanted()) await step.load(wants, signal);
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
        try {
          tellEvent(event, step, corked);
        } catch (error) {
          // What cannot be told hides nothing that can.
          report(error);
        }
      }
    } finally {
      for (const line of corked) line.uncork();
    }
  }

  function tellEvent(event: FeedEvent, step: FeedStep, corked: Set<Line>): void {
    for (const line of audience.hearers(event)) {
      if (!corked.has(line)) {
        corked.add(line);
        line.cork();
      }
      if (!tellTo(line, event, step)) slow.add(line);
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
    // Who asks for what there is hears of what is not final, too, as it stands.
    const isNew = line.subscription.start === null && wasLive.get(line) !== line.generation;
    wasLive.set(line, line.generation);
    if (line.announces) line.say({ type: 'caught_up', cursor: encodeCursor(globalId(), line.place) });
    line.announces = false;
    prospects.join(line, isNew ? 'new' : 'again');
  }

  function leave(line: Line): void {
    audience.remove(line);
    prospects.leave(line);
  }

  function fallBehind(line: Line): void {
    if (line.state !== 'live') return;
    leave(line);
    line.state = 'behind';
    void behind.catchUp(line);
  }

  /** Tells those who asked for it where the chain is, so that silence is not taken for a stall. */
  async function beat(): Promise<void> {
    // Who has no room for what was said beside the events is told no more either.
    for (const line of lines) if (line.full) fallBehind(line);
    const now = performance.now();
    const due = [...lines].filter(({ state, subscription: { headSeconds }, beatAt }) => {
      return headSeconds !== null && state === 'live' && now - beatAt >= headSeconds * 1000;
    });
    if (due.length === 0 || head.seqno === 0) return;
    const { mcSeqno } = position;
    const { utime } = await steps.read(mcSeqno, ended.signal);
    const cursor = encodeCursor(globalId(), endOf(mcSeqno));
    const lag = Math.max(0, Math.round(Date.now() / 1000 - utime));
    for (const line of due) {
      line.beatAt = now;
      line.say({ type: 'head', mc_seqno: mcSeqno, utime, lag_seconds: lag, cursor });
    }
  }

  /** Before the first step of this time or later. */
  async function placeBefore(utime: number, signal: AbortSignal): Promise<Place> {
    return endOf(((await steps.atTime(utime, signal)) ?? head.seqno + 1) - 1);
  }

  async function placeOf(start: Start, signal: AbortSignal): Promise<Place | null> {
    if (start === null) return null;
    if ('existing' in start) return placeBefore(Math.floor(Date.now() / 1000) - EXISTING_SECONDS, signal);
    const first = await steps.first(signal);
    if (first === null) {
      if ('cursor' in start && start.cursor === beginning()) return endOf(0);
      throw new CursorError('there is no step yet: subscribe without a start');
    }
    const oldest = endOf(first - 1);
    if ('utime' in start) return placeBefore(start.utime, signal);
    const place = 'cursor' in start ? decodeCursor(start.cursor, globalId()) : endOf(Math.max(0, start.mcSeqno - 1));
    if (comparePlaces(place, oldest) < 0) {
      if ('cursor' in start ? start.cursor === beginning() : start.mcSeqno === 0) return oldest;
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
    async subscribe(line, subscription, signal, begins) {
      const place = await placeOf(subscription.start, signal);
      if (line.state === 'closed') return;
      leave(line);
      line.subscribe(subscription);
      prospects.changed(line);
      if (place !== null && subscription.start !== null && 'cursor' in subscription.start) {
        prospects.resumed(line, place.mcSeqno);
      }
      line.announces = goesOn(subscription.start);
      // Who listens already and has not heard all goes on from there.
      const isFurther = place === null || comparePlaces(line.place, place) < 0;
      const goesOnFromThere = line.state === 'behind' && !goesOn(subscription.start) && isFurther;
      if (!goesOnFromThere) {
        if (place !== null) line.place = place;
        else passTo(line, position);
      }
      line.state = 'behind';
      begins?.();
      if (comparePlaces(line.place, position) >= 0 && !line.full) goLive(line);
      else void behind.catchUp(line);
    },
    narrow(line, subscription) {
      const { state, generation } = line;
      if (state === 'closed') return;
      leave(line);
      line.subscribe(subscription);
      prospects.changed(line);
      if (wasLive.get(line) === generation) wasLive.set(line, line.generation);
      if (state === 'live') {
        audience.add(line);
        prospects.join(line, 'narrower');
      }
      if (state === 'behind') void behind.catchUp(line);
    },
    room: behind.room,
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
      const wants = wantsOf([{ subscription }], subscription.traceHashes);
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
