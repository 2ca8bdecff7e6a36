/**
 * What each step spans of lt and time: from the least to the greatest of its blocks. Beside it stand the greatest of it
 * and all older steps, and the least of it and all newer ones. Both rise with the steps, so the first step that may have
 * something, and the last, are found by halving.
 */

import { stepKey } from '../window/chunk.ts';
import type { Batch, Entry, Range, Snapshot } from '../window/engine.ts';
import type { Clock } from '../window/kind.ts';
import type { StepSpan } from '../window/store.ts';

export const SPANS = 'spans';

/** Both clocks: lt, then time. */
const CLOCKS_BYTES = 12;
const UTIME_AT = 8;

/** As they sort in keys. */
const PARTS = { least: 0, greatest: 1, leastFromHere: 2, greatestToHere: 3 } as const;
type Part = keyof typeof PARTS;

/** A span as it is kept. */
export class Span {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  static of({ minLt, minUtime, maxLt, maxUtime }: StepSpan): Span {
    const own = Buffer.allocUnsafe(2 * CLOCKS_BYTES);
    own.writeBigUInt64BE(minLt, 0);
    own.writeUInt32BE(minUtime, UTIME_AT);
    own.writeBigUInt64BE(maxLt, CLOCKS_BYTES);
    own.writeUInt32BE(maxUtime, CLOCKS_BYTES + UTIME_AT);
    return new Span(Buffer.concat([own, own]));
  }

  at(part: Part, clock: Clock): Buffer {
    const from = PARTS[part] * CLOCKS_BYTES;
    return clock === 'lt'
      ? this.bytes.subarray(from, from + UTIME_AT)
      : this.bytes.subarray(from + UTIME_AT, from + CLOCKS_BYTES);
  }

  get own(): StepSpan {
    return {
      minLt: this.bytes.readBigUInt64BE(0),
      minUtime: this.bytes.readUInt32BE(UTIME_AT),
      maxLt: this.bytes.readBigUInt64BE(CLOCKS_BYTES),
      maxUtime: this.bytes.readUInt32BE(CLOCKS_BYTES + UTIME_AT),
    };
  }
}

const CLOCKS: readonly Clock[] = ['lt', 'utime'];

/** What a commit sees, and writes into. */
export interface Within {
  snapshot: Snapshot;
  batch: Batch;
}

/** The spans of steps that one commit writes, all before the first or all behind the last one that is here. */
export class SpanWriter {
  readonly #snapshot: Snapshot;
  readonly #batch: Batch;
  readonly #isDownwards: boolean;
  /** As this commit has them; those that it adds in the order in which they come. */
  readonly #changed = new Map<number, Span>();
  readonly #added: number[] = [];

  constructor({ snapshot, batch }: Within, isDownwards: boolean) {
    this.#snapshot = snapshot;
    this.#batch = batch;
    this.#isDownwards = isDownwards;
  }

  add(mcSeqno: number, own: StepSpan): void {
    const span = Span.of(own);
    // What is known of those that were here rests on them alone.
    const [theirs, mine] = this.#isDownwards
      ? (['greatestToHere', 'leastFromHere'] as const)
      : (['leastFromHere', 'greatestToHere'] as const);
    let isNext = true;
    for (const [step, other] of this.#neighbours()) {
      const moved = CLOCKS.filter((clock) => this.#move(other, theirs, clock, span.at(theirs, clock)));
      if (moved.length > 0) this.#changed.set(step, other);
      if (isNext) for (const clock of CLOCKS) this.#move(span, mine, clock, other.at(mine, clock));
      isNext = false;
      if (moved.length === 0) break;
    }
    this.#changed.set(mcSeqno, span);
    this.#added.push(mcSeqno);
  }

  /** Lets a bound hold for this too; whether it did not yet. */
  #move(span: Span, part: Part, clock: Clock, to: Buffer): boolean {
    const known = span.at(part, clock);
    const order = to.compare(known);
    if (part === 'leastFromHere' ? order >= 0 : order <= 0) return false;
    to.copy(known);
    return true;
  }

  /** From the one beside the next one on. */
  *#neighbours(): Iterable<[number, Span]> {
    for (const step of this.#added.toReversed()) yield [step, this.#known(step)];
    for (const { key, value } of this.#snapshot.range(SPANS, {
      low: Buffer.alloc(1),
      high: null,
      reverse: !this.#isDownwards,
    })) {
      const step = key.readUInt32BE(0);
      yield [step, this.#changed.get(step) ?? new Span(Buffer.from(value))];
    }
  }

  #known(step: number): Span {
    const span = this.#changed.get(step);
    if (!span) throw new Error(`the span of step ${step} is missing`);
    return span;
  }

  write(): void {
    for (const [step, { bytes }] of this.#changed) this.#batch.put(SPANS, stepKey(step), bytes);
  }
}

type Reading = (range: Range) => Iterable<Entry>;

/**
 * The first step from which on something holds that holds for all behind it, of those from `low` to before `end`; `end`
 * where it holds for none of them.
 */
export function firstStep(read: Reading, low: number, end: number, holds: (span: Span) => boolean): number {
  let from = low;
  let to = end;
  let found = end;
  while (from < to) {
    const middle = from + Math.floor((to - from) / 2);
    const [next] = read({ low: stepKey(middle), high: stepKey(to) });
    if (next === undefined) {
      to = middle;
      continue;
    }
    const step = next.key.readUInt32BE(0);
    if (holds(new Span(next.value))) {
      found = step;
      to = middle;
    } else from = step + 1;
  }
  return found;
}
