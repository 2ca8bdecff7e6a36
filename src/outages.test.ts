import { expect, it } from 'vitest';
import { ClickHouseQueryError } from '../clickhouse/query-error.ts';
import { LogError } from '../streams/log.ts';
import { NodeError } from './node/chain-node.ts';
import { LateError, outagesSeldom } from './outages.ts';

it('tells of an outage once in a while, for each of many traces meets it, and of all else each time', () => {
  const told: unknown[] = [];
  const report = outagesSeldom((error) => void told.push(error));
  const late = new ClickHouseQueryError({
    code: 'timeout',
    label: 'transactions by message',
    queryId: '',
    detail: 'late',
  });
  const outages: Error[] = [late, new NodeError('unavailable', 'no server'), new LogError('unavailable', 'no broker')];
  outages.push(new LateError('the actions of a trace', 2_000, new Error('ended by the caller')));
  for (let i = 0; i < 100; i++) for (const error of outages) report(error);
  expect(told).toEqual([late]);
  const faults = [new Error('a fault'), new NodeError('not_found', 'no block'), new LogError('corrupt', 'no log')];
  for (const error of faults) report(error);
  expect(told.slice(1)).toEqual(faults);
});
