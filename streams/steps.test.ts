import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fakeStep } from '../test/log-conformance.ts';
import { openEmbeddedLog } from './embedded.ts';
import type { LogRecord } from './log.ts';
import { firstStep, lastSealed, offsetOfStep } from './step-search.ts';
import { readSteps, type Step, type StepReadOptions } from './steps.ts';

const folder = mkdtempSync(join(tmpdir(), 'tonstream-steps-'));
const log = openEmbeddedLog({ folder });
afterAll(async () => {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

let topics = 0;
async function topicOf(...records: LogRecord[]): Promise<string> {
  const topic = `steps-${topics++}.v1`;
  await log.append(topic, records);
  return topic;
}

async function stepsOf(topic: string, from = 0, options: Partial<StepReadOptions> = {}): Promise<Step[]> {
  const steps: Step[] = [];
  const all = { signal: new AbortController().signal, stopAtEnd: true, ...options };
  for await (const some of readSteps(log, topic, from, all)) steps.push(...some);
  return steps;
}

const change = (record: LogRecord, headers: Record<string, string>): LogRecord => ({
  ...record,
  headers: { ...record.headers, ...headers },
});

describe('readSteps', () => {
  it('shows nothing of a step before its seal', async () => {
    const [a, b, master] = fakeStep(5, 2);
    const topic = await topicOf(a, b);
    expect(await stepsOf(topic)).toEqual([]);
    await log.append(topic, [master]);
    const [step] = await stepsOf(topic);
    expect(step).toMatchObject({ mcSeqno: 5, firstOffset: 0, nextOffset: 3 });
    expect(step.blocks.map(({ id }) => id.seqno)).toEqual([50, 51, 52]);
    expect(step.masterBlock?.id.workchain).toBe(-1);
  });

  it('puts a step together that is larger than a batch', async () => {
    const topic = await topicOf(...fakeStep(1, 9, 1_000), ...fakeStep(2, 9, 1_000));
    expect((await stepsOf(topic, 0, { maxBytes: 2_500 })).map(({ blocks }) => blocks.length)).toEqual([10, 10]);
  });

  it('has no masterchain block in a loose step', async () => {
    const [a, b] = fakeStep(5, 2);
    const [step] = await stepsOf(await topicOf(a, change(b, { seal: '2' })));
    expect(step.masterBlock).toBeNull();
    expect(step.blocks.length).toBe(2);
  });

  it.each<[string, string, number, () => LogRecord[]]>([
    ['a hole', 'incomplete', 1, () => fakeStep(1, 2).slice(1)],
    ['a step without seal', 'incomplete', 2, () => [...fakeStep(1, 2).slice(0, 2), ...fakeStep(2, 0)]],
    [
      'a late block of a sealed step',
      'order',
      3,
      () => {
        const [a, b, , master] = fakeStep(1, 3);
        return [a, change(b, {}), change(master, { seal: '3' }), fakeStep(1, 3)[2]];
      },
    ],
    [
      'two blocks under one id',
      'conflict',
      1,
      () => {
        const [a, master] = fakeStep(1, 1);
        return [a, change(a, { rh: '00'.repeat(32) }), master];
      },
    ],
    ['another network', 'network', 1, () => [...fakeStep(1, 0), change(fakeStep(2, 0)[0], { net: '-3' })]],
  ])('refuses %s', async (_, code, offset, records) => {
    await expect(stepsOf(await topicOf(...records()))).rejects.toMatchObject({ name: 'StepError', code, offset });
  });

  it('refuses a log of another network than asked for', async () => {
    const topic = await topicOf(...fakeStep(1, 0));
    await expect(stepsOf(topic, 0, { network: { globalId: -3 } })).rejects.toMatchObject({
      code: 'network',
      offset: 0,
    });
    expect((await stepsOf(topic, 0, { network: { globalId: -239 } })).length).toBe(1);
  });

  it('refuses to start inside a step', async () => {
    const topic = await topicOf(...fakeStep(1, 2), ...fakeStep(2, 2));
    await expect(stepsOf(topic, 4)).rejects.toMatchObject({ code: 'boundary', offset: 4 });
    expect((await stepsOf(topic, 3)).map(({ mcSeqno }) => mcSeqno)).toEqual([2]);
  });

  it('takes one copy of what two ingesters wrote at once', async () => {
    const [a, b, master] = fakeStep(1, 2);
    const topic = await topicOf(a, a, b, master, b, master, ...fakeStep(2, 1), ...fakeStep(2, 1), ...fakeStep(3, 0));
    const dropped: number[] = [];
    const steps = await stepsOf(topic, 0, { onDuplicate: (_, offset) => dropped.push(offset) });
    expect(steps.map(({ mcSeqno, blocks }) => [mcSeqno, blocks.length])).toEqual([
      [1, 3],
      [2, 2],
      [3, 1],
    ]);
    expect(dropped).toEqual([1, 4, 5, 8, 9]);
  });
});

describe('search', () => {
  it('finds where writing goes on', async () => {
    expect(await lastSealed(log, 'nothing.v1')).toEqual({ sealed: null, tail: [] });
    const half = fakeStep(1, 3).slice(0, 2);
    expect((await lastSealed(log, await topicOf(...half, half[1]))).tail.map(({ offset }) => offset)).toEqual([0, 1]);
    const topic = await topicOf(...fakeStep(4, 1), ...fakeStep(5, 1), ...fakeStep(4, 1), fakeStep(6, 200)[0]);
    await log.append(topic, fakeStep(6, 200).slice(1, 150));
    const head = await lastSealed(log, topic);
    expect(head.sealed).toMatchObject({ mcSeqno: 5, offset: 3, nextOffset: 4 });
    expect(head.sealed?.rootHash).toEqual(head.sealed?.id.rootHash);
    expect(head.tail.length).toBe(150);
  });

  it('finds the first whole step of a trimmed log', async () => {
    const topic = await topicOf(...fakeStep(7, 2), ...fakeStep(8, 2), ...fakeStep(9, 2));
    expect(await firstStep(log, topic)).toEqual({ mcSeqno: 7, offset: 0 });
    await log.trim(topic, 1);
    expect(await firstStep(log, topic)).toEqual({ mcSeqno: 8, offset: 3 });
    expect(await offsetOfStep(log, topic, 9)).toBe(6);
    await log.trim(topic, 3);
    expect(await firstStep(log, topic)).toEqual({ mcSeqno: 8, offset: 3 });
    await log.trim(topic, 8);
    expect(await firstStep(log, topic)).toBeNull();
  });

  it('finds a step although an older one was written again behind it', async () => {
    const topic = await topicOf(...[5, 6, 5, 7, 8].flatMap((seqno) => fakeStep(seqno, 1)));
    const found = await Promise.all([4, 5, 6, 7, 8, 9].map((seqno) => offsetOfStep(log, topic, seqno)));
    expect(found).toEqual([null, 0, 2, 6, 8, null]);
  });
});
