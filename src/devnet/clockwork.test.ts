import { expect, test } from 'vitest';
import { runClockwork } from './clockwork.ts';

/** Runs beats of these lengths on a clock of its own; the times at which they began, and the number left out. */
async function run(lengths: number[], blockTimeMs = 1000): Promise<{ began: number[]; missed: number }> {
  const stop = new AbortController();
  const began: number[] = [];
  let time = 0;
  let missed = 0;
  await runClockwork(
    {
      blockTimeMs,
      now: () => time,
      onMissed: (count) => {
        missed += count;
      },
      async sleep(ms) {
        time += ms;
      },
      async beat() {
        began.push(time);
        time += lengths[began.length - 1];
        if (began.length === lengths.length) stop.abort();
      },
    },
    stop.signal,
  );
  return { began, missed };
}

test('beats come at the block time, however long they take below it', async () => {
  expect(await run([10, 300, 900, 0, 5])).toEqual({ began: [1000, 2000, 3000, 4000, 5000], missed: 0 });
});

test('one late beat does not move the others', async () => {
  expect(await run([0, 1400, 0, 0])).toEqual({ began: [1000, 2000, 3450, 4000], missed: 0 });
});

test('what a long stall missed is not caught up with', async () => {
  expect(await run([0, 60_000, 0, 0])).toEqual({ began: [1000, 2000, 62_050, 63_050], missed: 59 });
});

test('a chain that is always too slow still leaves time for the rest', async () => {
  const { began } = await run([1500, 1500, 1500, 1500]);
  expect(began.slice(1).map((time, n) => time - began[n])).toEqual([1550, 1550, 1550]);
});

test('an abort ends the sleep, and what a beat throws ends the clockwork', async () => {
  const stop = new AbortController();
  const ended = runClockwork({ blockTimeMs: 3_600_000, beat: async () => expect.unreachable() }, stop.signal);
  stop.abort();
  await ended;
  const broken = { blockTimeMs: 1, sleep: async () => {}, beat: () => Promise.reject(new Error('no block')) };
  await expect(runClockwork(broken, new AbortController().signal)).rejects.toThrow('no block');
});
