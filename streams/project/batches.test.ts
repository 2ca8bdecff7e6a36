import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Step } from '../steps.ts';
import { type BatchLimits, cutBatches } from './batches.ts';

const never = new AbortController().signal;
const wide: BatchLimits = { maxBytes: 1e9, maxSteps: 1e9, maxWaitMs: 1e6 };

function step(mcSeqno: number, bytes = 10): Step {
  const id = { workchain: -1, shard: '8000000000000000', seqno: mcSeqno };
  const hashes = { rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) };
  const block = {
    ...{ id: { ...id, ...hashes }, globalId: 1, zeroState: null, mcSeqno, seal: 1, genUtime: 0, receivedAtMs: 0 },
    ...{ source: 'file' as const, globalVersion: null, offset: mcSeqno, boc: Buffer.alloc(bytes) },
  };
  return { mcSeqno, firstOffset: mcSeqno, nextOffset: mcSeqno + 1, blocks: [block], masterBlock: block };
}

async function* of(...groups: Step[][]): AsyncGenerator<Step[]> {
  yield* groups;
}

async function seqnos(batches: AsyncIterable<Step[]>): Promise<number[][]> {
  const cut: number[][] = [];
  for await (const batch of batches) cut.push(batch.map(({ mcSeqno }) => mcSeqno));
  return cut;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('cutBatches', () => {
  it('cuts by the number of steps, across what comes at a time', async () => {
    const steps = of([step(1), step(2), step(3)], [step(4)], [step(5)]);
    expect(await seqnos(cutBatches(steps, { ...wide, maxSteps: 2 }, never))).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('cuts behind the step that reaches the bytes', async () => {
    const steps = of([step(1, 60), step(2, 60), step(3, 500), step(4, 1)]);
    expect(await seqnos(cutBatches(steps, { ...wide, maxBytes: 100 }, never))).toEqual([[1, 2], [3], [4]]);
  });

  it('does not wait longer than told for more', async () => {
    let goOn: () => void = () => undefined;
    const first = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    async function* slow(): AsyncGenerator<Step[]> {
      yield [step(1)];
      yield [step(2)];
      await first;
      yield [step(3)];
    }
    const batches = cutBatches(slow(), { ...wide, maxWaitMs: 50 }, never);
    expect((await batches.next()).value?.map(({ mcSeqno }: Step) => mcSeqno)).toEqual([1, 2]);
    goOn();
    expect(await seqnos(batches)).toEqual([[3]]);
  });

  it('waits no longer for a clock that was set back', async () => {
    const now = Date.now.bind(Date);
    let asked = 0;
    vi.spyOn(Date, 'now').mockImplementation(() => now() - (asked++ === 0 ? 0 : 3_600_000));
    const stop = new AbortController();
    async function* slow(): AsyncGenerator<Step[]> {
      yield [step(1)];
      await sleep(60_000, undefined, { signal: stop.signal }).catch(() => undefined);
    }
    const batches = cutBatches(slow(), { ...wide, maxWaitMs: 0 }, never);
    const first = batches.next().then(({ value }) => value?.map(({ mcSeqno }: Step) => mcSeqno));
    expect(await Promise.race([first, sleep(1_000)])).toEqual([1]);
    stop.abort();
    await batches.return([]);
  });

  it('gives out nothing half gathered when it is stopped', async () => {
    const stop = new AbortController();
    async function* stopped(): AsyncGenerator<Step[]> {
      yield [step(1), step(2), step(3)];
      stop.abort();
    }
    expect(await seqnos(cutBatches(stopped(), { ...wide, maxSteps: 2 }, stop.signal))).toEqual([[1, 2]]);
  });

  it('throws what the source throws, also when it does so while a batch is being worked on', async () => {
    async function* failing(): AsyncGenerator<Step[]> {
      yield [step(1), step(2)];
      throw new Error('the log is gone');
    }
    const batches = cutBatches(failing(), { ...wide, maxSteps: 1 }, never);
    expect((await batches.next()).done).toBe(false);
    await sleep(20);
    expect((await batches.next()).done).toBe(false);
    await expect(batches.next()).rejects.toThrow('the log is gone');
  });
});
