/** Pending transactions, and what is shown beside actions, over a source and a topic that are given. */
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { encodeStates } from '../../../clickhouse/states.ts';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { madeAction, madeHash, madeMessage, madeTransaction } from '../../../test/made-chain.ts';
import { recordedChain } from '../../../test/recorded-chain.ts';
import { shelf } from '../../../test/shelf.ts';
import { addressOf, rawAddress } from '../../chain/address.ts';
import { createPendingStore } from '../../pending/store.ts';
import { noSentMessages } from '../sent-messages.ts';
import { actionJson } from './render/action.ts';
import { createBook } from './render/book.ts';
import { transactionJson } from './render/transaction.ts';

it('a pending transaction says the normalised hash of its message even where that is the hash', () => {
  const hash = madeHash('external');
  const inMsg = madeMessage({ kind: 'external_in', hash, hashNorm: () => hash });
  const record = madeTransaction({ name: 'a', mcSeqno: 1, transaction: { inMsg, outMsgs: [madeMessage()] } });
  const norms = (json: string) => json.match(/"hash_norm":"[^"]*"/g) ?? [];
  expect(norms(transactionJson(record, createBook(false)))).toEqual([]);
  const finality = 'pending' as const;
  expect(norms(transactionJson({ ...record, finality }, createBook(false)))).toEqual([
    `"hash_norm":"${hash.toString('base64')}"`,
  ]);
});

const shown = z.looseObject({
  actions: z.array(z.looseObject({})).optional(),
  traces: z.array(z.looseObject({})).optional(),
  address_book: z.record(z.string(), z.unknown()),
});

describe.skipIf(shelf === null)('address books of pending transactions', () => {
  const chain = recordedChain('mainnet');
  const [record] = [...chain.transactions.values()].filter(
    ({ transaction: { inMsg, outMsgs } }) => inMsg?.kind === 'external_in' && outMsgs.length > 0,
  );
  const { transaction } = record;
  const inMsg = transaction.inMsg ?? expect.fail('it has an in-message');
  const bag = chain.bags.get(transaction.hash.toString('base64'))?.() ?? expect.fail('it has its bytes');
  const pending = createPendingStore();
  const place = { block: record.block, blockHash: null, mcSeqno: 5 };
  const node = {
    finality: 'pending' as const,
    ...place,
    transaction: bag,
    states: encodeStates(null, null),
    wallet: null,
  };
  const hashNorm = inMsg.hashNorm() ?? inMsg.hash;
  const rest = { globalVersion: 9, isIncomplete: false, classification: 'ok' as const, actions: [] };
  const trace = { hashNorm, externalHash: inMsg.hash, version: 1, begunMs: 1, changedMs: 1, ...rest, nodes: [node] };
  pending.apply({ kind: 'trace', trace }, true);

  let server: ApiServer;
  afterEach(() => server.close());

  async function bookOf(path: string): Promise<string[]> {
    server = await serveApi(createFakeSource().source, { pending });
    const response = await fetch(`${server.url}/api/v3${path}`);
    return Object.keys(shown.parse(await response.json()).address_book);
  }

  const account = rawAddress(transaction.account);

  it.each(['', '&x_no_address_book=1'])('are filled whatever the switch says: %s', async (more) => {
    expect(await bookOf(`/pendingTransactions?account=${account}${more}`)).toContain(account);
  });

  it('of pending traces are left out where nobody wants them', async () => {
    expect(await bookOf(`/pendingTraces?account=${account}&x_no_address_book=1`)).toEqual([]);
  });

  describe('a transaction whose account is known before it and after it', () => {
    const state = {
      status: 'active' as const,
      balance: '7',
      extraCurrencies: {},
      frozenHash: null,
      codeHash: madeHash('code'),
      dataHash: null,
    };
    const action = { ...madeAction(madeHash('own')), ancestors: [], transactions: transaction.hash };
    const known = { ...trace, actions: [{ ...action, content: JSON.stringify([{}, [account]]) }] };
    const told = z.looseObject({ account_state_before: z.unknown(), account_state_after: z.unknown() });
    const some = z.looseObject({
      transactions: z.array(told).optional(),
      traces: z.array(z.looseObject({ transactions: z.record(z.string(), told) })).optional(),
      actions: z.array(z.looseObject({ transactions_full: z.array(told) })).optional(),
    });

    it.each([
      `/pendingTransactions?account=${account}`,
      `/pendingTraces?account=${account}`,
      `/pendingActions?account=${account}&include_transactions=1`,
    ])('shows the hashes of its states alone: %s', async (path) => {
      const store = createPendingStore();
      store.apply(
        { kind: 'trace', trace: { ...known, nodes: [{ ...node, states: encodeStates(state, state) }] } },
        true,
      );
      server = await serveApi(createFakeSource().source, { pending: store });
      const { transactions, traces, actions } = some.parse(await (await fetch(`${server.url}/api/v3${path}`)).json());
      const [shownOne] =
        transactions ??
        actions?.flatMap((one) => one.transactions_full) ??
        Object.values(traces?.[0].transactions ?? {});
      const only = (hash: Buffer) => ({
        hash: hash.toString('base64'),
        balance: null,
        extra_currencies: null,
        account_status: null,
        frozen_hash: null,
        data_hash: null,
        code_hash: null,
      });
      expect(shownOne).toMatchObject({
        account_state_before: only(transaction.stateBefore),
        account_state_after: only(transaction.stateAfter),
      });
    });
  });

  describe('a trace whose actions are found by others than its accounts', () => {
    const other = rawAddress(addressOf(0, Buffer.alloc(32, 0x77)));
    const did = (name: string, accounts: string[]) => ({
      ...madeAction(madeHash(name)),
      ancestors: [],
      transactions: transaction.hash,
      content: JSON.stringify([{}, accounts]),
    });
    const actions = [did('own', [account]), did('theirs', [other])];
    const idsOf = (shownActions: Record<string, unknown>[] = []) => shownActions.map(({ action_id: id }) => id);
    const [own, theirs] = actions.map(({ actionId }) => actionId.toString('base64'));

    async function ask(path: string, finality: 'pending' | 'confirmed' = 'pending', sent = noSentMessages) {
      const store = createPendingStore();
      store.apply({ kind: 'trace', trace: { ...trace, nodes: [{ ...node, finality }], actions } }, true);
      server = await serveApi(createFakeSource().source, { pending: store, sent });
      return shown.parse(await (await fetch(`${server.url}/api/v3${path}`)).json());
    }

    it.each([
      [account, own],
      [other, theirs],
    ])('is told of an account with its actions alone: %s', async (asked, id) => {
      const { actions: told } = await ask(`/pendingActions?account=${asked}`);
      expect(idsOf(told)).toEqual([id]);
      expect(told).toMatchObject([{ accounts: [asked] }]);
    });

    it.each([
      ['pendingTraces', 0x55, 1],
      ['pendingTraces', 0x56, 0],
      ['pendingActions', 0x55, 2],
      ['pendingActions', 0x56, 0],
    ])('is told by %s of its message by the hash of every encoding that it was sent in', async (name, byte, found) => {
      const normOf = async (hash: Buffer) => (hash.equals(Buffer.alloc(32, 0x55)) ? hashNorm : null);
      const hash = Buffer.alloc(32, byte).toString('hex');
      const shownOf = await ask(`/${name}?ext_msg_hash=${hash}`, 'pending', { ...noSentMessages, normOf });
      expect(shownOf.traces ?? shownOf.actions).toHaveLength(found);
    });

    it('is told of its message with all actions, each with its accounts', async () => {
      const { actions: told = [] } = await ask(`/pendingActions?ext_msg_hash=${hashNorm.toString('hex')}`);
      expect(idsOf(told).sort()).toEqual([own, theirs].sort());
      await server.close();
      const { traces } = await ask(`/pendingTraces?account=${account}`);
      expect(traces).toMatchObject([{ actions: [{ accounts: [account] }, { accounts: [other] }] }]);
      await server.close();
      expect((await ask(`/pendingTraces?account=${other}`)).traces).toEqual([]);
    });

    it.each([
      ['pending', transaction.outMsgs.length + 1],
      ['confirmed', 0],
    ] as const)('counts as pending the messages of what is emulated: %s', async (finality, pendingMessages) => {
      const { traces } = await ask(`/pendingTraces?account=${account}`, finality);
      const counts = { messages: transaction.outMsgs.length + 1, pending_messages: pendingMessages };
      expect(traces).toMatchObject([{ trace_info: counts }]);
    });
  });
});

const NAMED = Array.from({ length: 5 }, (_, n) => rawAddress(addressOf(0, Buffer.alloc(32, n + 1))));

it.each([
  ['coffee_create_vault', ['source', 'vault', 'asset'], []],
  ['coffee_create_pool', ['pool_creator_contract', 'asset_1'], ['initiator_1', 'initiator_2', 'provided_asset']],
  ['coffee_create_pool_creator', ['deposit_recipient', 'asset_2'], ['provided_asset']],
  ['coffee_staking_deposit', ['source_jetton_wallet', 'pool_jetton_wallet'], ['minted_item_address']],
  ['coffee_staking_withdraw', ['pool', 'asset'], ['nft_address']],
  ['layerzero_receive', ['sender', 'oapp', 'channel'], []],
  ['layerzero_commit_packet', ['sender', 'endpoint', 'uln', 'uln_connection', 'channel'], []],
  ['layerzero_dvn_verify', ['initiator'], ['dvn', 'proxy', 'uln', 'uln_connection']],
])('of %s the book has who takes part and what is moved', (type, listed, unlisted) => {
  const book = createBook(false);
  const details = Object.fromEntries([...listed, ...unlisted].map((key, i) => [key, NAMED[i]]));
  actionJson({ ...madeAction(madeHash('a')), type, content: JSON.stringify([details, []]) }, book, { accounts: false });
  expect(book.addresses().map(rawAddress)).toEqual(listed.map((_, i) => NAMED[i]));
});

it('of what is sent over LayerZero the book has the sender and the asset, and nothing of the packet', () => {
  const book = createBook(false);
  const [sender, asset, uln, endpoint, oapp] = NAMED;
  const details = { sender, asset, layerzero_send_data: { uln, endpoint }, layerzero_packet_data: { src_oapp: oapp } };
  const action = {
    ...madeAction(madeHash('a')),
    type: 'layerzero_send_tokens',
    content: JSON.stringify([details, []]),
  };
  actionJson(action, book, { accounts: false });
  expect(book.addresses().map(rawAddress)).toEqual([sender, asset]);
});

it('the transactions of actions are not in the address book', async () => {
  const record = madeTransaction({ name: 'a', mcSeqno: 1 });
  const { hash } = record.transaction;
  const named = rawAddress(madeMessage().source ?? expect.fail('it has a sender'));
  const action = { ...madeAction(hash), content: JSON.stringify([{ source: named }, [named]]) };
  const { source } = createFakeSource({
    actions: async () => ({ rows: [action], nextCursor: null }),
    transactions: async () => ({ rows: [record], nextCursor: null }),
  });
  const server = await serveApi(source);
  const response = await fetch(`${server.url}/api/v3/actions?include_transactions=true`);
  const { actions, address_book: book } = shown.parse(await response.json());
  await server.close();
  expect(actions).toMatchObject([{ transactions_full: [{ hash: hash.toString('base64') }] }]);
  expect(Object.keys(book)).toEqual([named]);
});
