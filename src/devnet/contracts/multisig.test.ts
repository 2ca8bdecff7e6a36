import { type Address, type Cell, comment, Dictionary, internal, toNano } from '@ton/core';
import type { Blockchain, SandboxContract, TreasuryContract } from '@ton/sandbox';
import { beforeEach, expect, test } from 'vitest';
import {
  approvalInWords,
  approveOrder,
  cleanUpOrder,
  type MultisigTerms,
  multisigAddress,
  multisigCode,
  multisigData,
  multisigOrderAddress,
  newOrder,
  readMultisigOrder,
  readNextOrder,
} from './multisig.ts';
import { dataOf, type Outcome, outcomeOf, sandboxWith, TEST_TIME } from './test-sandbox.ts';

type Person = SandboxContract<TreasuryContract>;

let blockchain: Blockchain;
let signers: Person[];
let proposer: Person;
let terms: MultisigTerms;
let multisig: Address;

beforeEach(async () => {
  blockchain = await sandboxWith([]);
  const people = await blockchain.createWallets(4);
  signers = people.slice(0, 3);
  proposer = people[3];
  terms = { threshold: 2, signers: signers.map(({ address }) => address), proposers: [proposer.address] };
  multisig = multisigAddress(terms);
  const init = { code: multisigCode, data: multisigData(terms) };
  await signers[0].send({ to: multisig, value: toNano('5'), init, bounce: false });
});

async function send(from: Person, to: Address, body: Cell): Promise<Outcome[]> {
  const { transactions } = await from.send({ to, value: toNano('0.2'), bounce: true, body });
  return transactions.slice(1).map(outcomeOf);
}

function order(by: Person, seqno: bigint): Promise<Outcome[]> {
  const gift = internal({ to: proposer.address, value: toNano('1'), bounce: false, body: comment('approved') });
  const common = { queryId: 3n, seqno, index: 0, expiresAt: TEST_TIME + 60 };
  const body = newOrder({ ...common, signer: by !== proposer, actions: [{ mode: 3, message: gift }] });
  return send(by, multisig, body);
}

const stateOf = async (seqno: bigint) =>
  readMultisigOrder(await dataOf(blockchain, multisigOrderAddress(multisig, seqno)));

test('tells of itself and its orders by get-methods, as the data say', async () => {
  await order(signers[0], 0n);
  const { stackReader: own } = await blockchain.runGetMethod(multisig, 'get_multisig_data');
  expect([own.readBigNumber(), own.readNumber()]).toEqual([1n, 2]);
  const [listed, proposers] = [own.readCell(), own.readCell()].map((cell) =>
    cell.beginParse().loadDictDirect(Dictionary.Keys.Uint(8), Dictionary.Values.Address()).values().map(String),
  );
  expect(listed).toEqual(signers.map(({ address }) => address.toString()));
  expect(proposers).toEqual([proposer.address.toString()]);
  expect(readNextOrder(await dataOf(blockchain, multisig))).toBe(1n);

  const place = multisigOrderAddress(multisig, 0n);
  const { stackReader: where } = await blockchain.runGetMethod(multisig, 'get_order_address', [
    { type: 'int', value: 0n },
  ]);
  expect(where.readAddress().equals(place)).toBe(true);
  const { stackReader: told } = await blockchain.runGetMethod(place, 'get_order_data');
  expect(told.readAddress().equals(multisig)).toBe(true);
  expect([told.readNumber(), told.readNumber(), told.readBoolean()]).toEqual([0, 2, false]);
  told.readCell();
  expect([told.readNumber(), told.readNumber(), told.readNumber()]).toEqual([1, 1, TEST_TIME + 60]);
  expect(await stateOf(0n)).toMatchObject({ executed: false, approvals: 1n, expiresAt: TEST_TIME + 60 });
});

test('enough approvals execute an order, each signer counts once', async () => {
  await order(proposer, 0n);
  const place = multisigOrderAddress(multisig, 0n);
  expect((await stateOf(0n))?.approvals).toBe(0n);
  expect((await send(signers[0], place, approvalInWords()))[1].opcode).toBe(0x82609bf6);
  expect((await send(signers[0], place, approveOrder(1n, 0)))[1].opcode).toBe(0xafaf283e);
  expect((await send(signers[2], place, approveOrder(2n, 1)))[0]).toMatchObject({ aborted: true, exitCode: 106 });
  const before = await proposer.getBalance();
  const outcomes = await send(signers[1], place, approveOrder(3n, 1));
  expect(outcomes.filter(({ aborted }) => aborted)).toEqual([]);
  expect((await proposer.getBalance()) - before).toBeGreaterThan(toNano('0.99'));
  expect(await stateOf(0n)).toMatchObject({ executed: true, approvals: 3n });
  // What is over goes away with its coins.
  await send(signers[2], place, cleanUpOrder(4n, 2));
  expect((await blockchain.getContract(place)).account.account).toBeUndefined();
});

test('a stranger, a wrong number and a late approval are refused', async () => {
  expect((await order(signers[1], 0n))[0]).toMatchObject({ aborted: true, exitCode: 1007 });
  expect((await order(signers[0], 5n))[0]).toMatchObject({ aborted: true, exitCode: 1007 });
  await order(signers[0], 0n);
  const place = multisigOrderAddress(multisig, 0n);
  expect((await send(signers[0], place, cleanUpOrder(4n, 0)))[0]).toMatchObject({ aborted: true, exitCode: 120 });
  blockchain.now = TEST_TIME + 61;
  expect((await send(signers[1], place, approveOrder(3n, 1)))[1].opcode).toBe(0xafaf283e);
  expect(await stateOf(0n)).toMatchObject({ executed: false, approvals: 1n });
});
