import { Address, beginCell, type Cell, comment, Dictionary, toNano } from '@ton/core';
import type { Blockchain, SandboxContract, TreasuryContract } from '@ton/sandbox';
import { beforeEach, expect, test } from 'vitest';
import { DNS_ROOT_ADDRESS } from '../configuration.ts';
import {
  DNS_CATEGORIES,
  deleteRecord,
  dnsRootCode,
  dnsRootData,
  domainAddress,
  domainCollectionCode,
  domainCollectionData,
  domainsAddress,
  LEASE_S,
  newDomain,
  readDomain,
  releaseDomain,
  renewDomain,
  setRecord,
} from './domains.ts';
import { dataOf, type Outcome, outcomeOf, sandboxWith, TEST_TIME } from './test-sandbox.ts';

type Person = SandboxContract<TreasuryContract>;

const root = new Address(-1, DNS_ROOT_ADDRESS);
const item = domainAddress('pebble');
let blockchain: Blockchain;
let alice: Person;
let bob: Person;

beforeEach(async () => {
  const content = comment('names');
  const balance = toNano('1');
  blockchain = await sandboxWith([
    { address: root, balance, code: dnsRootCode, data: dnsRootData },
    { address: domainsAddress, balance, code: domainCollectionCode, data: domainCollectionData(content) },
  ]);
  [alice, bob] = await blockchain.createWallets(2);
});

async function send(from: Person, to: Address, value: string, body?: Cell): Promise<Outcome[]> {
  const { transactions } = await from.send({ to, value: toNano(value), bounce: true, ...(body ? { body } : {}) });
  return transactions.slice(1).map(outcomeOf);
}

async function domain() {
  const found = readDomain(await dataOf(blockchain, item));
  if (found === null) throw new Error('no item');
  return found;
}

/** Alice has the name. */
async function win(): Promise<void> {
  await send(alice, domainsAddress, '1', newDomain('pebble'));
  blockchain.now = TEST_TIME + 41;
  await send(alice, item, '0.05', setRecord(1n, { category: 'wallet', address: bob.address }));
}

/** A step of resolving a name: bits that were read, and what was found. */
async function resolve(
  resolver: Address,
  name: Buffer,
  category: Buffer,
): Promise<{ bits: number; found: Cell | null }> {
  const { stackReader } = await blockchain.runGetMethod(resolver, 'dnsresolve', [
    { type: 'slice', cell: beginCell().storeBuffer(name).endCell() },
    { type: 'int', value: BigInt(`0x${category.toString('hex')}`) },
  ]);
  return { bits: stackReader.readNumber(), found: stackReader.readCellOpt() };
}

const ALL = Buffer.alloc(1);

test('a name is resolved from the root on, as TEP-81 says', async () => {
  await win();
  const name = Buffer.from('\0ton\0pebble\0');
  const first = await resolve(root, name, ALL);
  const collection = first.found?.beginParse().skip(16).loadAddress();
  expect([first.bits, collection?.equals(domainsAddress)]).toEqual([32, true]);
  const second = await resolve(domainsAddress, name.subarray(4), ALL);
  const place = second.found?.beginParse().skip(16).loadAddress();
  expect([second.bits, place?.equals(item)]).toEqual([56, true]);
  const wallet = await resolve(item, Buffer.from('\0'), DNS_CATEGORIES.wallet);
  expect([wallet.bits, wallet.found?.beginParse().skip(16).loadAddress().equals(bob.address)]).toEqual([8, true]);
  const all = await resolve(item, Buffer.from('\0'), ALL);
  expect(all.found?.beginParse().loadDictDirect(Dictionary.Keys.Buffer(32), Dictionary.Values.Cell()).size).toBe(2);
  expect((await resolve(root, Buffer.from('\0org\0'), ALL)).bits).toBe(0);
});

test('an item tells of itself and of its auction by get-methods, as its data says', async () => {
  await send(alice, domainsAddress, '1', newDomain('pebble'));
  const { auction, index, ...first } = await domain();
  expect([first.domain, first.owner, auction?.maxBidder.equals(alice.address)]).toEqual(['pebble', null, true]);
  const info = (await blockchain.runGetMethod(item, 'get_auction_info')).stackReader;
  expect(info.readAddress().equals(alice.address)).toBe(true);
  expect([info.readBigNumber(), info.readNumber()]).toEqual([auction?.maxBid, TEST_TIME + 40]);
  const place = await blockchain.runGetMethod(domainsAddress, 'get_nft_address_by_index', [
    { type: 'int', value: index },
  ]);
  expect(place.stackReader.readAddress().equals(item)).toBe(true);
  const data = (await blockchain.runGetMethod(item, 'get_nft_data')).stackReader;
  expect([data.readBoolean(), data.readBigNumber()]).toEqual([true, index]);
  expect([data.readAddress().equals(domainsAddress), data.readAddressOpt()]).toEqual([true, null]);
  const name = (await blockchain.runGetMethod(item, 'get_domain')).stackReader.readCell().beginParse();
  expect(name.loadBuffer(6).toString()).toBe('pebble');
});

test('the highest bid wins, the one before comes back, and the owner alone changes records', async () => {
  await send(alice, domainsAddress, '1', newDomain('pebble'));
  expect((await send(bob, item, '1'))[0]).toMatchObject({ aborted: true, exitCode: 407 });
  const before = await alice.getBalance();
  await send(bob, item, '1.2');
  expect((await alice.getBalance()) - before).toBeGreaterThan(toNano('0.98'));
  blockchain.now = TEST_TIME + 41;
  expect((await send(alice, item, '0.05', renewDomain(1n)))[0]).toMatchObject({ aborted: true, exitCode: 401 });
  await send(bob, item, '0.05', setRecord(2n, { category: 'text', text: 'stone' }));
  expect((await domain()).owner?.equals(bob.address)).toBe(true);
  await send(bob, item, '0.05', deleteRecord(3n, 'text'));
  expect((await resolve(item, Buffer.from('\0'), DNS_CATEGORIES.text)).found).toBeNull();
});

test('a name is kept by renewing it, and released when it is not', async () => {
  await win();
  expect((await send(bob, item, '1', releaseDomain(1n)))[0]).toMatchObject({ aborted: true, exitCode: 414 });
  blockchain.now = TEST_TIME + 41 + LEASE_S - 1;
  await send(alice, item, '0.05', renewDomain(2n));
  blockchain.now += 2;
  expect((await send(bob, item, '1', releaseDomain(3n)))[0]).toMatchObject({ aborted: true, exitCode: 414 });
  blockchain.now += LEASE_S;
  await send(bob, item, '1', releaseDomain(4n));
  const { owner, auction } = await domain();
  expect([owner, auction?.maxBidder.equals(bob.address)]).toEqual([null, true]);
});

test.each(['abc', 'Pebble', '-stone', 'stone-', 'st one'])('%j is no name', async (name) => {
  expect((await send(alice, domainsAddress, '1', newDomain(name)))[0]).toMatchObject({ aborted: true, exitCode: 203 });
});
