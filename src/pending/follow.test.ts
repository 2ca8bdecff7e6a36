import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { encodeStates } from '../../clickhouse/states.ts';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import type { EventLog, StoredRecord } from '../../streams/log.ts';
import { encodePendingChange, type PendingChange, type PendingTrace } from '../../streams/pending-trace.ts';
import { recordedBlocks } from '../../test/recorded-blocks.ts';
import { blockTransactions } from '../chain/accounts.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { serialize } from '../chain/serialize.ts';
import { followPending } from './follow.ts';
import { createPendingStore } from './store.ts';

it.each([0, 1, 300])('has read what was in the topic, %i records, before it says so', async (count) => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-follow-pending-'));
  const log = openEmbeddedLog({ folder });
  const ended = new AbortController();
  try {
    const topic = 'pending-traces';
    await log.ensureTopic(topic);
    const hashes = Array.from({ length: count }, (_, i) => Buffer.alloc(32, `${i} `));
    const changes = hashes.map((hashNorm) => ({ kind: 'invalidated', hashNorm, reason: 'expired' }) as const);
    if (count > 0)
      await log.append(
        topic,
        changes.map((change) => encodePendingChange(change, 1)),
      );
    const store = createPendingStore();
    const report = (error: unknown): void => expect.unreachable(String(error));
    const follower = followPending({ log, topic, store, continuous: false, report });
    const following = follower.run(ended.signal);
    await follower.past;
    expect(hashes.filter((hash) => !store.hasEnded(hash))).toEqual([]);
    ended.abort();
    await following;
  } finally {
    ended.abort();
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

it('keeps what is open while it reads the topic again, and lets go of what has ended meanwhile', async () => {
  const made = await madeTrace();
  const [open, gone] = [1, 2].map((byte) => Buffer.alloc(32, byte));
  const traceOf = (hashNorm: Buffer): PendingChange => ({ kind: 'trace', trace: { ...made, hashNorm } });
  const recordOf = (change: PendingChange, offset: number): StoredRecord => {
    return { ...encodePendingChange(change, 1), offset, time: 1 };
  };
  const both = [recordOf(traceOf(open), 0), recordOf(traceOf(gone), 1)];
  // The end of the second was said and trimmed while nobody could read; what is open was said again.
  const later = [recordOf(traceOf(open), 5)];
  const [store, ended] = [createPendingStore(), new AbortController()];
  const sizes: number[] = [];
  let turn = 0;
  const log: Partial<EventLog> = {
    ensureTopic: async () => undefined,
    end: async () => (turn === 0 ? 2 : 6),
    async low() {
      if (turn > 0) sizes.push(store.size);
      return turn === 0 ? 0 : 5;
    },
    async *read() {
      turn++;
      if (turn > 1) return yield later;
      yield both;
      throw new Error('the broker is away');
    },
  };
  const events: string[] = [];
  store.onEvent(({ kind, live }) => events.push(`${kind} ${live}`));
  const follower = followPending({
    log: log as EventLog,
    topic: 'pending-traces',
    store,
    continuous: true,
    report: () => undefined,
  });
  const following = follower.run(ended.signal);
  await until(() => turn > 1 && store.size === 1);
  ended.abort();
  await following;
  expect(new Set(sizes)).toEqual(new Set([2]));
  expect([...store.all()].map(({ trace }) => trace.hashNorm)).toEqual([open]);
  expect(events).toEqual(['trace false', 'trace false']);
});

/** Of one recorded transaction. */
async function madeTrace(): Promise<PendingTrace> {
  for await (const { bytes } of recordedBlocks()) {
    const boc = openBoc(bytes);
    const block = decodeBlock(boc);
    const [transaction] = blockTransactions(block);
    if (transaction === undefined) continue;
    const { workchain, shard, seqno } = block.header;
    const node = {
      finality: 'pending',
      block: { workchain, shard, seqno },
      blockHash: null,
      mcSeqno: 1,
      transaction: serialize(boc, transaction.cell),
      states: encodeStates(null, null),
      wallet: null,
    } as const;
    const hashes = { hashNorm: Buffer.alloc(32), externalHash: Buffer.alloc(32) };
    const rest = { version: 1, globalVersion: 9, isIncomplete: false, begunMs: 1, changedMs: 1, actions: [] };
    return { ...hashes, ...rest, classification: 'ok', nodes: [node] };
  }
  throw new Error('no recorded block has a transaction');
}

async function until(isSo: () => boolean): Promise<void> {
  for (let n = 0; n < 500 && !isSo(); n++) await sleep(10);
}
