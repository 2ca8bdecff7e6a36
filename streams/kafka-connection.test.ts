import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import { expect, it, vi } from 'vitest';
import { createKafka, PATIENT_RETRY } from './kafka-connection.ts';

function warnings() {
  const warned: string[] = [];
  const quiet = (): void => undefined;
  const logger = { error: quiet, info: quiet, debug: quiet, warn: (_: object, text: string) => void warned.push(text) };
  return { warned, kafka: createKafka({ brokers: ['localhost:9092'], clientId: 'test', logger }) };
}

it('warns with the reason, and not of a topic that is looked for before it is made or that another makes first', () => {
  const { warned, kafka } = warnings();
  const own = kafka.logger();
  own.error('Response Metadata(key: 3, version: 6)', { error: 'This server does not host this topic-partition' });
  own.error('Response CreateTopics(key: 19, version: 3)', { error: 'Topic creation errors' });
  expect(warned).toEqual([]);
  own.error('Response Produce(key: 0, version: 7)', { error: 'Not authorized to access topics' });
  expect(warned).toEqual(['Kafka: Response Produce(key: 0, version: 7): Not authorized to access topics']);
});

it('does not warn of each writer that it opens, nor pass over what comes behind that', () => {
  const { warned, kafka } = warnings();
  kafka.producer({ idempotent: true, retry: PATIENT_RETRY, createPartitioner: () => () => 0 });
  expect(warned).toEqual([]);
  kafka.logger().error('Connection error');
  expect(warned).toEqual(['Kafka: Connection error']);
});

it('looks for what waits to be sent only while something waits', () => {
  vi.useFakeTimers();
  try {
    const queue = new RequestQueue({
      maxInFlightRequests: null,
      requestTimeout: 1_000,
      enforceRequestTimeout: false,
      clientId: 'test',
      broker: 'localhost:9092',
      logger: warnings().kafka.logger(),
      isConnected: () => true,
    });
    const sent: number[] = [];
    const ask = (correlationId: number): void => {
      const entry = { correlationId, resolve: () => undefined };
      queue.push({ entry, expectResponse: true, sendRequest: () => void sent.push(correlationId) });
    };
    const answer = (correlationId: number): void =>
      queue.fulfillRequest({ correlationId, payload: Buffer.alloc(0), size: 0 });
    ask(1);
    answer(1);
    expect(vi.getTimerCount()).toBe(0);
    queue.maybeThrottle(50);
    ask(2);
    expect(sent).toEqual([1]);
    vi.advanceTimersByTime(50);
    expect(sent).toEqual([1, 2]);
    answer(2);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
