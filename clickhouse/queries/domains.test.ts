import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RowReader } from '../rowbinary.ts';
import { createDomains } from './domains.ts';
import { createHead } from './head.ts';
import type { FollowingReading } from './reading.ts';

/** A reading of tables without names, at step 1. */
function namelessTables() {
  const asked: string[] = [];
  const head = createHead({ json: async () => [] });
  head.advance(1);
  let fails = false;
  const reading: FollowingReading = {
    head,
    async rows(sql) {
      asked.push(sql);
      if (fails) throw new Error('the server is away');
      return new RowReader(Buffer.alloc(0));
    },
  };
  const failing = (does: boolean): void => {
    fails = does;
  };
  return { reading, head, asked, failing };
}

it('are looked for once for all steps of some seconds, each time behind what was seen', async () => {
  const { reading, head, asked } = namelessTables();
  createDomains(reading);
  for (const seqno of [2, 3, 4]) {
    await setImmediate();
    head.advance(seqno);
  }
  expect(asked.length).toBe(1);
  await expect.poll(() => asked.length).toBe(2);
  expect(asked[0]).not.toContain('dns_records_by_step');
  expect(asked[1]).toContain('mc_seqno > 1');
});

it('are looked for again with the next step after a look that failed', async () => {
  const { reading, head, asked, failing } = namelessTables();
  failing(true);
  const { figures } = createDomains(reading);
  await expect.poll(() => figures.failed).toBe(1);
  failing(false);
  head.advance(2);
  expect(asked.length).toBe(2);
  expect(asked[1]).not.toContain('dns_records_by_step');
});
