import { expect, it } from 'vitest';
import { createTurns } from './turns.ts';

it('gives each who waits a turn of the event loop of its own, in their order', async () => {
  const turns = createTurns(0);
  const told: string[] = [];
  const beat = async (): Promise<void> => {
    for (let turn = 0; turn < 4; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      told.push('|');
    }
  };
  const beating = beat();
  await Promise.all(['a', 'b', 'c'].map((name) => turns.next().then(() => told.push(name))));
  await beating;
  expect(told.join('').replace(/^\|/, '')).toMatch(/^a\|b\|c\|*$/);
});

it('waits for nothing while a turn lasts', async () => {
  const turns = createTurns(60_000);
  await turns.next();
  expect(turns.isOver).toBe(false);
  let other = false;
  setImmediate(() => {
    other = true;
  });
  await turns.next();
  expect(other).toBe(false);
});
