import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silent } from '../../clickhouse/test-server.ts';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { type Projected, projectAll, projectFiles, stepsOf, topics } from '../../test/windowed.ts';
import { encodeLiveStep, type LiveStep, type StoredStep } from '../live-steps.ts';
import { createPublisher } from './publish.ts';

let projected: Projected;

beforeAll(async () => {
  if (shelf === null) return;
  projected = await projectFiles([join(requireShelf(), 'data/answers/private/blocks.ndjson.gz')]);
}, 60_000);
afterAll(() => projected?.remove());

const emptyTopic = async ({ log }: Projected): Promise<void> => log.trim(topics.steps, await log.end(topics.steps));

/** Bytes without the data of accounts: what a block shows in part is not made whole a second time. */
const bytesOf = ({ step }: StoredStep): string => {
  const accounts = step.accounts.map((account) => ({ ...account, data: null }));
  return encodeLiveStep({ ...step, accounts }).toString('latin1');
};

const dataOf = (step: LiveStep): Map<string, string> =>
  new Map(
    step.accounts.flatMap(({ account, data }) => (data ? [[account.toString('hex'), data.boc.toString('hex')]] : [])),
  );

describe.skipIf(shelf === null)('steps that the topic lacks', () => {
  it('are published again as they were, from the blocks and the tables', async () => {
    const { log, clickhouse, steps } = projected;
    await emptyTopic(projected);
    await projectAll(log, clickhouse);
    const again = await stepsOf(log);
    expect(again.map(({ step }) => step.mcSeqno)).toEqual(steps.map(({ step }) => step.mcSeqno));
    for (const [at, stored] of again.entries()) {
      expect(bytesOf(stored) === bytesOf(steps[at]), `bytes of step ${stored.step.mcSeqno}`).toBe(true);
      // What is there of the data is the same.
      const first = dataOf(steps[at].step);
      for (const [account, boc] of dataOf(stored.step)) expect(boc).toBe(first.get(account));
    }
    expect(again.filter(({ step }) => dataOf(step).size > 0).length).toBeGreaterThan(10);
  });

  it('are published from where the topic ends', async () => {
    const { log, clickhouse, steps } = projected;
    await emptyTopic(projected);
    const publisher = await createPublisher({ log, topics, logger: silent, retainBytes: 1024 ** 3, retainMs: 0 });
    await publisher.publish(steps.slice(0, 40).map(({ step }) => step));
    expect(publisher.last).toBe(steps[39].step.mcSeqno);
    await projectAll(log, clickhouse);
    expect((await stepsOf(log)).map(bytesOf)).toEqual(steps.map(bytesOf));
  });

  it('are published as far back as the topic keeps', async () => {
    const { log, clickhouse, steps } = projected;
    await emptyTopic(projected);
    const all = steps.reduce((sum, { bytes }) => sum + bytes, 0);
    await projectAll(log, clickhouse, Math.round(all / 2));
    const kept = await stepsOf(log);
    const bytes = kept.reduce((sum, stored) => sum + stored.bytes, 0);
    expect(bytes).toBeGreaterThan(all * 0.3);
    expect(bytes).toBeLessThan(all * 0.65);
    expect(kept.map(bytesOf)).toEqual(steps.slice(-kept.length).map(bytesOf));
  });

  it('are not published where the tables lost what they are said to have', async () => {
    const { log, clickhouse } = projected;
    await emptyTopic(projected);
    await clickhouse.command('RENAME TABLE transactions TO kept');
    await clickhouse.command('CREATE TABLE transactions AS kept');
    await expect(projectAll(log, clickhouse)).rejects.toThrow('tonstream rebuild');
    await clickhouse.command('DROP TABLE transactions SYNC');
    await clickhouse.command('RENAME TABLE kept TO transactions');
    expect(await stepsOf(log)).toEqual([]);
  });
});
