/** The endpoints about contracts over a source that is given its rows: shapes of the contract, texts, errors. */
import { beginCell, Dictionary, internal, storeMessageRelaxed, Address as TonAddress } from '@ton/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource, noContracts } from '../../../test/fake-source.ts';
import { shelf } from '../../../test/shelf.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import { addressOf, rawAddress } from '../../chain/address.ts';
import type { ContractSource, ListedNftItem, TokenEvent } from '../../chain/contract-records.ts';
import { methodId } from '../../chain/interfaces.ts';
import type { Address, Message, Transaction } from '../../chain/model.ts';
import type { BookRecord, TransactionRecord } from '../../chain/records.ts';

const address = (n: number): Address => addressOf(0, Buffer.alloc(32, n));
const raw = (n: number): string => rawAddress(address(n));
const ton = (n: number): TonAddress => new TonAddress(0, Buffer.alloc(32, n));
const [OWNER, MASTER, WALLET, ITEM, COLLECTION, SALE] = [1, 2, 3, 4, 5, 6];

function detected(n: number) {
  const [codeHash, dataHash] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  return { address: address(n), id: '1', mcSeqno: 1, lastTransactionLt: '77', codeHash, dataHash };
}

const master = {
  ...detected(MASTER),
  totalSupply: '1000',
  mintable: true,
  adminAddress: null,
  jettonContent: '{"name":"Gold \\"coin\\"","symbol":"GLD","decimals":"9"}',
  jettonWalletCodeHash: Buffer.alloc(32, 3),
};
const wallet = {
  ...detected(WALLET),
  balance: '12',
  owner: address(OWNER),
  jetton: address(MASTER),
  mintlessIsClaimed: null,
};
const collection = {
  ...detected(COLLECTION),
  nextItemIndex: '-1',
  ownerAddress: address(9),
  collectionContent: '{"uri":"https://ton.example/collection.json"}',
};
const item = {
  ...detected(ITEM),
  init: true,
  nftIndex: '18446744073709551616',
  collectionAddress: address(COLLECTION),
  ownerAddress: address(SALE),
  content: '{"uri":"https://ton.example/1.json"}',
};
const listed: ListedNftItem = {
  item,
  collection,
  sale: { kind: 'sale', address: address(SALE), seller: address(OWNER) },
};
const sale = {
  ...detected(SALE),
  isComplete: false,
  createdAt: 5,
  marketplace: address(8),
  nftAddress: address(ITEM),
  nftOwner: address(OWNER),
  fullPrice: '100',
  marketplaceFeeAddress: address(8),
  marketplaceFee: '1',
  royaltyAddress: address(7),
  royaltyAmount: '2',
};
const auction = {
  ...detected(10),
  endFlag: false,
  endTime: 9,
  marketplace: address(8),
  nftAddress: address(ITEM),
  nftOwner: null,
  lastBid: '0',
  lastMember: null,
  minStep: 5,
  mpFeeAddress: address(8),
  mpFeeFactor: 1,
  mpFeeBase: 100,
  royaltyFeeAddress: address(7),
  royaltyFeeFactor: 1,
  royaltyFeeBase: 100,
  maxBid: '0',
  minBid: '1',
  createdAt: 1,
  lastBidAt: 0,
  isCanceled: false,
};
const telemint = {
  ...detected(11),
  tokenName: 'durov',
  bidderAddress: null,
  bid: '0',
  bidTs: 0,
  minBid: '0',
  endTime: 0,
  beneficiaryAddress: address(7),
  initialMinBid: '1',
  maxBid: '0',
  minBidStep: '5',
  minExtendTime: 3600,
  duration: 7200,
  royaltyNumerator: 5,
  royaltyDenominator: 100,
  royaltyDestination: address(7),
};
const record = {
  ...detected(ITEM),
  domain: 'alice.ton',
  nftItemOwner: address(OWNER),
  dnsNextResolver: address(12),
  dnsWallet: address(OWNER),
  dnsSiteAdnl: Buffer.alloc(32, 4),
  dnsStorageBagId: null,
};
const multisig = {
  ...detected(13),
  nextOrderSeqno: '-1',
  threshold: 2,
  signers: [address(OWNER), address(9)],
  proposers: [],
};

/** What an order of a multisig is told to do, made with another library. */
function orderCell() {
  const send = (body: ReturnType<typeof beginCell>) =>
    beginCell()
      .storeUint(0xf1381e5b, 32)
      .storeUint(3, 8)
      .storeRef(
        beginCell()
          .store(storeMessageRelaxed(internal({ to: ton(WALLET), value: 5n, body: body.endCell() })))
          .endCell(),
      )
      .endCell();
  const jettons = beginCell()
    .storeUint(0x0f8a7ea5, 32)
    .storeUint(2n ** 63n, 64)
    .storeCoins(7n);
  const comment = beginCell().storeUint(0, 32).storeStringTail('Grüße');
  const signers = Dictionary.empty(Dictionary.Keys.Uint(8), Dictionary.Values.Address()).set(0, ton(OWNER));
  const actions = Dictionary.empty(Dictionary.Keys.Uint(8), Dictionary.Values.Cell())
    .set(0, send(comment))
    .set(
      1,
      send(
        jettons
          .storeAddress(ton(OWNER))
          .storeAddress(null)
          .storeBit(0)
          .storeCoins(1n)
          .storeBit(1)
          .storeRef(comment.endCell()),
      ),
    )
    .set(2, send(beginCell().storeUint(0xdeadbeef, 32)))
    .set(3, send(beginCell().storeUint(0x595f07bc, 32)))
    .set(
      4,
      beginCell()
        .storeUint(0x1d0cfbd3, 32)
        .storeUint(1, 8)
        .storeRef(beginCell().storeDictDirect(signers).endCell())
        .storeBit(0)
        .endCell(),
    )
    .set(5, beginCell().storeUint(1, 32).endCell());
  return beginCell().storeDictDirect(actions).endCell();
}

const order = {
  ...detected(14),
  multisigAddress: address(13),
  orderSeqno: '3',
  threshold: 2,
  sentForExecution: false,
  approvalsMask: '1',
  approvalsNum: 1,
  expirationDate: '1800000000',
  orderBoc: orderCell().toBoc(),
  signers: [address(OWNER)],
};
const vesting = {
  ...detected(15),
  startTime: '1',
  totalDuration: 2,
  unlockPeriod: 1,
  cliffDuration: 0,
  totalAmount: '5',
  senderAddress: address(OWNER),
  ownerAddress: address(9),
  whitelist: [address(1), address(2)],
};

/** A transaction with this message: nothing else of it is printed. */
function event(account: number, token: number | null, body: ReturnType<typeof beginCell>): TokenEvent {
  const inMsg: Partial<Message> = { source: address(OWNER), bodyBoc: () => body.endCell().toBoc() };
  const description = { aborted: true } satisfies Partial<Transaction['description']>;
  const transaction = { account: address(account), hash: Buffer.alloc(32, 5), lt: '10', now: 11, description, inMsg };
  return {
    transaction: { transaction, traceId: null } as unknown as TransactionRecord,
    token: token === null ? null : address(token),
  };
}

const transfer = (forward: (body: ReturnType<typeof beginCell>) => ReturnType<typeof beginCell>) =>
  forward(
    beginCell()
      .storeUint(0x0f8a7ea5, 32)
      .storeUint(7, 64)
      .storeCoins(100n)
      .storeAddress(ton(9))
      .storeAddress(null)
      .storeBit(0)
      .storeCoins(1n),
  );
const comment = (body: ReturnType<typeof beginCell>) => body.storeUint(0, 32).storeStringTail('Hi');

const contracts: ContractSource = {
  ...noContracts(),
  domainOf: (account) => (account.equals(address(OWNER)) ? 'alice.ton' : null),
  jettonMasters: async () => [master],
  jettonWallets: async () => [wallet],
  jettonTransfers: async () => [
    event(
      WALLET,
      MASTER,
      transfer((body) => comment(body.storeBit(0))),
    ),
    event(
      WALLET,
      MASTER,
      transfer((body) => body.storeBit(1).storeRef(comment(beginCell()).endCell())),
    ),
    event(
      WALLET,
      MASTER,
      transfer((body) => body.storeBit(0)),
    ),
  ],
  jettonBurns: async () => [
    event(
      WALLET,
      MASTER,
      beginCell().storeUint(0x595f07bc, 32).storeUint(1, 64).storeCoins(3n).storeAddress(ton(9)).storeBit(0),
    ),
  ],
  nftCollections: async () => [collection],
  nftItems: async () => [listed, { item: { ...item, address: address(16) }, collection: null, sale: null }],
  nftTransfers: async () => [
    event(
      ITEM,
      null,
      beginCell()
        .storeUint(0x5fcc3d14, 32)
        .storeUint(1, 64)
        .storeAddress(ton(9))
        .storeAddress(ton(OWNER))
        .storeBit(1)
        .storeRef(beginCell().endCell())
        .storeCoins(2n)
        .storeBit(0),
    ),
  ],
  nftSales: async () => ({
    sales: [sale],
    auctions: [auction],
    telemint: [telemint],
    items: new Map([[address(ITEM).toString('latin1'), listed]]),
  }),
  dnsRecords: async () => [record],
  multisigWallets: async () => [multisig],
  multisigOrders: async () => [order],
  vestingContracts: async () => [vesting],
  tokens: async ({ items, collections, masters, wallets }) => ({
    items: items.some((one) => one.equals(item.address)) ? [item] : [],
    collections: collections.some((one) => one.equals(collection.address)) ? [collection] : [],
    masters: masters.length + wallets.length > 0 ? [master] : [],
    wallets: wallets.some((one) => one.equals(wallet.address)) ? [wallet] : [],
  }),
};

const METHODS: Record<string, string[]> = {
  [raw(MASTER)]: ['get_jetton_data'],
  [raw(WALLET)]: ['get_wallet_data'],
  [raw(ITEM)]: ['get_nft_data'],
  [raw(COLLECTION)]: ['get_collection_data'],
};

function bookOf(account: Address): BookRecord {
  const methods = METHODS[rawAddress(account)];
  return methods === undefined
    ? { account, codeHash: null, methods: null }
    : { account, codeHash: Buffer.alloc(32, 1), methods: methods.map(methodId) };
}

let server: ApiServer;
beforeAll(async () => {
  const { source } = createFakeSource({ contracts, book: async (accounts) => accounts.map(bookOf) });
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
  ['/jetton/transfers', 'JettonTransfersResponse', [OWNER, MASTER, WALLET, 9]],
  ['/jetton/burns', 'JettonBurnsResponse', [OWNER, MASTER, WALLET, 9]],
  ['/nft/collections', 'NFTCollectionsResponse', [COLLECTION, 9]],
  ['/nft/items', 'NFTItemsResponse', [ITEM, COLLECTION, SALE, 16]],
  ['/nft/transfers', 'NFTTransfersResponse', [OWNER, ITEM, 9]],
  [`/nft/sales?${A}`, 'NFTSalesResponse', [OWNER, ITEM, COLLECTION, SALE, 7, 8, 9, 10, 11]],
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
    expect(Object.keys(body.address_book).sort()).toEqual(addresses.map(raw).sort());
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
});

it('fills metadata and domains, and leaves them out when asked to', async () => {
  const { body } = await ask('/jetton/wallets');
  expect(Object.keys(body.metadata).sort()).toEqual([raw(MASTER), raw(WALLET)]);
  expect(body.address_book[raw(OWNER)].domain).toBe('alice.ton');
  const { body: bare } = await ask('/jetton/wallets?x_no_metadata=1&x_no_address_book=1');
  expect([bare.metadata, bare.address_book]).toEqual([{}, {}]);
});

it('packs a forward payload into a cell of its own wherever it stands', async () => {
  const { body } = await ask('/jetton/transfers');
  const payloads = body.jetton_transfers.map((one: Record<string, unknown>) => [
    one.forward_payload,
    one.decoded_forward_payload,
  ]);
  expect(payloads[0][1]).toEqual({ '@type': 'text_comment', text: 'Hi' });
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
  expect(body.multisigs[0].orders[0].actions).toBeNull();
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
