/** The endpoints about contracts over a source that is given its rows: shapes of the contract, texts, errors. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import {
  bookOf,
  COLLECTION,
  contracts,
  destroyed,
  fetched,
  ITEM,
  MASTER,
  OWNER,
  raw,
  SALE,
  WALLET,
} from '../../../test/made-contracts.ts';
import { shelf } from '../../../test/shelf.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import type { Address } from '../../chain/model.ts';
import type { AccountRecord } from '../../chain/records.ts';

let server: ApiServer;
beforeAll(async () => {
  const frozen = (account: Address): AccountRecord => ({
    ...{ account, hash: Buffer.alloc(32, 5), lastTransactionHash: Buffer.alloc(32, 6), lastTransactionLt: '7' },
    ...{ balance: '0', extraCurrencies: {}, status: 'frozen', frozenHash: Buffer.alloc(32, 8) },
    ...{ codeHash: null, dataHash: null, codeBoc: null, dataBoc: null, methods: null },
  });
  const { source } = createFakeSource({
    contracts,
    book: async (accounts) => accounts.map(bookOf),
    accountStates: async (accounts) => accounts.map(frozen),
  });
  server = await serveApi(source);
});
afterAll(() => server.close());

const object = z.record(z.string(), z.any());

async function ask(path: string) {
  const response = await fetch(`${server.url}/api/v3${path}`);
  return { status: response.status, body: object.parse(await response.json()) };
}

const A = `address=${raw(OWNER)}`;
const SHAPES = [
  ['/jetton/masters', 'JettonMastersResponse', [MASTER]],
  ['/jetton/wallets', 'JettonWalletsResponse', [OWNER, MASTER, WALLET]],
  ['/jetton/transfers', 'JettonTransfersResponse', [OWNER, MASTER, WALLET, 9, 'addr_none']],
  ['/jetton/burns', 'JettonBurnsResponse', [OWNER, MASTER, WALLET, 9]],
  ['/nft/collections', 'NFTCollectionsResponse', [COLLECTION, 9]],
  ['/nft/items', 'NFTItemsResponse', [ITEM, COLLECTION, SALE, 16]],
  ['/nft/transfers', 'NFTTransfersResponse', [OWNER, ITEM, 9, 'addr_none']],
  // Not 9, who owns the collection.
  [`/nft/sales?${A}`, 'NFTSalesResponse', [OWNER, ITEM, COLLECTION, SALE, 7, 8, 10, 11]],
  [`/dns/records?wallet=${raw(OWNER)}`, 'DNSRecordsResponse', [OWNER, ITEM]],
  [`/multisig/wallets?${A}`, 'MultisigResponse', [OWNER, 9, 13, 14]],
  [`/multisig/orders?${A}&parse_actions=true`, 'MultisigOrderResponse', [OWNER, WALLET, 13, 14]],
  [`/vesting?contract_address=${raw(OWNER)}`, 'VestingContractsResponse', [OWNER, 2, 9, 15]],
] as const;

describe.skipIf(shelf === null)('shapes of the contract', () => {
  it.each(SHAPES)('%s is a %s', async (path, name, addresses) => {
    const { status, body } = await ask(path);
    expect(status, JSON.stringify(body)).toBe(200);
    specSchemas('v3')(name, body);
    const keys = addresses.map((one) => (typeof one === 'number' ? raw(one) : one));
    expect(Object.keys(body.address_book).sort()).toEqual(keys.sort());
  });

  it('/metadata is of the tokens among the addresses', async () => {
    const query = [OWNER, MASTER, WALLET, ITEM, COLLECTION].map((n) => `address=${raw(n)}`).join('&');
    const { body } = await ask(`/metadata?${query}&address=nonsense`);
    specSchemas('v3')('Metadata', body);
    expect(body).toEqual({
      [raw(MASTER)]: {
        is_indexed: true,
        token_info: [
          {
            valid: true,
            type: 'jetton_masters',
            name: 'Gold "coin"',
            symbol: 'GLD',
            is_nsfw: false,
            is_scam: false,
            extra: { decimals: '9' },
          },
        ],
      },
      [raw(WALLET)]: {
        is_indexed: true,
        token_info: [
          {
            valid: true,
            type: 'jetton_wallets',
            extra: { owner: raw(OWNER), jetton: raw(MASTER), balance: '12' },
          },
        ],
      },
      [raw(ITEM)]: { is_indexed: false, token_info: [{ type: 'nft_items', nft_index: '18446744073709551616' }] },
      [raw(COLLECTION)]: { is_indexed: false, token_info: [{ type: 'nft_collections' }] },
    });
  });

  it('metadata is also of tokens that are listed and have no code any more', async () => {
    const lists = {
      '/jetton/masters': [MASTER],
      '/jetton/wallets': [WALLET, MASTER],
      '/jetton/transfers': [WALLET, MASTER],
      '/jetton/burns': [WALLET, MASTER],
      '/nft/collections': [COLLECTION],
      '/nft/items': [ITEM, COLLECTION],
      '/nft/transfers': [ITEM],
      [`/nft/sales?${A}`]: [ITEM, COLLECTION],
    };
    const tokens = [MASTER, WALLET, ITEM, COLLECTION];
    const query = tokens.map((n) => `address=${raw(n)}`).join('&');
    const { body: before } = await ask(`/metadata?${query}`);
    for (const n of tokens) destroyed.add(raw(n));
    try {
      expect((await ask(`/metadata?${query}`)).body).toEqual(before);
      for (const [path, listed] of Object.entries(lists)) {
        const { body } = await ask(path);
        const shown = Object.fromEntries(listed.map((n) => [raw(n), before[raw(n)]]));
        expect(body.metadata, path).toMatchObject(shown);
      }
    } finally {
      destroyed.clear();
    }
  });

  it.each(['/accountStates', '/walletStates'])('%s has the metadata of tokens that are frozen', async (path) => {
    const { body } = await ask(`${path}?address=${raw(ITEM)}&address=${raw(COLLECTION)}`);
    const { body: before } = await ask(`/metadata?address=${raw(ITEM)}&address=${raw(COLLECTION)}`);
    expect(Object.keys(before)).toEqual([raw(ITEM), raw(COLLECTION)]);
    expect(body.metadata).toMatchObject(before);
  });

  it('/metadata has what was fetched, but for what the chain says itself, and tells where nothing was to be had', async () => {
    const document = { uri: 'x', name: 'Item', image: 7, attributes: [{ value: null }], extra: {} };
    fetched.set('https://ton.example/1.json', { content: JSON.stringify(document) });
    fetched.set('https://ton.example/collection.json', { content: null });
    const { body } = await ask(`/metadata?address=${raw(ITEM)}&address=${raw(COLLECTION)}`);
    fetched.clear();
    specSchemas('v3')('Metadata', body);
    const info = {
      valid: true,
      type: 'nft_items',
      name: 'Item',
      nft_index: '18446744073709551616',
      is_nsfw: false,
      is_scam: false,
      extra: { uri: 'https://ton.example/1.json', image: 7, attributes: [{ value: null }], extra: {} },
    };
    expect(body).toEqual({
      [raw(ITEM)]: { is_indexed: true, token_info: [info] },
      [raw(COLLECTION)]: { is_indexed: true, token_info: [{ valid: false, type: 'nft_collections' }] },
    });
  });
});

it('fills metadata and domains, and leaves them out when asked to', async () => {
  const { body } = await ask('/jetton/wallets');
  expect(Object.keys(body.metadata).sort()).toEqual([raw(MASTER), raw(WALLET)]);
  expect(body.address_book[raw(OWNER)].domain).toBe('alice.ton');
  const { body: bare } = await ask('/jetton/wallets?x_no_metadata=1&x_no_address_book=1');
  expect([bare.metadata, bare.address_book]).toEqual([{}, {}]);
});

it('describes in the address book what is printed in the place of an address', async () => {
  const row = { user_friendly: 'addr_none', domain: null, interfaces: [] };
  expect((await ask('/jetton/transfers')).body.address_book.addr_none).toEqual(row);
  expect((await ask('/nft/transfers')).body.address_book.addr_none).toEqual(row);
  expect((await ask('/jetton/burns')).body.address_book).not.toHaveProperty('addr_none');
  expect((await ask('/jetton/transfers?x_no_address_book=1')).body.address_book).toEqual({});
});

it('packs a forward payload into a cell of its own wherever it stands', async () => {
  const { body } = await ask('/jetton/transfers');
  const payloads = body.jetton_transfers.map((one: Record<string, unknown>) => [
    one.forward_payload,
    one.decoded_forward_payload,
  ]);
  // The form of a comment in listings (spec v3 semantics 2.2), as beside a message.
  expect(payloads[0][1]).toEqual({ '@type': 'text_comment', type: 'text_comment', comment: 'Hi' });
  expect(payloads[1][1]).toEqual(payloads[0][1]);
  expect(payloads[1][0]).toBe(payloads[0][0]);
  expect(payloads[2]).toEqual([null, null]);
  expect(body.jetton_transfers[0]).toMatchObject({ response_destination: 'addr_none', transaction_aborted: true });
  const { body: moved } = await ask('/nft/transfers');
  expect(moved.nft_transfers[0]).toMatchObject({
    nft_collection: 'addr_none',
    new_owner: raw(9),
    old_owner: raw(OWNER),
  });
});

it('names the sale of an item and its seller', async () => {
  const { body } = await ask('/nft/items');
  expect(body.nft_items[0]).toMatchObject({
    on_sale: true,
    sale_contract_address: raw(SALE),
    real_owner: raw(OWNER),
    index: '18446744073709551616',
    collection: { address: raw(COLLECTION) },
  });
  expect(body.nft_items[1]).toMatchObject({ on_sale: false, collection: null });
  expect(body.nft_items[1]).not.toHaveProperty('real_owner');
});

it('tells what the actions of an order are', async () => {
  const response = await fetch(`${server.url}/api/v3/multisig/orders?${A}&parse_actions=true`);
  const text = await response.text();
  // Beyond what a number of JavaScript can hold.
  expect(text).toContain(`"query_id":${2n ** 63n}`);
  const [{ actions }] = JSON.parse(text).orders;
  expect(actions.map((one: Record<string, unknown>) => [one.parsed, one.parsed_body_type])).toEqual([
    [true, 'ton_transfer'],
    [true, 'jetton_transfer'],
    [true, 'unknown'],
    [true, 'unknown'],
    [true, 'multisig_update_params'],
    [false, 'unknown'],
  ]);
  expect(actions[0]).toMatchObject({
    destination: raw(WALLET),
    value: '5',
    send_mode: 3,
    parsed_body: { comment: 'Grüße', encrypted: false },
  });
  expect(actions[1].parsed_body).toMatchObject({ amount: '7', comment: 'Grüße', payload_sum_type: 'TextComment' });
  expect(actions[2].parsed_body.opcode).toBe(0xdeadbeef);
  expect(actions[3].parsed_body.opcode).toBe(0);
  expect(actions[4].parsed_body).toEqual({ new_threshold: 1, new_signers: [raw(OWNER)], new_proposers: [] });
  const { body } = await ask(`/multisig/wallets?${A}`);
  expect(body.multisigs[0].orders[0].actions).toEqual([]);
  expect((await ask(`/multisig/orders?${A}`)).body.orders[0].actions).toEqual([]);
  expect((await ask(`/multisig/wallets?${A}&include_orders=false`)).body.multisigs[0].orders).toEqual([]);
});

it.each([
  [
    `/jetton/wallets?jetton_address=${raw(1)}&jetton_address=${raw(2)}`,
    'exact one owner_address required for multiple jetton_address',
  ],
  [`/jetton/transfers?direction=sideways`, 'direction should be one of: in, out, both'],
  ['/nft/items?index=abc', 'index should contain digits only'],
  ['/nft/items?index=1', 'index parameter is not allowed without the collection_address'],
  [
    `/nft/items?collection_address=${raw(1)}&collection_address=${raw(2)}`,
    'exact one owner_address required for multiple collection_address',
  ],
  ['/nft/sales', 'at least 1 address required'],
  ['/dns/records', 'either wallet address or domain is required'],
  [`/dns/records?domain=a.ton&wallet=${raw(1)}`, 'provide either wallet address or domain, not both'],
  ['/multisig/wallets', 'At least one of address or wallet_address should be specified'],
  ['/multisig/orders', 'At least one of address or multisig_address should be specified'],
  ['/vesting', 'at least one of contract_address or wallet_address is required'],
  [
    `/vesting?contract_address=${raw(1)}&wallet_address=${raw(1)}`,
    'only one of contract_address or wallet_address should be specified',
  ],
  ['/metadata', 'at least 1 address required'],
  ['/jetton/masters?limit=1001', 'limit is not allowed: 1001 > 1000'],
])('%s is refused', async (path, error) => {
  expect(await ask(path)).toEqual({ status: 422, body: { error } });
});

it.each(['runGetMethod', 'estimateFee'])('%s takes as large a body as v2 does, and no larger', async (path) => {
  const ask = async (bytes: number) => {
    const body = '{"address":"x"}'.padEnd(bytes);
    const response = await fetch(`${server.url}/api/v3/${path}`, { method: 'POST', body });
    return response.status;
  };
  expect(await ask(1024 * 1024)).not.toBe(413);
  expect(await ask(1024 * 1024 + 1)).toBe(413);
});
