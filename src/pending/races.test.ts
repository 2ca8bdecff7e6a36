/**
 * Messages that race, blocks that are replaced, messages that come late, and a tracker that is killed again and again:
 * whatever happens, each message has one end, and it is the chain's.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PendingChange } from '../../streams/pending-trace.ts';
import { random, rounds } from '../../test/chance.ts';
import {
  expectOrder,
  keyOfMessage,
  levelOf,
  openPendingDevnet,
  type PendingDevnet,
  type SentMessage,
  SIGNAL,
  signedOf,
  storiesOf,
} from '../../test/pending-devnet.ts';
import { createPendingStore, type PendingEvent, type PendingStore } from './store.ts';
import type { Tracker } from './tracker.ts';

const STEPS = rounds(24, 150);
const QUIET = 4;
/** One of so many steps sees the tracker killed, a block replaced, a message that comes behind its step. */
const KILLED = 4;
const REPLACED = 3;
const LATE = 6;

class Killed extends Error {}

let net: PendingDevnet;
beforeAll(async () => {
  net = await openPendingDevnet(`races ${random(1_000_000)}`, 4, { races: true, rests: (seqno) => seqno > STEPS });
});
afterAll(() => net?.close());

/** A tracker that dies when it appends, before the topic has it or after, once it is told to. */
function createMortal() {
  let dies: 'before' | 'after' | null = null;
  let [tracker, store] = open();
  const all: SentMessage[] = [];

  function open(): [Tracker, PendingStore] {
    const store = createPendingStore();
    let mcSeqno = 0;
    for (const stored of net.told) {
      store.apply(stored.change, false);
      mcSeqno = Math.max(mcSeqno, stored.mcSeqno);
    }
    const die = (when: 'before' | 'after') => (): void => {
      if (dies === when) throw new Killed();
    };
    const opened = net.openTracker({
      store,
      ...(mcSeqno > 0 ? { mcSeqno } : {}),
      beforeAppend: die('before'),
      afterAppend: die('after'),
      report: (error) => {
        if (!(error instanceof Killed)) throw error;
      },
    });
    return [opened.tracker, store];
  }

  /** What it does; when it dies of it, another goes on from the topic. */
  async function live(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
    if (dies === null) return;
    dies = null;
    [tracker, store] = open();
    const head = net.devnet.chain.head().mc.seqno;
    while (tracker.mcSeqno < head) await tracker.step(tracker.mcSeqno + 1, SIGNAL);
    await net.passOn(
      tracker,
      all.filter(({ time }) => time > net.nowMs - 60_000),
    );
  }

  return {
    get store() {
      return store;
    },
    all,
    kill() {
      dies = random(2) === 0 ? 'before' : 'after';
    },
    step: (seqno: number) =>
      live(async () => {
        await tracker.step(seqno, SIGNAL);
        await tracker.retry(SIGNAL);
      }),
    signed: (block: Parameters<typeof signedOf>[0]) => live(() => tracker.signed(signedOf(block), SIGNAL)),
    hear: (messages: readonly SentMessage[]) => {
      all.push(...messages);
      return live(() => net.passOn(tracker, messages));
    },
    expire: () => live(() => tracker.expire(SIGNAL)),
  };
}

const kindOf = (change: PendingChange | undefined): string =>
  change?.kind === 'trace' ? `level ${levelOf(change.trace)}` : (change?.kind ?? 'nothing');

it('brings every message to the one end that the chain gives it, whatever races and dies', async () => {
  await net.nextStep();
  const mortal = createMortal();
  let late: SentMessage[] = [];
  net.sent = [];
  for (let n = 0; n < STEPS + QUIET; n++) {
    if (random(KILLED) === 0) mortal.kill();
    await mortal.step(await net.nextStep());
    await mortal.hear(late);
    const sent = net.sent.splice(0);
    late = sent.filter(() => random(LATE) === 0);
    await mortal.hear(sent.filter((one) => !late.includes(one)));
    for (const block of net.collate()) await mortal.signed(block);
    if (random(REPLACED) === 0) for (const block of net.collate(random(4))) await mortal.signed(block);
    await mortal.expire();
  }
  await mortal.hear(late);
  // Long enough for what never comes, and once more for what is complete.
  for (let n = 0; n < 2; n++) {
    const { mc } = net.devnet.chain.produce((net.nowMs + 31_000) / 1000);
    await mortal.step(mc.seqno);
    await mortal.expire();
  }
  expect(mortal.store.size).toBe(0);

  const stories = storiesOf(net.told);
  const received = net.received();
  const ends: Record<string, number> = {};
  for (const message of mortal.all) {
    const key = keyOfMessage(message);
    const story = stories.get(key) ?? [];
    const last = story.filter(({ kind }) => kind !== 'ended').at(-1);
    // One that came behind the step that has it is not told of as pending: the index tells of it.
    const came = kindOf(last);
    expect(came, key).toBe(received.has(key) ? (story.length === 0 ? 'nothing' : 'level 2') : 'invalidated');
    const end = last?.kind === 'invalidated' ? last.reason : came;
    ends[end] = (ends[end] ?? 0) + 1;
  }
  process.stdout.write(`pending: ${mortal.all.length} messages, ${JSON.stringify(ends)}\n`);
  expect(ends['level 2']).toBeGreaterThan(0);
  expect(ends.superseded).toBeGreaterThan(0);
  expect(ends.expired).toBeGreaterThan(0);
  expectOrder(new Map([...stories].filter(([key]) => key !== 'levels')));

  // Whoever follows the topic is told the same: each trace in order, one end, and nothing of what was there before.
  const heard = new Map<string, PendingEvent[]>();
  const listener = createPendingStore();
  listener.onEvent((event) => {
    const hash = (event.kind === 'trace' ? event.trace.trace.hashNorm : event.hashNorm).toString('hex');
    heard.set(hash, [...(heard.get(hash) ?? []), event]);
  });
  for (const { change } of net.told) listener.apply(change, true);
  for (const [key, events] of heard) {
    const last = events[events.length - 1];
    const isFinal = last.kind === 'trace' && last.trace.finality === 'finalized';
    expect(isFinal, key).toBe(received.has(key));
    expect(events.filter(({ kind }) => kind === 'invalidated').length, key).toBe(isFinal ? 0 : 1);
    if (events[0].kind === 'trace') expect(events[0].before).toBe(null);
  }
});
