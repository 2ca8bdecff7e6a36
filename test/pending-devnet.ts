/** Trackers of pending traces over a devnet in memory, whose topic is a list. */
import { expect } from 'vitest';
import { encodeStates } from '../clickhouse/states.ts';
import { blockTransactions } from '../src/chain/accounts.ts';
import { workchainOf } from '../src/chain/address.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { toBoc } from '../src/chain/builder.ts';
import { compareDecimal } from '../src/chain/decimal.ts';
import { readExternalMessage } from '../src/chain/external-message.ts';
import { hashKey } from '../src/chain/hash.ts';
import type { Hash } from '../src/chain/model.ts';
import type { TransactionRecord } from '../src/chain/records.ts';
import { serialize } from '../src/chain/serialize.ts';
import { DEEDS } from '../src/devnet/actors/traffic.ts';
import { configurationOf } from '../src/devnet/liteserver/settings.ts';
import type { ProducedStep, SignedBlock } from '../src/devnet/model.ts';
import { createEmulator } from '../src/emulation/emulator.ts';
import type { Knowledge } from '../src/emulation/knowledge.ts';
import type { Beginning } from '../src/emulation/trace.ts';
import type { PendingLimits } from '../src/pending/announcing.ts';
import type { PendingMetrics } from '../src/pending/metrics.ts';
import { readSigned } from '../src/pending/signed-blocks.ts';
import { createPendingStore, type PendingStore } from '../src/pending/store.ts';
import { createTracker, type Tracker } from '../src/pending/tracker.ts';
import type { Step } from '../src/state/steps.ts';
import { createTvmPool, tvmConfig } from '../src/tvm/pool.ts';
import {
  decodePendingChange,
  encodePendingChange,
  type PendingChange,
  type PendingTrace,
  type StoredPendingChange,
} from '../streams/pending-trace.ts';
import { createFakeSource } from './fake-source.ts';
import { createPeopledDevnet, type PeopledDevnet, type PeopledOptions } from './peopled-devnet.ts';

export const SIGNAL = new AbortController().signal;
const TOPIC = 'ton.pending-traces.v1';
const NONE = { boc: null, lastTransactionHash: Buffer.alloc(32), lastTransactionLt: '0', genUtime: 0 };

const doesNothing: Knowledge['classify'] = async () => ({ state: 'ok', actions: [] });

export interface SentMessage {
  boc: Buffer;
  /** Unix milliseconds. */
  time: number;
}

export interface PendingDevnet {
  devnet: PeopledDevnet;
  /** What is in the topic. */
  told: StoredPendingChange[];
  /** What trackers counted. */
  counts: Map<string, number>;
  /** Messages that the chain has taken in since somebody looked. */
  sent: SentMessage[];
  /** Unix milliseconds, a second behind the newest step; what is added to it passes before the next. */
  nowMs: number;
  /** Seqno of another step, which is in the index then. */
  nextStep(): Promise<number>;
  /** Seqno of another step, so much later, behind which the people send nothing. */
  quietStep(ms?: number): number;
  /** Tells a tracker of such a step. */
  later(tracker: Tracker, ms: number): Promise<void>;
  /** What the people sent, also after a leap of time, is done, and nothing of it waits. */
  rest(): Promise<void>;
  /** For another test: the people rest, and what was told, counted and sent is forgotten. */
  begin(): Promise<void>;
  /** Signs shard blocks; those before are replaced. The newest messages that are held wait for the next step. */
  collate(hold?: number): SignedBlock[];
  /** What the first message behind the newest step would wait for. */
  warm(): Promise<void>;
  openTracker(options?: Partial<TrackerOptions>): { tracker: Tracker; store: PendingStore };
  /** Tells a tracker of these messages, by default of those that were sent since somebody looked. */
  passOn(tracker: Tracker, messages?: readonly SentMessage[]): Promise<SentMessage[]>;
  /** Normalised hashes, in hex, of the messages from outside that are in steps. */
  received(): Set<string>;
  /** Hashes of all transactions of steps, as keys. */
  transactions(): Set<string>;
  close(): Promise<void>;
}

export interface TrackerOptions {
  store: PendingStore;
  limits: PendingLimits;
  /** Up to which all is told. */
  mcSeqno: number;
  /** Called before changes are in the topic, and again before they are in the store; may throw. */
  beforeAppend(changes: readonly PendingChange[]): void;
  afterAppend(): void;
  report(error: unknown): void;
  /** What is told of a trace. */
  largest: { nodes: number; bytes: number };
  /** Called before something is emulated, which waits for it; may throw. */
  beforeRun(beginnings: readonly Beginning[], step: Step): void | Promise<void>;
  /** Called before the index is asked for messages; may throw. */
  beforeLookup(): void;
  classify: Knowledge['classify'];
}

export async function openPendingDevnet(
  seed: string,
  rate: number,
  more: Pick<PeopledOptions, 'races' | 'rests' | 'chain'> = {},
): Promise<PendingDevnet> {
  const pool = createTvmPool({ workers: 1, maxQueued: 1000, timeoutMs: 10_000 });
  const devnet = await createPeopledDevnet(seed, rate, { weights: DEEDS, ...more });
  const { chain } = devnet;
  const steps = new Map<number, ProducedStep>();
  /** The message that began each message's trace. */
  const begun = new Map<string, Hash>();
  const records = new Map<number, TransactionRecord[]>();
  const told: StoredPendingChange[] = [];
  const counts = new Map<string, number>();
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  chain.onExternal((boc) => void self.sent.push({ boc, time: self.nowMs }));
  chain.onStep((step) => {
    steps.set(step.mc.seqno, step);
    self.nowMs = (step.mc.genUtime + 1) * 1000;
  });

  function stepAt(seqno: number): Step {
    const step = steps.get(seqno);
    if (step === undefined) throw new Error(`no step ${seqno}`);
    const headers = [...step.shards, step.mc].map(({ bytes, rootHash, fileHash }) => ({
      ...decodeBlock(openBoc(bytes)).header,
      rootHash,
      fileHash,
    }));
    return { header: headers[headers.length - 1], tops: headers };
  }

  function recordsOf(seqno: number): TransactionRecord[] {
    const known = records.get(seqno);
    if (known !== undefined) return known;
    const { shards, mc } = steps.get(seqno) ?? { shards: [], mc: null };
    const found = [...shards, ...(mc === null ? [] : [mc])].flatMap((block) => {
      const boc = openBoc(block.bytes);
      const { workchain, shard, seqno: own } = block;
      return [...blockTransactions(decodeBlock(boc))].map((transaction): TransactionRecord => {
        const stored = { payload: serialize(boc, transaction.cell), states: encodeStates(null, null) };
        const place = { block: { workchain, shard, seqno: own }, mcSeqno: seqno, traceId: null, globalVersion: 13 };
        return { transaction, ...place, externalHash: null, before: null, after: null, stored };
      });
    });
    found.sort((a, b) => compareDecimal(a.transaction.lt, b.transaction.lt));
    const traced = found.map((record) => {
      const { inMsg, outMsgs } = record.transaction;
      const externalHash = inMsg === null ? null : (begun.get(hashKey(inMsg.hash)) ?? inMsg.hash);
      for (const { hash } of outMsgs) if (externalHash) begun.set(hashKey(hash), externalHash);
      return { ...record, externalHash };
    });
    records.set(seqno, traced);
    return traced;
  }

  const everything = (): TransactionRecord[] => [...steps.keys()].sort((a, b) => a - b).flatMap(recordsOf);
  const received = (): Set<string> =>
    new Set(
      everything().flatMap(({ transaction: { inMsg } }) =>
        inMsg?.kind === 'external_in' ? [(inMsg.hashNorm() ?? inMsg.hash).toString('hex')] : [],
      ),
    );

  const metrics: PendingMetrics = {
    message: count,
    took: () => undefined,
    compared: ({ likeness, raced }) => count(raced ? `${likeness}, raced` : likeness),
    invalidated: count,
    tailFailed: () => count('tail failed'),
    cutOff: () => count('cut off'),
    tooLarge: () => count('too large'),
    unclassified: () => count('unclassified'),
  };
  const emulator = createEmulator({
    states: {
      async accountCell(account, { header }) {
        const found = chain.account(workchainOf(account), account.subarray(4), header.seqno);
        if (found === null) return NONE;
        const { account: cell, lastTransactionHash, lastTransactionLt } = found;
        return { ...NONE, boc: toBoc(cell), lastTransactionHash, lastTransactionLt: lastTransactionLt.toString() };
      },
    },
    viewOf: async ({ header }) => {
      const state = chain.state(header);
      if (state === null) throw new Error('the devnet keeps its newest states');
      const config = tvmConfig(configurationOf(state, () => undefined));
      return { config, prevBlocks: null, library: async () => null };
    },
    pool,
    clock: () => self.nowMs,
  });
  const { source } = createFakeSource({
    transactions: async ({ mcSeqno = 0 }) => ({ rows: recordsOf(mcSeqno), nextCursor: null }),
    transactionsByMessage: async ({ messageHashes }) =>
      everything().filter(({ transaction: { inMsg } }) =>
        messageHashes.some((hash) => inMsg?.hash.equals(hash) || inMsg?.hashNorm()?.equals(hash)),
      ),
  });

  const self: PendingDevnet = {
    devnet,
    told,
    counts,
    sent: [],
    nowMs: 0,
    nextStep: async () => (await devnet.step()).mc.seqno,
    warm: () => emulator.warm(stepAt(chain.head().mc.seqno), { signal: SIGNAL, timeoutMs: 10_000 }),
    quietStep: (ms = 0) => chain.produce((self.nowMs + ms) / 1000).mc.seqno,
    later: (tracker, ms) => tracker.step(self.quietStep(ms), SIGNAL),
    async rest() {
      for (let n = 0; n < 3; n++) await self.nextStep();
      self.quietStep();
    },
    async begin() {
      await self.rest();
      told.length = 0;
      counts.clear();
      self.sent.length = 0;
    },
    collate: (hold) => chain.collate(self.nowMs / 1000, hold),
    openTracker({
      store = createPendingStore(),
      limits = { traces: 1000, perAccount: 1000, bytes: 1e9 },
      mcSeqno = chain.head().mc.seqno,
      beforeAppend = () => undefined,
      afterAppend = () => undefined,
      report = (error: unknown) => {
        throw error;
      },
      beforeRun = () => undefined,
      beforeLookup = () => undefined,
      classify = doesNothing,
      largest,
    } = {}) {
      const tracker = createTracker({
        store,
        async append(changes, upTo) {
          beforeAppend(changes);
          const stored = changes.map((change, i) => {
            const record = { ...encodePendingChange(change, upTo), offset: told.length + i, time: self.nowMs };
            const read = decodePendingChange(record, TOPIC);
            expect(read).toMatchObject({ change, mcSeqno: upTo });
            return read;
          });
          told.push(...stored);
          afterAppend();
          for (const { change } of stored) store.apply(change, true);
        },
        source: {
          ...source,
          async transactionsByMessage(...question) {
            beforeLookup();
            return source.transactionsByMessage(...question);
          },
        },
        states: { step: async (seqno = chain.head().mc.seqno) => stepAt(seqno) },
        emulator: {
          ...emulator,
          async run(beginnings, step, ...others) {
            await beforeRun(beginnings, step);
            return emulator.run(beginnings, step, ...others);
          },
        },
        knowledge: {
          classify,
          wallets: async (left) => left.map(() => null),
          deployed: async () => ({ items: [], collections: [], masters: [], wallets: [] }),
        },
        limits,
        ...(largest && { largest }),
        metrics,
        mcSeqno,
        queryTimeoutMs: 10_000,
        clock: () => self.nowMs,
        report,
        onDifferent: (hash, { difference, raced }) =>
          process.stdout.write(`pending: ${hash.toString('hex')} ${raced ? 'raced, ' : ''}${difference}\n`),
      });
      return { tracker, store };
    },
    async passOn(tracker, messages = self.sent.splice(0)) {
      for (const [i, { boc, time }] of messages.entries()) {
        const message = { ...readExternalMessage(boc), boc, offset: 0, time };
        // Some are known of while they are being sent.
        if (i % 2 === 0) tracker.prepare(message, SIGNAL);
        await tracker.message(message, SIGNAL);
      }
      return [...messages];
    },
    received,
    transactions: () => new Set(everything().map(({ transaction: { hash } }) => hashKey(hash))),
    async close() {
      devnet.close();
      await pool.close();
    },
  };
  return self;
}

export const signedOf = ({ block }: SignedBlock) => readSigned(block, block.bytes);

const LEVELS = ['pending', 'confirmed', 'finalized'];

/** Of its least sure transaction, as a number that grows. */
export const levelOf = ({ nodes }: PendingTrace): number =>
  Math.min(...nodes.map(({ finality }) => LEVELS.indexOf(finality)));

const rootLevel = ({ nodes: [root] }: PendingTrace): number => LEVELS.indexOf(root.finality);

const keyOf = (change: PendingChange): string => {
  if (change.kind === 'levels') return 'levels';
  return (change.kind === 'trace' ? change.trace.hashNorm : change.hashNorm).toString('hex');
};

export const keyOfMessage = ({ boc }: SentMessage): string => readExternalMessage(boc).hashNorm.toString('hex');

/** What was told of each trace, in order, by the normalised hash of its message in hex. */
export function storiesOf(told: readonly StoredPendingChange[]): Map<string, PendingChange[]> {
  const stories = new Map<string, PendingChange[]>();
  for (const { change } of told) stories.set(keyOf(change), [...(stories.get(keyOf(change)) ?? []), change]);
  return stories;
}

/**
 * That each was told in order: it begins pending, its root gets surer and never less sure, and it ends finalized or
 * invalidated, not both. What never had a trace may be invalidated, too.
 */
export function expectOrder(stories: Map<string, PendingChange[]>): void {
  for (const [key, story] of stories) {
    const traces = story.flatMap((change) => (change.kind === 'trace' ? [change.trace] : []));
    const invalidated = story.filter(({ kind }) => kind === 'invalidated').length;
    if (traces.length > 0) expect(levelOf(traces[0]), key).toBe(0);
    expect(traces.map(({ version }) => version)).toEqual(traces.map((_, i) => i + 1));
    for (let i = 1; i < traces.length; i++) {
      expect(rootLevel(traces[i])).toBeGreaterThanOrEqual(rootLevel(traces[i - 1]));
    }
    const last = traces.at(-1);
    const isFinal = last !== undefined && levelOf(last) === 2;
    expect(invalidated, key).toBe(isFinal ? 0 : 1);
    const ends = story.findIndex(({ kind }) => kind !== 'trace');
    expect(ends === -1 || ends === story.length - 1, `${key} is told of behind its end`).toBe(true);
  }
}
