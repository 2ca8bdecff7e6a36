import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeBlockRecord } from '../streams/envelope.ts';
import type { EventLog, LogRecord, StoredRecord } from '../streams/log.ts';
import { lastSealed, offsetOfStep } from '../streams/step-search.ts';
import { readSteps, type Step } from '../streams/steps.ts';
import { rounds } from './chance.ts';
import { collectGarbage } from './collect-garbage.ts';
import { numberedRecord } from './log-conformance-writer.ts';
import { startProgram } from './program.ts';

/** One implementation of the log under test. */
export interface LogFixture {
  /** Opens the log, the same one each time. */
  open(): Promise<EventLog>;
  /** First arguments of log-conformance-writer.ts. */
  writer: string[];
  /** Runs before and after all tests. */
  start?(): Promise<void>;
  stop?(): Promise<void>;
}

const WRITER = fileURLToPath(new URL('./log-conformance-writer.ts', import.meta.url));

/** Starts the writer process; `acknowledged` resolves with the last offset once that many batches are in. */
export function startWriter(fixture: LogFixture, topic: string, until?: number) {
  const last = until === undefined ? [] : [String(until)];
  const child = startProgram(WRITER, ...fixture.writer, topic, ...last);
  const lines = createInterface({ input: child.stdout });
  let newest = -1;
  let count = 0;
  lines.on('line', (line) => {
    newest = Number(line);
    count++;
  });
  const ended = once(child, 'close');
  return {
    child,
    async acknowledged(batches: number): Promise<void> {
      while (count < batches) await Promise.race([once(lines, 'line'), ended.then(failEarly)]);
    },
    /** SIGKILL; resolves with the last offset that was acknowledged. */
    async kill(): Promise<number> {
      child.kill('SIGKILL');
      await ended;
      return newest;
    },
    async finished(): Promise<number> {
      await ended;
      return newest;
    },
  };
}

function failEarly(): never {
  throw new Error('the writer ended early');
}

export async function collect(log: EventLog, topic: string, from = 0, maxBytes?: number): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  const options = { signal: new AbortController().signal, stopAtEnd: true };
  for await (const batch of log.read(topic, from, maxBytes === undefined ? options : { ...options, maxBytes })) {
    records.push(...batch);
  }
  return records;
}

/** Every number from 0 once, in order, byte for byte. */
export async function expectNumbered(log: EventLog, topic: string): Promise<number> {
  let expected = 0;
  for await (const batch of log.read(topic, 0, { signal: new AbortController().signal, stopAtEnd: true })) {
    for (const record of batch) {
      const want = numberedRecord(expected);
      if (record.offset !== expected || record.key !== want.key || !record.value.equals(want.value)) {
        throw new Error(`offset ${record.offset} holds record ${record.key}, expected ${want.key}`);
      }
      expected++;
    }
  }
  return expected;
}

export function text(key: string, value = key, headers: Record<string, string> = {}): LogRecord {
  return { key, headers, value: Buffer.from(value) };
}

/** Blocks with made-up bytes: the log does not look into them. */
export function fakeStep(mcSeqno: number, shards: number, bytes = 100): LogRecord[] {
  return Array.from({ length: shards + 1 }, (_, index) => {
    const boc = Buffer.alloc(bytes, `${mcSeqno}/${index}`);
    const fileHash = hash('sha256', boc, 'buffer');
    const workchain = index === shards ? -1 : 0;
    return encodeBlockRecord({
      id: { workchain, shard: '8000000000000000', seqno: mcSeqno * 10 + index, rootHash: fileHash, fileHash },
      globalId: -239,
      mcSeqno,
      seal: index === shards ? shards + 1 : null,
      genUtime: 1_700_000_000 + mcSeqno,
      receivedAtMs: 1_700_000_000_000,
      source: 'file',
      boc,
    });
  });
}

async function collectSteps(log: EventLog, topic: string, from = 0) {
  const steps: Step[] = [];
  const duplicates: number[] = [];
  for await (const some of readSteps(log, topic, from, {
    signal: new AbortController().signal,
    stopAtEnd: true,
    onDuplicate: (_, offset) => duplicates.push(offset),
  })) {
    steps.push(...some);
  }
  return { steps, duplicates };
}

/** Holds an implementation to the text of log.ts; `more` adds its own tests while the fixture runs. */
export function describeEventLog(name: string, fixture: LogFixture, more?: () => void): void {
  describe(name, () => {
    let log: EventLog;
    beforeAll(async () => {
      await fixture.start?.();
      log = await fixture.open();
    });
    afterAll(async () => {
      await log?.close();
      await fixture.stop?.();
    });
    const context = {
      fixture,
      log: () => log,
      reopen: async () => {
        await log.close();
        log = await fixture.open();
      },
    };
    describeRecords(context);
    describeReading(context);
    describeStepsOnLog(context);
    describeCrash(context);
    more?.();
  });
}

interface Context {
  fixture: LogFixture;
  log(): EventLog;
  reopen(): Promise<void>;
}

function describeRecords({ log, reopen }: Context): void {
  it('answers for a topic that does not exist', async () => {
    expect(await log().end('none.v1')).toBe(0);
    expect(await log().low('none.v1')).toBe(0);
    expect(await log().get('none.v1', 0)).toBeNull();
    expect(await log().last('none.v1', 3)).toEqual([]);
    expect(await collect(log(), 'none.v1')).toEqual([]);
  });

  it('gives back what was appended, in order, with headers, after reopening too', async () => {
    const topic = 'records.v1';
    await log().ensureTopic(topic);
    await log().ensureTopic(topic);
    const before = Date.now();
    expect(await log().append(topic, [text('a', 'one', { x: '1', 'y-z': 'two words' }), text('b', '')])).toEqual({
      first: 0,
      last: 1,
    });
    expect(await log().append(topic, [text('c')])).toEqual({ first: 2, last: 2 });
    await reopen();
    const records = await collect(log(), topic);
    expect(records.map(({ offset, key, headers, value }) => [offset, key, headers, value.toString()])).toEqual([
      [0, 'a', { x: '1', 'y-z': 'two words' }, 'one'],
      [1, 'b', {}, ''],
      [2, 'c', {}, 'c'],
    ]);
    for (const { time } of records) {
      expect(time).toBeGreaterThanOrEqual(before);
      expect(time).toBeLessThanOrEqual(Date.now());
    }
    expect(await log().append(topic, [text('d')])).toEqual({ first: 3, last: 3 });
    expect((await log().get(topic, 1))?.key).toBe('b');
    expect(await log().get(topic, 4)).toBeNull();
    expect((await log().last(topic, 2)).map(({ key }) => key)).toEqual(['c', 'd']);
    expect(await log().end(topic)).toBe(4);
  });

  it('keeps the order of appends that are not awaited', async () => {
    const topic = 'order.v1';
    await log().ensureTopic(topic);
    const ranges = await Promise.all(
      Array.from({ length: 50 }, (_, n) => log().append(topic, [text(`${n}a`), text(`${n}b`)])),
    );
    expect(ranges).toEqual(Array.from({ length: 50 }, (_, n) => ({ first: 2 * n, last: 2 * n + 1 })));
    const keys = Array.from({ length: 50 }, (_, n) => [`${n}a`, `${n}b`]).flat();
    expect((await collect(log(), topic)).map(({ key }) => key)).toEqual(keys);
  });

  it('holds records of 12 and 16 MiB and refuses a larger one whole', async () => {
    const topic = 'large.v1';
    await log().ensureTopic(topic);
    const large = (mib: number, extra = 0): LogRecord => ({
      key: `${mib}`,
      headers: { mib: `${mib}` },
      value: noise(mib * 1024 * 1024 + extra),
    });
    const records = [large(12), text('between'), large(16)];
    expect(await log().append(topic, records)).toEqual({ first: 0, last: 2 });
    await expect(log().append(topic, [text('x'), large(16, 1)])).rejects.toMatchObject({ code: 'too_large' });
    const back = await collect(log(), topic);
    expect(back.map(({ key }) => key)).toEqual(['12', 'between', '16']);
    expect(back.every(({ value }, index) => value.equals(records[index].value))).toBe(true);
  });

  it('refuses a name that no topic can have', async () => {
    await expect(log().append('no topic', [])).rejects.toMatchObject({ code: 'topic_name' });
    await expect(log().end('..')).rejects.toMatchObject({ code: 'topic_name' });
  });

  it('drops what is trimmed and keeps the offsets of the rest', async () => {
    const topic = 'trim.v1';
    await log().ensureTopic(topic);
    await log().append(
      topic,
      Array.from({ length: 10 }, (_, n) => text(String(n))),
    );
    await log().trim(topic, 4);
    expect([await log().low(topic), await log().end(topic)]).toEqual([4, 10]);
    expect(await log().get(topic, 3)).toBeNull();
    expect((await collect(log(), topic, 4)).map(({ offset }) => offset)).toEqual([4, 5, 6, 7, 8, 9]);
    expect((await log().last(topic, 100)).length).toBe(6);
    await expect(collect(log(), topic, 3)).rejects.toMatchObject({ code: 'trimmed' });
    await expect(collect(log(), topic, 11)).rejects.toThrow(
      `topic ${topic} ends at offset 10, and was read up to 11 before: it was made anew`,
    );
    await log().trim(topic, 10);
    expect(await log().append(topic, [text('next')])).toEqual({ first: 10, last: 10 });
    await reopen();
    expect([await log().low(topic), await log().end(topic)]).toEqual([10, 11]);
  });

  it('finds the first record at or after a time', async () => {
    const topic = 'time.v1';
    await log().ensureTopic(topic);
    for (let n = 0; n < 4; n++) {
      await log().append(topic, [text(String(n))]);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const times = (await collect(log(), topic)).map(({ time }) => time);
    for (const unixMs of [0, times[0], times[1], times[1] + 1, times[3], times[3] + 1]) {
      const first = times.findIndex((time) => time >= unixMs);
      expect(await log().offsetAt(topic, unixMs), String(unixMs - times[0])).toBe(first < 0 ? 4 : first);
    }
  });

  it('notes progress without touching the records', async () => {
    const topic = 'progress.v1';
    await log().ensureTopic(topic);
    await log().append(topic, [text('a'), text('b')]);
    await log().noteProgress('projector', topic, 1);
    await log().noteProgress('projector', topic, 2);
    expect(await log().end(topic)).toBe(2);
  });
}

function describeReading({ fixture, log, reopen }: Context): void {
  it('bounds a batch by bytes and lets the consumer set the pace', async () => {
    const topic = 'pace.v1';
    await log().ensureTopic(topic);
    const size = 256 * 1024;
    for (let n = 0; n < 20; n++) {
      await log().append(
        topic,
        Array.from({ length: 8 }, (_, i) => ({ ...text(`${n}/${i}`), value: noise(size) })),
      );
    }
    const before = await bytesInUse();
    let peak = 0;
    let count = 0;
    const signal = new AbortController().signal;
    for await (const batch of log().read(topic, 0, { signal, stopAtEnd: true, maxBytes: 1024 * 1024 })) {
      expect(batch.reduce((sum, { value }) => sum + value.length, 0)).toBeLessThanOrEqual(1024 * 1024);
      count += batch.length;
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (count % 40 === 0) peak = Math.max(peak, (await bytesInUse()) - before);
    }
    expect(count).toBe(160);
    // 40 MB go through; a reader that fetches ahead of a slow consumer would hold them.
    expect(peak).toBeLessThan(16 * 1024 * 1024);
  });

  it('gives a record larger than maxBytes alone', async () => {
    const topic = 'alone.v1';
    await log().ensureTopic(topic);
    await log().append(topic, [text('a'), { ...text('b'), value: noise(100_000) }, text('c')]);
    const batches: string[][] = [];
    const signal = new AbortController().signal;
    for await (const batch of log().read(topic, 0, { signal, stopAtEnd: true, maxBytes: 50 })) {
      batches.push(batch.map(({ key }) => key));
    }
    expect(batches).toEqual([['a'], ['b'], ['c']]);
  });

  it('waits at the end for records of this process and of another, until aborted', async () => {
    const topic = 'wait.v1';
    await log().ensureTopic(topic);
    await log().append(topic, [text('first')]);
    const reader = await fixture.open();
    const abort = new AbortController();
    const iterator = reader.read(topic, 0, { signal: abort.signal })[Symbol.asyncIterator]();
    const keys = async () => (await iterator.next()).value?.map(({ key }: StoredRecord) => key);
    expect(await keys()).toEqual(['first']);
    const second = keys();
    await log().append(topic, [text('second')]);
    expect(await second).toEqual(['second']);
    const end = iterator.next();
    abort.abort();
    expect(await end).toEqual({ done: true, value: undefined });
    await reader.close();

    await reopen();
    const other = 'wait-process.v1';
    await log().ensureTopic(other);
    const seen = new AbortController();
    const batches = log().read(other, 0, { signal: seen.signal });
    const child = startWriter(fixture, other, 99);
    let expected = 0;
    for await (const batch of batches) {
      for (const record of batch) expect(record.key).toBe(String(expected++));
      if (expected === 100) break;
    }
    expect(await child.finished()).toBe(99);
  });

  it('ends a read when the log is closed, and refuses calls after it', async () => {
    const topic = 'closing.v1';
    const other = await fixture.open();
    await other.ensureTopic(topic);
    const iterator = other.read(topic, 0, { signal: new AbortController().signal })[Symbol.asyncIterator]();
    const next = iterator.next();
    const appended = other.append('order.v1', [text('last')]);
    await other.close();
    expect((await next).done).toBe(true);
    expect((await appended).first).toBe(100);
    await expect(other.append(topic, [text('x')])).rejects.toMatchObject({ code: 'closed' });
    await expect(other.end(topic)).rejects.toMatchObject({ code: 'closed' });
  });
}

function describeStepsOnLog({ log }: Context): void {
  it('reads whole sealed steps from any of them and finds them by seqno', async () => {
    const topic = 'steps-whole.v1';
    await log().ensureTopic(topic);
    const seqnos = Array.from({ length: 60 }, (_, index) => 100 + index + (index > 30 ? 5 : 0));
    await log().append(
      topic,
      seqnos.flatMap((seqno) => fakeStep(seqno, seqno % 4)),
    );
    await log().append(topic, fakeStep(200, 2).slice(0, 2));
    const { steps } = await collectSteps(log(), topic);
    expect(steps.map(({ mcSeqno }) => mcSeqno)).toEqual(seqnos);
    expect(steps.every(({ blocks, masterBlock, mcSeqno }) => blocks.length === (mcSeqno % 4) + 1 && masterBlock)).toBe(
      true,
    );
    for (const step of steps) expect(await offsetOfStep(log(), topic, step.mcSeqno)).toBe(step.firstOffset);
    for (const seqno of [99, 133, 201]) expect(await offsetOfStep(log(), topic, seqno)).toBeNull();
    const again = await collectSteps(log(), topic, steps[41].nextOffset);
    expect(again.steps.map(({ mcSeqno }) => mcSeqno)).toEqual(seqnos.slice(42));
    const head = await lastSealed(log(), topic);
    expect(head.sealed).toMatchObject({ mcSeqno: seqnos.at(-1), nextOffset: steps.at(-1)?.nextOffset });
    expect(head.tail.map(({ id }) => id.seqno)).toEqual([2000, 2001]);
  });

  it('drops the second copy of an append repeated after a lost acknowledgement', async () => {
    const topic = 'steps-twice.v1';
    await log().ensureTopic(topic);
    const one = fakeStep(1, 2);
    const two = fakeStep(2, 3);
    await log().append(topic, [...one, ...one, ...two.slice(0, 2)]);
    await log().append(topic, [...two, ...one.slice(1), ...fakeStep(3, 0)]);
    const { steps, duplicates } = await collectSteps(log(), topic);
    expect(steps.map(({ mcSeqno, blocks }) => [mcSeqno, blocks.length])).toEqual([
      [1, 3],
      [2, 4],
      [3, 1],
    ]);
    expect(duplicates).toEqual([3, 4, 5, 8, 9, 12, 13]);
    expect((await collectSteps(log(), topic, steps[0].nextOffset)).steps.map(({ mcSeqno }) => mcSeqno)).toEqual([2, 3]);
    expect((await lastSealed(log(), topic)).sealed?.mcSeqno).toBe(3);
  });
}

function describeCrash({ fixture, log, reopen }: Context): void {
  it('loses nothing and doubles nothing when the writer is killed under load', async () => {
    const topic = 'killed-writer.v1';
    await log().ensureTopic(topic);
    for (let round = 0; round < rounds(2, 4); round++) {
      const writer = startWriter(fixture, topic);
      await writer.acknowledged(10);
      const acknowledged = await writer.kill();
      expect(await log().end(topic)).toBeGreaterThan(acknowledged);
      expect(await expectNumbered(log(), topic)).toBe(await log().end(topic));
    }
    await reopen();
    expect(await expectNumbered(log(), topic)).toBe(await log().end(topic));
  });
}

/** Bytes of buffers that are still referenced. */
/** The least of several looks: buffers that a collection finds unused are given back by another thread, a moment later. */
async function bytesInUse(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let looks = 0; looks < 4; looks++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 5));
    least = Math.min(least, process.memoryUsage().arrayBuffers);
  }
  return least;
}

/** Bytes that do not compress. */
export function noise(bytes: number): Buffer {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let x = 2463534242 ^ bytes;
  for (let index = 0; index < words.length; index++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    words[index] = x;
  }
  return Buffer.from(words.buffer, 0, bytes);
}
