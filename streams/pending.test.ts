import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Address, beginCell, external, storeMessage } from '@ton/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readExternalMessage } from '../src/chain/external-message.ts';
import { openEmbeddedLog } from './embedded.ts';
import type { EventLog } from './log.ts';
import { createPendingWriter } from './pending.ts';
import { decodePendingRecord } from './pending-record.ts';
import { topicNames } from './topics.ts';

const topic = topicNames().pending;
let folder: string;
let log: EventLog;
let reported: unknown[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pending-'));
  log = openEmbeddedLog({ folder });
  reported = [];
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

const report = (error: unknown): void => void reported.push(error);

function message(n: number) {
  const body = beginCell().storeUint(n, 32).endCell();
  const sent = external({ to: new Address(0, Buffer.alloc(32, 1)), body });
  const boc = beginCell().store(storeMessage(sent)).endCell().toBoc();
  return { ...readExternalMessage(boc), boc };
}

test('what was noted is read again, once', async () => {
  const writer = createPendingWriter({ log, topic, report });
  expect(await writer.note(message(1))).toBe('noted');
  expect(await writer.note(message(2))).toBe('noted');
  expect(await writer.note(message(1))).toBe('known');
  writer.close();
  const records = await log.last(topic, 10);
  expect(records.map((record) => decodePendingRecord(record, topic))).toEqual([
    { ...message(1), offset: 0, time: expect.any(Number) },
    { ...message(2), offset: 1, time: expect.any(Number) },
  ]);
  const [first] = records;
  expect(() => decodePendingRecord({ ...first, value: message(2).boc }, topic)).toThrow('key');
  expect(() => decodePendingRecord({ ...first, value: Buffer.from('x') }, topic)).toThrow('value');
  expect(() => decodePendingRecord({ ...first, headers: { v: '2' } }, topic)).toThrow('version');
});

test('keeps no more records than it may', async () => {
  const writer = createPendingWriter({ log, topic, report, maxRecords: 3, trimEveryMs: 20 });
  for (let n = 0; n < 10; n++) await writer.note(message(n));
  await expect.poll(() => log.low(topic)).toBe(7);
  writer.close();
  expect(await log.last(topic, 100)).toHaveLength(3);
  expect(reported).toEqual([]);
});

test('a log that fails or hangs costs the record, is told of, and is tried again', async () => {
  let append: EventLog['append'] = () => Promise.reject(new Error('full'));
  const failing = { ...log, append: (...words: Parameters<EventLog['append']>) => append(...words) };
  const writer = createPendingWriter({ log: failing, topic, report, patienceMs: 1_000 });
  expect(await writer.note(message(1))).toBe('failed');
  expect(reported).toEqual([new Error('full')]);
  append = () => new Promise(() => undefined);
  expect(await writer.note(message(2))).toBe('late');
  append = log.append;
  expect(await writer.note(message(1))).toBe('noted');
  writer.close();
});
