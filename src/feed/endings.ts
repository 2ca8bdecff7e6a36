/**
 * How traces end that were told before they were final: whoever heard of one hears of something final, from its steps
 * like everybody else, or that it is invalidated, and never both.
 */
import type { Hash } from '../chain/model.ts';
import { idOf } from './events.ts';
import type { Heard, HeardTraces, Prospect } from './heard-traces.ts';
import type { Line } from './line.ts';
import { comparePlaces, endOf, type Place } from './place.ts';
import type { StoredTraces } from './stored-trace.ts';

export interface Endings {
  /** Its message was sent again, and is accepted again: it is open as if nothing had been told of it. */
  begin(prospect: Prospect): void;
  /** It is over once all are told of this step; 0 for one that does not come. */
  end(prospect: Prospect, mcSeqno: number): void;
  /** Tells, of one that is over, whoever is to be told by now; those who are behind hear when this is called again. */
  settle(prospect: Prospect): void;
  /** The same of all that are over. */
  settleAll(): void;
  /** Nobody who has heard of it is left. */
  drop(prospect: Prospect): void;
  /** Tells a line that is live that the trace of a message does not come. */
  invalidate(line: Line, hashNorm: Hash): void;
}

export interface EndingsOptions {
  heard: Pick<HeardTraces, 'get' | 'forget' | 'drop'>;
  stored: StoredTraces;
  /** Up to where all who listen were told of what is final. */
  position: () => Place;
  /** One who came back knows by now that a trace does not come. */
  knows(line: Line, trace: string): void;
  signal: AbortSignal;
  report(error: unknown): void;
}

export function createEndings(options: EndingsOptions): Endings {
  const { heard: traces, stored, position, knows, signal, report } = options;
  /** Over, and not yet told to all. */
  const over = new Set<Prospect>();

  /**
   * Who heard of a trace and of nothing final is told that what he heard is not so; where it came, in part at least, only
   * one who has asked for it all the time. Who is behind is told when he has heard as much.
   */
  function settle(prospect: Prospect): void {
    const { endedAt } = prospect;
    if (endedAt === null || position().mcSeqno < endedAt) return;
    for (const [line, heard] of [...prospect.heard]) {
      if (!prospect.isInvalid && comparePlaces(line.place, endOf(endedAt)) < 0) continue;
      if (line.state === 'behind' && !heard.isFinal && heard.version !== null) continue;
      const isKnown = heard.isFinal || (!prospect.isInvalid && (heard.isLeft || endedAt <= heard.since));
      // Over v1 one may hear of what is pending alone: what is final is then not missing.
      const isOver = prospect.isInvalid || !line.subscription.isV1;
      const isMissing = heard.version !== null && !isKnown && isOver;
      if (isMissing && !prospect.isInvalid && !isLookedUp(prospect, line, heard)) continue;
      traces.forget(prospect, line);
      if (isMissing && heard.storedFinal !== 'told') invalidate(line, prospect.version.trace.hashNorm);
    }
    if (prospect.heard.size === 0) drop(prospect);
  }

  /** Before anything is taken back of a trace that has come, what is stored of it is looked at; then it is settled. */
  function isLookedUp(prospect: Prospect, line: Line, heard: Heard): boolean {
    if (heard.storedFinal === 'not asked') void lookUp(prospect, line, heard);
    return heard.storedFinal === 'told' || heard.storedFinal === 'not told';
  }

  async function lookUp(prospect: Prospect, line: Line, heard: Heard): Promise<void> {
    const { generation } = line;
    const { hashNorm } = prospect.version.trace;
    heard.storedFinal = 'asked';
    try {
      const isTold = await stored.hasTold(hashNorm, (event) => line.asksFor(event), heard.begunBehind);
      // He may ask for something else by now.
      heard.storedFinal = line.generation !== generation ? 'not asked' : isTold ? 'told' : 'not told';
    } catch (error) {
      if (signal.aborted) return;
      heard.storedFinal = 'not asked';
      report(error);
      return;
    }
    if (traces.get(prospect.hash) === prospect) settle(prospect);
  }

  function invalidate(line: Line, hashNorm: Hash): void {
    if (line.state !== 'live') return;
    const hash = hashNorm.toString('base64');
    knows(line, hash);
    const message = { type: 'trace_invalidated', trace_external_hash_norm: hash };
    line.takeBack(message, idOf('trace_invalidated ', [hashNorm]));
  }

  function drop(prospect: Prospect): void {
    over.delete(prospect);
    traces.drop(prospect);
  }

  return {
    begin(prospect) {
      over.delete(prospect);
      [prospect.isInvalid, prospect.endedAt] = [false, null];
      for (const heard of prospect.heard.values()) heard.storedFinal = 'not asked';
      [prospect.level, prospect.actionLevel] = ['pending', 'pending'];
    },
    end(prospect, mcSeqno) {
      prospect.endedAt = mcSeqno;
      over.add(prospect);
      settle(prospect);
    },
    settle,
    settleAll() {
      for (const prospect of [...over]) settle(prospect);
    },
    drop,
    invalidate,
  };
}
