/** Those who are told of earlier steps: from their own place on, a few at a time, until they are where the others are. */
import type { StepRange } from '../chain/records.ts';
import type { AccountSteps } from './account-steps.ts';
import type { FeedEvent } from './events.ts';
import type { Line } from './line.ts';
import type { FeedMetrics } from './metrics.ts';
import { comparePlaces, encodeCursor, endOf, type Place } from './place.ts';
import type { FeedStep, Wants } from './step.ts';
import type { StepReader } from './steps.ts';
import type { Subscription } from './subscription.ts';
import { createTurns } from './turns.ts';
import { wantsOf } from './wants.ts';

/** Close code of WebSocket. */
const TOO_SLOW = 4008;

const RETRY_MS = 500;
/** Steps read at once for a line that is told of them, at most. */
const RUN_STEPS = 64;
/** Longest that lines are told of earlier steps before all else has its turn, milliseconds. */
const TURN_MS = 5;
/** Steps behind the head from which on the steps of a few accounts are looked for. */
const FAR_STEPS = 32;
const FEW_ACCOUNTS = 16;
/** What happens in a step in which the account has a transaction. */
const OWN_STEPS: ReadonlySet<string> = new Set(['transactions', 'account_state_change', 'external_out']);

export interface BehindOptions {
  steps: StepReader;
  /** Up to where those who are live were told. */
  position(): Place;
  /** Tells an event; false when the line has no more room. */
  tell(line: Line, event: FeedEvent, step: FeedStep): boolean;
  /** The line has heard all that the others have. */
  goLive(line: Line): void;
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
  signal: AbortSignal;
  report: (error: unknown) => void;
}

export interface Behind {
  /** Tells a line that is behind what it has not heard, until it is live, has another subscription, or is closed. */
  catchUp(line: Line): Promise<void>;
  /** Waits until a line has room. False when it was let go because it took nothing for too long. */
  room(line: Line, signal: AbortSignal): Promise<boolean>;
}

export function createBehind(options: BehindOptions): Behind {
  const { steps, position, tell, goLive, globalId, metrics, signal, report } = options;
  const { stallMs, catchUps, runTransactions, skipSteps } = options;
  let catching = 0;
  /** Those, and the ones that wait for their turn or for room. */
  let catchingUp = 0;
  const waiting: (() => void)[] = [];
  const turns = createTurns(TURN_MS);
  const plans = new WeakMap<Line, { generation: number; last: number; steps: AccountSteps }>();

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
        if (comparePlaces(line.place, position()) >= 0) {
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
      if (signal.aborted || !isSame()) return;
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
    if (catching < catchUps) catching++;
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
    if (inside || position().mcSeqno - mcSeqno < FAR_STEPS || !isOfFewAccounts(line.subscription)) return false;
    const { addresses } = line.subscription;
    let plan = plans.get(line);
    if (plan?.generation !== line.generation || plan.last <= mcSeqno) {
      const { mcSeqno: last } = position();
      plan = { generation: line.generation, last, steps: await steps.ofAccounts(addresses, mcSeqno, signal) };
      plans.set(line, plan);
    }
    const next = Math.min((await plan.steps.next(mcSeqno + 1, signal)) ?? plan.last + 1, plan.last + 1);
    if (!isSame() || next === mcSeqno + 1) return false;
    line.place = endOf(next - 1);
    return true;
  }

  /** A share for each of the lines that are told of earlier steps now: those that wait, for room too, take none of it. */
  function runFrom(mcSeqno: number, line: Line): StepRange {
    const steps = isOfFewAccounts(line.subscription) ? 1 : RUN_STEPS;
    const last = Math.min(position().mcSeqno, mcSeqno + steps - 1);
    const told = Math.max(1, Math.min(catchingUp, catchUps));
    return { first: mcSeqno, last, enough: Math.ceil(runTransactions / told) };
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
    const inside = comparePlaces(line.place, endOf(line.place.mcSeqno)) < 0;
    const mcSeqno = inside ? line.place.mcSeqno : line.place.mcSeqno + 1;
    const wants = wantsOf([line], line.subscription.traceHashes);
    const run = await steps.run(runFrom(mcSeqno, line), wants, signal);
    if (!run[0].exists) {
      const next = await steps.nextExisting(mcSeqno, position().mcSeqno, signal);
      if (isSame()) line.place = next === null ? position() : endOf(next - 1);
      return;
    }
    const behindRun = mcSeqno + run.length;
    // Where lines wait for their turn, others would push it out again before this one is told of it.
    const isAhead = run.length > 1 && behindRun <= position().mcSeqno && catchingUp <= catchUps;
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
        if (!step.events.every((event) => !line.hears(event) || tell(line, event, step))) return false;
        line.place = endOf(step.mcSeqno);
      } while (!turns.isOver);
      return true;
    } finally {
      line.uncork();
    }
  }

  async function room(line: Line, signal: AbortSignal): Promise<boolean> {
    if ((await line.room(line.patient ? null : stallMs, signal)) === 'room') return true;
    metrics.stalled();
    line.end(TOO_SLOW, `too slow: go on from cursor ${encodeCursor(globalId(), line.place)}`);
    return false;
  }

  /** False when the line was let go, or has been moved to the head. */
  async function waitForRoom(line: Line): Promise<boolean> {
    if (!(await room(line, signal))) return false;
    const lag = position().mcSeqno - line.place.mcSeqno;
    if (line.subscription.onLag !== 'skip' || lag <= skipSteps) return true;
    metrics.skipped();
    const [from, to] = [line.place, position()].map((place) => encodeCursor(globalId(), place));
    line.place = position();
    line.say({ type: 'lagged', from_cursor: from, to_cursor: to });
    return false;
  }

  return { catchUp, room };
}

/** And to nothing that happens elsewhere: a message that they sent is received in a step of another account. */
function isOfFewAccounts({ types, addresses, filter }: Subscription): boolean {
  const own = [...types].every((type) => OWN_STEPS.has(type));
  return !filter.everything && own && addresses.length > 0 && addresses.length <= FEW_ACCOUNTS;
}
