import { expect, it, vi } from 'vitest';
import type { Progress } from '../streams/project/options.ts';
import { createMetrics } from './metrics.ts';

it('the lag of the projection grows while nothing is projected', async () => {
  const metrics = createMetrics();
  const lag = async () => (await metrics.registry.getSingleMetric('tonstream_projection_lag_seconds')?.get())?.values;
  expect(await lag()).toMatchObject([{ value: 0 }]);
  const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000);
  const batch = { number: 1, mcSeqno: 1, nextOffset: 1 };
  const counts = { blocks: 1, transactions: 0, messages: 0 };
  metrics.projected({ batch, counts, tookMs: 1, genUtime: 990, counters: {} } as unknown as Progress);
  expect(await lag()).toMatchObject([{ value: 10 }]);
  now.mockReturnValue(1_060_000);
  expect(await lag()).toMatchObject([{ value: 70 }]);
  now.mockRestore();
});
