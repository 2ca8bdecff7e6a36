import { afterEach, describe, expect, it, vi } from 'vitest';
import { text } from '../test/log-conformance.ts';
import { type BatchProducer, createTopicWriter, splitBatches } from './kafka-writer.ts';
import type { LogRecord, StoredRecord } from './log.ts';

/** How far ahead of their own clock brokers take records, by default. */
const HOUR_MS = 3_600_000;

class BrokerError extends Error {
  constructor(readonly type: string) {
    super(type);
  }
}

interface Fault {
  when: 'before' | 'after' | 'lost';
  type: string;
}

/**
 * A broker that fails as told: `before` storing a batch, or `after` it, so that only the answer is lost; or stores it with
 * all but its first record `lost`.
 */
function scriptedBroker(script: Fault[], topic = 't') {
  const stored: StoredRecord[] = [];
  const clock = { now: () => Number.POSITIVE_INFINITY };
  let producers = 0;
  const openProducer = async (): Promise<BatchProducer> => {
    producers++;
    return {
      async send(_topic: string, records: readonly LogRecord[], time: number): Promise<number> {
        const fault = script.shift();
        if (fault?.when === 'before') throw new Error('send', { cause: new BrokerError(fault.type) });
        if (time > clock.now() + HOUR_MS) throw new Error('send', { cause: new BrokerError('INVALID_TIMESTAMP') });
        if (fault?.when === 'lost') stored.splice(1);
        const first = stored.length;
        stored.push(...records.map((record, index) => ({ ...record, offset: first + index, time })));
        if (fault?.when === 'after') throw new Error('send', { cause: new BrokerError(fault.type) });
        return first;
      },
      close: async () => undefined,
    };
  };
  const writer = createTopicWriter({
    topic,
    openProducer,
    end: async () => stored.length,
    async *readFrom(offset) {
      yield stored.slice(offset);
    },
    lastTime: async () => stored.at(-1)?.time ?? 0,
    maxSendBytes: 1_000,
    maxBatchBytes: 20_000_000,
    logger: undefined,
  });
  return { writer, clock, keys: () => stored.map(({ key }) => key), stored, producers: () => producers };
}

describe('topic writer', () => {
  it.each(['before', 'after'] as const)(
    'goes on from the log end when the sequence is lost %s storing',
    async (when) => {
      const script: { when: 'before' | 'after'; type: string }[] = [];
      const broker = scriptedBroker(script);
      await broker.writer.append([text('a')]);
      script.push({ when, type: 'OUT_OF_ORDER_SEQUENCE_NUMBER' });
      expect(await broker.writer.append([text('b'), text('c')])).toEqual({ first: 1, last: 2 });
      expect(await broker.writer.append([text('d')])).toEqual({ first: 3, last: 3 });
      expect(broker.keys()).toEqual(['a', 'b', 'c', 'd']);
      expect(broker.producers()).toBe(2);
    },
  );

  it('does not use a producer again whose send failed', async () => {
    const broker = scriptedBroker([{ when: 'before', type: 'REQUEST_TIMED_OUT' }]);
    await expect(broker.writer.append([text('a')])).rejects.toMatchObject({
      code: 'unavailable',
      message: 'appending to topic t failed: send',
    });
    expect(await broker.writer.append([text('a')])).toEqual({ first: 0, last: 0 });
    expect(broker.producers()).toBe(2);
  });

  it('says what to do when the brokers have lost what they had acknowledged', async () => {
    const script: { when: 'before' | 'after'; type: string }[] = [];
    const broker = scriptedBroker(script, 'ton.blocks.v1');
    await broker.writer.append(['a', 'b', 'c', 'd'].map((key) => text(key)));
    broker.stored.splice(1);
    script.push({ when: 'before', type: 'OUT_OF_ORDER_SEQUENCE_NUMBER' });
    await expect(broker.writer.append([text('e')])).rejects.toMatchObject({
      code: 'corrupt',
      message:
        'the brokers have lost the records 1 to 3 of topic ton.blocks.v1, which they had acknowledged: ' +
        'start again, to go on from what they have',
    });
    expect(broker.keys()).toEqual(['a']);
  });

  it('makes no hole when they have forgotten its producer as well', async () => {
    const broker = scriptedBroker([], 'ton.blocks.v1');
    await broker.writer.append(['a', 'b', 'c', 'd'].map((key) => text(key)));
    broker.stored.splice(1);
    await expect(broker.writer.append([text('e')])).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringMatching(
        /^the brokers have lost the records 1 to 3 of .*: start again, to go on from what/,
      ),
    });
    expect(broker.keys()).toEqual(['a']);
  });

  it('does not pass over the hole when they have lost it while it sends', async () => {
    const script: Fault[] = [];
    const broker = scriptedBroker(script, 'ton.blocks.v1');
    await broker.writer.append(['a', 'b', 'c', 'd'].map((key) => text(key)));
    script.push({ when: 'lost', type: '' });
    await expect(broker.writer.append([text('e')])).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringMatching(/^the brokers have lost the records 1 to 3 of .* at offset 1, behind a hole/),
    });
  });

  it('begins no new log behind its own back when they were away meanwhile', async () => {
    const script: { when: 'before' | 'after'; type: string }[] = [];
    const broker = scriptedBroker(script, 'ton.blocks.v1');
    await broker.writer.append(['a', 'b', 'c', 'd'].map((key) => text(key)));
    script.push({ when: 'before', type: 'REQUEST_TIMED_OUT' });
    await expect(broker.writer.append([text('e')])).rejects.toMatchObject({ code: 'unavailable' });
    broker.stored.splice(1);
    const lost = { code: 'corrupt', message: expect.stringMatching(/^the brokers have lost the records 1 to 3 of /) };
    await expect(broker.writer.append([])).rejects.toMatchObject(lost);
    await expect(broker.writer.append([text('e')])).rejects.toMatchObject(lost);
    expect(broker.keys()).toEqual(['a']);
  });

  it('goes on with a feed that was made anew', async () => {
    const broker = scriptedBroker([], 'ton.steps.v1');
    await broker.writer.append(['a', 'b'].map((key) => text(key)));
    broker.stored.splice(0);
    expect(await broker.writer.append([text('c')])).toEqual({ first: 0, last: 0 });
  });

  it('goes on with a feed that brokers have only in part', async () => {
    const script: { when: 'before' | 'after'; type: string }[] = [];
    const broker = scriptedBroker(script, 'ton.pending-traces.v1');
    await broker.writer.append(['a', 'b', 'c', 'd'].map((key) => text(key)));
    broker.stored.splice(1);
    script.push({ when: 'before', type: 'OUT_OF_ORDER_SEQUENCE_NUMBER' });
    expect(await broker.writer.append([text('e')])).toEqual({ first: 1, last: 1 });
    expect(broker.keys()).toEqual(['a', 'e']);
  });

  it('says so when a batch is too large for the broker, and gives up after three lost sequences', async () => {
    const large = scriptedBroker([{ when: 'before', type: 'MESSAGE_TOO_LARGE' }]);
    await expect(large.writer.append([text('a')])).rejects.toMatchObject({
      code: 'too_large',
      message: 'topic t refused a batch of 2 bytes: set its max.message.bytes to 20000000 or more',
    });
    const lost = scriptedBroker(Array(3).fill({ when: 'before', type: 'UNKNOWN_PRODUCER_ID' }));
    await expect(lost.writer.append([text('a')])).rejects.toMatchObject({ code: 'unavailable' });
    expect(lost.producers()).toBe(3);
  });

  describe('with clocks that disagree by more than brokers take', () => {
    const noon = Date.UTC(2026, 0, 1, 12);
    const setClocks = (host: number, broker: number, { clock }: Pick<ReturnType<typeof scriptedBroker>, 'clock'>) => {
      vi.useFakeTimers({ toFake: ['Date'], now: host });
      clock.now = () => broker;
    };
    afterEach(() => void vi.useRealTimers());

    it('goes on while this host is ahead, and once it is not', async () => {
      const broker = scriptedBroker([]);
      setClocks(noon, noon, broker);
      await broker.writer.append([text('a')]);
      setClocks(noon + 2 * HOUR_MS, noon + 1, broker);
      await broker.writer.append([text('b')]);
      setClocks(noon + 2, noon + 2, broker);
      await broker.writer.append([text('c')]);
      expect(broker.stored.map(({ key, time }) => [key, time - noon])).toEqual([
        ['a', 0],
        ['b', 0],
        ['c', 2],
      ]);
    });

    it('goes on when all were set back', async () => {
      const broker = scriptedBroker([]);
      setClocks(noon, noon, broker);
      await broker.writer.append([text('a')]);
      setClocks(noon - 2 * HOUR_MS, noon - 2 * HOUR_MS, broker);
      await broker.writer.append([text('b')]);
      await broker.writer.append([text('c')]);
      expect(broker.stored.map(({ time }) => (time - noon) / HOUR_MS)).toEqual([0, -2, -2]);
    });

    it('says whose clocks to look at where a topic has no time yet', async () => {
      const broker = scriptedBroker([]);
      setClocks(noon + 2 * HOUR_MS, noon, broker);
      await expect(broker.writer.append([text('a')])).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/^appending to topic t failed: .*: .* clock of this host .* brokers/),
      });
    });
  });

  it('splits by size, keeps the order, leaves a larger record alone', () => {
    const records = [300, 300, 300, 5_000, 10, 10].map((size, n) => ({
      ...text(String(n)),
      value: Buffer.alloc(size),
    }));
    expect(splitBatches(records, 1_000).map((batch) => batch.map(({ key }) => key))).toEqual([
      ['0', '1'],
      ['2'],
      ['3'],
      ['4', '5'],
    ]);
    expect(splitBatches([], 1_000)).toEqual([]);
  });
});
