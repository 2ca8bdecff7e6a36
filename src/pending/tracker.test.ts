import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { encodeStates } from '../../clickhouse/states.ts';
import {
  decodePendingChange,
  encodePendingChange,
  type PendingChange,
  type PendingTrace,
} from '../../streams/pending-trace.ts';
import { createFakeSource } from '../../test/fake-source.ts';
import { createPeopledDevnet, type PeopledDevnet } from '../../test/peopled-devnet.ts';
import { blockTransactions } from '../chain/accounts.ts';
import { workchainOf } from '../chain/address.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { toBoc } from '../chain/builder.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { readExternalMessage } from '../chain/external-message.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { TransactionRecord } from '../chain/records.ts';
import { serialize } from '../chain/serialize.ts';
import { DEEDS } from '../devnet/actors/traffic.ts';
import { configurationOf } from '../devnet/liteserver/settings.ts';
import type { ProducedStep, SignedBlock } from '../devnet/model.ts';
import { createEmulator } from '../emulation/emulator.ts';
import type { Step } from '../state/steps.ts';
import { createTvmPool, tvmConfig } from '../tvm/pool.ts';
import type { PendingMetrics } from './metrics.ts';
import { readSigned } from './signed-blocks.ts';
import { createPendingStore, type PendingStore } from './store.ts';
import { createTracker, type Tracker } from './tracker.ts';

const SIGNAL = new AbortController().signal;
const TOPIC = 'ton.pending-traces.v1';
const NONE = { boc: null, lastTransactionHash: Buffer.alloc(32), lastTransactionLt: '0', genUtime: 0 };
const pool = createTvmPool({ workers: 1, maxQueued: 1000, timeoutMs: 10_000 });
let devnet: PeopledDevnet;
let told: PendingChange[];
let counts: Map<string, number>;
let sent: Buffer[];
/** The steps so far by seqno, with the message that began each transaction's trace. */
const steps = new Map<number, ProducedStep>();
const begun = new Map<string, Hash>();
let nowMs = 0;

beforeAll(async () => {
  devnet = await createPeopledDevnet('pending', 5, { weights: DEEDS });
  devnet.chain.onExternal((boc) => void sent.push(boc));
  devnet.chain.onStep((step) => void steps.set(step.mc.seqno, step));
});
afterAll(async () => {
  devnet?.close();
  await pool.close();
});
beforeEach(() => {
  told = [];
  counts = new Map();
  sent = [];
});

const stepTime = (): number => (devnet.chain.head().mc.genUtime + 1) * 1000;

async function nextStep(): Promise<number> {
  const step = await devnet.step();
  steps.set(step.mc.seqno, step);
  nowMs = stepTime();
  return step.mc.seqno;
}

function stepAt(seqno: number): Step {
  const step = steps.get(seqno);
  if (step === undefined) throw new Error(`no step ${seqno}`);
  const headers = [...step.shards, step.mc].map((block) => ({
    ...decodeBlock(openBoc(block.bytes)).header,
    rootHash: block.rootHash,
    fileHash: block.fileHash,
  }));
  return { header: headers[headers.length - 1], tops: headers };
}

function recordsOf(seqno: number): TransactionRecord[] {
  const { shards, mc } = steps.get(seqno) ?? { shards: [], mc: null };
  const records = [...shards, ...(mc === null ? [] : [mc])].flatMap((block) => {
    const boc = openBoc(block.bytes);
    const { workchain, shard, seqno: own } = block;
    return [...blockTransactions(decodeBlock(boc))].map((transaction): TransactionRecord => {
      const stored = { payload: serialize(boc, transaction.cell), states: encodeStates(null, null) };
      const place = { block: { workchain, shard, seqno: own }, mcSeqno: seqno, traceId: null, globalVersion: 13 };
      return { transaction, ...place, externalHash: null, before: null, after: null, stored };
    });
  });
  records.sort((a, b) => compareDecimal(a.transaction.lt, b.transaction.lt));
  return records.map((record) => {
    const { inMsg, outMsgs } = record.transaction;
    const externalHash = inMsg === null ? null : (begun.get(hashKey(inMsg.hash)) ?? inMsg.hash);
    for (const { hash } of outMsgs) if (externalHash) begun.set(hashKey(hash), externalHash);
    return { ...record, externalHash };
  });
}

const metrics: PendingMetrics = {
  message: (outcome) => count(outcome),
  took: () => undefined,
  compared: (likeness) => count(likeness),
  invalidated: (reason) => count(reason),
  tailFailed: () => count('tail failed'),
};
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);

/** A tracker over the chain, which tells what it tells through the bytes of the topic. */
function openTracker(store: PendingStore = createPendingStore()): { tracker: Tracker; store: PendingStore } {
  const head = devnet.chain.head().mc.seqno;
  const emulator = createEmulator({
    states: {
      async accountCell(account, { header }) {
        const found = devnet.chain.account(workchainOf(account), account.subarray(4), header.seqno);
        if (found === null) return NONE;
        const { account: cell, lastTransactionHash, lastTransactionLt } = found;
        return { ...NONE, boc: toBoc(cell), lastTransactionHash, lastTransactionLt: lastTransactionLt.toString() };
      },
    },
    viewOf: async ({ header }) => {
      const state = devnet.chain.state(header);
      if (state === null) throw new Error('the devnet keeps its newest states');
      return {
        config: tvmConfig(configurationOf(state, () => undefined)),
        prevBlocks: null,
        library: async () => null,
      };
    },
    pool,
    clock: () => nowMs,
  });
  const tracker = createTracker({
    store,
    async append(changes, mcSeqno) {
      for (const [i, change] of changes.entries()) {
        const record = { ...encodePendingChange(change, mcSeqno), offset: told.length + i, time: nowMs };
        const read = decodePendingChange(record, TOPIC);
        expect(read).toMatchObject({ change, mcSeqno });
        told.push(read.change);
        store.apply(read.change, true);
      }
    },
    source: createFakeSource({
      transactions: async ({ mcSeqno = 0 }) => ({ rows: recordsOf(mcSeqno), nextCursor: null }),
    }).source,
    states: { step: async (seqno = devnet.chain.head().mc.seqno) => stepAt(seqno) },
    emulator,
    knowledge: { classify: async () => ({ state: 'ok', actions: [] }) },
    limits: { traces: 1000, perAccount: 1000 },
    metrics,
    mcSeqno: head,
    queryTimeoutMs: 10_000,
    clock: () => nowMs,
    report: (error) => {
      throw error;
    },
  });
  return { tracker, store };
}

/** Tells the tracker of what was sent since. */
async function passOn(tracker: Tracker): Promise<Buffer[]> {
  const all = sent.splice(0);
  for (const boc of all) await tracker.message({ ...readExternalMessage(boc), boc, offset: 0, time: nowMs }, SIGNAL);
  return all;
}

const LEVELS = ['pending', 'confirmed', 'finalized'];
const levelOf = ({ nodes }: PendingTrace): number => Math.min(...nodes.map(({ finality }) => LEVELS.indexOf(finality)));
const rootLevel = ({ nodes: [root] }: PendingTrace): number => LEVELS.indexOf(root.finality);
const keyOf = (change: PendingChange): string => {
  if (change.kind === 'levels') return 'levels';
  return (change.kind === 'trace' ? change.trace.hashNorm : change.hashNorm).toString('hex');
};

/** What was told of each trace, in order. */
function storiesOf(changes: readonly PendingChange[]): Map<string, PendingChange[]> {
  const stories = new Map<string, PendingChange[]>();
  for (const change of changes) stories.set(keyOf(change), [...(stories.get(keyOf(change)) ?? []), change]);
  return stories;
}

/** That each was told in order: it begins pending, gets surer, and ends finalized or invalidated, not both. */
function expectOrder(stories: Map<string, PendingChange[]>): void {
  for (const [key, story] of stories) {
    const traces = story.flatMap((change) => (change.kind === 'trace' ? [change.trace] : []));
    const ends = story.filter(({ kind }) => kind !== 'trace');
    expect(levelOf(traces[0]), key).toBe(0);
    expect(traces.map(({ version }) => version)).toEqual(traces.map((_, i) => i + 1));
    for (let i = 1; i < traces.length; i++) {
      expect(rootLevel(traces[i])).toBeGreaterThanOrEqual(rootLevel(traces[i - 1]));
    }
    const last = traces[traces.length - 1];
    const isFinal = levelOf(last) === 2;
    expect(ends.length).toBeLessThanOrEqual(1);
    expect(ends.some(({ kind }) => kind === 'invalidated') !== isFinal, key).toBe(true);
  }
}

const signedOf = ({ block }: SignedBlock) => readSigned(block, block.bytes);

it('tells every sent message as pending, confirmed and finalized, as the chain has it at last', async () => {
  await nextStep();
  const { tracker, store } = openTracker();
  sent = [];
  let all: Buffer[] = [];
  for (let n = 0; n < 8; n++) {
    await tracker.step(await nextStep(), SIGNAL);
    all = [...all, ...(await passOn(tracker))];
    for (const block of devnet.chain.collate(nowMs / 1000)) await tracker.signed(signedOf(block), SIGNAL);
  }
  for (let n = 0; n < 2; n++) {
    await tracker.step(await nextStep(), SIGNAL);
    sent = [];
  }
  const stories = storiesOf(told);
  expect(stories.size).toBe(all.length);
  expect(stories.size).toBeGreaterThan(20);
  expectOrder(stories);
  const levels = [...stories.values()].map((story) =>
    story.map((change) => (change.kind === 'trace' ? levelOf(change.trace) : -1)),
  );
  expect(levels.filter((one) => one.includes(1)).length).toBeGreaterThan(stories.size / 2);
  const real = new Set([...steps.keys()].flatMap(recordsOf).map(({ transaction: { hash } }) => hashKey(hash)));
  for (const { nodes } of store.all()) {
    expect(nodes.every(({ transaction: { hash } }) => real.has(hashKey(hash)))).toBe(true);
  }
  const same = counts.get('same') ?? 0;
  const other = (counts.get('near') ?? 0) + (counts.get('other') ?? 0);
  process.stdout.write(`pending: ${same + other} traces came true, ${other} otherwise than emulated\n`);
  expect(same).toBeGreaterThanOrEqual((same + other) * 0.99);
  // A store that begins with the topic shows the same, and a tracker over it has nothing to add.
  const again = openTracker();
  for (const change of told) again.store.apply(change, false);
  const before = told.length;
  expect([...again.store.all()].map(({ trace }) => trace)).toEqual([...store.all()].map(({ trace }) => trace));
  await again.tracker.step(devnet.chain.head().mc.seqno, SIGNAL);
  for (const boc of all)
    await again.tracker.message({ ...readExternalMessage(boc), boc, offset: 0, time: nowMs }, SIGNAL);
  expect(told.length).toBe(before);
  nowMs += 31_000;
  await tracker.expire();
  expect(store.size).toBe(0);
  expect(told.slice(before).every(({ kind }) => kind === 'ended')).toBe(true);
}, 120_000);

/** Two orders of one wallet for the same seqno, of which the chain can take one. */
async function rivals(): Promise<[Buffer, Buffer]> {
  const traders = devnet.cast.traders;
  for (const wallet of traders) {
    for (let seqno = 0; seqno < 64; seqno++) {
      const order = (value: bigint): Buffer =>
        wallet
          .order({
            seqno,
            validUntil: nowMs / 1000 + 600,
            messages: [{ to: traders[0].address, value, bounce: false }],
          })
          .toBoc();
      const [first, rival] = [order(1_000_000n), order(2_000_000n)];
      if (!devnet.chain.submit(first).accepted) continue;
      if (devnet.chain.submit(rival, 'rival').accepted) return [first, rival];
    }
  }
  throw new Error('no wallet is free');
}

it('tells of two messages for one seqno one as final and one as superseded, and of a lost one that it is invalid', async () => {
  await nextStep();
  const { tracker, store } = openTracker();
  const [first, rival] = await rivals();
  sent = [first, rival];
  await passOn(tracker);
  expect(store.size).toBe(2);
  for (let n = 0; n < 2; n++) await tracker.step(await nextStep(), SIGNAL);
  const stories = storiesOf(told);
  expectOrder(stories);
  const ends = [...stories.values()].map((story) => {
    const last = story[story.length - 1];
    return last.kind === 'invalidated' ? last.reason : last.kind === 'trace' ? LEVELS[levelOf(last.trace)] : last.kind;
  });
  expect(ends.sort()).toEqual(['finalized', 'superseded']);

  const traders = devnet.cast.traders;
  const lost = traders.flatMap((wallet) => {
    const orders = Array.from({ length: 64 }, (_, seqno) => {
      const messages = [{ to: traders[0].address, value: 3_000_000n, bounce: false }];
      return wallet.order({ seqno, validUntil: nowMs / 1000 + 600, messages }).toBoc();
    });
    return orders.filter((boc) => devnet.chain.submit(boc, 'lost').accepted).slice(0, 1);
  })[0];
  sent = [lost];
  await passOn(tracker);
  await tracker.step(await nextStep(), SIGNAL);
  const key = readExternalMessage(lost).hashNorm.toString('hex');
  nowMs += 31_000;
  await tracker.expire();
  // Unless its wallet has sent something else meanwhile.
  const [begin, end, ...more] = storiesOf(told).get(key) ?? [];
  expect([begin?.kind, end?.kind, more]).toEqual(['trace', 'invalidated', []]);
}, 60_000);

it('brings what was seen in a signed block that another has replaced to one end', async () => {
  await nextStep();
  const { tracker } = openTracker();
  const [first] = await rivals();
  sent = [first];
  await passOn(tracker);
  const blocks = devnet.chain.collate(nowMs / 1000);
  for (const block of blocks) await tracker.signed(signedOf(block), SIGNAL);
  const confirmed = storiesOf(told);
  expect([...confirmed.values()].map((story) => story.length)).toEqual([2]);
  // The block is replaced by one in which the message still waits; that one registers it, or the next.
  const held = devnet.chain.collate(nowMs / 1000, devnet.chain.pending() + 1_000);
  for (const block of held) await tracker.signed(signedOf(block), SIGNAL);
  for (let n = 0; n < 4; n++) await tracker.step(await nextStep(), SIGNAL);
  expectOrder(storiesOf(told));
}, 60_000);
