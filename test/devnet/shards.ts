/** What the API shows of a chain whose shards split and merge. */
import { expect, it } from 'vitest';
import { createApiClient } from '../api/client.ts';
import { shelf } from '../shelf.ts';
import { type Stack, until } from '../stack.ts';
import { atEach, POSITIONS } from '../window-positions.ts';

/** The shards must split and merge within the first 20 steps. */
export function describeShards(stack: () => Stack): void {
  it.skipIf(shelf === null)('answers as the contract wants, across a split and a merge', async () => {
    await until('the shards have merged again', async () => {
      const { projected } = await stack().status();
      return (projected.mc_seqno ?? 0) > 20 ? true : null;
    });
    await expectShown(stack().url);
    await atEach(POSITIONS, stack(), ({ url }) => expectShown(url));
  });
}

/** Each answer is checked against the schemas. */
async function expectShown(url: string): Promise<void> {
  const client = createApiClient(url);
  const { rows } = await client.page('blocks', 'blocks', { workchain: 0, limit: 1000 });
  const shards = new Set(rows.map(({ shard }) => shard));
  expect([...shards].sort()).toEqual(['4000000000000000', '8000000000000000', 'C000000000000000']);
  expect(rows.some((row) => row.after_merge === true)).toBe(true);
  expect((await client.page('transactions', 'transactions', { limit: 1000 })).rows.length).toBeGreaterThan(50);
  expect((await client.page('messages', 'messages', { limit: 1000 })).rows.length).toBeGreaterThan(20);
}
