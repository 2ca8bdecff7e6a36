import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Address, beginCell, external, storeMessage } from '@ton/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import type { EventLog } from '../../streams/log.ts';
import { createPendingWriter } from '../../streams/pending.ts';
import { topicNames } from '../../streams/topics.ts';
import { readExternalMessage } from '../chain/external-message.ts';
import { createSentMessages } from './sent-messages.ts';

const topic = topicNames().pending;
const { signal } = new AbortController();
let folder: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sent-'));
  log = openEmbeddedLog({ folder });
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

/** With an import fee: the normal form has none, so its hash is another one. */
function message(n: number) {
  const body = beginCell().storeUint(n, 32).endCell();
  const sent = { ...external({ to: new Address(0, Buffer.alloc(32, 1)), body }) };
  const info = { ...sent.info, importFee: 5n };
  const boc = beginCell()
    .store(storeMessage({ ...sent, info }))
    .endCell()
    .toBoc();
  return { ...readExternalMessage(boc), boc };
}

it('finds a message by both its hashes, also one that was sent after it was asked for', async () => {
  const writer = createPendingWriter({ log, topic, report: (error) => expect.fail(String(error)) });
  const sent = createSentMessages({ log, topic });
  const [early, late] = [message(1), message(2)];
  expect(early.hash.equals(early.hashNorm)).toBe(false);
  expect(await sent.sentAt(early.hash, signal)).toBeNull();
  const before = Date.now();
  await writer.note(early);
  const time = await sent.sentAt(early.hash, signal);
  expect(time).toBeGreaterThanOrEqual(before);
  expect(await sent.sentAt(early.hashNorm, signal)).toBe(time);
  expect(await sent.sentAt(late.hash, signal)).toBeNull();
  await writer.note(late);
  const both = await Promise.all([late.hash, early.hash].map((hash) => sent.sentAt(hash, signal)));
  expect(both).toEqual([expect.any(Number), time]);
  writer.close();
});

it('knows the normal form of a message by the hash that it was sent with, and of no other', async () => {
  const writer = createPendingWriter({ log, topic, report: (error) => expect.fail(String(error)) });
  const sent = createSentMessages({ log, topic });
  const [one, other] = [message(1), message(2)];
  await writer.note(one);
  expect(await sent.normOf(one.hash, signal)).toEqual(one.hashNorm);
  expect(await sent.normOf(one.hashNorm, signal)).toBeNull();
  expect(await sent.normOf(other.hash, signal)).toBeNull();
  writer.close();
});

/** The log, its ends asked for through `end`. */
const withEnd = (end: (own: () => Promise<number>) => Promise<number>): EventLog => ({
  ...log,
  end: (name) => end(() => log.end(name)),
});

it('asks the topic for the normal form of a message that it does not know, and of no other', async () => {
  const writer = createPendingWriter({ log, topic, report: (error) => expect.fail(String(error)) });
  const ends = vi.fn((own: () => Promise<number>) => own());
  const sent = createSentMessages({ log: withEnd(ends), topic });
  const [one, other] = [message(1), message(2)];
  await writer.note(one);
  expect(await sent.normOf(one.hash, signal)).toEqual(one.hashNorm);
  expect(ends).toHaveBeenCalledTimes(1);
  expect(await sent.normOf(one.hash, signal)).toEqual(one.hashNorm);
  expect(await sent.normOf(one.hashNorm, signal)).toBeNull();
  expect(ends).toHaveBeenCalledTimes(1);
  expect(await sent.normOf(other.hash, signal)).toBeNull();
  expect(ends).toHaveBeenCalledTimes(2);
  writer.close();
});

it('knows what was sent before it was asked, also while the topic is read for others', async () => {
  const writer = createPendingWriter({ log, topic, report: (error) => expect.fail(String(error)) });
  let go = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  let onLooked = (): void => undefined;
  const looked = new Promise<void>((resolve) => {
    onLooked = resolve;
  });
  const ends = vi.fn(async (own: () => Promise<number>) => {
    const end = await own();
    onLooked();
    await held;
    return end;
  });
  const sent = createSentMessages({ log: withEnd(ends), topic });
  const [early, late] = [message(1), message(2)];
  const first = sent.sentAt(early.hash, signal);
  await looked;
  await writer.note(late);
  const asked = [sent.sentAt(late.hash, signal), sent.sentAt(late.hashNorm, signal), sent.normOf(late.hash, signal)];
  go();
  expect(await first).toBeNull();
  expect(await Promise.all(asked)).toEqual([expect.any(Number), expect.any(Number), late.hashNorm]);
  // One more reading for all three.
  expect(ends).toHaveBeenCalledTimes(2);
  writer.close();
});

it('counts a message as sent anew when its first sending is older than what the topic keeps', async () => {
  // Hosts of their own: neither knows what the other has sent.
  const [writer, later] = [1, 2].map(() =>
    createPendingWriter({ log, topic, report: (error) => expect.fail(String(error)) }),
  );
  const sent = createSentMessages({ log, topic });
  const one = message(1);
  const first = Date.now();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(first);
  try {
    await writer.note(one);
    expect(await sent.sentAt(one.hash, signal)).toBe(first);
    clock.mockReturnValue(first + 2 * 3_600_000);
    expect(await sent.sentAt(one.hash, signal)).toBeNull();
    await later.note(one);
    expect(await sent.sentAt(one.hash, signal)).toBe(first + 2 * 3_600_000);
    expect(await sent.normOf(one.hash, signal)).toEqual(one.hashNorm);
  } finally {
    clock.mockRestore();
    writer.close();
    later.close();
  }
});

it('keeps the newest messages only, and goes on behind what was trimmed', async () => {
  const writer = createPendingWriter({ log, topic, report: (error) => expect.fail(String(error)) });
  const sent = createSentMessages({ log, topic, maxMessages: 2 });
  const messages = [1, 2, 3, 4].map(message);
  for (const one of messages.slice(0, 3)) await writer.note(one);
  const known = async () =>
    (await Promise.all(messages.map(({ hash }) => sent.sentAt(hash, signal)))).map((time) => time !== null);
  expect(await known()).toEqual([false, true, true, false]);
  await writer.note(messages[3]);
  await log.trim(topic, 4);
  const [, , third, fourth] = await known();
  // The fourth is gone from the topic before it was read.
  expect([third, fourth]).toEqual([true, false]);
  writer.close();
});

it('rejects with the reason of who does not wait any more', async () => {
  const sent = createSentMessages({ log, topic });
  await expect(sent.sentAt(message(1).hash, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
});
