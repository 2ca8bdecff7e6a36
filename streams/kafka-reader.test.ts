import { setMaxListeners } from 'node:events';
import { Kafka } from 'kafkajs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { KafkaConnection } from './kafka-connection.ts';
import { createQueries, type KafkaSession, readBatches } from './kafka-reader.ts';
import type { StoredRecord } from './log.ts';

/** What is asked of every connection. */
const links = vi.hoisted((): { fetch: () => unknown; bounds: () => unknown; close: () => unknown } => ({
  fetch: () => undefined,
  bounds: () => undefined,
  close: () => undefined,
}));
vi.mock('./kafka-connection.ts', async (original) => ({
  ...(await original<typeof import('./kafka-connection.ts')>()),
  PATIENT_RETRY: { retries: 1, initialRetryTime: 1, maxRetryTime: 1 },
  createKafkaConnection: () => ({
    fetch: async () => links.fetch(),
    bounds: async () => links.bounds(),
    close: async () => void links.close(),
  }),
}));
afterEach(() => vi.restoreAllMocks());

const connection = { brokers: ['localhost:9092'], clientId: 'test' };
const session = (patienceMs: number): KafkaSession => ({
  kafka: new Kafka(connection),
  connection,
  maxWaitMs: 1,
  patienceMs,
  ending: new AbortController().signal,
  onRecreated: undefined,
});

/** One that is set forward by an hour each time it is looked at, or back. */
function strayingClock(ms: number): void {
  const now = Date.now;
  let asked = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + ms * asked++);
}

/** Fails so often, then answers. */
function failing<T>(times: number, answer: T): () => T {
  return () => {
    if (times-- > 0) throw new Error('the broker is away');
    return answer;
  };
}

const record = (offset: number): StoredRecord => ({ offset, time: 0, key: '', headers: {}, value: Buffer.alloc(1) });

describe('a connection that questions share', () => {
  it('is closed once when it fails all of them', async () => {
    // Each close of one that is still connecting adds a listener to its socket.
    let closed = 0;
    links.close = () => closed++;
    links.bounds = failing(20, { low: 0, end: 7 });
    const mine = session(60_000);
    setMaxListeners(0, mine.ending);
    const { run } = createQueries(mine);
    const asked = Array.from({ length: 20 }, () => run((link) => link.bounds('t.v1')));
    expect(await Promise.all(asked)).toHaveLength(20);
    expect(closed).toBe(1);
  });
});

describe('patience with brokers', () => {
  const bounds = (link: KafkaConnection) => link.bounds('t.v1');

  it('is that of a question, however the clock is set meanwhile', async () => {
    links.bounds = failing(2, { low: 0, end: 7 });
    strayingClock(3_600_000);
    expect(await createQueries(session(60_000)).run(bounds)).toEqual({ low: 0, end: 7 });
    vi.restoreAllMocks();
    links.bounds = failing(Number.POSITIVE_INFINITY, null);
    strayingClock(-3_600_000);
    await expect(createQueries(session(20)).run(bounds)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('begins anew with each fetch: a reader may have been kept waiting by what it read', async () => {
    let elapsed = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => elapsed);
    links.fetch = () => ({ records: [record(0)], next: 1 });
    const { signal } = new AbortController();
    const reading = readBatches(session(20), 't.v1', 0, { signal });
    expect((await reading.next()).value).toEqual([record(0)]);
    elapsed += 40;
    links.fetch = failing(2, { records: [record(1)], next: 2 });
    expect((await reading.next()).value).toEqual([record(1)]);
    links.fetch = () => {
      elapsed += 15;
      throw new Error('the broker is away');
    };
    await expect(reading.next()).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'reading topic t.v1 failed: no answer from the Kafka brokers localhost:9092 within 0.02 s: the broker is away. ' +
        'Check that they run and that KAFKA_BROKERS names them',
    });
  });

  it('is what a reader has with a topic that is gone; one that is not there yet is waited for', async () => {
    links.fetch = () => ({ records: [record(0)], next: 1 });
    const { signal } = new AbortController();
    const reading = readBatches(session(20), 't.v1', 0, { signal });
    expect((await reading.next()).value).toEqual([record(0)]);
    links.fetch = () => null;
    await expect(reading.next()).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringMatching(/^topic t\.v1 ends at offset 0, and was read up to 1 before: /),
    });
    const early = readBatches(session(20), 't.v1', 0, { signal });
    const first = early.next();
    await new Promise((resolve) => setTimeout(resolve, 40));
    links.fetch = () => ({ records: [record(0)], next: 1 });
    expect((await first).value).toEqual([record(0)]);
    await early.return(undefined);
  });

  it('is a reader’s, however the clock is set meanwhile', async () => {
    links.fetch = failing(2, { records: [record(0)], next: 1 });
    strayingClock(3_600_000);
    const { signal } = new AbortController();
    const reading = readBatches(session(60_000), 't.v1', 0, { signal });
    expect((await reading.next()).value).toEqual([record(0)]);
    await reading.return(undefined);
  });
});
