import { type Address, type Cell, comment, toNano } from '@ton/core';
import type { Blockchain, SandboxContract, TreasuryContract } from '@ton/sandbox';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  auctionOrder,
  BUY_FEE,
  cancelSale,
  changePrice,
  listing,
  marketplaceAddress,
  marketplaceCode,
  marketplaceData,
  nftAuctionCode,
  nftAuctionData,
  nftSaleCode,
  nftSaleData,
  readNftAuction,
  readNftSale,
} from './market.ts';
import { nftItemAddress, nftItemCode, nftItemData, nftTransfer, readNftItem } from './nfts.ts';
import { dataOf, type Outcome, outcomeOf, sandboxWith, TEST_TIME } from './test-sandbox.ts';

type Person = SandboxContract<TreasuryContract>;

let blockchain: Blockchain;
let seller: Person;
let buyer: Person;
let other: Person;
let artist: Person;
let item: Address;
const PRICE = toNano('2');

beforeEach(async () => {
  blockchain = await sandboxWith([]);
  [seller, buyer, other, artist] = await blockchain.createWallets(4);
  item = nftItemAddress(5n, artist.address);
  const state = { index: 5n, collection: artist.address, owner: seller.address, content: comment('') };
  const init = { code: marketplaceCode, data: marketplaceData };
  const market = { address: marketplaceAddress, balance: toNano('1'), ...init };
  blockchain = await sandboxWith([
    market,
    { address: item, balance: toNano('0.05'), code: nftItemCode, data: nftItemData(state) },
  ]);
  [seller, buyer, other, artist] = await blockchain.createWallets(4);
});

async function send(from: Person, to: Address, value: bigint, body?: Cell): Promise<Outcome[]> {
  const { transactions } = await from.send({ to, value, bounce: true, ...(body ? { body } : {}) });
  return transactions.slice(1).map(outcomeOf);
}

async function owner(): Promise<Address> {
  const found = readNftItem(await dataOf(blockchain, item));
  if (found === null) throw new Error('no item');
  return found.owner;
}

/** Lists the item; gives where it is then. */
async function list(contract: { code: Cell; data: Cell }): Promise<Address> {
  const body = nftTransfer({
    queryId: 1n,
    newOwner: marketplaceAddress,
    responseDestination: seller.address,
    forwardAmount: toNano('0.2'),
    forwardPayload: listing(contract),
  });
  const outcomes = await send(seller, item, toNano('0.3'), body);
  expect(outcomes.filter(({ aborted }) => aborted)).toEqual([]);
  return owner();
}

const shares = () => ({ feeAddress: other.address, royaltyAddress: artist.address });

function listForSale(): Promise<Address> {
  const terms = { feeShare: 5000, royaltyShare: 10_000, createdAt: TEST_TIME };
  const data = nftSaleData({ item, owner: seller.address, fullPrice: PRICE, ...shares(), ...terms });
  return list({ code: nftSaleCode, data });
}

function listForBids(): Promise<Address> {
  const bids = { minBid: PRICE, maxBid: toNano('5'), minStep: toNano('0.5') };
  const times = { createdAt: TEST_TIME, endTime: TEST_TIME + 100, stepTime: 10 };
  const data = nftAuctionData({ item, owner: seller.address, ...bids, ...times, ...shares(), fee: 5, royalty: 10 });
  return list({ code: nftAuctionCode, data });
}

/** What somebody has more afterwards. */
async function gain(who: Person, act: () => Promise<unknown>): Promise<bigint> {
  const before = await who.getBalance();
  await act();
  return (await who.getBalance()) - before;
}

async function isGone(address: Address): Promise<boolean> {
  return (await blockchain.getContract(address)).account.account === undefined;
}

describe('a sale', () => {
  test('tells of itself by the get-method of its version, as its data says', async () => {
    const sale = await listForSale();
    const { stackReader: stack } = await blockchain.runGetMethod(sale, 'get_fix_price_data_v4');
    expect([stack.readBoolean(), stack.readNumber()]).toEqual([false, TEST_TIME]);
    const addresses = [marketplaceAddress, item, seller.address];
    for (const address of addresses) expect(stack.readAddress().equals(address)).toBe(true);
    expect(stack.readBigNumber()).toBe(PRICE);
    expect([stack.readAddress().equals(other.address), stack.readBigNumber()]).toEqual([true, toNano('0.1')]);
    expect([stack.readAddress().equals(artist.address), stack.readBigNumber()]).toEqual([true, toNano('0.2')]);
    expect([stack.readNumber(), stack.readNumber(), stack.readCellOpt()]).toEqual([0, 0, null]);
    expect(stack.remaining).toBe(0);
    const read = readNftSale(await dataOf(blockchain, sale));
    expect(read.fullPrice).toBe(PRICE);
    expect([read.item.equals(item), read.owner.equals(seller.address)]).toEqual([true, true]);
    expect(read.marketplace.equals(marketplaceAddress)).toBe(true);
  });

  test('whoever pays has the item, everyone has a share, and the contract is gone', async () => {
    const sale = await listForSale();
    expect(await send(buyer, sale, PRICE)).toMatchObject([{ aborted: true, exitCode: 450 }, {}]);
    let royalty = 0n;
    const paid = await gain(seller, async () => {
      royalty = await gain(artist, () => send(buyer, sale, PRICE + BUY_FEE));
    });
    expect((await owner()).equals(buyer.address)).toBe(true);
    expect(paid).toBeGreaterThan(toNano('1.699'));
    expect(royalty).toBeGreaterThan(toNano('0.199'));
    expect(await isGone(sale)).toBe(true);
  });

  test('only the owner changes the price or takes the item back', async () => {
    const sale = await listForSale();
    const change = changePrice(7n, toNano('1'), toNano('0.05'), toNano('0.05'));
    expect((await send(buyer, sale, toNano('0.1'), change))[0]).toMatchObject({ aborted: true, exitCode: 458 });
    expect((await send(buyer, sale, toNano('0.1'), cancelSale(8n)))[0]).toMatchObject({ aborted: true, exitCode: 458 });
    await send(seller, sale, toNano('0.1'), change);
    expect(readNftSale(await dataOf(blockchain, sale)).fullPrice).toBe(toNano('1'));
    await send(seller, sale, toNano('0.1'), cancelSale(9n));
    expect((await owner()).equals(seller.address)).toBe(true);
    expect(await isGone(sale)).toBe(true);
  });
});

describe('an auction', () => {
  test('tells of itself by its get-method, as its data says', async () => {
    const auction = await listForBids();
    await send(buyer, auction, PRICE);
    const { stackReader: stack } = await blockchain.runGetMethod(auction, 'get_sale_data');
    expect([stack.readNumber(), stack.readBoolean(), stack.readNumber()]).toEqual([0x415543, false, TEST_TIME + 100]);
    const addresses = [marketplaceAddress, item, seller.address];
    for (const address of addresses) expect(stack.readAddress().equals(address)).toBe(true);
    expect([stack.readBigNumber(), stack.readAddress().equals(buyer.address)]).toEqual([PRICE, true]);
    expect(stack.readBigNumber()).toBe(toNano('0.5'));
    for (const [address, factor] of [[other.address, 5] as const, [artist.address, 10] as const]) {
      expect([stack.readAddress().equals(address), stack.readNumber(), stack.readNumber()]).toEqual([
        true,
        factor,
        100,
      ]);
    }
    expect([stack.readBigNumber(), stack.readBigNumber()]).toEqual([toNano('5'), PRICE]);
    expect([stack.readNumber(), stack.readNumber(), stack.readBoolean()]).toEqual([TEST_TIME, TEST_TIME, false]);
    expect(stack.remaining).toBe(0);
    const read = readNftAuction(await dataOf(blockchain, auction));
    expect(read).toMatchObject({ lastBid: PRICE, minBid: PRICE, maxBid: toNano('5'), endTime: TEST_TIME + 100 });
    expect(read.lastMember?.equals(buyer.address)).toBe(true);
  });

  test('a bid must be high enough; the one before comes back with a text', async () => {
    const auction = await listForBids();
    expect((await send(buyer, auction, toNano('1')))[0]).toMatchObject({ aborted: true, exitCode: 1000 });
    await send(buyer, auction, PRICE);
    expect((await send(other, auction, toNano('2.1')))[0]).toMatchObject({ aborted: true, exitCode: 1000 });
    const back = await gain(buyer, () => send(other, auction, toNano('2.5')));
    expect(back).toBeGreaterThan(toNano('1.99'));
    expect((await send(seller, auction, toNano('0.1'), auctionOrder('cancel')))[0]).toMatchObject({ exitCode: 1008 });
    expect((await send(seller, auction, toNano('0.1'), auctionOrder('finish')))[0]).toMatchObject({ exitCode: 1006 });
  });

  test('when its time is over anyone ends it, and the highest bidder has the item', async () => {
    const auction = await listForBids();
    await send(buyer, auction, PRICE);
    blockchain.now = TEST_TIME + 101;
    expect((await send(buyer, auction, toNano('3')))[0]).toMatchObject({ aborted: true, exitCode: 1005 });
    const paid = await gain(seller, () => send(other, auction, toNano('0.1'), auctionOrder('finish')));
    expect((await owner()).equals(buyer.address)).toBe(true);
    expect(paid).toBeGreaterThan(toNano('1.69'));
    expect(await isGone(auction)).toBe(true);
  });

  test('without bids the item goes back; the most that can be bid ends it at once', async () => {
    const first = await listForBids();
    await send(seller, first, toNano('0.1'), auctionOrder('cancel'));
    expect((await owner()).equals(seller.address)).toBe(true);
    blockchain.now = TEST_TIME + 1;
    const second = await listForBids();
    await send(buyer, second, toNano('5') + BUY_FEE);
    expect((await owner()).equals(buyer.address)).toBe(true);
    expect(await isGone(second)).toBe(true);
  });
});
