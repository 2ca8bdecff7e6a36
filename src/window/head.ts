import type { Head } from '../../clickhouse/queries/head.ts';
import type { Window } from './window.ts';

/**
 * The head of this host: up to where all its processes answer. It is the window's while the window answers, that of the
 * tables otherwise; so what reads the window's files, while they say that it answers, shows no older one than anybody
 * was told.
 */
export interface HostHead extends Pick<Head, 'seqno' | 'onAdvance'> {
  readonly windowAnswers: boolean;
  /**
   * To be called when the window or what is known of it has changed.
   * @param windowMayAnswer the tables have all that the window has, and it can go on
   */
  decide(windowMayAnswer: boolean): Promise<void>;
}

export interface HostHeadOptions {
  window: Pick<Window, 'state' | 'speak'>;
  /** How far the tables are. */
  tables: Pick<Head, 'seqno' | 'onAdvance'>;
  /** Told when the files cannot be written after an advance of the tables; it is tried again with the next. */
  onError: (error: unknown) => void;
}

/** Steps that the window may be behind the tables and still answer; with more of them the tables answer alone. */
const MOST_BEHIND = 32;

/**
 * Decides for all who read the window whether it answers: once it has reached the head of the tables, and for as long
 * as it is not far behind it. Before, it would answer for an older head than the tables did.
 */
export function createHostHead({ window, tables, onError }: HostHeadOptions): HostHead {
  const listeners: Parameters<Head['onAdvance']>[0][] = [];
  let windowMayAnswer = false;
  let windowAnswers = false;
  let seqno = tables.seqno;
  let decided = Promise.resolve();

  const behind = (): number => tables.seqno - (window.state?.head ?? Number.NEGATIVE_INFINITY);

  function advance(): void {
    const from = seqno;
    const to = windowAnswers ? (window.state?.head ?? 0) : tables.seqno;
    if (to <= from) return;
    seqno = to;
    for (const listener of listeners) listener(from, to);
  }

  async function weigh(): Promise<void> {
    const answers = windowMayAnswer && behind() <= (windowAnswers ? MOST_BEHIND : 0);
    // Before the files say so: from here on nothing is shown that the window does not have.
    windowAnswers ||= answers;
    await window.speak(answers);
    // Only now: whoever had been told of the tables' head before would still have asked the window for it.
    windowAnswers = answers;
    advance();
  }

  /** One after the other: the last one decided is the last one written. */
  function weighInTurn(): Promise<void> {
    decided = decided.then(weigh, weigh);
    return decided;
  }

  tables.onAdvance(() => {
    if (!windowAnswers) advance();
    // Too far behind by now, or what was decided before could not be written.
    const silent = !windowAnswers || behind() > MOST_BEHIND;
    if (silent && window.state?.speaks) weighInTurn().catch(onError);
  });

  return {
    get seqno() {
      return seqno;
    },
    onAdvance: (listener) => void listeners.push(listener),
    get windowAnswers() {
      return windowAnswers;
    },
    decide(mayAnswer) {
      windowMayAnswer = mayAnswer;
      return weighInTurn();
    },
  };
}
