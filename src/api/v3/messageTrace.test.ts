/** The stages of a message's life, over a source and a topic that are given. */
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { recordedChain } from '../../../test/recorded-chain.ts';
import { shelf } from '../../../test/shelf.ts';
import type { ChainSource } from '../../chain/chain-source.ts';
import type { TraceFilter, TraceRecord, TransactionRecord } from '../../chain/records.ts';
import type { SentMessages } from '../sent-messages.ts';
import { messageTrace } from './schemas.ts';

let server: ApiServer;
afterEach(() => server.close());

const answer = z.looseObject({ stage: z.string() });

async function ask(hash: Buffer | string, answers: Partial<ChainSource>, sent?: SentMessages) {
  server = await serveApi(createFakeSource(answers).source, sent ? { sent } : {});
  const text = typeof hash === 'string' ? hash : hash.toString('hex');
  const response = await fetch(`${server.url}/api/v3/messageTrace?hash=${text}`);
  const body: unknown = await response.json();
  if (response.status === 200) messageTrace.parse(body);
  return { status: response.status, body: response.status === 200 ? answer.parse(body) : body };
}

const HASH = Buffer.alloc(32, 7);
const NOTHING = {
  seen_utime_ms: null,
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
  const sent = { sentAt: async (hash: Buffer) => (hash.equals(HASH) ? 1_700_000_000_123 : null) };
  const { body } = await ask(HASH, {}, sent);
  expect(body).toMatchObject({ ...NOTHING, stage: 'seen', seen_utime_ms: 1_700_000_000_123 });
});

describe.skipIf(shelf === null)('a message that a block has', () => {
  const { transactions } = recordedChain('mainnet');
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
    const sent = { sentAt: async (hash: Buffer) => (hash.equals(inMsg.hash) ? 12_345 : null) };
    const { body } = await ask(transaction.hash, sourceOf('complete', 'by hash'), sent);
    expect(body).toMatchObject({
      stage: 'complete',
      seen_utime_ms: 12_345,
      complete_utime: transaction.now + 9,
      complete_mc_seqno: 6,
      trace: { is_incomplete: false, trace_id: transaction.hash.toString('base64') },
    });
  });
});
