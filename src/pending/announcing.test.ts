import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { keyOfMessage, openPendingDevnet, type PendingDevnet, SIGNAL, storiesOf } from '../../test/pending-devnet.ts';
import { createPendingWallets, type PendingWallets } from '../../test/pending-wallets.ts';
import { readExternalMessage } from '../chain/external-message.ts';
import { NodeError } from '../node/chain-node.ts';
import type { PendingLimits } from './announcing.ts';

let net: PendingDevnet;
let wallets: PendingWallets;
beforeAll(async () => {
  net = await openPendingDevnet('announcing', 5);
  wallets = createPendingWallets(net);
});
afterAll(() => net?.close());
beforeEach(() => net.begin());

it('tries again what was refused and has its turn now, though there was no room, or it was being tried, when it moved', async () => {
  const limits = { traces: 1000, perAccount: 1000, bytes: 1e9 };
  const full = net.openTracker({ limits });
  let [, order] = wallets.ordersInARow();
  await net.passOn(full.tracker, [{ boc: order, time: net.nowMs }]);
  expect(net.counts.get('refused')).toBe(1);
  await full.tracker.step(await net.nextStep(), SIGNAL);
  limits.traces = 0;
  await full.tracker.retry(SIGNAL);
  expect(full.store.size).toBe(0);
  limits.traces = 1000;
  await full.tracker.retry(SIGNAL);
  expect(full.store.size).toBe(1);

  await net.rest();
  let moves = 0;
  const busy = net.openTracker({
    async beforeRun() {
      if (moves++ > 0) return;
      await net.later(busy.tracker, 0);
      await busy.tracker.retry(SIGNAL);
    },
  });
  [, order] = wallets.ordersInARow();
  await busy.tracker.message({ ...readExternalMessage(order), boc: order, offset: 0, time: net.nowMs }, SIGNAL);
  expect([net.counts.get('refused'), busy.store.size]).toEqual([2, 0]);
  await busy.tracker.retry(SIGNAL);
  expect(busy.store.size).toBe(1);
});

it('tells of a message when the index has come to steps whose states nodes show', async () => {
  const gone = net.devnet.chain.head().mc.seqno + 5;
  const { tracker, store } = net.openTracker({
    beforeRun(_beginnings, { header }) {
      if (header.seqno <= gone) throw new NodeError('not_found', 'state of block is not in db');
    },
  });
  const message = { boc: wallets.lostOrder(net.nowMs / 1000 + 600), time: net.nowMs };
  await net.passOn(tracker, [message]);
  for (let n = 0; n < 5; n++) {
    await net.later(tracker, 1_000);
    const tries = net.counts.get('failed');
    for (let again = 0; again < 2; again++) await tracker.retry(SIGNAL);
    expect(net.counts.get('failed')).toBe((tries ?? 0) + 1);
  }
  expect(store.size).toBe(0);
  await net.later(tracker, 1_000);
  await tracker.retry(SIGNAL);
  expect(store.size).toBe(1);
});

it('tells the end of what was never told of, and whom it was for, when nodes have forgotten it', async () => {
  const validUntil = net.nowMs / 1000 + 6_000;
  const [held, above] = [wallets.lostOrder(validUntil), wallets.lostOrder(validUntil + 1)].map((boc) => ({
    boc,
    time: net.nowMs,
  }));
  const { tracker } = net.openTracker({ limits: { traces: 1, perAccount: 1000, bytes: 1e9 } });
  await net.passOn(tracker, [held, above]);
  await net.later(tracker, 590_000);
  await tracker.expire(SIGNAL);
  expect(storiesOf(net.told).get(keyOfMessage(above))).toBeUndefined();
  await net.later(tracker, 11_000);
  await tracker.expire(SIGNAL);
  await tracker.expire(SIGNAL);
  const { destination: account } = readExternalMessage(above.boc);
  expect(storiesOf(net.told).get(keyOfMessage(above))).toMatchObject([{ reason: 'expired', account }]);
});

it('tells of no more than its limits let, and counts what it leaves out', async () => {
  const messages = wallets.rivals().map((boc) => ({ boc, time: net.nowMs }));
  const tell = async (limits: PendingLimits) => {
    net.counts.clear();
    const { tracker, store } = net.openTracker({ limits });
    await net.passOn(tracker, messages);
    return { traces: store.size, ...Object.fromEntries(net.counts) };
  };
  expect(await tell({ traces: 1000, perAccount: 1, bytes: 1e9 })).toEqual({ traces: 1, told: 1, rate: 1 });
  // It has to wait for its turn.
  const waiting = net.openTracker({ limits: { traces: 1000, perAccount: 1, bytes: 1e9 } });
  await net.passOn(waiting.tracker, messages);
  for (const size of [1, 2]) {
    await waiting.tracker.retry(SIGNAL);
    expect(waiting.store.size).toBe(size);
    net.nowMs += 10_000;
  }
  net.nowMs -= 20_000;
  for (const limits of [
    { traces: 1, perAccount: 1000, bytes: 1e9 },
    { traces: 1000, perAccount: 1000, bytes: 1 },
  ]) {
    expect(await tell(limits)).toEqual({ traces: 1, told: 1, full: 1 });
  }
  const late = messages.map((one) => ({ ...one, time: net.nowMs - 31_000 }));
  const { tracker, store } = net.openTracker();
  await net.passOn(tracker, late);
  expect([store.size, net.counts.get('late')]).toEqual([0, 2]);
});
