import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createFollowView } from './follow-view.ts';

function screen(isTTY: boolean) {
  const out = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns: 140 });
  return { out, shown: (): string => String(out.read() ?? '') };
}

const progress = {
  headSeqno: 1_000,
  appendedSeqno: null,
  firstSeqno: 1,
  steps: 0,
  blocks: 0,
  bytes: 0,
  genUtime: null,
};

/** 100 steps of 50 KB a second. */
function at(second: number) {
  const steps = second * 100;
  return {
    ...progress,
    appendedSeqno: steps || null,
    steps,
    blocks: steps * 3,
    bytes: steps * 50_000,
    genUtime: 5_000,
  };
}

describe('createFollowView', () => {
  it('writes a line a second into a pipe while behind, one every ten seconds at the head', () => {
    const { out, shown } = screen(false);
    let time = 0;
    const view = createFollowView({ out, now: () => time, unixMs: () => 5_004_000, servers: () => '5 of 8 servers' });
    for (; time <= 3_000; time += 100) view.update(at(time / 1000));
    expect(shown().split('\n')).toEqual([
      'backfill   0 %  step - of 1000, 1000 behind  0 steps/s, 0.0 MB/s  - left  5 of 8 servers',
      'backfill  10 %  step 100 of 1000, 900 behind  100 steps/s, 5.0 MB/s  9.0 s left  5 of 8 servers',
      'backfill  20 %  step 200 of 1000, 800 behind  100 steps/s, 5.0 MB/s  8.0 s left  5 of 8 servers',
      'backfill  30 %  step 300 of 1000, 700 behind  100 steps/s, 5.0 MB/s  7.0 s left  5 of 8 servers',
      '',
    ]);
    for (time = 10_000; time <= 30_000; time += 500) view.update({ ...at(10), steps: 1_000 + time / 500 });
    view.end();
    const lines = shown().trim().split('\n');
    expect(lines.length).toBe(3);
    expect(lines[1]).toBe('at the head  step 1000 of 1000, lag 0  2.0 steps/s  newest block 4.0 s old  5 of 8 servers');
  });

  it('draws one line in place on a terminal and removes it', () => {
    const { out, shown } = screen(true);
    let time = 0;
    const view = createFollowView({ out, now: () => time });
    for (; time <= 5_000; time += 50) view.update(at(time / 1000));
    view.end();
    const text = shown();
    expect(text).not.toContain('\n');
    expect(text).toContain(`backfill [${'#'.repeat(12)}${'-'.repeat(12)}]  50 %  step 500 of 1000, 500 behind`);
    expect(text.endsWith('\r\x1b[K')).toBe(true);
  });
});
