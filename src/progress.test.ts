import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createProgress, duration } from './progress.ts';

function screen(isTTY: boolean) {
  const out = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns: 120 });
  return { out, shown: (): string => String(out.read() ?? '') };
}

describe('createProgress', () => {
  afterEach(() => vi.useRealTimers());

  it('says into a pipe what is being done also while one part of it takes long', () => {
    vi.useFakeTimers();
    const { out, shown } = screen(false);
    const progress = createProgress({ out, now: Date.now });
    progress.update({ label: 'comparing', done: 1, total: 4, counts: [{ unit: 'tables', value: 1 }] });
    vi.advanceTimersByTime(25_000);
    progress.end();
    vi.advanceTimersByTime(25_000);
    expect(shown().split('\n')).toEqual([
      'comparing  25 %  1 tables  0 tables/s  30.0 s left',
      'comparing  25 %  1 tables  0 tables/s  1 min 0 s left',
      '',
    ]);
  });

  it('writes at most one line a second into a pipe', () => {
    const { out, shown } = screen(false);
    let time = 0;
    const progress = createProgress({ out, now: () => time });
    for (; time <= 3_000; time += 100) {
      const counts = [
        { unit: 'blocks', value: time / 10 },
        { unit: 'MB', value: time / 1000, digits: 1 },
      ];
      progress.update({ label: 'checking', done: time * 1000, total: 6_000_000, counts });
    }
    progress.end();
    expect(shown().split('\n')).toEqual([
      'checking  16 %  100 blocks  100 blocks/s, 1.0 MB/s  5.0 s left',
      'checking  33 %  200 blocks  100 blocks/s, 1.0 MB/s  4.0 s left',
      'checking  50 %  300 blocks  100 blocks/s, 1.0 MB/s  3.0 s left',
      '',
    ]);
  });

  it('says that nothing is left when more was done than there was at first', () => {
    const { out, shown } = screen(false);
    let time = 0;
    const progress = createProgress({ out, now: () => time });
    for (const done of [0, 120]) {
      progress.update({ label: 'rebuilding', done, total: 100, counts: [{ unit: 'steps', value: done }] });
      time += 2_000;
    }
    expect(shown()).toBe('rebuilding 100 %  120 steps  60 steps/s  0.0 s left\n');
  });

  it('draws a bar in place on a terminal and removes it', () => {
    const { out, shown } = screen(true);
    let time = 0;
    const progress = createProgress({ out, now: () => time });
    progress.update({ label: 'importing', done: 0, total: 10, counts: [{ unit: 'blocks', value: 0 }] });
    time = 1_000;
    progress.update({ label: 'importing', done: 5, total: 10, counts: [{ unit: 'blocks', value: 5 }] });
    progress.end();
    const text = shown();
    expect(text).toContain('\r');
    expect(text).toContain(`[${'#'.repeat(12)}${'-'.repeat(12)}]  50 %  5 blocks`);
    expect(text).not.toContain('\n');
    expect(text.endsWith('\r\x1b[K')).toBe(true);
  });
});

describe('duration', () => {
  it('carries no 60 seconds or minutes', () => {
    expect([1.44, 59.97, 119.8, 200, 3_599.9, 7_500].map(duration)).toEqual([
      '1.4 s',
      '1 min 0 s',
      '2 min 0 s',
      '3 min 20 s',
      '1 h 0 min',
      '2 h 5 min',
    ]);
  });
});
