import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import type { EventLog } from '../../streams/log.ts';
import { createStepRows } from '../../streams/project/step-rows.ts';
import type { ProjectedStep } from '../../streams/projected-step.ts';
import { encodeStepRecords, newestSteps } from '../../streams/steps-topic.ts';
import { createWindowFill } from './fill.ts';
import { openWindow, type Window } from './window.ts';

const TOPIC = 'steps';
const { signal } = new AbortController();

function stepOf(mcSeqno: number, changes: Partial<ProjectedStep> = {}): ProjectedStep {
  const rootHash = Buffer.alloc(32, mcSeqno);
  return { mcSeqno, previous: mcSeqno - 1, globalId: -217, rootHash, rows: createStepRows(mcSeqno), ...changes };
}

let home: string;
let log: EventLog;
let window: Window;
let sum = 0;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-fill-'));
  log = openEmbeddedLog({ folder: join(home, 'log') });
  await log.ensureTopic(TOPIC);
  window = openWindow({ folder: join(home, 'window'), maxBytes: 1024 ** 2 });
  sum = 0;
});
afterEach(async () => {
  await window.close();
  await log.close();
  rmSync(home, { recursive: true, force: true });
});

/** In several records each. */
async function publish(steps: readonly ProjectedStep[]): Promise<void> {
  for (const step of steps) {
    const records = encodeStepRecords(step, sum, 16);
    sum += records.reduce((bytes, { value }) => bytes + value.length, 0);
    await log.append(TOPIC, records);
  }
}

const stepsFrom = (first: number, last: number): ProjectedStep[] =>
  Array.from({ length: last - first + 1 }, (_, i) => stepOf(first + i));

/** A window that answers, from this step on. */
async function begin(steps: readonly ProjectedStep[]): Promise<void> {
  await window.apply(
    steps.map((step) => ({ step, nextOffset: 0 })),
    async () => ({ lt: 9n, utime: 9 }),
  );
  await window.speak(true);
}

/** Bytes of the topic that one step takes. */
const stepBytes = (): number => sum / 10;

function fillOf(sliceBytes: number) {
  const asked: number[] = [];
  const fill = createWindowFill({
    window,
    log,
    topic: TOPIC,
    below: async (mcSeqno) => {
      asked.push(mcSeqno);
      return mcSeqno === 1 ? null : { lt: BigInt(mcSeqno), utime: mcSeqno };
    },
    logger: { warn: () => undefined },
    rest: 0,
    sliceBytes,
  });
  return { asked, work: () => fill.work(signal) };
}

describe('filling a window downwards', () => {
  it('brings in all that the topic has, slice by slice, the newest first', async () => {
    await publish(stepsFrom(1, 10));
    await begin(stepsFrom(9, 10));
    const { work, asked } = fillOf(3 * stepBytes());
    const firsts: (number | undefined)[] = [];
    while (await work()) firsts.push(window.state?.first);
    expect(firsts.length).toBeGreaterThan(2);
    expect(firsts).toEqual(firsts.toSorted((a = 0, b = 0) => b - a));
    expect(window.state).toMatchObject({ first: 1, head: 10, below: null });
    const view = window.view();
    expect([...(view?.steps(0) ?? [])]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    view?.done();
    expect(asked.at(-1)).toBe(1);
  });

  it('takes nothing from behind a hole, nor what was trimmed', async () => {
    await publish([...stepsFrom(1, 3), ...stepsFrom(5, 10)]);
    await log.trim(TOPIC, 1);
    await begin(stepsFrom(9, 10));
    const { work } = fillOf(100 * stepBytes());
    while (await work());
    expect(window.state).toMatchObject({ first: 5, head: 10, below: { lt: 5n, utime: 5 } });
  });

  it('waits until the window answers, and for a topic that goes up to it', async () => {
    await publish(stepsFrom(1, 5));
    const { work } = fillOf(1_000_000);
    expect(await work()).toBe(false);
    await begin([stepOf(9)]);
    expect(await work()).toBe(false);
    await publish([stepOf(9)]);
    expect(await work()).toBe(false);
    expect(window.state).toMatchObject({ first: 9, head: 9 });
  });

  it('takes no step out for an older one', async () => {
    await publish(stepsFrom(1, 10));
    await window.close();
    window = openWindow({ folder: join(home, 'small'), maxBytes: 1 });
    await begin(stepsFrom(9, 10));
    const { first } = window.state ?? {};
    const { work } = fillOf(1_000_000);
    expect(await work()).toBe(false);
    expect(window.state).toMatchObject({ first, head: 10 });
  });
});

describe('the newest steps of a topic', () => {
  it('begin with the first record of a step', async () => {
    await publish(stepsFrom(1, 10));
    const stepAt = async (offset: number) => (await log.get(TOPIC, offset))?.headers;
    const from = (bytes: number, before?: number) => newestSteps(log, TOPIC, bytes, before);
    expect(await stepAt(await from(1))).toMatchObject({ mc: '10', part: '0' });
    expect(await stepAt(await from(1, 5))).toMatchObject({ mc: '4', part: '0' });
    expect(await from(2 * sum)).toBe(0);
    expect(await from(1, 1)).toBe(0);
    await log.trim(TOPIC, await from(1, 8));
    expect(await from(2 * sum)).toBe(await log.low(TOPIC));
  });

  it('are none of an earlier version, and none of an empty topic', async () => {
    expect(await newestSteps(log, TOPIC, 1_000)).toBe(0);
    const [record] = encodeStepRecords(stepOf(1), 0);
    await log.append(TOPIC, [{ ...record, headers: { ...record.headers, v: '1' } }]);
    expect(await newestSteps(log, TOPIC, 1_000)).toBe(1);
  });
});
