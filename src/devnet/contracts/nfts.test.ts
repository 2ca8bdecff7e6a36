import { type Address, type Cell, comment, toNano } from '@ton/core';
import type { Blockchain, SandboxContract, TreasuryContract } from '@ton/sandbox';
import { beforeEach, describe, expect, test } from 'vitest';
import { bareText, onChainContent } from './content.ts';
import {
  NFT_OPS,
  nftCollectionAddress,
  nftCollectionCode,
  nftCollectionData,
  nftItemAddress,
  nftMint,
  nftQuery,
  nftTransfer,
  readNftItem,
} from './nfts.ts';
import { dataOf, type Outcome, opcodeOf, outcomeOf, sandboxWith } from './test-sandbox.ts';

type Person = SandboxContract<TreasuryContract>;

let blockchain: Blockchain;
let artist: Person;
let alice: Person;
let bob: Person;
let collection: Address;
const content = onChainContent({ name: 'Stones' });
const item = (index: bigint) => nftItemAddress(index, collection);

beforeEach(async () => {
  blockchain = await sandboxWith([]);
  [artist, alice, bob] = await blockchain.createWallets(3);
  const state = {
    owner: artist.address,
    content,
    commonContent: bareText('https://stones.invalid/'),
    royalty: { numerator: 5, denominator: 100, destination: artist.address },
  };
  collection = nftCollectionAddress(state);
  const init = { code: nftCollectionCode, data: nftCollectionData({ ...state, nextIndex: 0n }) };
  await artist.send({ to: collection, value: toNano('1'), init, bounce: false });
});

async function send(from: Person, to: Address, value: bigint, body: Cell): Promise<Outcome[]> {
  const { transactions } = await from.send({ to, value, bounce: true, body });
  return transactions.slice(1).map(outcomeOf);
}

function mint(index: bigint, owner: Person, by = artist): Promise<Outcome[]> {
  const text = bareText(`${index}.json`);
  const body = nftMint({ queryId: 1n, index, owner: owner.address, content: text, amount: toNano('0.05') });
  return send(by, collection, toNano('0.08'), body);
}

function transfer(index: bigint, from: Person, to: Person, value = toNano('0.06')): Promise<Outcome[]> {
  const body = nftTransfer({
    queryId: 2n,
    newOwner: to.address,
    responseDestination: from.address,
    forwardAmount: toNano('0.01'),
    forwardPayload: comment('yours'),
  });
  return send(from, item(index), value, body);
}

async function ownerOf(index: bigint): Promise<Address | undefined> {
  return readNftItem(await dataOf(blockchain, item(index)))?.owner;
}

describe('get-methods of TEP-62 and TEP-66', () => {
  test('collection', async () => {
    await mint(0n, alice);
    const data = (await blockchain.runGetMethod(collection, 'get_collection_data')).stackReader;
    expect(data.readBigNumber()).toBe(1n);
    expect(data.readCell().equals(content)).toBe(true);
    expect(data.readAddress().equals(artist.address)).toBe(true);
    const index = [{ type: 'int', value: 0n } as const];
    const address = (await blockchain.runGetMethod(collection, 'get_nft_address_by_index', index)).stackReader;
    expect(address.readAddress().equals(item(0n))).toBe(true);
    const royalty = (await blockchain.runGetMethod(collection, 'royalty_params')).stackReader;
    expect([royalty.readNumber(), royalty.readNumber()]).toEqual([5, 100]);
    expect(royalty.readAddress().equals(artist.address)).toBe(true);
  });

  test('item', async () => {
    await mint(0n, alice);
    const data = (await blockchain.runGetMethod(item(0n), 'get_nft_data')).stackReader;
    expect(data.readBoolean()).toBe(true);
    expect(data.readBigNumber()).toBe(0n);
    expect(data.readAddress().equals(collection)).toBe(true);
    expect(data.readAddress().equals(alice.address)).toBe(true);
    expect(data.readCell().equals(bareText('0.json'))).toBe(true);
  });

  test.each([
    ['off chain it continues the text of the collection', bareText('7.json'), 'https://stones.invalid/7.json'],
    ['on chain it is whole', onChainContent({ name: 'Stone' }), null],
  ])('content: %s', async (_, individual, uri) => {
    const stack = [{ type: 'int', value: 7n } as const, { type: 'cell', cell: individual } as const];
    const full = (await blockchain.runGetMethod(collection, 'get_nft_content', stack)).stackReader.readCell();
    if (uri === null) expect(full.equals(individual)).toBe(true);
    else expect(full.beginParse().skip(8).loadStringTail()).toBe(uri);
    expect(full.beginParse().loadUint(8)).toBe(uri === null ? 0 : 1);
  });
});

describe('messages', () => {
  test('a mint deploys the item; only the owner of the collection mints, one index after the other', async () => {
    const [order, deployed] = await mint(0n, alice);
    expect(order).toMatchObject({ opcode: NFT_OPS.deploy, aborted: false });
    expect(deployed).toMatchObject({ aborted: false, exitCode: 0 });
    expect((await ownerOf(0n))?.equals(alice.address)).toBe(true);
    expect((await mint(1n, bob, bob))[0]).toMatchObject({ aborted: true, exitCode: 401 });
    expect((await mint(5n, bob))[0]).toMatchObject({ aborted: true, exitCode: 403 });
    // The item is there already and takes no second first owner.
    expect((await mint(0n, bob))[1]).toMatchObject({ aborted: true });
    expect((await ownerOf(0n))?.equals(alice.address)).toBe(true);
  });

  test('a transfer assigns ownership with the payload and gives back what is left', async () => {
    await mint(0n, alice);
    const before = await alice.getBalance();
    const outcomes = await transfer(0n, alice, bob);
    expect(outcomes.map(({ opcode }) => opcode)).toEqual([
      NFT_OPS.transfer,
      NFT_OPS.ownershipAssigned,
      NFT_OPS.excesses,
    ]);
    expect(outcomes.every(({ aborted }) => !aborted)).toBe(true);
    expect((await ownerOf(0n))?.equals(bob.address)).toBe(true);
    expect(before - (await alice.getBalance())).toBeLessThan(toNano('0.03'));
    const { balance } = await blockchain.getContract(item(0n));
    expect(balance).toBe(toNano('0.02'));
  });

  test.each<[string, () => Promise<Outcome[]>, number]>([
    ['someone else', () => transfer(0n, bob, alice), 401],
    ['the owner without the coins for it', () => transfer(0n, alice, bob, toNano('0.004')), 402],
  ])('a transfer by %s bounces', async (_, act, exitCode) => {
    await mint(0n, alice);
    // Down to what the item keeps.
    await transfer(0n, alice, alice);
    const [refused, bounced] = await act();
    expect(refused).toMatchObject({ aborted: true, exitCode });
    expect(bounced.opcode).toBe(0xffffffff);
    expect((await ownerOf(0n))?.equals(alice.address)).toBe(true);
  });

  test.each([
    ['getStaticData', () => item(0n), NFT_OPS.reportStaticData],
    ['getRoyaltyParams', () => collection, NFT_OPS.reportRoyaltyParams],
  ] as const)('%s is answered', async (query, to, answerOp) => {
    await mint(0n, alice);
    const { transactions } = await bob.send({ to: to(), value: toNano('0.05'), body: nftQuery(query, 55n) });
    const answer = transactions.find(({ inMessage }) => inMessage && opcodeOf(inMessage) === answerOp)?.inMessage;
    const body = answer?.body.beginParse().skip(32);
    expect(body?.loadUintBig(64)).toBe(55n);
    if (query === 'getStaticData') {
      expect(body?.loadUintBig(256)).toBe(0n);
      expect(body?.loadAddress().equals(collection)).toBe(true);
    } else {
      expect([body?.loadUint(16), body?.loadUint(16)]).toEqual([5, 100]);
      expect(body?.loadAddress().equals(artist.address)).toBe(true);
    }
  });
});
