import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPush, type PushOptions } from './push.ts';

const OPTIONS: PushOptions = { maxListeners: 3, beatMs: 1_000, stallMs: 3_000 };

/** A reader that takes nothing until `take`, and has room for `room` bytes. */
function reader(room = 1_000_000) {
  let text = '';
  let take: (() => void) | null = null;
  let held = false;
  const sink = new Writable({
    highWaterMark: room,
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      text += chunk;
      if (held) take = done;
      else done();
    },
  });
  const events = () =>
    text
      .split('\n\n')
      .filter((part) => part !== '' && !part.includes('event: beat'))
      .map((part) => /event: (.*)\ndata: (.*)/.exec(part)?.slice(1, 3));
  return {
    sink,
    events,
    text: () => text,
    hold() {
      held = true;
    },
    take() {
      held = false;
      take?.();
      take = null;
    },
  };
}

/** Streams say `drain` and `close` in the next turn of the event loop. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('push', () => {
  it('writes events as the HTML standard has them', () => {
    const push = createPush(OPTIONS);
    const { sink, text } = reader();
    push.join(sink);
    push.publish('chain', { text: 'a\nb\r\n\nevent: forged' });
    const last = text().slice(text().indexOf('id:'));
    expect(last).toBe('id: 1\nevent: chain\ndata: {"text":"a\\nb\\r\\n\\nevent: forged"}\n\n');
  });

  it('sends who joins the newest of every kind, once', () => {
    const push = createPush(OPTIONS);
    for (const n of [1, 2, 3]) push.publish('chain', n);
    push.publish('status', 7);
    const { sink, events } = reader();
    push.join(sink);
    expect(events()).toEqual([
      ['chain', '3'],
      ['status', '7'],
    ]);
  });

  it('takes no more listeners than allowed, and another when one has left', async () => {
    const counts: number[] = [];
    const push = createPush({ ...OPTIONS, onListeners: (count) => counts.push(count) });
    const readers = [reader(), reader(), reader()];
    for (const { sink } of readers) expect(push.join(sink)).toBe(true);
    expect(push.open).toBe(false);
    const late = reader();
    expect(push.join(late.sink)).toBe(false);
    expect(late.text()).toBe('');
    readers[0].sink.destroy();
    await settle();
    expect(push.join(late.sink)).toBe(true);
    expect(counts).toEqual([1, 2, 3, 2, 3]);
  });

  it('leaves out of a slow reader what is old, and keeps nothing else for it', async () => {
    const push = createPush(OPTIONS);
    const slow = reader(200);
    const quick = reader();
    push.join(slow.sink);
    push.join(quick.sink);
    slow.hold();
    for (let n = 0; n < 1_000; n++) {
      push.publish('chain', { n, filler: 'x'.repeat(100) });
      push.publish('status', n);
    }
    expect(quick.events()).toHaveLength(2_000);
    expect(slow.sink.writableLength).toBeLessThan(600);
    slow.take();
    await settle();
    const events = slow.events();
    expect(events.length).toBeLessThan(8);
    expect(events).toContainEqual(['chain', expect.stringContaining('"n":999')]);
    expect(events).toContainEqual(['status', '999']);
  });

  it('drops a reader that takes nothing for long, and no other', async () => {
    const push = createPush(OPTIONS);
    const dead = reader(10);
    const quick = reader();
    push.join(quick.sink);
    dead.hold();
    push.join(dead.sink);
    push.publish('chain', 'x'.repeat(100));
    vi.advanceTimersByTime(OPTIONS.stallMs - 1);
    await settle();
    expect(dead.sink.destroyed).toBe(false);
    vi.advanceTimersByTime(OPTIONS.beatMs);
    await settle();
    expect(dead.sink.destroyed).toBe(true);
    expect(quick.sink.destroyed).toBe(false);
    expect(push.listeners).toBe(1);
  });

  it('lets a listener know that the line is alive', () => {
    vi.setSystemTime(5_000_000);
    const push = createPush(OPTIONS);
    const { sink, text } = reader();
    push.join(sink);
    vi.advanceTimersByTime(2 * OPTIONS.beatMs);
    expect([...text().matchAll(/event: beat\ndata: (.*)\n\n/g)].map(([, data]) => data)).toEqual([
      '{"now":5000000}',
      '{"now":5001000}',
      '{"now":5002000}',
    ]);
  });

  it('outlives a line that breaks', async () => {
    const push = createPush(OPTIONS);
    const { sink } = reader();
    push.join(sink);
    sink.destroy(new Error('EPIPE'));
    await settle();
    expect(push.listeners).toBe(0);
    push.publish('chain', 1);
  });

  it('ends everybody on close and takes no more', async () => {
    const counts: number[] = [];
    const push = createPush({ ...OPTIONS, onListeners: (count) => counts.push(count) });
    const quick = reader();
    const dead = reader(10);
    push.join(quick.sink);
    dead.hold();
    push.join(dead.sink);
    push.publish('chain', 'x'.repeat(100));
    push.close();
    await settle();
    expect(quick.sink.writableFinished).toBe(true);
    expect(dead.sink.destroyed).toBe(true);
    expect(push.join(reader().sink)).toBe(false);
    expect(counts).toEqual([1, 2, 1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
