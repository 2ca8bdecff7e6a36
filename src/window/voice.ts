import type { Head } from '../../clickhouse/queries/head.ts';
import type { Window } from './window.ts';

export interface Voice {
  /** The window answers. */
  readonly speaks: boolean;
  /**
   * The head that other processes of this host are told: the window's while it answers, that of the tables otherwise.
   * So what reads the window's files, while they say that it answers, shows no older one than anybody was told.
   */
  readonly shown: Pick<Head, 'seqno' | 'onAdvance'>;
  /**
   * To be called when the window or what is known of it has changed.
   * @param mayAnswer the tables have all that the window has, and it can go on
   */
  weigh(mayAnswer: boolean): Promise<void>;
}

export interface VoiceOptions {
  window: Pick<Window, 'state' | 'speak'>;
  /** Of the tables. */
  head: Pick<Head, 'seqno' | 'onAdvance'>;
  /** Told when the files cannot be written after an advance of the tables; it is tried again with the next. */
  onError: (error: unknown) => void;
}

/** Steps that the window may be behind the tables and still answer; with more of them the tables answer alone. */
const MOST_BEHIND = 32;

/**
 * Decides for all who read the window whether it answers: once it has reached the head of the tables, and for as long
 * as it is not far behind it. Before, it would answer for an older head than the tables did.
 */
export function createVoice({ window, head, onError }: VoiceOptions): Voice {
  const listeners: Parameters<Head['onAdvance']>[0][] = [];
  let mayAnswer = false;
  let speaks = false;
  let told = head.seqno;
  let weighed = Promise.resolve();

  const behind = (): number => head.seqno - (window.state?.head ?? Number.NEGATIVE_INFINITY);

  function show(): void {
    const from = told;
    const to = speaks ? (window.state?.head ?? 0) : head.seqno;
    if (to <= from) return;
    told = to;
    for (const listener of listeners) listener(from, to);
  }

  async function decide(): Promise<void> {
    // Before the files say so: from here on nothing is told of that the window does not show.
    speaks = mayAnswer && behind() <= (speaks ? MOST_BEHIND : 0);
    if (!speaks) show();
    await window.speak(speaks);
    show();
  }

  /** One after the other: the last one decided is the last one written. */
  function weigh(): Promise<void> {
    weighed = weighed.then(decide, decide);
    return weighed;
  }

  head.onAdvance(() => {
    if (!speaks) show();
    // Too far behind by now, or what was decided before could not be written.
    const silent = !speaks || behind() > MOST_BEHIND;
    if (silent && window.state?.speaks) weigh().catch(onError);
  });

  return {
    get speaks() {
      return speaks;
    },
    shown: {
      get seqno() {
        return told;
      },
      onAdvance: (listener) => void listeners.push(listener),
    },
    weigh(may) {
      mayAnswer = may;
      return weigh();
    },
  };
}
