import { expect, it, vi } from 'vitest';
import { followTables } from './tables-id.ts';

it('tells which tables there are, and once of what goes wrong until it works again', async () => {
  const text = (id: string) => Buffer.concat([Buffer.from([id.length]), Buffer.from(id)]);
  const away = new Error('no connection');
  const answers: (Buffer | Error)[] = [text('one'), away, away, text('two')];
  const told: unknown[] = [];
  const stop = new AbortController();
  const query = vi.fn(async () => {
    const next = answers.shift();
    if (answers.length === 0) stop.abort();
    if (next instanceof Buffer) return next;
    throw next;
  });
  await followTables({ query }, { belongTo: (id) => told.push(id) }, stop.signal, (error) => told.push(error));
  expect(told).toEqual(['one', away, 'two']);
});
