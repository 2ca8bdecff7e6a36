import { afterEach, describe, expect, it, vi } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { ServerError } from '../../clickhouse/connection.ts';
import {
  type ClickHouseErrorCode,
  ClickHouseQueryError,
  describeFailure,
  type QueryFailure,
} from '../../clickhouse/query-error.ts';
import { silent } from '../../clickhouse/test-server.ts';
import { createPatientClickHouse } from './patience.ts';

const failed = (code: ClickHouseErrorCode): QueryFailure => ({ code, label: 'a read', queryId: '', detail: code });

/** A server that fails so often, then answers. */
function failing(times: number, code: ClickHouseErrorCode | QueryFailure): ClickHouse {
  const failure = typeof code === 'string' ? failed(code) : code;
  let left = times;
  const clickhouse = createClickHouse({ url: 'http://127.0.0.1:1', database: 'x', logger: silent });
  return {
    ...clickhouse,
    async query() {
      if (left-- > 0) throw new ClickHouseQueryError(failure);
      return Buffer.from('rows');
    },
  };
}

function patient(clickhouse: ClickHouse, outageMs = 60_000, signal = new AbortController().signal) {
  const seen = { retries: 0 };
  const onRetry = () => seen.retries++;
  return { seen, clickhouse: createPatientClickHouse(clickhouse, { outageMs, logger: silent, signal, onRetry }) };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('createPatientClickHouse', () => {
  it('tries again while the server is away, busy or silent, and counts', async () => {
    for (const code of ['connection', 'busy', 'timeout'] as const) {
      const { seen, clickhouse } = patient(failing(2, code));
      expect(await clickhouse.query('SELECT 1')).toEqual(Buffer.from('rows'));
      expect(seen.retries).toBe(2);
    }
  });

  it('waits for room on a full disk', async () => {
    const full = new ServerError('Cannot reserve 1.00 MiB, not enough space.', 243, 'NOT_ENOUGH_SPACE');
    const { seen, clickhouse } = patient(failing(1, describeFailure(full, 'an insert', '')));
    expect(await clickhouse.query('SELECT 1')).toEqual(Buffer.from('rows'));
    expect(seen.retries).toBe(1);
  });

  it('throws at once what does not pass', async () => {
    const { seen, clickhouse } = patient(failing(1, 'server'));
    await expect(clickhouse.query('SELECT 1')).rejects.toThrow('a read: server');
    expect(seen.retries).toBe(0);
  });

  it('gives up after the longest outage', async () => {
    await expect(patient(failing(1e9, 'connection'), 250).clickhouse.query('SELECT 1')).rejects.toThrow('connection');
  });

  it('takes a clock that is set for no outage', async () => {
    const now = Date.now.bind(Date);
    let asked = 0;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + asked++ * 3_600_000);
    const { seen, clickhouse } = patient(failing(2, 'connection'));
    expect(await clickhouse.query('SELECT 1')).toEqual(Buffer.from('rows'));
    expect(seen.retries).toBe(2);
  });

  it('ends its wait with the signal', async () => {
    const stop = new AbortController();
    const { clickhouse } = patient(failing(1e9, 'connection'), 60_000, stop.signal);
    setTimeout(() => stop.abort(), 50);
    await expect(clickhouse.query('SELECT 1')).rejects.toThrow();
  });
});
