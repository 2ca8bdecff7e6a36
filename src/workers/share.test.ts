import { describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { shareOf, workerCount } from './share.ts';

const configOf = (...flags: string[]) => readConfig(flags, {}).config;

describe('shares of workers', () => {
  it.each([
    [8, 256, 4],
    [7, 10, 3],
    [3, 0, 3],
  ])('of %i queries and %i places in the queue add up for %i workers', (queries, queued, count) => {
    const config = configOf('--concurrent-queries', `${queries}`, '--queued-queries', `${queued}`);
    const shares = Array.from({ length: count }, (_, index) => shareOf(config, index, count));
    const sum = (name: 'concurrentQueries' | 'queuedQueries' | 'cachedAnswersBytes' | 'cachedRenderingsBytes') =>
      shares.reduce((total, share) => total + share[name], 0);
    expect([sum('concurrentQueries'), sum('queuedQueries')]).toEqual([queries, queued]);
    expect(sum('cachedAnswersBytes')).toBe(config.cachedAnswersBytes);
    expect(sum('cachedRenderingsBytes')).toBe(config.cachedRenderingsBytes);
    for (const share of shares) expect(share.concurrentQueries).toBeGreaterThan(0);
    expect(shares[0].clickhouseUrl).toBe(config.clickhouseUrl);
  });

  it('are one query each at least: no more workers than queries', () => {
    expect(workerCount(configOf('--workers', '4', '--concurrent-queries', '2'))).toBe(2);
    expect(workerCount(configOf('--workers', '3'))).toBe(3);
  });

  it('are as many as cores, four at most, unless told otherwise', () => {
    const { workers } = configOf();
    expect(workers).toBeGreaterThanOrEqual(1);
    expect(workers).toBeLessThanOrEqual(4);
  });
});
