import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Address } from '../../src/chain/model.ts';
import { RowReader, RowWriter } from '../rowbinary.ts';
import { addressOrNone } from '../tables/columns.ts';
import { createDomains } from './domains.ts';
import { createHead } from './head.ts';
import type { FollowingReading } from './reading.ts';

type Name = [item: Address, domain: string, account?: Address];

/** A reading of tables without names unless they are given, at step 1. */
function tablesWith(names: () => Name[] = () => []) {
  const asked: string[] = [];
  const head = createHead({ json: async () => [] });
  head.advance(1);
  let fails = false;
  const reading: FollowingReading = {
    head,
    async rows(sql) {
      asked.push(sql);
      if (fails) throw new Error('the server is away');
      const row = new RowWriter();
      for (const [item, domain, account = item] of names()) {
        row.fixed(item);
        row.u64('1');
        row.string(domain);
        addressOrNone.write(row, account);
        addressOrNone.write(row, account);
      }
      return new RowReader(Buffer.concat(row.take()));
    },
  };
  const failing = (does: boolean): void => {
    fails = does;
  };
  return { reading, head, asked, failing };
}

it.concurrent('are looked for once for all steps of some seconds, each time behind what was seen', async () => {
  const { reading, head, asked } = tablesWith();
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

it.concurrent('are forgotten when the tables are others, at the same step', async () => {
  const [one, other] = [Buffer.alloc(36, 1), Buffer.alloc(36, 2)];
  let names: Name[] = [[one, 'one.ton']];
  const { reading, head, asked } = tablesWith(() => names);
  head.belongTo('first');
  const { domainOf } = createDomains(reading);
  await expect.poll(() => domainOf(one)).toBe('one.ton');
  names = [[other, 'other.ton']];
  head.belongTo('second');
  await expect.poll(() => [domainOf(one), domainOf(other)], { timeout: 5_000 }).toEqual([null, 'other.ton']);
  expect(asked.length).toBe(2);
});

it('are shorter by their code points, and of the same length in the order of these, as lists have them', async () => {
  const [account, item, other] = [1, 2, 3].map((byte) => Buffer.alloc(36, byte));
  const shortestOf = async (...domains: string[]): Promise<string | null> => {
    const names = domains.map((domain, i): Name => [[item, other][i], domain, account]);
    const { domainOf } = createDomains(tablesWith(() => names).reading);
    await expect.poll(() => domainOf(account)).not.toBeNull();
    return domainOf(account);
  };
  // A code point that is written with two units, which come before the other one's.
  expect(await shortestOf('ab.ton', '\u{1f98a}.ton')).toBe('\u{1f98a}.ton');
  expect(await shortestOf('\u{1f98a}.ton', '\uff5e.ton')).toBe('\uff5e.ton');
});

it('are looked for again with the next step after a look that failed', async () => {
  const { reading, head, asked, failing } = tablesWith();
  failing(true);
  const told: unknown[] = [];
  const { figures } = createDomains(reading, (error) => told.push(error));
  await expect.poll(() => figures.failed).toBe(1);
  head.advance(2);
  await expect.poll(() => figures.failed).toBe(2);
  expect(told).toEqual([new Error('the server is away')]);
  failing(false);
  head.advance(3);
  expect(asked.length).toBe(3);
  expect(asked[2]).not.toContain('dns_records_by_step');
});
