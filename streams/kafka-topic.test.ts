import { createRequire } from 'node:module';
import { KafkaJSProtocolError } from 'kafkajs';
import { expect, it } from 'vitest';
import type { KafkaConnection } from './kafka-connection.ts';
import { ensureTopic } from './kafka-topic.ts';

const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error.js');
const UNKNOWN_TOPIC = 3;
const REQUEST_TIMED_OUT = 7;
const TOPIC_AUTHORIZATION_FAILED = 29;

/** A cluster of one answer after the other: to those who make a topic, and to those who ask for its partitions. */
function clusterOf(made: readonly (number | null)[], known: readonly number[]) {
  const asked = { made: 0, known: 0, closed: 0 };
  const link = { partitions: async () => known[asked.known++] ?? 0 } as unknown as KafkaConnection;
  const admin = {
    connect: async () => undefined,
    disconnect: async () => void asked.closed++,
    createTopics: async () => {
      const code = made[asked.made++] ?? null;
      if (code !== null) throw new KafkaJSProtocolError(createErrorFromCode(code));
      return true;
    },
  };
  const run = async <T>(question: (link: KafkaConnection) => Promise<T>): Promise<T> => {
    for (let left = 10; ; left--) {
      try {
        return await question(link);
      } catch (error) {
        if (left === 0 || (error instanceof Error && error.name === 'LogError')) throw error;
      }
    }
  };
  const ensured = () => ensureTopic('t.v1', { run }, () => admin, { replicationFactor: 1, maxBatchBytes: 1_000_000 });
  return { asked, ensured };
}

it('waits until a topic that was made is known', async () => {
  const { asked, ensured } = clusterOf([null, null], [0, 0, 0, 0, 1]);
  await ensured();
  expect(asked).toEqual({ made: 2, known: 5, closed: 2 });
});

it('asks again when a broker does not know the topic yet, or does not get it made in time', async () => {
  const { asked, ensured } = clusterOf([UNKNOWN_TOPIC, REQUEST_TIMED_OUT, null], [0, 0, 0, 1]);
  await ensured();
  expect(asked).toEqual({ made: 3, known: 4, closed: 3 });
});

it('does not ask again who may not make it', async () => {
  const { asked, ensured } = clusterOf([TOPIC_AUTHORIZATION_FAILED], [0]);
  await expect(ensured()).rejects.toThrow('topic t.v1 could not be made: Not authorized to access topics');
  expect(asked).toEqual({ made: 1, known: 1, closed: 1 });
});

it('refuses a topic of several partitions for good', async () => {
  const { asked, ensured } = clusterOf([], [3]);
  await expect(ensured()).rejects.toMatchObject({
    code: 'corrupt',
    message: 'topic t.v1 has 3 partitions, the log needs exactly one: delete it, or give another --topic-prefix',
  });
  expect(asked).toEqual({ made: 0, known: 1, closed: 0 });
});
