import { expect, it } from 'vitest';
import type { QueryContext } from '../../src/chain/records.ts';
import { RowReader, RowWriter } from '../rowbinary.ts';
import { createHead } from './head.ts';
import { createSteps } from './steps.ts';

const context: QueryContext = { signal: new AbortController().signal, timeoutMs: 60_000 };

it('asks once of a step that is there, again of one that is not, and of both when the tables are others', async () => {
  const asked: string[] = [];
  const isThere = (sql: string): boolean => sql.endsWith('= 7');
  const head = createHead({ json: async () => [] });
  const { spanOf } = createSteps({
    head,
    async rows(sql) {
      asked.push(sql.slice(sql.lastIndexOf(' ') + 1));
      const row = new RowWriter();
      row.u64(isThere(sql) ? '1000' : '0');
      row.u64(isThere(sql) ? '2000' : '0');
      row.bool(isThere(sql));
      row.u64(isThere(sql) ? '3' : '0');
      return new RowReader(Buffer.concat(row.take()));
    },
  });
  const found = [
    await spanOf(7, context),
    await spanOf(8, context),
    await spanOf(7, context),
    await spanOf(8, context),
  ];
  const span = { startLt: '1000', endLt: '2000', hasMasterchainBlock: true };
  expect(found).toEqual([span, null, span, null]);
  expect(asked).toEqual(['7', '8', '8']);
  head.belongTo('others');
  await spanOf(7, context);
  expect(asked).toEqual(['7', '8', '8', '7']);
});
