import { Kafka, logLevel } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import {
  collect,
  describeEventLog,
  expectNumbered,
  type LogFixture,
  startWriter,
  text,
} from '../streams/conformance.ts';
import { writeNumbered } from '../streams/conformance-writer.ts';
import { openKafkaLog } from '../streams/kafka.ts';
import { isLong } from './chance.ts';
import { createKafkaLocal, type KafkaLocal, kafkaMissing } from './kafka-local.ts';

const missing = kafkaMissing();
const broker: KafkaLocal | null = missing === null ? await createKafkaLocal() : null;
const address = broker?.address ?? '';
const recreated: string[] = [];
const open = () => openKafkaLog({ brokers: [address], clientId: 'test', onRecreated: (part) => recreated.push(part) });

const fixture: LogFixture = {
  open: async () => open(),
  writer: ['kafka', address],
  start: async () => broker?.start(),
  stop: async () => broker?.remove(),
};

describe.skipIf(broker === null)('on a real broker', () => {
  describeEventLog('Kafka log', fixture, () => {
    it('loses and doubles nothing when the broker is killed and started again under load', async () => {
      const topic = 'killed-broker.v1';
      const log = open();
      await log.ensureTopic(topic);
      const abort = new AbortController();
      const seen: string[] = [];
      const reading = (async () => {
        for await (const batch of log.read(topic, 0, { signal: abort.signal })) {
          for (const record of batch) seen.push(record.key);
          if (seen.length >= 2_000) return;
        }
      })();
      let acknowledged = -1;
      const writing = writeNumbered(log, topic, 1_999, (last) => {
        acknowledged = last;
      });
      for (const mark of isLong ? [300, 900] : [600]) {
        while (acknowledged < mark) await new Promise((resolve) => setTimeout(resolve, 10));
        await broker?.kill();
        await broker?.start();
      }
      await writing;
      await reading;
      expect(seen).toEqual(Array.from({ length: 2_000 }, (_, n) => String(n)));
      expect(await expectNumbered(log, topic)).toBe(2_000);
      expect(recreated).toContain('reader');
      await log.close();
    });

    it('splits a large append and keeps its order and offsets', async () => {
      const topic = 'split.v1';
      const log = openKafkaLog({ brokers: [address], clientId: 'test', maxSendBytes: 10_000, compression: 'none' });
      await log.ensureTopic(topic);
      await log.append(topic, [text('before')]);
      const records = Array.from({ length: 100 }, (_, n) => ({ ...text(String(n)), value: Buffer.alloc(1_500, n) }));
      expect(await log.append(topic, records)).toEqual({ first: 1, last: 100 });
      expect((await collect(log, topic, 1)).map(({ key }) => key)).toEqual(records.map(({ key }) => key));
      await log.close();
    });

    it('leaves progress where lag tools look for it', async () => {
      const topic = 'lag.v1';
      const log = open();
      await log.ensureTopic(topic);
      await log.append(topic, [text('a'), text('b'), text('c')]);
      await log.noteProgress('projector-lag', topic, 2);
      await log.close();
      const admin = new Kafka({ brokers: [address], clientId: 'test', logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      const [offsets] = await admin.fetchOffsets({ groupId: 'projector-lag', topics: [topic] });
      await admin.disconnect();
      expect(offsets.partitions).toMatchObject([{ partition: 0, offset: '2' }]);
    });

    it('refuses a topic with several partitions', async () => {
      const admin = new Kafka({ brokers: [address], clientId: 'test', logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      await admin.createTopics({ waitForLeaders: true, topics: [{ topic: 'three.v1', numPartitions: 3 }] });
      await admin.disconnect();
      const log = open();
      await expect(log.ensureTopic('three.v1')).rejects.toThrow('topic three.v1 has 3 partitions');
      await log.close();
    });

    it('gives up on brokers that do not answer', async () => {
      const nobody = openKafkaLog({ brokers: ['127.0.0.1:1'], clientId: 'test', patienceMs: 500 });
      await expect(nobody.end('any.v1')).rejects.toMatchObject({ code: 'unavailable' });
      await nobody.close();
    });

    it('lets a reader of a killed writer go on with the next one', async () => {
      const topic = 'handover.v1';
      const log = open();
      await log.ensureTopic(topic);
      const writer = startWriter(fixture, topic);
      await writer.acknowledged(5);
      await writer.kill();
      const next = startWriter(fixture, topic, 300);
      expect(await next.finished()).toBeGreaterThanOrEqual(300);
      expect(await expectNumbered(log, topic)).toBe(await log.end(topic));
      await log.close();
    });
  });
});
