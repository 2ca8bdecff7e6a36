/** The stages of a message's life, over a source and a topic that are given. */
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { encodeStates } from '../../../clickhouse/states.ts';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { recordedChain } from '../../../test/recorded-chain.ts';
import { shelf } from '../../../test/shelf.ts';
import type { ChainSource } from '../../chain/chain-source.ts';
import type { Finality, TraceFilter, TraceRecord, TransactionRecord } from '../../chain/records.ts';
import { createPendingStore, type PendingStore } from '../../pending/store.ts';
import { noSentMessages, type SentMessages } from '../sent-messages.ts';
import { messageTrace } from './schemas.ts';

let server: ApiServer;
afterEach(() => server.close());

const answer = z.looseObject({ stage: z.string() });

async function ask(
  hash: Buffer | string,
  answers: Partial<ChainSource>,
  sent?: SentMessages,
  pending: PendingStore = createPendingStore(),
) {
  server = await serveApi(createFakeSource(answers).source, { pending, ...(sent && { sent }) });
  const text = typeof hash === 'string' ? hash : hash.toString('hex');
  const response = await fetch(`${server.url}/api/v3/messageTrace?hash=${text}`);
  const body: unknown = await response.json();
  if (response.status === 200) messageTrace.parse(body);
  return { status: response.status, body: response.status === 200 ? answer.parse(body) : body };
}

const HASH = Buffer.alloc(32, 7);
const NOTHING = {
  seen_utime_ms: null,
  pending_utime_ms: null,
  confirmed_utime_ms: null,
  finalized_utime_ms: null,
  invalidated_utime_ms: null,
  invalidated_reason: null,
  included_utime: null,
  included_mc_seqno: null,
  complete_utime: null,
  complete_mc_seqno: null,
  transaction: null,
  trace: null,
};

it('knows nothing of a hash that nobody has seen', async () => {
  const { body } = await ask(HASH, {});
  expect(body).toEqual({ stage: 'unknown', ...NOTHING, address_book: {}, metadata: {} });
});

it('refuses what is no hash, and none', async () => {
  expect((await ask('zz', {})).status).toBe(422);
  await server.close();
  expect(await ask('', {})).toMatchObject({ status: 422 });
});

it('has seen what was sent and is in no block', async () => {
  const sent = { ...noSentMessages, sentAt: async (hash: Buffer) => (hash.equals(HASH) ? 1_700_000_000_123 : null) };
  const { body } = await ask(HASH, {}, sent);
  expect(body).toMatchObject({ ...NOTHING, stage: 'seen', seen_utime_ms: 1_700_000_000_123 });
});

describe.skipIf(shelf === null)('a message that a block has', () => {
  const chain = recordedChain('mainnet');
  const { transactions } = chain;
  /** Begun by an external message, and with messages of its own. */
  const [record] = [...transactions.values()].filter(
    ({ transaction: { inMsg, outMsgs } }) => inMsg?.kind === 'external_in' && outMsgs.length > 0,
  );
  const { transaction } = record;
  const inMsg = transaction.inMsg ?? expect.fail('it has an in-message');
  const traced: TransactionRecord = { ...record, mcSeqno: 5, traceId: transaction.hash, externalHash: inMsg.hash };
  const trace: TraceRecord = {
    traceId: transaction.hash,
    externalHash: inMsg.hash,
    mcSeqnoStart: 5,
    mcSeqnoEnd: 6,
    startLt: transaction.lt,
    startUtime: transaction.now,
    endLt: '99',
    endUtime: transaction.now + 9,
    transactions: 1,
    messages: 1,
    pendingMessages: 1,
    state: 'pending',
    classification: 'unclassified',
    places: [{ account: transaction.account, lt: transaction.lt, mcSeqno: 5 }],
  };
  const sourceOf = (state: TraceRecord['state'], found: 'by hash' | 'by message'): Partial<ChainSource> => ({
    transactions: async () => ({ rows: found === 'by hash' ? [traced] : [], nextCursor: null }),
    transactionsByMessage: async () => (found === 'by message' ? [traced] : []),
    transactionsAt: async () => [traced],
    traces: async (filter: TraceFilter) => ({
      rows: filter.growing || state !== 'pending' ? [{ ...trace, state }] : [],
      nextCursor: null,
    }),
  });

  it('is included while its trace grows', async () => {
    const { body } = await ask(inMsg.hash, sourceOf('pending', 'by message'));
    expect(body).toMatchObject({
      stage: 'included',
      seen_utime_ms: null,
      included_utime: transaction.now,
      included_mc_seqno: 5,
      complete_utime: null,
      transaction: transaction.hash.toString('base64'),
      trace: { is_incomplete: true, trace_info: { trace_state: 'pending', pending_messages: 1 }, actions: [] },
    });
  });

  it('is complete with its trace, and was seen when the message that began it was sent', async () => {
    const sent = { ...noSentMessages, sentAt: async (hash: Buffer) => (hash.equals(inMsg.hash) ? 12_345 : null) };
    const { body } = await ask(transaction.hash, sourceOf('complete', 'by hash'), sent);
    expect(body).toMatchObject({
      stage: 'complete',
      seen_utime_ms: 12_345,
      complete_utime: transaction.now + 9,
      complete_mc_seqno: 6,
      trace: { is_incomplete: false, trace_id: transaction.hash.toString('base64') },
    });
  });

  const hashNorm = inMsg.hashNorm() ?? inMsg.hash;
  const bag = chain.bags.get(transaction.hash.toString('base64'))?.() ?? expect.fail('it has its bytes');

  /** Its trace, of which this transaction is all that is known, as it is told at these times. */
  function told(...levels: [finality: Finality, changedMs: number][]): PendingStore {
    const store = createPendingStore();
    for (const [i, [finality, changedMs]] of levels.entries()) {
      const place = { block: record.block, blockHash: null, mcSeqno: 5 };
      const nodes = [{ finality, ...place, transaction: bag, states: encodeStates(null, null), wallet: null }];
      const times = { begunMs: levels[0][1], changedMs };
      const rest = { globalVersion: 9, isIncomplete: false, classification: 'ok' as const, actions: [] };
      const trace = { hashNorm, externalHash: inMsg.hash, version: i + 1, ...times, ...rest, nodes };
      store.apply({ kind: 'trace', trace }, true);
    }
    return store;
  }

  it('is pending and then confirmed before the index has it, each with its time and the trace as it is thought', async () => {
    const pending = await ask(inMsg.hash, {}, undefined, told(['pending', 1_000]));
    const root = { tx_hash: transaction.hash.toString('base64') };
    const counts = { pending_messages: transaction.outMsgs.length + 1 };
    const trace = { trace_id: null, trace: root, trace_info: counts };
    expect(pending.body).toMatchObject({ ...NOTHING, stage: 'pending', pending_utime_ms: 1_000, trace });
    await server.close();
    const confirmed = await ask(hashNorm, {}, undefined, told(['pending', 1_000], ['confirmed', 1_100]));
    const times = { pending_utime_ms: 1_000, confirmed_utime_ms: 1_100, finalized_utime_ms: null };
    expect(confirmed.body).toMatchObject({ ...NOTHING, stage: 'confirmed', ...times, trace: { trace: root } });
  });

  it('is known by the hash of every encoding that it was sent in', async () => {
    const again = Buffer.alloc(32, 0x55);
    const sent = { ...noSentMessages, normOf: async (hash: Buffer) => (hash.equals(again) ? hashNorm : null) };
    const pending = await ask(again, {}, sent, told(['pending', 1_000]));
    expect(pending.body).toMatchObject({ stage: 'pending', trace: { trace_id: null } });
  });

  it('is invalidated, and says why', async () => {
    const store = told(['pending', 1_000]);
    store.apply({ kind: 'invalidated', hashNorm, reason: 'superseded' }, true, 5, 2_000);
    const { body } = await ask(inMsg.hash, {}, undefined, store);
    const times = { pending_utime_ms: 1_000, invalidated_utime_ms: 2_000 };
    expect(body).toMatchObject({ ...NOTHING, stage: 'invalidated', ...times, invalidated_reason: 'superseded' });
  });

  it('tells the times of its levels when the index has it, also behind the end of its pending trace', async () => {
    const store = told(['pending', 1_000], ['confirmed', 1_100], ['finalized', 1_200]);
    store.apply({ kind: 'ended', hashNorm }, true);
    const { body } = await ask(inMsg.hash, sourceOf('complete', 'by message'), undefined, store);
    const times = { pending_utime_ms: 1_000, confirmed_utime_ms: 1_100, finalized_utime_ms: 1_200 };
    expect(body).toMatchObject({ stage: 'complete', ...times, invalidated_utime_ms: null });
  });
});
