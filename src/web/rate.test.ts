import { describe, expect, it } from 'vitest';
import { createRate } from './rate.ts';

describe('rate', () => {
  it('is not known from one look', () => {
    expect(createRate()(1_000, 500)).toBeNull();
  });

  it('is the growth over the last ten seconds', () => {
    const rate = createRate();
    const seen = Array.from({ length: 31 }, (_, second) => rate(second * 1_000, second < 10 ? second * 100 : 1_000));
    expect(seen[1]).toBe(100);
    expect(seen[10]).toBe(100);
    expect(seen[15]).toBe(50);
    expect(seen[30]).toBe(0);
  });

  it('begins again when the count shrinks or the clock is set back', () => {
    const rate = createRate();
    rate(0, 1_000);
    expect(rate(1_000, 400)).toBeNull();
    expect(rate(2_000, 410)).toBe(10);
    expect(rate(1_500, 420)).toBeNull();
    expect(rate(2_500, 425)).toBe(5);
  });
});
