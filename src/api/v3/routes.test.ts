import { readFileSync } from 'node:fs';
import { beginCell } from '@ton/core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource, type FakeSource, noContracts } from '../../../test/fake-source.ts';
import { type RecordedChain, recordedChain } from '../../../test/recorded-chain.ts';
import { requireShelf, shelf } from '../../../test/shelf.ts';
import { parseAddress, rawAddress } from '../../chain/address.ts';
import type { ChainSource } from '../../chain/chain-source.ts';
import type { NftItemFilter } from '../../chain/contract-records.ts';
import type { AccountRecord, TraceRecord } from '../../chain/records.ts';
import type { Contracts } from '../contracts.ts';
import { accountJson } from './render/account.ts';

const HASH = '0'.repeat(63);
const ACCOUNT = '0:09331D93672E0054952D514A98C3121971894BAC88281CD698423B7DD82063A5';
const OTHER = ACCOUNT.replace('093', '0A3');
const address = (text: string) => parseAddress(text)!;
const hash = (digit: string) => Buffer.from(HASH + digit, 'hex');

describe('what routes ask', () => {
  let server: ApiServer;
  let fake: FakeSource;
  afterEach(() => server.close());

  const ask = async (path: string, answers: Partial<ChainSource> = {}) => {
    fake = createFakeSource(answers);
    server = await serveApi(fake.source);
    const response = await fetch(`${server.url}/api/v3${path}`);
    await response.text();
    return { status: response.status, asked: fake.asked.map(({ method, args }) => [method, ...args.slice(0, -1)]) };
  };

  it('hands on every parameter of /transactions', async () => {
    const query =
      'workchain=0&shard=8000000000000000&seqno=5&mc_seqno=9&lt=7&start_utime=1&end_utime=2&start_lt=3&end_lt=4' +
      `&account=${ACCOUNT}&exclude_account=${OTHER}&hash=${HASH}1,${HASH}2&limit=6&offset=8&sort=asc&cursor=c`;
    const { asked } = await ask(`/transactions?${query}`, { hasMasterchainBlock: async () => true });
    expect(asked).toEqual([
      ['hasMasterchainBlock', 9],
      [
        'transactions',
        {
          workchain: 0,
          shard: '8000000000000000',
          seqno: 5,
          mcSeqno: 9,
          accounts: [address(ACCOUNT)],
          excludeAccounts: [address(OTHER)],
          hashes: [hash('1'), hash('2')],
          emptyHash: false,
          lt: '7',
          utime: { start: 1, end: 2 },
          ltWindow: { start: '3', end: '4' },
          sort: 'asc',
          page: { limit: 6, offset: 8 },
          cursor: 'c',
        },
      ],
    ]);
  });

  it('hands on every parameter of /messages', async () => {
    const query =
      `msg_hash=${HASH}1&hash=${HASH}2&body_hash=${HASH}3&source=null&destination=${OTHER}&opcode=0xff&direction=out` +
      '&start_utime=1&end_utime=2&start_lt=3&end_lt=4&exclude_externals=1&only_externals=t';
    const { asked } = await ask(`/messages?${query}`);
    expect(asked).toEqual([
      [
        'messages',
        {
          messageHashes: [hash('1')],
          bodyHash: hash('3'),
          source: null,
          destination: address(OTHER),
          opcode: 255,
          direction: 'out',
          utime: { start: 1, end: 2 },
          ltWindow: { start: '3', end: '4' },
          excludeExternals: true,
          onlyExternals: true,
          sort: 'desc',
          page: { limit: 100, offset: 0 },
          cursor: undefined,
        },
      ],
    ]);
  });

  it.each([
    [`/messages?hash=${HASH}1`, { messageHashes: [hash('1')] }],
    ['/messages?hash=zz', { messageHashes: [] }],
    ['/transactionsByMessage?opcode=1', { opcode: 1, direction: 'in' }],
    [`/transactionsByMessage?msg_hash=${HASH}1&direction=out`, { messageHashes: [hash('1')], direction: 'out' }],
    ['/masterchainBlockShards?seqno=3&sort=asc', { mcSeqno: 3, sort: 'asc' }],
    [`/blocks?root_hash=${HASH}1&file_hash=${HASH}2`, { rootHash: hash('1'), fileHash: hash('2') }],
    ['/blocks?end_lt=5&start_utime=1.9', { lt: { start: undefined, end: '5' }, utime: { start: 1, end: undefined } }],
  ])('%s', async (path, filter) => {
    const { asked } = await ask(path);
    expect(asked[0][1]).toMatchObject(filter);
  });

  it.each([
    ['index=', []],
    ['index=&index=007', ['7']],
  ])('leaves empty values of %s out', async (query, indexes) => {
    const asked: string[][] = [];
    const nftItems = async (filter: NftItemFilter) => {
      asked.push(filter.indexes);
      return [];
    };
    const contracts = { ...noContracts(), nftItems };
    const path = `/nft/items?collection_address=${ACCOUNT}&${query}`;
    expect(await ask(path, { contracts })).toMatchObject({ status: 200 });
    expect(asked).toEqual([indexes]);
    await server.close();
    expect(await ask(`/nft/items?${query}`, { contracts })).toMatchObject({ status: 422 });
  });

  it('answers opcode with direction=out without asking', async () => {
    expect(await ask('/transactionsByMessage?opcode=1&direction=out')).toEqual({ status: 200, asked: [] });
  });

  it('takes any other direction of /adjacentTransactions as both', async () => {
    const { asked } = await ask(`/adjacentTransactions?hash=${HASH}1&direction=sideways`);
    expect(asked).toEqual([['adjacentTransactions', hash('1'), undefined]]);
  });
});

it('says why a trace comes without its transactions: it is too large, or those before it in the answer are', async () => {
  const sizes = [4_001, 4_000, 4_000, 4_000, 4_000, 4_000, 2];
  const rows = sizes.map((transactions, i): TraceRecord => {
    const place = { mcSeqnoStart: 5, mcSeqnoEnd: 6, startLt: '1', startUtime: 1, endLt: String(99 - i), endUtime: 9 };
    const counts = { transactions, messages: transactions, pendingMessages: 0 };
    const told = { state: 'complete', classification: 'ok', externalHash: null } as const;
    return { traceId: hash(String(i)), ...place, ...counts, ...told, places: [] };
  });
  const server = await serveApi(createFakeSource({ traces: async () => ({ rows, nextCursor: null }) }).source);
  const response = await fetch(`${server.url}/api/v3/traces`);
  const body: unknown = await response.json();
  await server.close();
  const shown = { is_incomplete: false, transactions_order: [] };
  expect(body).toMatchObject({
    traces: [
      { is_incomplete: true, warning: 'trace is too large' },
      ...Array(5).fill(shown),
      { is_incomplete: true, warning: 'too many transactions in one answer: ask for fewer traces' },
    ],
  });
});

it('estimates with signatures checked unless asked not to', async () => {
  const asked: boolean[] = [];
  const fees = { inForward: 1n, storage: 2n, gas: 3n, forward: 4n };
  const contracts: Contracts = {
    open: () => Promise.reject(new Error('nothing is to run')),
    beyond: async () => null,
    async estimate({ ignoreSignatures }) {
      asked.push(ignoreSignatures);
      return fees;
    },
  };
  const server = await serveApi(createFakeSource().source, { contracts });
  const body = beginCell().endCell().toBoc().toString('base64');
  for (const more of [{}, { ignore_chksig: false }, { ignore_chksig: true }]) {
    await fetch(`${server.url}/api/v3/estimateFee`, {
      method: 'POST',
      body: JSON.stringify({ address: ACCOUNT, body, ...more }),
    });
  }
  await server.close();
  expect(asked).toEqual([false, false, true]);
});

describe.skipIf(shelf === null)('answers over recorded blocks', () => {
  let chain: RecordedChain;
  let server: ApiServer;
  const ajv = new Ajv2020({ allowUnionTypes: true });

  beforeAll(async () => {
    ajv.addSchema(JSON.parse(readFileSync(`${requireShelf()}/spec/v3/schemas.json`, 'utf8')), 'v3');
    chain = recordedChain('private');
    const blocks = [...chain.blocks.values()];
    const rows = <T>(all: Map<string, T>) => ({ rows: [...all.values()].slice(0, 500), nextCursor: null });
    const accounts = [...chain.accounts.values()];
    const { source } = createFakeSource({
      masterchainInfo: async () => ({ first: blocks[0], last: blocks[1] }),
      hasMasterchainBlock: async () => true,
      blocks: async () => rows(chain.blocks),
      shardState: async () => blocks.slice(0, 3),
      transactions: async () => rows(chain.transactions),
      transactionsByMessage: async () => rows(chain.transactions).rows,
      adjacentTransactions: async () => rows(chain.transactions).rows,
      messages: async () => rows(chain.messages),
      accountStates: async () => accounts,
      topBalances: async () => accounts,
    });
    server = await serveApi(source);
    return () => server.close();
  });

  it.each([
    ['/masterchainInfo', 'MasterchainInfo'],
    ['/blocks', 'BlocksResponse'],
    ['/masterchainBlockShardState?seqno=1', 'BlocksResponse'],
    ['/masterchainBlockShards?seqno=1', 'BlocksResponse'],
    ['/transactions', 'TransactionsResponse'],
    ['/transactions?mc_seqno=1', 'TransactionsResponse'],
    ['/transactionsByMasterchainBlock?seqno=1', 'TransactionsResponse'],
    ['/transactionsByMessage?opcode=1', 'TransactionsResponse'],
    [`/adjacentTransactions?hash=${HASH}1`, 'TransactionsResponse'],
    ['/messages', 'MessagesResponse'],
    [`/accountStates?address=${ACCOUNT}`, 'AccountStatesResponse'],
    [`/addressBook?address=${ACCOUNT}&address=xx`, 'AddressBook'],
    ['/topAccountsByBalance', 'TopAccountsByBalanceResponse'],
    ['/blocks?limit=x', 'ErrorResponse'],
  ])('%s has the form %s', async (path, name) => {
    const response = await fetch(`${server.url}/api/v3${path}`);
    const validate = ajv.getSchema(`v3#/$defs/${name}`)!;
    expect(validate(await response.json()), ajv.errorsText(validate.errors)).toBe(true);
    expect(response.status).toBe(name === 'ErrorResponse' ? 422 : 200);
  });

  it('renders the account states that the reference printed', () => {
    const Accounts = z.object({ accounts: z.array(z.looseObject({ address: z.string(), interfaces: z.unknown() })) });
    let compared = 0;
    for (const { endpoint, status, body } of chain.cases) {
      if (endpoint !== 'accountStates' || status !== 200) continue;
      for (const { contract_methods, data_boc, code_boc, ...row } of Accounts.parse(body).accounts) {
        const record: AccountRecord | undefined = chain.accounts.get(row.address);
        expect(record, row.address).toBeDefined();
        const ours = z.looseObject({}).parse(JSON.parse(accountJson(record!)));
        expect(ours).toEqual({ ...row, contract_methods: null });
        expect(rawAddress(record!.account)).toBe(row.address);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(10);
  });
});
