import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { createShutdown } from './shutdown.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const before = SIGNALS.map((name) => process.listeners(name));

afterEach(() => {
  for (const [i, name] of SIGNALS.entries()) {
    for (const listener of process.listeners(name)) if (!before[i].includes(listener)) process.off(name, listener);
  }
});

it('closes what was opened, the last first, and keeps the words of what failed first', async () => {
  const shutdown = createShutdown(pino({ level: 'silent' }));
  const closed: string[] = [];
  for (const name of ['tables', 'log']) shutdown.onClose(name, () => void closed.push(name));
  expect(shutdown.failure).toBeNull();
  shutdown.stop('the projector failed', new Error('its tables are of another version'));
  shutdown.stop('the window failed', new Error('no connection'));
  expect(await shutdown.done).toBe(1);
  expect(closed).toEqual(['log', 'tables']);
  expect(shutdown.failure).toBe('the projector failed: its tables are of another version');
});

it('has no failure when it is asked to end', async () => {
  const shutdown = createShutdown(pino({ level: 'silent' }));
  shutdown.stop('SIGTERM');
  expect([await shutdown.done, shutdown.failure]).toEqual([0, null]);
});
