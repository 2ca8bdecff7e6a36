/** How the workers end when all ends while they start: `startWorkerPool` is one that has started when it is told to. */
import { pino } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { readConfig } from '../config.ts';
import { createMetrics } from '../metrics.ts';
import { createShutdown } from '../shutdown.ts';
import { startWorkerPool, type WorkerPool } from '../workers/pool.ts';
import { openHttp } from './http.ts';

vi.mock('../workers/pool.ts', () => ({ startWorkerPool: vi.fn() }));

afterEach(() => vi.resetAllMocks());

function opened() {
  let started: (pool: WorkerPool) => void = () => undefined;
  const begun = new Promise<void>((begin) => {
    vi.mocked(startWorkerPool).mockImplementation(() => {
      begin();
      return new Promise((resolve) => {
        started = resolve;
      });
    });
  });
  const logger = pino({ level: 'silent' });
  const shutdown = createShutdown(logger);
  const closed: string[] = [];
  shutdown.onClose('ClickHouse', () => void closed.push('ClickHouse'));
  const { config } = readConfig(['--port', '0'], {});
  const url = openHttp(
    { config, logger, shutdown, print: () => undefined },
    {
      clickhouseUrl: '',
      metrics: createMetrics(),
      head: { seqno: 0, onAdvance: () => undefined },
      globalId: () => null,
      devnet: null,
      askLite: () => Promise.reject(new Error('nobody asks')),
      pending: { onTold: () => undefined },
      onMentioned: () => undefined,
    },
  );
  const close = async () => void closed.push('HTTP workers');
  const start = () => started({ pids: [], metrics: async () => '', close });
  return { url, shutdown, closed, begun, start };
}

it('ends workers that are just being started before what they ask', async () => {
  const { url, shutdown, closed, begun, start } = opened();
  await begun;
  shutdown.stop('the projector failed', new Error('tables of another version'));
  setTimeout(start, 20);
  await shutdown.done;
  await url;
  expect(closed).toEqual(['HTTP workers', 'ClickHouse']);
});
