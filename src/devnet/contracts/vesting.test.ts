import { type Address, beginCell, internal, toNano } from '@ton/core';
import type { Blockchain, SandboxContract, TreasuryContract } from '@ton/sandbox';
import { beforeEach, expect, test } from 'vitest';
import { subscriptionAddress, subscriptionCode, subscriptionData } from './subscriptions.ts';
import { type Outcome, outcomeOf, sandboxWith, TEST_TIME } from './test-sandbox.ts';
import { addWhitelist, vestingAddress, vestingCode, vestingData, vestingSend } from './vesting.ts';

type Person = SandboxContract<TreasuryContract>;

let blockchain: Blockchain;
let sender: Person;
let owner: Person;
let listed: Person;
let stranger: Person;
let address: Address;

beforeEach(async () => {
  blockchain = await sandboxWith([]);
  [sender, owner, listed, stranger] = await blockchain.createWallets(4);
  const vesting = {
    publicKey: Buffer.alloc(32, 7),
    startTime: TEST_TIME - 250,
    totalDuration: 1000,
    unlockPeriod: 100,
    cliffDuration: 100,
    totalAmount: toNano('100'),
    sender: sender.address,
    owner: owner.address,
  };
  address = vestingAddress(vesting);
  const init = { code: vestingCode, data: vestingData(vesting) };
  await sender.send({ to: address, value: toNano('100'), init, bounce: false });
});

async function spend(by: Person, to: Person, value: bigint): Promise<Outcome[]> {
  const message = internal({ to: to.address, value, bounce: false, body: beginCell().endCell() });
  const body = vestingSend(1n, message);
  const { transactions } = await by.send({ to: address, value: toNano('0.05'), bounce: true, body });
  return transactions.slice(1).map(outcomeOf);
}

async function gain(who: Person, act: () => Promise<unknown>): Promise<bigint> {
  const before = await who.getBalance();
  await act();
  return (await who.getBalance()) - before;
}

test('a vesting wallet tells its terms by its get-method', async () => {
  const addresses = [listed.address, stranger.address] as const;
  await sender.send({ to: address, value: toNano('0.05'), body: addWhitelist(5n, addresses) });
  const { stackReader: stack } = await blockchain.runGetMethod(address, 'get_vesting_data');
  expect(Array.from({ length: 4 }, () => stack.readNumber())).toEqual([TEST_TIME - 250, 1000, 100, 100]);
  expect(stack.readBigNumber()).toBe(toNano('100'));
  expect([stack.readAddress().equals(sender.address), stack.readAddress().equals(owner.address)]).toEqual([true, true]);
  expect(stack.readCell().beginParse().remainingRefs).toBe(2);
  const at = [{ type: 'int', value: BigInt(TEST_TIME) } as const];
  expect((await blockchain.runGetMethod(address, 'get_locked_amount', at)).stackReader.readBigNumber()).toBe(
    toNano('80'),
  );
});

test('the owner spends what is free, and to listed addresses everything', async () => {
  expect((await spend(stranger, stranger, 1n))[0]).toMatchObject({ aborted: true, exitCode: 100 });
  expect(await gain(stranger, () => spend(owner, stranger, toNano('15')))).toBeGreaterThan(toNano('14.9'));
  expect(await gain(stranger, () => spend(owner, stranger, toNano('15')))).toBe(0n);
  await sender.send({ to: address, value: toNano('0.05'), body: addWhitelist(5n, [listed.address]) });
  expect(await gain(listed, () => spend(owner, listed, toNano('60')))).toBeGreaterThan(toNano('59.9'));
});

test('a subscription tells its terms, and asks for coins once a period', async () => {
  const parties = { wallet: owner.address, beneficiary: listed.address };
  const subscription = { ...parties, amount: toNano('1'), period: 60, startTime: TEST_TIME, id: 9 };
  const place = subscriptionAddress(subscription);
  const init = { code: subscriptionCode, data: subscriptionData(subscription) };
  const knock = async (): Promise<Outcome[]> => {
    const { transactions } = await stranger.send({ to: place, value: toNano('0.1'), bounce: true, init });
    return transactions.slice(1).map(outcomeOf);
  };
  expect((await knock())[1].opcode).toBe(0x706c7567);
  const { stackReader: stack } = await blockchain.runGetMethod(place, 'get_subscription_data');
  const [wallet, beneficiary] = [stack.readTuple(), stack.readTuple()];
  expect([wallet.readNumber(), beneficiary.readNumber()]).toEqual([0, 0]);
  expect(wallet.readBigNumber()).toBe(BigInt(`0x${owner.address.hash.toString('hex')}`));
  expect(beneficiary.readBigNumber()).toBe(BigInt(`0x${listed.address.hash.toString('hex')}`));
  expect([stack.readBigNumber(), stack.readNumber(), stack.readNumber()]).toEqual([toNano('1'), 60, TEST_TIME]);
  const paid = beginCell().storeUint(0xf06c7567, 32).storeUint(4, 64).endCell();
  await owner.send({ to: place, value: toNano('1.01'), bounce: true, body: paid });
  expect((await knock())[0]).toMatchObject({ aborted: true, exitCode: 51 });
});
