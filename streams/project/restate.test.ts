import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silent } from '../../clickhouse/test-server.ts';
import { privateBlocks, shelf } from '../../test/shelf.ts';
import {
  bytesWithoutData,
  emptySteps,
  type Projected,
  projectAll,
  projectFiles,
  stepsOf,
  topics,
} from '../../test/windowed.ts';
import type { LiveStep } from '../live-steps.ts';
import { createPublisher } from './publish.ts';

const dataOf = (step: LiveStep): Map<string, string> =>
  new Map(
    step.accounts.flatMap(({ account, data }) => (data ? [[account.toString('hex'), data.boc.toString('hex')]] : [])),
  );

describe.skipIf(shelf === null)('steps that the topic lacks', () => {
  let projected: Projected;

  beforeAll(async () => {
    projected = await projectFiles([privateBlocks()]);
  });
  afterAll(() => projected?.remove());

  it('are published again as they were, from the blocks and the tables', async () => {
    const { log, clickhouse, steps } = projected;
    await emptySteps(log);
    await projectAll(log, clickhouse);
    const again = await stepsOf(log);
    expect(again.map(({ step }) => step.mcSeqno)).toEqual(steps.map(({ step }) => step.mcSeqno));
    for (const [at, stored] of again.entries()) {
      expect(bytesWithoutData(stored) === bytesWithoutData(steps[at]), `bytes of step ${stored.step.mcSeqno}`).toBe(
        true,
      );
      // What is there of the data is the same.
      const first = dataOf(steps[at].step);
      for (const [account, boc] of dataOf(stored.step)) expect(boc).toBe(first.get(account));
    }
    expect(again.filter(({ step }) => dataOf(step).size > 0).length).toBeGreaterThan(10);
  });

  it('are published from where the topic ends', async () => {
    const { log, clickhouse, steps } = projected;
    await emptySteps(log);
    const publisher = await createPublisher({ log, topics, logger: silent, retainBytes: 1024 ** 3, retainMs: 0 });
    await publisher.publish(steps.slice(0, 40).map(({ step }) => step));
    expect(publisher.last).toBe(steps[39].step.mcSeqno);
    await projectAll(log, clickhouse);
    expect((await stepsOf(log)).map(bytesWithoutData)).toEqual(steps.map(bytesWithoutData));
  });

  it('are published as far back as the topic keeps', async () => {
    const { log, clickhouse, steps } = projected;
    await emptySteps(log);
    const all = steps.reduce((sum, { bytes }) => sum + bytes, 0);
    await projectAll(log, clickhouse, Math.round(all / 2));
    const kept = await stepsOf(log);
    const bytes = kept.reduce((sum, stored) => sum + stored.bytes, 0);
    expect(bytes).toBeGreaterThan(all * 0.3);
    expect(bytes).toBeLessThan(all * 0.65);
    expect(kept.map(bytesWithoutData)).toEqual(steps.slice(-kept.length).map(bytesWithoutData));
  });

  it('are not published where the tables lost what they are said to have', async () => {
    const { log, clickhouse } = projected;
    await emptySteps(log);
    await clickhouse.command('RENAME TABLE transactions TO kept');
    await clickhouse.command('CREATE TABLE transactions AS kept');
    await expect(projectAll(log, clickhouse)).rejects.toThrow('tonstream rebuild');
    await clickhouse.command('DROP TABLE transactions SYNC');
    await clickhouse.command('RENAME TABLE kept TO transactions');
    expect(await stepsOf(log)).toEqual([]);
  });
});
