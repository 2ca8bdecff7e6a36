/** The same question asked many times at once is answered once, and its answer kept until the chain has moved on. */
import { LRUCache } from 'lru-cache';
import type { Answer } from './answers.ts';
import { Caller } from './request.ts';

export interface SharedAnswers {
  /**
   * The kept answer to the question, the one that is being made, or a new one.
   *
   * @param question what was asked, in one spelling
   * @param version what the answer depends on besides the question; an answer of another version is not used
   * @param compute gets a caller who leaves when all who wait for the answer have left
   * @throws what `compute` throws, to all who wait; the reason when the asker has left already
   */
  get(question: string, version: string, asker: Caller, compute: (all: Caller) => Promise<Answer>): Promise<Answer>;
  readonly figures: SharedFigures;
}

/** Since the start, by how an answer came about; and what is kept now. */
export interface SharedFigures {
  readonly made: number;
  readonly shared: number;
  readonly kept: number;
  readonly bytes: number;
}

export interface SharedAnswersOptions {
  /** Most bytes of answers to keep; 0 keeps none. */
  maxBytes: number;
  /** Most answers to keep. */
  maxEntries?: number;
  /** An answer is not kept for longer, whatever its version, in milliseconds. */
  maxAgeMs?: number;
}

/** An answer above this share of the room is not kept. Packed forms are counted as half of it at most. */
const LARGEST_SHARE = 1 / 8;
const ENTRY_BYTES = 1_000;
const PACKED_SHARE = 0.5;

interface Making {
  answer: Promise<Answer>;
  /** All who wait, as one. */
  all: Caller;
  waiting: number;
}

export function createSharedAnswers(options: SharedAnswersOptions): SharedAnswers {
  const { maxBytes, maxEntries = 2_000, maxAgeMs = 2_000 } = options;
  const keeping =
    maxBytes > 0
      ? new LRUCache<string, Answer>({ max: maxEntries, maxSize: maxBytes, ttl: maxAgeMs, sizeCalculation })
      : null;
  const makings = new Map<string, Making>();
  const figures = {
    made: 0,
    shared: 0,
    kept: 0,
    get bytes() {
      return keeping?.calculatedSize ?? 0;
    },
  };

  function keep(key: string, answer: Answer): void {
    if (keeping === null || sizeCalculation(answer) > maxBytes * LARGEST_SHARE) return;
    keeping.set(key, answer);
  }

  function make(key: string, timeoutMs: number, compute: (all: Caller) => Promise<Answer>): Making {
    const all = new Caller(timeoutMs);
    const making: Making = { all, waiting: 0, answer: compute(all) };
    makings.set(key, making);
    const end = (): void => {
      if (makings.get(key) === making) makings.delete(key);
    };
    making.answer.then((answer) => {
      end();
      keep(key, answer);
    }, end);
    return making;
  }

  /** The last who goes takes the making with him. */
  function wait(key: string, making: Making, asker: Caller): Promise<Answer> {
    making.waiting++;
    asker.onLeave((reason) => {
      making.waiting--;
      if (making.waiting > 0 || makings.get(key) !== making) return;
      makings.delete(key);
      making.all.leave(reason);
    });
    return making.answer;
  }

  return {
    figures,
    async get(question, version, asker, compute) {
      asker.throwIfLeft();
      const key = `${version}\n${question}`;
      const kept = keeping?.get(key);
      if (kept !== undefined) {
        figures.kept++;
        return kept;
      }
      const known = makings.get(key);
      if (known === undefined) figures.made++;
      else figures.shared++;
      return wait(key, known ?? make(key, asker.timeoutMs, compute), asker);
    },
  };
}

function sizeCalculation({ json }: Answer): number {
  return ENTRY_BYTES + Math.ceil(json.length * (1 + PACKED_SHARE));
}
