/**
 * Ways that rise with the steps, of which the archive keeps no keys: what they would list, out of the rows of the
 * steps.
 */

import { ID_BYTES, stepKey } from '../window/chunk.ts';
import type { Entry, Range } from '../window/engine.ts';
import { entryValue, type Kind, keysOf, type Layout } from '../window/kind.ts';
import { narrowKey } from '../window/narrow.ts';
import { spannedBy } from '../window/store.ts';
import type { Found, SnapshotView, Span as Steps } from '../window/view.ts';
import { firstStep, SPANS, Span } from './spans.ts';

type Rows = Pick<SnapshotView<Steps>, 'entries' | 'valueOf' | 'rowsBySteps' | 'first' | 'head'>;

export interface Rising {
  kind: Kind;
  layout: Layout;
  range: Range;
  /** Steps from this one on are passed over. */
  end: number;
}

export function* risingEntries(view: Rows, rising: Rising): Generator<Entry> {
  const { layout, range } = rising;
  const { low, high, reverse = false } = range;
  const [{ bytes }] = layout.key;
  const clock = layout.rises ?? 'lt';
  const order = reverse ? descending : ascending;
  /** What the steps from one on are beyond, in this order. */
  const isBeyond = (bound: Buffer, key: Buffer): boolean =>
    reverse ? bound.compare(key, 0, bytes) < 0 : bound.compare(key, 0, bytes) > 0;
  const isPast = (bound: Buffer): boolean =>
    reverse ? bound.compare(low.subarray(0, bytes)) < 0 : high !== null && bound.compare(high) >= 0;

  let waiting: Entry[] = [];
  for (const { mcSeqno, rows } of stepsOf(view, rising)) {
    const span = spanOf(view, mcSeqno);
    const bound = span.at(reverse ? 'greatestToHere' : 'leastFromHere', clock);
    const ready = waiting.findIndex(({ key }) => !isBeyond(bound, key));
    yield* waiting.splice(0, ready < 0 ? waiting.length : ready);
    if (isPast(bound)) break;
    const found = entriesOf(view, rows, span, rising);
    if (found.length > 0) waiting = [...waiting, ...found].sort(order);
  }
  yield* waiting;
}

/** The steps that may have something of a range, in its order, with their rows. */
function stepsOf(view: Rows, { kind, layout, range: { low, high, reverse = false }, end }: Rising) {
  const [{ bytes }] = layout.key;
  const clock = layout.rises ?? 'lt';
  const read = (range: Range): Iterable<Entry> => view.entries(SPANS, range);
  const behind = Math.min(end, view.head + 1);
  const least = low.subarray(0, bytes);
  if (!reverse) {
    const first = firstStep(read, view.first, behind, (span) => span.at('greatestToHere', clock).compare(least) >= 0);
    return view.rowsBySteps(kind, first, behind, false);
  }
  const last =
    high === null
      ? behind
      : firstStep(read, view.first, behind, (span) => span.at('leastFromHere', clock).compare(high) >= 0);
  return view.rowsBySteps(kind, view.first, last, true);
}

function spanOf(view: Rows, mcSeqno: number): Span {
  const found = view.valueOf(SPANS, stepKey(mcSeqno));
  if (found === null) throw new Error(`the span of step ${mcSeqno} is missing in the archive`);
  return new Span(found);
}

function entriesOf(view: Rows, rows: readonly Found[], span: Span, { kind, layout, range }: Rising): Entry[] {
  const isFoundByStep = spannedBy(span.own);
  const found: Entry[] = [];
  for (const { id, row } of rows) {
    if (!isFoundByStep(layout, row)) continue;
    const [key] = keysOf(layout, row);
    if (!isWithin(key, range) || !isLedTo(view, kind, { id, row })) continue;
    found.push({ key, value: entryValue(layout, row, id), row });
  }
  return found;
}

/** What was written anew together is found no more where it was. */
function isLedTo(view: Rows, { together }: Kind, { id, row }: Found): boolean {
  if (together === null) return true;
  const [key] = keysOf(together, row);
  return view.valueOf(together.table, narrowKey(together, key))?.subarray(0, ID_BYTES).equals(id) ?? false;
}

const ascending = (a: Entry, b: Entry): number => a.key.compare(b.key);
const descending = (a: Entry, b: Entry): number => b.key.compare(a.key);

const isWithin = (key: Buffer, { low, high }: Range): boolean =>
  key.compare(low) >= 0 && (high === null || key.compare(high) < 0);
