import { setTimeout as sleep } from 'node:timers/promises';
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
import { createPatientClickHouse, persist } from './patience.ts';

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
  const seen: { retries: number; told: object[] } = { retries: 0, told: [] };
  const onRetry = () => seen.retries++;
  const logger = { warn: (about: object) => void seen.told.push(about) };
  return { seen, clickhouse: createPatientClickHouse(clickhouse, { outageMs, logger, signal, onRetry }) };
}

afterEach(() => {
  vi.restoreAllMocks();
});

it('says what it waits for: a server that is away or busy, or room on its disk', async () => {
  const told: string[] = [];
  const logger = { warn: (_: object, message: string) => void told.push(message) };
  const { signal } = new AbortController();
  for (const failure of [failed('connection'), { ...failed('busy'), serverType: 'NOT_ENOUGH_SPACE' }]) {
    const clickhouse = failing(1, failure);
    await persist(() => clickhouse.query('SELECT 1'), { outageMs: 60_000, logger, signal });
  }
  expect(told).toEqual([
    'ClickHouse is away or busy, trying again',
    'the disk of ClickHouse is full: make room there, trying again',
  ]);
});

describe('createPatientClickHouse', () => {
  it('tries again while the server is away, busy or silent, and counts', async () => {
    for (const code of ['connection', 'busy', 'timeout'] as const) {
      const { seen, clickhouse } = patient(failing(2, code));
      expect(await clickhouse.query('SELECT 1')).toEqual(Buffer.from('rows'));
      expect(seen.retries).toBe(2);
    }
  });

  it('tells of one of many statements that wait, and again after a while', async () => {
    const warned: string[] = [];
    const onWarning = ({ name }: Error) => void warned.push(name);
    process.on('warning', onWarning);
    let down = true;
    const query = async (): Promise<Buffer> => {
      if (down) throw new ClickHouseQueryError(failed('connection'));
      return Buffer.from('rows');
    };
    const { seen, clickhouse } = patient({ ...failing(0, 'connection'), query });
    const answers = Promise.all(Array.from({ length: 20 }, () => clickhouse.query('SELECT 1')));
    await expect.poll(() => seen.retries).toBeGreaterThanOrEqual(20);
    expect(seen.told).toEqual([{ err: expect.any(Error), waitMs: 100 }]);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 5_000);
    await expect.poll(() => seen.told.length).toBe(2);
    down = false;
    await answers;
    process.off('warning', onWarning);
    expect(warned).toEqual([]);
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

describe('persist', () => {
  it('takes work that lasts for no outage, as migrations at a start: what fails behind it is tried again', async () => {
    let tries = 0;
    const work = async (): Promise<string> => {
      if (tries++ > 0) return 'done';
      await sleep(150);
      throw new ClickHouseQueryError(failed('timeout'));
    };
    const { signal } = new AbortController();
    expect(await persist(work, { outageMs: 100, logger: silent, signal })).toBe('done');
  });
});
