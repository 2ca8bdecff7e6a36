/** One contract of each kind that endpoints know, and what happened to them: made, for tests of shapes. */
import { beginCell, Dictionary, internal, storeMessageRelaxed, Address as TonAddress } from '@ton/core';
import { addressOf, rawAddress } from '../src/chain/address.ts';
import type { ContractSource, ListedNftItem, TokenEvent } from '../src/chain/contract-records.ts';
import { methodId } from '../src/chain/interfaces.ts';
import type { Address, Message, Transaction } from '../src/chain/model.ts';
import type { BookRecord, TransactionRecord } from '../src/chain/records.ts';
import { noContracts } from './fake-source.ts';

const address = (n: number): Address => addressOf(0, Buffer.alloc(32, n));
export const raw = (n: number): string => rawAddress(address(n));
const ton = (n: number): TonAddress => new TonAddress(0, Buffer.alloc(32, n));
export const [OWNER, MASTER, WALLET, ITEM, COLLECTION, SALE] = [1, 2, 3, 4, 5, 6];

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
  soldAt: null,
  soldQueryId: null,
  jettonPrices: null,
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
  minStep: '5',
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
  jettonWallet: null,
  jettonMaster: null,
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

/** What was fetched, by URI. */
export const fetched = new Map<string, { content: string | null }>();

export const contracts: ContractSource = {
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
  documents: async (uris) => new Map([...fetched].filter(([uri]) => uris.includes(uri))),
};

const METHODS: Record<string, string[]> = {
  [raw(MASTER)]: ['get_jetton_data'],
  [raw(WALLET)]: ['get_wallet_data'],
  [raw(ITEM)]: ['get_nft_data'],
  [raw(COLLECTION)]: ['get_collection_data'],
};

/** Of these nothing is left but what was told of them, by raw address. */
export const destroyed = new Set<string>();

export function bookOf(account: Address): BookRecord {
  const methods = destroyed.has(rawAddress(account)) ? undefined : METHODS[rawAddress(account)];
  return methods === undefined
    ? { account, codeHash: null, methods: null }
    : { account, codeHash: Buffer.alloc(32, 1), methods: methods.map(methodId) };
}
