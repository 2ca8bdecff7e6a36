import { describe, expect, it } from 'vitest';
import { blockRow, blocks } from '../../clickhouse/tables/blocks.ts';
import { jettonTransfers } from '../../clickhouse/tables/jettons.ts';
import { addressOf } from '../../src/chain/address.ts';
import { madeBlock, madeHash } from '../../test/made-chain.ts';
import { countsOf, nextCount } from './statistics.ts';
import { createStepRows } from './step-rows.ts';

describe('what a step is counted for', () => {
  const HOUR = 1_700_002_800;
  const address = addressOf(0, madeHash('account'));
  const step = (...utimes: number[]) => {
    const rows = createStepRows(9);
    for (const [n, utime] of utimes.entries()) {
      rows.add(blocks, blockRow(madeBlock({ mcSeqno: 9, seqno: n + 1, utime }), Buffer.alloc(0)));
    }
    return rows;
  };
  const hours = (rows: ReturnType<typeof step>, before: number, time: number) =>
    countsOf(rows, before, time).filter(({ resolution }) => resolution === 'hour');

  it('is nothing as long as no hour is over', () => {
    expect(hours(step(HOUR + 10), HOUR + 5, HOUR + 119)).toEqual([]);
  });

  it('is the hour that ended two minutes ago', () => {
    const [count] = hours(step(HOUR + 120), HOUR + 119, HOUR + 120);
    expect(count).toEqual({ resolution: 'hour', from: HOUR - 3600, to: HOUR, mcSeqno: 9, of: 'all' });
  });

  it('is counted ahead a minute before', () => {
    expect(nextCount('hour', HOUR + 59, 8)).toBeNull();
    expect(nextCount('hour', HOUR + 60, 8)).toEqual({
      resolution: 'hour',
      from: HOUR - 3600,
      to: HOUR,
      mcSeqno: 8,
      of: 'all',
    });
    expect(nextCount('hour', HOUR + 120, 8)).toBeNull();
  });

  it('is all hours that nobody saw the end of', () => {
    const [count] = hours(step(HOUR + 7300), HOUR - 10, HOUR + 7400);
    expect(count).toEqual({ resolution: 'hour', from: HOUR - 3600, to: HOUR + 7200, mcSeqno: 9, of: 'all' });
  });

  it('is what is told of an earlier hour when a transfer of it is told late', () => {
    const rows = step(HOUR + 300);
    rows.add(jettonTransfers, {
      transactionLt: '1',
      sourceWallet: address,
      mcSeqno: 9,
      transactionNow: HOUR - 10,
      transactionAborted: false,
      source: address,
      destination: address,
      jettonMaster: address,
      amount: '1',
      transactionHash: madeHash('late'),
    });
    expect(hours(rows, HOUR + 299, HOUR + 300)).toEqual([
      { resolution: 'hour', from: HOUR - 3600, to: HOUR, mcSeqno: 9, of: 'told' },
    ]);
  });

  it('is an earlier hour once more when a block of it comes late', () => {
    const late = hours(step(HOUR - 1, HOUR - 2, HOUR + 300), HOUR + 299, HOUR + 300);
    expect(late).toEqual([{ resolution: 'hour', from: HOUR - 3600, to: HOUR, mcSeqno: 9, of: 'all' }]);
  });
});
