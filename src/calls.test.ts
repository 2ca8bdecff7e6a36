import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type CallMessage, createCalled, createCalling, type ReplyMessage } from './calls.ts';

/** Two sides whose messages take a turn of the event loop and travel as clones. */
function createLine(answer: (question: number, signal: AbortSignal) => Promise<string>, maxOpen = 10, timeoutMs = 1e6) {
  const calling = createCalling<number, string, string>({
    send: (message) => setImmediate(() => called.receive(structuredClone<CallMessage<number>>(message))),
    unpack: (text) => new Error(`unpacked ${text}`),
    timeoutMs,
    maxOpen,
    tooMany: (open) => new Error(`${open} are open`),
  });
  const called = createCalled<number, string, string>({
    answer,
    send: (message) => setImmediate(() => calling.receive(structuredClone<ReplyMessage<string, string>>(message))),
    pack: (error) => (error instanceof Error ? error.message : 'what'),
  });
  return { calling, called };
}

const untilGivenUp = (signal: AbortSignal) =>
  new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('given up'))));

it('answers and refuses each call by itself', async () => {
  const { calling } = createLine(async (question) => {
    if (question === 2) throw new Error('two');
    await sleep(question);
    return `${question}`;
  });
  const calls = [3, 2, 1].map((question) => calling.call(question));
  expect(await Promise.allSettled(calls)).toMatchObject([
    { value: '3' },
    { reason: { message: 'unpacked two' } },
    { value: '1' },
  ]);
});

it('gives a call up there when it is given up here', async () => {
  const gone: number[] = [];
  const { calling } = createLine(async (question, signal) => {
    await untilGivenUp(signal).finally(() => gone.push(question));
    return '';
  });
  const controller = new AbortController();
  const calls = [calling.call(1, controller.signal), calling.call(2, AbortSignal.abort(new Error('before')))];
  controller.abort(new Error('enough'));
  expect(await Promise.allSettled(calls)).toMatchObject([
    { reason: { message: 'enough' } },
    { reason: { message: 'before' } },
  ]);
  await expect.poll(() => gone).toEqual([1]);
});

it('waits so long, for so many, and for nobody who is gone', async () => {
  const aborted: number[] = [];
  const { calling } = createLine(
    (question, signal) => untilGivenUp(signal).finally(() => aborted.push(question)),
    2,
    20,
  );
  const calls = [1, 2, 3].map((question) => calling.call(question));
  const [first, second, third] = await Promise.allSettled(calls);
  for (const late of [first, second]) expect(late).toMatchObject({ reason: { message: 'no answer in 20 ms' } });
  expect(third).toMatchObject({ reason: { message: '2 are open' } });
  await expect.poll(() => aborted).toEqual([1, 2]);
  const last = calling.call(4);
  calling.end(new Error('gone'));
  await expect(last).rejects.toThrow('gone');
  await expect(calling.call(5)).rejects.toThrow('gone');
});

it('gives everything up when who asks is gone', async () => {
  const aborted: number[] = [];
  const { calling, called } = createLine((question, signal) =>
    untilGivenUp(signal).finally(() => aborted.push(question)),
  );
  const calls = [1, 2].map((question) => calling.call(question));
  for (const call of calls) call.catch(() => undefined);
  await sleep(5);
  called.end();
  await expect.poll(() => aborted).toEqual([1, 2]);
  calling.end(new Error('over'));
});
