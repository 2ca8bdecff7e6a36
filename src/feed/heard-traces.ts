/** Traces that are told before they are final, and who has heard of each. */
import type { Finality } from '../chain/records.ts';
import type { OpenTrace } from '../pending/store.ts';
import type { Line } from './line.ts';
import type { FeedMetrics } from './metrics.ts';

/** Whether steps told a listener something final of a trace, by what is stored, which is looked up before it is taken back. */
export type StoredFinal = 'not asked' | 'asked' | 'told' | 'not told';

/** What a line has heard of a trace. */
export interface Heard {
  /** The version that it was told of last; null when only of something final. */
  version: OpenTrace | null;
  isFinal: boolean;
  /** Its subscription has changed since to one that asks for nothing of it: whether it came true is not told then. */
  isLeft: boolean;
  /** Up to which step it had heard all that is final when it came back and may have heard of the trace before; else 0. */
  since: number;
  /** Of one who began without a cursor, the step behind which he had when he heard of the trace first; else 0. */
  begunBehind: number;
  storedFinal: StoredFinal;
}

export interface Prospect {
  hash: string;
  /** As it was said last and is told to whoever resumes; with the step that was known then. */
  version: OpenTrace;
  mcSeqno: number;
  /** The highest level that was told of its transactions, of its actions. */
  level: Finality;
  actionLevel: Finality;
  heard: Map<Line, Heard>;
  /** Who heard a state that is confirmed, of an account or of its jettons, by its transaction. */
  states: Map<string, Set<Line>>;
  /** The step in which it was complete; null while it is open. */
  endedAt: number | null;
  isInvalid: boolean;
}

export interface HeardTraces {
  get(hash: string): Prospect | undefined;
  all(): Iterable<Prospect>;
  /** Begun where there is none. Not kept when there are too many: then nobody is noted for it. */
  of(hash: string, version: OpenTrace, mcSeqno: number): Prospect;
  /** What the line has heard of it; null when no more can be noted: then it is not told. */
  note(prospect: Prospect, line: Line): Heard | null;
  forget(prospect: Prospect, line: Line): void;
  drop(prospect: Prospect): void;
  by(line: Line): Prospect[];
  /** Nobody has heard of any. */
  readonly isEmpty: boolean;
}

/** Pairs of a line and a trace that it has heard of: above it no more is told of what is not final. */
const MOST_HEARD = 500_000;
/** Traces at a time; the tracker has a limit of its own (`--pending-traces`). */
const MOST_PROSPECTS = 50_000;

/** @param begunBehind of those who began without a cursor, the step behind which they did */
export function createHeardTraces(
  metrics: Pick<FeedMetrics, 'leftOut'>,
  begunBehind: Pick<WeakMap<Line, number>, 'get'>,
): HeardTraces {
  const prospects = new Map<string, Prospect>();
  const byLine = new Map<Line, Set<Prospect>>();
  let pairs = 0;

  return {
    get: (hash) => prospects.get(hash),
    all: () => prospects.values(),
    of(hash, version, mcSeqno) {
      const known = prospects.get(hash);
      if (known !== undefined) return known;
      const fresh = { heard: new Map(), states: new Map(), endedAt: null, isInvalid: false };
      const made: Prospect = { hash, version, mcSeqno, level: 'pending', actionLevel: 'pending', ...fresh };
      if (prospects.size < MOST_PROSPECTS) prospects.set(hash, made);
      else metrics.leftOut('traces');
      return made;
    },
    note(prospect, line) {
      const known = prospect.heard.get(line);
      if (known !== undefined) return known;
      if (pairs >= MOST_HEARD || !prospects.has(prospect.hash)) return null;
      const heard: Heard = {
        version: null,
        isFinal: false,
        isLeft: false,
        since: 0,
        begunBehind: begunBehind.get(line) ?? 0,
        storedFinal: 'not asked',
      };
      prospect.heard.set(line, heard);
      pairs++;
      const own = byLine.get(line) ?? new Set();
      byLine.set(line, own.add(prospect));
      return heard;
    },
    forget(prospect, line) {
      if (!prospect.heard.delete(line)) return;
      pairs--;
      const own = byLine.get(line);
      own?.delete(prospect);
      if (own?.size === 0) byLine.delete(line);
    },
    drop: ({ hash }) => void prospects.delete(hash),
    by: (line) => [...(byLine.get(line) ?? [])],
    get isEmpty() {
      return pairs === 0;
    },
  };
}
