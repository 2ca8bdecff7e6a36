import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createFeedSource } from '../../test/feed-source.ts';
import type { StepRange } from '../chain/records.ts';
import { eventId } from './events.ts';
import type { FeedStep, Wants } from './step.ts';
import { createStepReader } from './steps.ts';

const { signal } = new AbortController();
const wants: Wants = { parts: new Set(['messages', 'blocks']), traces: new Set(), addressBook: false, metadata: false };

function reading() {
  const chain = createFeedSource('private');
  chain.advance(chain.steps[chain.steps.length - 1]);
  const asked: StepRange[] = [];
  const whole = chain.source.steps;
  chain.source.steps = (range, context) => {
    asked.push(range);
    return whole(range, context);
  };
  let questions = 0;
  const { messages } = chain.source;
  chain.source.messages = (filter, context) => {
    questions++;
    return messages(filter, context);
  };
  const options = { source: chain.source, queryTimeoutMs: 30_000, keptTransactions: 8_000 };
  return { chain, asked, questions: () => questions, steps: createStepReader(options) };
}

const idsOf = (steps: readonly FeedStep[]): string[] => steps.flatMap(({ events }) => events.map(eventId));

it('reads many steps in one question, the same as one after the other', async () => {
  const { chain, steps, asked, questions } = reading();
  const [first, last] = [chain.steps[0], chain.steps[59]];
  const run = await steps.run({ first, last, enough: 100_000 }, wants, signal);
  expect(run.map(({ mcSeqno }) => mcSeqno)).toEqual(Array.from({ length: last + 1 - first }, (_, i) => first + i));
  expect(asked).toEqual([{ first, last, enough: 100_000 }]);
  expect(questions()).toBeLessThanOrEqual(1);
  const other = reading();
  const single: FeedStep[] = [];
  for (const { mcSeqno } of run) {
    const step = await other.steps.read(mcSeqno, signal);
    await step.load(wants, signal);
    single.push(step);
  }
  expect(idsOf(run)).toEqual(idsOf(single));
  expect(idsOf(run).length).toBeGreaterThan(100);
});

it('reads a step once for all who are there, and no further than is enough', async () => {
  const { chain, steps, asked } = reading();
  const [first, last] = [chain.steps[0], chain.steps[59]];
  const range = { first, last, enough: 20 };
  const [one, other, single] = await Promise.all([
    steps.run(range, wants, signal),
    steps.run(range, wants, signal),
    // Not among those that were enough.
    steps.read(last, signal),
  ]);
  expect(one.length).toBeLessThan(last + 1 - first);
  expect(other).toEqual(one);
  expect(single.mcSeqno).toBe(last);
  expect(asked).toEqual([range, { first: last, last, enough: 1 }]);
  const rest = await steps.run({ ...range, first: first + one.length, enough: 100_000 }, wants, signal);
  expect(asked[2]).toEqual({ first: first + one.length, last: last - 1, enough: 100_000 });
  expect(rest[0].mcSeqno).toBe(first + one.length);
});

it('reads on for those who wait when the one who began has gone, and says to all what the source says', async () => {
  const { chain, steps } = reading();
  const whole = chain.source.steps;
  chain.source.steps = async (range, context) => {
    await sleep(20, undefined, { signal: context.signal });
    return whole(range, context);
  };
  const [first] = chain.steps;
  const range = { first, last: first, enough: 1 };
  const gone = new AbortController();
  const begun = steps.read(first, gone.signal);
  const waiting = [steps.read(first, signal), steps.run(range, wants, signal).then(([step]) => step)];
  gone.abort();
  await expect(begun).rejects.toThrow(/aborted/);
  expect((await Promise.all(waiting)).map(({ mcSeqno }) => mcSeqno)).toEqual([first, first]);

  let asked = 0;
  chain.source.steps = async () => {
    asked++;
    throw new Error('the tables are away');
  };
  const refused = [steps.read(first + 1, signal), steps.read(first + 1, signal)];
  for (const one of refused) await expect(one).rejects.toThrow(/are away/);
  expect(asked).toBe(1);
});
