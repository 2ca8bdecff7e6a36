import { expect, it } from 'vitest';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { EventLog } from '../streams/log.ts';
import { logError, readStatus } from './status.ts';

/** Tables up to step 7. */
const clickhouse = {
  database: 'tonstream',
  json: async (sql: string) => {
    if (sql.includes('projection_state')) return [{ mc_seqno: 7, next_offset: 20 }];
    if (sql.includes('contract_waits')) return [{ count: 0 }];
    return sql.includes('system.parts') ? [{ table: 'blocks', rows: 20 }] : [];
  },
} as unknown as ClickHouse;

it('tells of the tables, and what is wrong, while the log does not answer', async () => {
  let asked = 0;
  const never = (): Promise<never> => {
    asked++;
    return new Promise(() => undefined);
  };
  const log = { low: never, end: never } as unknown as EventLog;
  const read = () => readStatus({ clickhouse, log, blocksTopic: 'ton.blocks.v1', withinMs: 50 });
  const told = {
    log: { mc_seqno: null, error: 'the event log has not answered within 0.05 s' },
    projected: { mc_seqno: 7 },
    lag_steps: null,
    rows: expect.objectContaining({ blocks: 20 }),
  };
  expect(await read()).toMatchObject(told);
  const before = asked;
  expect(await read()).toMatchObject(told);
  // Brokers that are away are asked for minutes: whoever looks again and again does not add to that.
  expect(asked).toBe(before);
});

it('says that the log has lost what the tables were made of', async () => {
  // Brokers that came back with an older copy of their data, or with none.
  const log = { low: async () => 0, end: async () => 0, last: async () => [] } as unknown as EventLog;
  expect(await readStatus({ clickhouse, log, blocksTopic: 'ton.blocks.v1' })).toMatchObject({
    log: { mc_seqno: null, error: 'the event log ends at offset 0, and the tables were made of it up to 20' },
    projected: { mc_seqno: 7 },
    lag_steps: null,
  });
});

it('takes no step that comes meanwhile for a loss', async () => {
  let asked = 0;
  const end = async () => (asked++ < 2 ? 18 : 20);
  const log = { low: async () => 20, end, last: async () => [] } as unknown as EventLog;
  expect((await readStatus({ clickhouse, log, blocksTopic: 'ton.blocks.v1' })).log).toEqual({ mc_seqno: null });
});

it('says that the log has lost its oldest records, as by the retention of a topic that somebody has made', async () => {
  const sources = (low: number) => {
    const log = { low: async () => low, end: async () => 20, async *read() {} } as unknown as EventLog;
    return { clickhouse, log, blocksTopic: 'ton.blocks.v1' };
  };
  expect(await logError(sources(0))).toBeNull();
  expect(await logError(sources(12))).toBe(
    'the event log begins at offset 12 of ton.blocks.v1, nothing can be made anew of it: bring back a copy that is ' +
      'whole, and keep ton.blocks.v1 without end (retention.ms and retention.bytes of -1)',
  );
});

it('says so of the other topics that the tables are made of', async () => {
  const low = async (topic: string) => (topic === 'ton.documents.v1' ? 3 : 0);
  const log = { low, end: async () => 20, async *read() {} } as unknown as EventLog;
  const sources = { clickhouse, log, blocksTopic: 'ton.blocks.v1' };
  expect(await logError({ ...sources, besides: ['ton.cells.v1'] })).toBeNull();
  expect(await logError({ ...sources, besides: ['ton.cells.v1', 'ton.documents.v1'] })).toBe(
    'the event log begins at offset 3 of ton.documents.v1, nothing can be made anew of it: bring back a copy that is ' +
      'whole, and keep ton.documents.v1 without end (retention.ms and retention.bytes of -1)',
  );
});
