import { describe, expect, it } from 'vitest';
import { ClickHouseQueryError } from '../../../clickhouse/client.ts';
import { refusalOf } from './failures.ts';

const told = (serverType: string, detail: string): unknown => {
  const failure = { code: 'server', label: 'a query of SQL', queryId: '' } as const;
  return refusalOf(new ClickHouseQueryError({ ...failure, serverType, detail: `${detail} (code 1, ${serverType})` }));
};

describe('what a failed query is told as', () => {
  it('names the limit that it met', () => {
    expect(told('TOO_MANY_ROWS_OR_BYTES', 'Limit for result exceeded, max bytes: 64.00 MiB')).toMatchObject({
      message: expect.stringContaining('the answer is too large'),
    });
    expect(
      told('TOO_MANY_ROWS_OR_BYTES', 'Limit for temporary files size exceeded (would consume 71406 / 1000 bytes).'),
    ).toMatchObject({ status: 400, message: expect.stringContaining('room on the disk') });
  });

  it('says when the quota begins anew, wherever the clock of the server stands', () => {
    const end = Date.now() + 1_234_000;
    for (const hours of [-5, 0, 9]) {
      const text = new Date(end + hours * 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
      const refusal = told(
        'QUOTA_EXCEEDED',
        `Quota for user \`u\` for 3600s has been exceeded. Interval will end at ${text}.`,
      );
      const { retryAfterSeconds } = refusal as { retryAfterSeconds: number };
      expect(Math.abs(retryAfterSeconds - (end - Date.now()) / 1000)).toBeLessThan(60);
    }
  });
});
