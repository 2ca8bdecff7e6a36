import { expect, it } from 'vitest';
import { createKafka } from './kafka-connection.ts';

it('warns with the reason, and not of a topic that is looked for before it is made', () => {
  const warned: string[] = [];
  const quiet = (): void => undefined;
  const logger = { error: quiet, info: quiet, debug: quiet, warn: (_: object, text: string) => void warned.push(text) };
  const own = createKafka({ brokers: ['localhost:9092'], clientId: 'test', logger }).logger();
  own.error('Response Metadata(key: 3, version: 6)', { error: 'This server does not host this topic-partition' });
  expect(warned).toEqual([]);
  own.error('Response Produce(key: 0, version: 7)', { error: 'Not authorized to access topics' });
  expect(warned).toEqual(['Kafka: Response Produce(key: 0, version: 7): Not authorized to access topics']);
});
