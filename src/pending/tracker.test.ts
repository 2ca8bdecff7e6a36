import { Address } from '@ton/core';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { decodeStates } from '../../clickhouse/states.ts';
import { rounds } from '../../test/chance.ts';
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
import { createPendingWallets, type PendingWallets } from '../../test/pending-wallets.ts';
import { hashKey } from '../chain/hash.ts';
import { NodeError } from '../node/chain-node.ts';
import { markOf } from './merge.ts';

let net: PendingDevnet;
let wallets: PendingWallets;
beforeAll(async () => {
  net = await openPendingDevnet('pending', 5);
  wallets = createPendingWallets(net);
});
afterAll(() => net?.close());
beforeEach(() => net.begin());

/** In which the traffic sends. */
const STEPS = rounds(8, 60);

it('tells every sent message as pending, confirmed and finalized, as the chain has it at last', async () => {
  await net.nextStep();
  await net.warm();
  const { tracker, store } = net.openTracker();
  net.sent = [];
  let all: SentMessage[] = [];
  for (let n = 0; n < STEPS; n++) {
    await tracker.step(await net.nextStep(), SIGNAL);
    all = [...all, ...(await net.passOn(tracker))];
    for (const block of net.collate()) await tracker.signed(signedOf(block), SIGNAL);
  }
  for (let n = 0; n < 2; n++) {
    await tracker.step(await net.nextStep(), SIGNAL);
    net.sent = [];
  }
  const stories = storiesOf(net.told);
  expect(stories.size).toBe(all.length);
  expect(stories.size).toBeGreaterThan(20);
  expectOrder(stories);
  const levels = [...stories.values()].map((story) =>
    story.map((change) => (change.kind === 'trace' ? levelOf(change.trace) : -1)),
  );
  expect(levels.filter((one) => one.includes(1)).length).toBeGreaterThan(stories.size / 2);
  const real = net.transactions();
  for (const { nodes } of store.all()) {
    expect(nodes.every(({ transaction: { hash } }) => real.has(hashKey(hash)))).toBe(true);
  }
  const [same = 0, near = 0, other = 0] = ['same', 'near', 'other'].map((likeness) => net.counts.get(likeness));
  process.stdout.write(
    `pending: ${stories.size} traces came true; that raced none: ${same} as emulated, ${near + other} not\n`,
  );
  expect(same).toBeGreaterThan(20);
  expect(near + other).toBeLessThanOrEqual((same + near + other) * 0.01);
  // In a long run the first ones have had their time.
  await tracker.expire(SIGNAL);
  // A store that begins with the topic shows the same, and a tracker over it has nothing to add.
  const again = net.openTracker();
  for (const { change } of net.told) again.store.apply(change, false);
  const before = net.told.length;
  expect([...again.store.all()].map(({ trace }) => trace)).toEqual([...store.all()].map(({ trace }) => trace));
  await again.tracker.step(net.devnet.chain.head().mc.seqno, SIGNAL);
  await net.passOn(again.tracker, all);
  expect(net.told.length).toBe(before);
  // By the clock of the chain: while it stands still nothing ends.
  net.nowMs += 31_000;
  await tracker.expire(SIGNAL);
  expect(net.told.length).toBe(before);
  await net.later(tracker, 0);
  await tracker.expire(SIGNAL);
  expect(store.size).toBe(0);
  expect(net.told.slice(before).every(({ change: { kind } }) => kind === 'ended')).toBe(true);
  // Of what has ended nothing is told again, not even after a start.
  const anew = net.openTracker();
  for (const { change } of net.told) anew.store.apply(change, false);
  const after = net.told.length;
  await net.passOn(
    anew.tracker,
    all.map((one) => ({ ...one, time: net.nowMs })),
  );
  expect(net.told.length).toBe(after);
  expect(net.counts.get('known')).toBeGreaterThanOrEqual(all.length);
});

it('tells what a step makes of a trace by what contracts are behind that step, not before it', async () => {
  const asked: number[] = [];
  const { tracker } = net.openTracker({
    async classify(_trace, _emulated, mcSeqno) {
      asked.push(mcSeqno);
      return { state: 'ok', actions: [] };
    },
  });
  const before = tracker.mcSeqno;
  const [boc] = wallets.rivals();
  net.sent = [{ boc, time: net.nowMs }];
  await net.passOn(tracker);
  await tracker.step(await net.nextStep(), SIGNAL);
  expect(asked).toEqual([before, before + 1]);
});

it('tells of two messages for one seqno one as final and one as superseded, and of a lost one that it is invalid', async () => {
  const { tracker, store } = net.openTracker();
  const [first, rival] = wallets.rivals();
  net.sent = [first, rival].map((boc) => ({ boc, time: net.nowMs }));
  await net.passOn(tracker);
  expect(store.size).toBe(2);
  for (let n = 0; n < 2; n++) await tracker.step(await net.nextStep(), SIGNAL);
  const stories = storiesOf(net.told);
  expectOrder(stories);
  const ends = [...stories.values()].map((story) => {
    const last = story[story.length - 1];
    return last.kind === 'invalidated'
      ? last.reason
      : last.kind === 'trace'
        ? `level ${levelOf(last.trace)}`
        : last.kind;
  });
  expect(ends.sort()).toEqual(['level 2', 'superseded']);

  const lost = wallets.lostOrder(net.nowMs / 1000 + 40);
  const message = { boc: lost, time: net.nowMs };
  net.sent = [message];
  await net.passOn(tracker);
  await net.later(tracker, 0);
  const kinds = () => (storiesOf(net.told).get(keyOfMessage(message)) ?? []).map(({ kind }) => kind);
  await net.later(tracker, 31_000);
  await tracker.expire(SIGNAL);
  // Its account would still take it.
  expect(kinds()).toEqual(['trace']);
  await net.later(tracker, 10_000);
  await tracker.expire(SIGNAL);
  expect(kinds()).toEqual(['trace', 'invalidated']);
});

it('ends what has had its time though the index cannot be asked what became of others', async () => {
  let isAway = false;
  const { tracker, store } = net.openTracker({
    beforeLookup() {
      if (isAway) throw new Error('the index does not answer');
    },
  });
  const [order, second] = wallets.ordersInARow().map((boc) => ({ boc, time: net.nowMs }));
  // Nothing is known of the one that it waits behind.
  await net.passOn(tracker, [second]);
  await net.passOn(tracker, [order]);
  for (let n = 0; n < 2; n++) await tracker.step(await net.nextStep(), SIGNAL);
  const kindsOf = (message: SentMessage) =>
    storiesOf(net.told)
      .get(keyOfMessage(message))
      ?.map(({ kind }) => kind);
  expect([kindsOf(second), store.size]).toEqual([undefined, 1]);
  await net.later(tracker, 31_000);
  isAway = true;
  await expect(tracker.expire(SIGNAL)).rejects.toThrow('the index does not answer');
  expect([kindsOf(order)?.at(-1), kindsOf(second), store.size]).toEqual(['ended', undefined, 0]);
  isAway = false;
  await tracker.expire(SIGNAL);
  expect(kindsOf(second)).toEqual(['invalidated']);
});

it('tells of what a signed block has the states before, which that does not show, as they were emulated', async () => {
  const { tracker, store } = net.openTracker();
  const [order] = wallets.ordersInARow();
  await net.passOn(tracker, [{ boc: order, time: net.nowMs }]);
  const root = () => [...store.all()][0].nodes[0];
  const emulated = root();
  for (const block of net.collate()) await tracker.signed(signedOf(block), SIGNAL);
  const { node, transaction } = root();
  expect([node.finality, transaction.stateBefore]).toEqual(['confirmed', emulated.transaction.stateBefore]);
  const { before } = decodeStates(emulated.node.states);
  expect(before).toMatchObject({ status: 'active', balance: expect.stringMatching(/^[1-9]/) });
  expect(decodeStates(node.states).before).toEqual(before);
});

it('holds what waits behind a message of a signed block, whatever step comes before that block', async () => {
  const { tracker, store } = net.openTracker();
  const orders = wallets.ordersInARow();
  const messages = orders.map((boc) => ({ boc, time: net.nowMs }));
  await net.passOn(tracker, messages.slice(0, 2));
  const own = net.devnet.chain.head().mc.seqno;
  const next = net.quietStep();
  // The second is in a signed block before anybody has looked at the step that has the first.
  expect(net.devnet.chain.submit(orders[1]).accepted).toBe(true);
  for (const block of net.collate()) await tracker.signed(signedOf(block), SIGNAL);
  // One that is sent now waits behind it.
  await net.passOn(tracker, messages.slice(2));
  expect([next, store.size]).toEqual([own + 1, 3]);
  await tracker.step(next, SIGNAL);
  await net.later(tracker, 2_000);
  expect(net.devnet.chain.submit(orders[2])).toMatchObject({ accepted: true });
  for (let n = 0; n < 2; n++) await net.later(tracker, 1_000);
  const stories = storiesOf(net.told);
  expectOrder(stories);
  for (const message of messages) {
    expect(stories.get(keyOfMessage(message))?.map(({ kind }) => kind)).not.toContain('invalidated');
  }
});

it('tells one end of what comes long after it was sent, and of what never does when nodes have forgotten it', async () => {
  const { tracker } = net.openTracker();
  const message = { boc: wallets.lostOrder(net.nowMs / 1000 + 6_000), time: net.nowMs };
  net.sent = [message];
  await net.passOn(tracker);
  for (let n = 0; n < 3; n++) {
    await net.later(tracker, 31_000);
    await tracker.expire(SIGNAL);
  }
  // A tracker that is started now holds it as well.
  const again = net.openTracker();
  for (const { change } of net.told) again.store.apply(change, false);
  await again.tracker.expire(SIGNAL);
  const kinds = () => (storiesOf(net.told).get(keyOfMessage(message)) ?? []).map(({ kind }) => kind);
  expect(kinds()).toEqual(['trace']);
  expect(net.devnet.chain.submit(message.boc).accepted).toBe(true);
  for (let n = 0; n < 2; n++) await tracker.step(await net.nextStep(), SIGNAL);
  expectOrder(storiesOf(net.told));
  expect(kinds()).not.toContain('invalidated');

  const lost = { boc: wallets.lostOrder(net.nowMs / 1000 + 6_000), time: net.nowMs };
  net.sent = [lost];
  await net.passOn(tracker);
  await net.later(tracker, 590_000);
  await tracker.expire(SIGNAL);
  expect(storiesOf(net.told).get(keyOfMessage(lost))).toHaveLength(1);
  await net.later(tracker, 11_000);
  await tracker.expire(SIGNAL);
  expect(storiesOf(net.told).get(keyOfMessage(lost))?.at(-1)).toMatchObject({ reason: 'expired' });
});

it('goes on past steps whose states nodes have no more, and ends later what they have made void', async () => {
  const orders = wallets.rivals();
  const isGone = vi.fn(() => false);
  const { tracker } = net.openTracker({
    beforeRun() {
      if (isGone()) throw new NodeError('not_found', 'state of block is not in db');
    },
  });
  const messages = orders.map((boc) => ({ boc, time: net.nowMs }));
  await net.passOn(tracker, messages);
  const storyOf = (message: SentMessage) => storiesOf(net.told).get(keyOfMessage(message)) ?? [];
  const invalid = () => messages.filter((one) => storyOf(one).some(({ kind }) => kind === 'invalidated')).length;
  isGone.mockReturnValue(true);
  const own = await net.nextStep();
  // A node may be a little behind the index, and has the state soon.
  await expect(tracker.step(own, SIGNAL)).rejects.toThrow('not in db');
  let head = own;
  while (head < own + 40) head = net.devnet.chain.produce((net.nowMs + 1_000) / 1000).mc.seqno;
  for (let seqno = own; seqno <= head; seqno++) await tracker.step(seqno, SIGNAL);
  expect(tracker.mcSeqno).toBe(head);
  expect(isGone.mock.calls.length).toBeGreaterThan(3);
  expect(invalid()).toBe(0);
  isGone.mockReturnValue(false);
  await net.later(tracker, 1_000);
  await tracker.expire(SIGNAL);
  expect(invalid()).toBe(1);
  expectOrder(storiesOf(net.told));
});

it('goes on at once past a step whose states nodes have no more while they show those of a newer one', async () => {
  const orders = wallets.rivals();
  let gone = 0;
  const { tracker } = net.openTracker({
    beforeRun(_beginnings, { header }) {
      if (header.seqno <= gone) throw new NodeError('not_found', 'state of block is not in db');
    },
  });
  const messages = orders.map((boc) => ({ boc, time: net.nowMs }));
  await net.passOn(tracker, messages);
  gone = await net.nextStep();
  await net.nextStep();
  // As after a restart of the only node.
  for (const seqno of [gone, gone + 1]) await tracker.step(seqno, SIGNAL);
  expect(tracker.mcSeqno).toBe(gone + 1);
  await net.later(tracker, 31_000);
  await tracker.expire(SIGNAL);
  const invalid = net.told.filter(({ change: { kind } }) => kind === 'invalidated');
  expect(invalid.length).toBe(1);
  expectOrder(storiesOf(net.told));
});

it('brings what was seen in a signed block that another has replaced to one end', async () => {
  const { tracker } = net.openTracker();
  const [first] = wallets.rivals();
  net.sent = [{ boc: first, time: net.nowMs }];
  await net.passOn(tracker);
  const blocks = net.collate();
  for (const block of blocks) await tracker.signed(signedOf(block), SIGNAL);
  const confirmed = storiesOf(net.told);
  expect([...confirmed.values()].map((story) => story.length)).toEqual([2]);
  // The block is replaced by one in which the message still waits; that one registers it, or the next.
  const held = net.collate(net.devnet.chain.pending() + 1_000);
  for (const block of held) await tracker.signed(signedOf(block), SIGNAL);
  for (let n = 0; n < 4; n++) await tracker.step(await net.nextStep(), SIGNAL);
  expectOrder(storiesOf(net.told));
});

it('leaves the others of a signed block as they are by now when one of its messages is told of later', async () => {
  const { tracker, store } = net.openTracker();
  const order = (value: bigint): SentMessage => {
    const messages = [{ to: net.devnet.cast.traders[0].address, value, bounce: false }];
    return { boc: wallets.order(messages), time: net.nowMs };
  };
  const [known, late] = [order(4_000_000n), order(5_000_000n)];
  await net.passOn(tracker, [known]);
  const nodes = () => [...store.all()].map(({ nodes }) => nodes.map(markOf))[0];
  for (const block of net.collate()) await tracker.signed(signedOf(block), SIGNAL);
  const first = nodes();
  // Replaced by one of another time, in which the second message still waits.
  net.nowMs += 5_000;
  for (const block of net.collate(1)) await tracker.signed(signedOf(block), SIGNAL);
  const second = nodes();
  expect(second).not.toEqual(first);
  await net.passOn(tracker, [late]);
  expect(store.size).toBe(2);
  expect(nodes()).toEqual(second);
  for (let n = 0; n < 4; n++) await tracker.step(await net.nextStep(), SIGNAL);
  expectOrder(storiesOf(net.told));
});

it('tells no more of a trace that is too large for a record, and of the others of its step as ever', async () => {
  const { tracker, store } = net.openTracker({ largest: { nodes: 1, bytes: 1e9 } });
  const { traders } = net.devnet.cast;
  const [small, large] = [0, 1].map((away) => {
    const to = traders.slice(0, away).map(({ address }) => ({ to: address, value: 6_000_000n, bounce: false }));
    return { boc: wallets.order(to), time: net.nowMs };
  });
  await net.passOn(tracker, [small, large]);
  expect(store.size).toBe(2);
  for (let n = 0; n < 2; n++) await net.later(tracker, 1_000);
  const ends = [small, large].map((one) => storiesOf(net.told).get(keyOfMessage(one))?.at(-1));
  expect(ends).toMatchObject([{ kind: 'trace', trace: { nodes: [{ finality: 'finalized' }] } }, { kind: 'ended' }]);
  expect(net.counts.get('too large')).toBe(1);
});

it('takes a trace for pending while nobody knows what follows from what is final of it', async () => {
  let fails = false;
  const { tracker, store } = net.openTracker({
    beforeRun([{ depth }]) {
      if (fails && depth > 0) throw new Error('no liteserver answers');
    },
    report: () => undefined,
  });
  const finalities: string[] = [];
  let incomplete = 0;
  store.onEvent((event) => {
    if (event.kind !== 'trace' || !event.trace.trace.isIncomplete) return;
    incomplete++;
    if (event.trace.nodes[0].node.finality !== 'pending') finalities.push(event.trace.finality);
  });
  // The signed shard block has the wallet's transaction alone.
  const away = { to: new Address(-1, Buffer.alloc(32, 5)), value: 5_000_000n, bounce: false };
  const boc = wallets.order([away]);
  await net.passOn(tracker, [{ boc, time: net.nowMs }]);
  fails = true;
  // What the block sends has another time than was thought, and so another hash.
  net.nowMs += 5_000;
  for (const block of net.collate()) await tracker.signed(signedOf(block), SIGNAL);
  await tracker.step(await net.nextStep(), SIGNAL);
  fails = false;
  for (let n = 0; n < 2; n++) await tracker.step(await net.nextStep(), SIGNAL);
  expect([incomplete > 0, new Set(finalities)]).toEqual([true, new Set(['pending'])]);
  expect(net.counts.get('tail failed')).toBeGreaterThan(0);
  // What is whole is told to be so.
  for (const { trace, finality } of store.all()) {
    if (finality === 'finalized') expect(trace.isIncomplete).toBe(false);
  }
  expectOrder(storiesOf(net.told));
});
