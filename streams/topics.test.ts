import { expect, it } from 'vitest';
import { isTopicName, type TopicsConfig, topicNames, topicRetentionMs, topicsOf } from './topics.ts';

const onBroker: TopicsConfig = { topicPrefix: 'ton', clickhouseDatabase: 'tonstream', kafkaBrokers: ['kafka:9092'] };

it('keeps apart what follows from the tables of two databases, and nothing else of a log', () => {
  const first = topicsOf(onBroker);
  const second = topicsOf({ ...onBroker, clickhouseDatabase: 'other' });
  const third = topicsOf({ ...onBroker, clickhouseDatabase: 'another' });
  expect(first).toEqual(topicNames('ton'));
  expect({ ...second, steps: first.steps, pendingTraces: first.pendingTraces }).toEqual(first);
  const apart = [first, second, third].flatMap(({ steps, pendingTraces }) => [steps, pendingTraces]);
  expect(new Set(apart).size).toBe(6);
  expect(apart.every(isTopicName)).toBe(true);
  for (const kind of ['steps', 'pendingTraces'] as const) {
    expect(topicRetentionMs(second[kind])).toBe(topicRetentionMs(first[kind]));
  }
});

it('has no others for a prefix that is named as a database, nor in a folder, which has one service at a time', () => {
  const { steps } = topicsOf({ ...onBroker, clickhouseDatabase: 'testnet' });
  expect(steps).not.toBe(topicsOf({ ...onBroker, topicPrefix: 'ton.testnet' }).steps);
  expect(topicsOf({ topicPrefix: 'ton', clickhouseDatabase: 'other', kafkaBrokers: undefined })).toEqual(topicNames());
});
