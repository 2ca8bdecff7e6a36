import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { ClickHouseQueryError } from '../../clickhouse/query-error.ts';
import { reportTo } from './errors.ts';

it('the log is told of questions that were too slow once in a while, of all other failures each time', () => {
  const told: unknown[] = [];
  const report = reportTo({
    error: (...line: unknown[]) => told.push(line),
    warn: (...line: unknown[]) => told.push(line),
  });
  const request = { url: `/api/v3/actions?x_timeout=1&${'x'.repeat(1_000)}` } as IncomingMessage;
  const url = request.url?.slice(0, 300);
  const late = { code: 'timeout', label: 'actions', queryId: '', detail: 'no answer within 1 ms' } as const;
  for (let i = 0; i < 100; i++) report(new ClickHouseQueryError(late), request);
  expect(told).toEqual([[{ reason: 'actions: no answer within 1 ms', url }, 'requests are not answered in time']]);
  const failed = [new Error('a fault'), new ClickHouseQueryError({ ...late, code: 'server' })];
  for (const error of failed) report(error, request);
  expect(told.slice(1)).toEqual(failed.map((err) => [{ err, url }, 'a request failed']));
});
