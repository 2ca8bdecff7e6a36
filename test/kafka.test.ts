import { Address, beginCell, external, storeMessage } from '@ton/core';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silent } from '../clickhouse/test-server.ts';
import { createSentMessages } from '../src/api/sent-messages.ts';
import { openSends } from '../src/commands/sends.ts';
import { createMetrics } from '../src/metrics.ts';
import { askLiteservers } from '../src/node/liteservers.ts';
import { openKafkaLog } from '../streams/kafka.ts';
import type { EventLog } from '../streams/log.ts';
import { topicNames } from '../streams/topics.ts';
import { serveApi } from './api-server.ts';
import { isLong, random } from './chance.ts';
import { createFakeSource } from './fake-source.ts';
import { describeLevels } from './feed-levels.ts';
import { createKafkaLocal, type KafkaLocal, kafkaMissing } from './kafka-local.ts';
import { TRANSPORTS } from './levels-stage.ts';
import { collect, describeEventLog, expectNumbered, type LogFixture, startWriter, text } from './log-conformance.ts';
import { writeNumbered } from './log-conformance-writer.ts';

const missing = kafkaMissing();
const broker: KafkaLocal | null = missing === null ? await createKafkaLocal() : null;
const address = broker?.address ?? '';
const recreated: string[] = [];
/** Those to whom everything is told that any transport is: webhooks do not come back. */
const STREAMS = ['ws', 'sse'] as const;
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

    describe('the feed', () => {
      let log: EventLog;
      beforeAll(() => {
        log = open();
      });
      afterAll(() => log?.close());
      // Over a log in a folder each transport is heard (src/feed/levels.test.ts), and none of them sees which log it is.
      const transports = isLong ? TRANSPORTS : [STREAMS[random(STREAMS.length)]];
      describeLevels('Kafka', () => ({ log, continuous: true }), transports);
    });

    it('shows a message that one host has sent by v2 at another', async () => {
      const topicPrefix = 'two-hosts.';
      const topic = topicNames(topicPrefix).pending;
      const logs = { here: open(), there: open() };
      const closing: (() => Promise<void> | void)[] = [];
      const onClose = (_name: string, close: () => Promise<void> | void) => void closing.push(close);
      const taken: Uint8Array[] = [];
      const noted: true[] = [];
      const ask = openSends(
        { config: { topicPrefix }, logger: silent, shutdown: { onClose } },
        {
          log: logs.here,
          metrics: createMetrics(),
          askLite: async (question) => {
            if (question.kind === 'send') taken.push(question.boc);
            return null;
          },
          devnet: null,
          pending: { sending: () => undefined, sent: () => noted.push(true) },
        },
      );
      await logs.there.ensureTopic(topic);
      const sent = createSentMessages({ log: logs.there, topic });
      const { source } = createFakeSource({});
      const here = await serveApi(source, { liteservers: askLiteservers(ask) });
      const there = await serveApi(source, { sent });
      const message = beginCell()
        .store(storeMessage(external({ to: new Address(0, Buffer.alloc(32, 7)), body: beginCell().endCell() })))
        .endCell();
      const stageOf = async (hash: string) => {
        const response = await fetch(`${there.url}/api/v3/messageTrace?hash=${encodeURIComponent(hash)}`);
        return response.json();
      };
      const [own, before] = [message.hash().toString('base64'), Date.now()];
      expect(await stageOf(own)).toMatchObject({ stage: 'unknown', seen_utime_ms: null });
      const body = JSON.stringify({ boc: message.toBoc().toString('base64') });
      for (const _again of [1, 2]) {
        const answer = await fetch(`${here.url}/api/v2/sendBocReturnHash`, { method: 'POST', body });
        expect(await answer.json()).toMatchObject({ ok: true, result: { hash: own } });
      }
      const { stage, seen_utime_ms: seenMs } = (await stageOf(own)) as Record<string, unknown>;
      expect([stage, Number(seenMs) >= before]).toEqual(['seen', true]);
      // Sent twice, it is there once.
      expect([taken.length, noted.length, await logs.there.end(topic)]).toEqual([2, 1, 1]);
      expect([here.reported, there.reported]).toEqual([[], []]);
      for (const one of [here, there]) await one.close();
      for (const close of closing) await close();
      for (const log of [logs.here, logs.there]) await log.close();
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

    it('takes no topic for missing because another one was deleted', async () => {
      const [deleted, kept] = ['deleted.v1', 'kept.v1'];
      const writer = open();
      for (const topic of [deleted, kept]) await writer.ensureTopic(topic);
      await writer.append(kept, [text('a'), text('b')]);
      const log = open();
      expect(await log.end(deleted)).toBe(0);
      const admin = new Kafka({ brokers: [address], clientId: 'test', logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      await admin.deleteTopics({ topics: [deleted] });
      await admin.disconnect();
      expect(await log.end(kept)).toBe(2);
      expect([await log.end(deleted), await log.end(kept)]).toEqual([0, 2]);
      await log.close();
      await writer.close();
    });

    it('says at once why a topic cannot be made', async () => {
      const log = openKafkaLog({ brokers: [address], clientId: 'test', replicationFactor: 3 });
      await expect(log.ensureTopic('thrice.v1')).rejects.toThrow(
        'topic thrice.v1 could not be made: Replication-factor is invalid',
      );
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
