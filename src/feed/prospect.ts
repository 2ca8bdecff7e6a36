/** What is remembered of a trace that is not final. */
import type { Finality } from '../chain/records.ts';
import type { OpenTrace } from '../pending/store.ts';
import type { Line } from './line.ts';

/** What a line has heard of a trace. */
export interface Heard {
  /** The version that it was told of last; null when only of something final. */
  one: OpenTrace | null;
  isFinal: boolean;
  /** Up to which step it had heard all that is final when it came back and may have heard of the trace before; else 0. */
  since: number;
  /** Whether steps told its listener something final, by what is stored; null while that is not asked for. */
  wasFinal: boolean | 'asked' | null;
}

export interface Prospect {
  hash: string;
  /** As it was said last and is told to whoever resumes; with the step that was known then. */
  one: OpenTrace;
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

export interface Invalidated {
  one: OpenTrace;
  mcSeqno: number;
}
