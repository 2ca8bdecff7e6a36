/** What is asked of NFT items, collections and sales, over a real server with rows that are made up. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawAddress } from '../../src/chain/address.ts';
import type { ContractSource } from '../../src/chain/contract-records.ts';
import type { Address } from '../../src/chain/model.ts';
import { nftCollections, nftItemStates, nftItems } from '../tables/nfts.ts';
import { nftAuctions, nftSales } from '../tables/sales.ts';
import { BadCursor, makeCursor } from './keys.ts';
import { byIndex } from './keyset.ts';
import {
  ALICE,
  address,
  BOB,
  CAROL,
  type Contracts,
  context,
  detected,
  HEAD,
  numberOf,
  openContracts,
  page,
  walk,
} from './test-contracts.ts';

let contracts: Contracts;
let source: ContractSource;

beforeAll(async () => {
  contracts = await openContracts();
  ({ source } = contracts);
});
afterAll(() => contracts?.close());

const insert: Contracts['insert'] = (table, rows) => contracts.insert(table, rows);

const item = (n: number, owner: Address | null, collection: Address | null, index: string | null, lt?: number) => ({
  ...detected(n, n, lt),
  init: true,
  nftIndex: index,
  collectionAddress: collection,
  ownerAddress: owner,
  content: '{}',
});

describe('NFTs', () => {
  const [COLLECTION, OTHER] = [address(0x71), address(0x72)];
  const [SALE, AUCTION] = [address(0x81), address(0x82)];

  beforeAll(async () => {
    const collection = (n: number, owner: Address | null) => ({
      ...detected(n),
      nextItemIndex: '-1',
      ownerAddress: owner,
      collectionContent: '{}',
    });
    await insert(nftCollections, [collection(0x71, ALICE), collection(0x72, null)]);
    await insert(nftItems, [
      item(0x11, BOB, COLLECTION, '2'),
      item(0x12, ALICE, COLLECTION, '10'),
      item(0x13, ALICE, OTHER, '0'),
      item(0x14, ALICE, null, '5'),
      item(0x15, SALE, OTHER, '1'),
      item(0x16, AUCTION, COLLECTION, '11'),
    ]);
    await insert(nftItems, [item(0x11, ALICE, COLLECTION, '2', 5000)]);
    const seller = { isComplete: false, createdAt: 1, marketplace: CAROL, nftOwner: ALICE };
    await insert(nftSales, [
      {
        ...detected(0x81),
        ...seller,
        nftAddress: address(0x15),
        fullPrice: '9',
        marketplaceFeeAddress: CAROL,
        marketplaceFee: '1',
        royaltyAddress: CAROL,
        royaltyAmount: '1',
        soldAt: null,
        soldQueryId: null,
        jettonPrices: null,
      },
    ]);
    const { isComplete: _, ...auction } = seller;
    await insert(nftAuctions, [
      {
        ...detected(0x82),
        ...auction,
        nftAddress: address(0x16),
        nftOwner: BOB,
        endFlag: false,
        endTime: 9,
        lastBid: '0',
        lastMember: null,
        minStep: '5',
        mpFeeAddress: CAROL,
        mpFeeFactor: 1,
        mpFeeBase: 100,
        royaltyFeeAddress: CAROL,
        royaltyFeeFactor: 1,
        royaltyFeeBase: 100,
        maxBid: '0',
        minBid: '1',
        lastBidAt: 0,
        isCanceled: false,
        jettonWallet: null,
        jettonMaster: null,
      },
    ]);
  });

  const items = async (more: object) => {
    const none = { addresses: [], owners: [], collections: [], indexes: [] };
    const filter = { ...none, includeOnSale: false, byLastTransaction: false, page, ...more };
    return (await source.nftItems(filter, context)).map(({ item: one }) => numberOf(one));
  };

  it('lists items in the orders of the contract', async () => {
    expect(await items({})).toEqual([0x11, 0x12, 0x13, 0x14, 0x15, 0x16]);
    expect(await items({ page: { limit: 2, offset: 3 } })).toEqual([0x14, 0x15]);
    expect(await items({ owners: [ALICE] })).toEqual([0x11, 0x12, 0x13, 0x14]);
    expect(await items({ owners: [BOB] })).toEqual([]);
    expect(await items({ collections: [COLLECTION] })).toEqual([0x11, 0x12, 0x16]);
    expect(await items({ collections: [COLLECTION], indexes: ['10', '11'] })).toEqual([0x12, 0x16]);
    expect(await items({ owners: [ALICE], collections: [OTHER, COLLECTION] })).toEqual([0x11, 0x12, 0x13]);
    expect(await items({ byLastTransaction: true, page: { limit: 2, offset: 0 } })).toEqual([0x11, 0x16]);
    expect(await items({ byLastTransaction: true, page: { limit: 2, offset: 1 } })).toEqual([0x16, 0x15]);
    const ofCollection = { byLastTransaction: true, collections: [COLLECTION] };
    expect(await items(ofCollection)).toEqual([0x11, 0x16, 0x12]);
    expect(await items({ ...ofCollection, page: { limit: 1, offset: 1 } })).toEqual([0x16]);
    expect(await items({ ...ofCollection, owners: [ALICE] })).toEqual([0x11, 0x12]);
    expect(await items({ ...ofCollection, indexes: ['2', '10'], page: { limit: 1, offset: 1 } })).toEqual([0x12]);
  });

  it('shows each of the items that have had a transaction at the same lt on one page', async () => {
    // Accounts of different shards have the same lt all the time.
    const twins = [0xd1, 0xd2, 0xd3, 0xd4];
    const rows = twins.map((n) => item(n, null, address(0x79), String(n), 9000));
    for (const row of rows) await insert(nftItems, [row]);
    await insert(nftItems, rows);
    const walked = async (more: object) => {
      const seen: number[] = [];
      for (let offset = 0; offset < twins.length; offset++) {
        seen.push(...(await items({ byLastTransaction: true, page: { limit: 1, offset }, ...more })));
      }
      return seen;
    };
    expect(await walked({})).toEqual(twins);
    expect(await walked({ collections: [address(0x79)] })).toEqual(twins);
    expect(await walked({ collections: [address(0x79), OTHER] })).toEqual(twins);
  });

  it('lists items on sale for their sellers', async () => {
    // By who owns them on the chain: of the first the contract that sells it.
    expect(await items({ owners: [ALICE], includeOnSale: true })).toEqual([0x15, 0x11, 0x12, 0x13, 0x14]);
    expect(await items({ owners: [BOB], includeOnSale: true })).toEqual([0x16]);
    expect(await items({ owners: [SALE], includeOnSale: true })).toEqual([]);
    expect(await items({ owners: [SALE] })).toEqual([0x15]);
  });

  it('gives each item its collection and its sale', async () => {
    const none = { addresses: [], owners: [], collections: [], indexes: [] };
    const filter = { ...none, includeOnSale: false, byLastTransaction: false, page };
    const found = await source.nftItems({ ...filter, addresses: [0x14, 0x15, 0x16].map(address) }, context);
    expect(found.map(({ collection, sale }) => [collection && numberOf(collection), sale?.kind, sale?.seller])).toEqual(
      [
        [null, undefined, undefined],
        [0x72, 'sale', ALICE],
        [0x71, 'auction', BOB],
      ],
    );
    const sales = await source.nftSales([SALE, AUCTION, ALICE], context);
    expect([sales.sales.length, sales.auctions.length, sales.telemint.length, sales.items.size]).toEqual([1, 1, 0, 2]);
  });

  it('lists the items of a collection behind cursors, those of one index and those of none, too', async () => {
    const hostile = address(0x73);
    const indexes = ['0', '7', '7', '7', null, null, String(2n ** 256n - 2n)];
    const rows = indexes.map((index, i) => item(0x20 + i, ALICE, hostile, index));
    await insert(nftItems, rows);
    await insert(nftItemStates, rows);
    const asked = { addresses: [], owners: [], collections: [hostile], indexes: [] };
    const of = { ...asked, includeOnSale: false, byLastTransaction: false };
    const whole = (await source.nftItems({ ...of, page }, context)).map((one) => numberOf(one.item));
    expect(whole).toEqual([0x20, 0x21, 0x22, 0x23, 0x26, 0x24, 0x25]);
    for (const at of [undefined, HEAD]) {
      const walked = await walk(byIndex, async (some) =>
        (await source.nftItems({ ...of, ...some, at }, context)).map((one) => one.item),
      );
      expect(walked.map(numberOf)).toEqual(whole);
    }
    for (const place of [['7'], [String(2n ** 256n), rawAddress(hostile)]]) {
      expect(() => byIndex.read(makeCursor('index', place))).toThrow(BadCursor);
    }
  });

  it('lists collections', async () => {
    const collections = async (addresses: Address[], owners: Address[]) =>
      (await source.nftCollections({ addresses, owners, page }, context)).map(numberOf);
    expect(await collections([], [])).toEqual([0x71, 0x72]);
    expect(await collections([OTHER], [])).toEqual([0x72]);
    expect(await collections([], [ALICE])).toEqual([0x71]);
  });
});
