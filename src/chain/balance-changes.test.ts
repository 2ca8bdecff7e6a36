import { type Builder, beginCell } from '@ton/core';
import { expect, it } from 'vitest';
import { addressOf, rawAddress } from './address.ts';
import { balanceChanges } from './balance-changes.ts';
import type { Address, Message, Transaction } from './model.ts';

const address = (n: number): Address => addressOf(0, Buffer.alloc(32, n));
const raw = (n: number): string => rawAddress(address(n));
const [ALICE, BOB, MASTER, ALICES, BOBS] = [1, 2, 3, 4, 5];
const [TRANSFER, INTERNAL, BURN, NOTIFICATION] = [0x0f8a7ea5, 0x178d4519, 0x595f07bc, 0x7bdd97de];

const told = (opcode: number, amount: bigint): Builder =>
  beginCell().storeUint(opcode, 32).storeUint(9, 64).storeCoins(amount);
const bounced = (body: Builder): Builder => beginCell().storeUint(0xffffffff, 32).storeBuilder(body);

let hashes = 0;
function message(source: number | null, value: string, fwdFee: string, body = beginCell()): Message {
  const cell = body.endCell();
  const opcode = cell.bits.length < 32 ? null : cell.beginParse().loadUint(32);
  const made: Partial<Message> = {
    hash: Buffer.alloc(32, ++hashes),
    source: source === null ? null : address(source),
    value: source === null ? null : value,
    fwdFee: source === null ? null : fwdFee,
    opcode,
    bounced: opcode === 0xffffffff,
    bodyBoc: () => cell.toBoc(),
  };
  return made as Message;
}

function transaction(account: number, inMsg: Message | null, outMsgs: Message[], totalFees = '0', aborted = false) {
  const made = { account: address(account), inMsg, outMsgs, totalFees, description: { aborted } };
  return made as unknown as Transaction;
}

function changesOf(trace: Transaction[], counted = trace) {
  const ties = new Map([
    [raw(ALICES), { owner: address(ALICE), jetton: address(MASTER) }],
    [raw(BOBS), { owner: address(BOB), jetton: address(MASTER) }],
  ]);
  const { changes, fees, jettons } = balanceChanges(trace, counted, (one) => ties.get(rawAddress(one)) ?? null);
  return {
    changes: Object.fromEntries(changes),
    fees: Object.fromEntries(fees),
    jettons: Object.fromEntries([...jettons].map(([owner, own]) => [owner, Object.fromEntries(own)])),
  };
}

it('takes value and fees from who pays them', () => {
  const toBob = message(ALICE, '100', '7');
  const back = message(BOB, '40', '5');
  const trace = [
    transaction(ALICE, message(null, '0', '0'), [toBob], '10'),
    transaction(BOB, toBob, [back], '3'),
    transaction(ALICE, back, [], '1'),
  ];
  const { changes, fees, jettons } = changesOf(trace);
  expect(changes).toEqual({ [raw(ALICE)]: -100n + 40n - 18n, [raw(BOB)]: 100n - 40n - 8n });
  expect(fees).toEqual({ [raw(ALICE)]: 18n, [raw(BOB)]: 8n });
  expect(jettons).toEqual({});
  expect(changesOf(trace, [trace[2]]).changes).toEqual({ [raw(BOB)]: -45n, [raw(ALICE)]: 39n });
});

it('leaves out the forward fees of one who was told by nobody, as the service whose contract this is', () => {
  const toBob = message(ALICE, '100', '7');
  const { fees } = changesOf([transaction(ALICE, null, [toBob], '2'), transaction(BOB, toBob, [], '3')]);
  expect(fees).toEqual({ [raw(BOB)]: 3n });
});

it.each([
  [
    'a transfer',
    [
      [ALICES, told(TRANSFER, 30n)],
      [BOBS, told(INTERNAL, 30n)],
    ],
    { [ALICE]: -30n, [BOB]: 30n },
  ],
  [
    'a transfer that came back',
    [
      [ALICES, told(TRANSFER, 30n)],
      [BOBS, told(INTERNAL, 30n), true],
      [ALICES, bounced(told(INTERNAL, 30n))],
    ],
    { [ALICE]: 0n },
  ],
  ['a mint', [[BOBS, told(INTERNAL, 8n)]], { [BOB]: 8n }],
  ['a burn', [[ALICES, told(BURN, 8n)]], { [ALICE]: -8n }],
  [
    'a burn that came back',
    [
      [ALICES, told(BURN, 8n)],
      [ALICES, bounced(told(NOTIFICATION, 8n))],
    ],
    { [ALICE]: 0n },
  ],
  ['a transfer that failed', [[ALICES, told(TRANSFER, 30n), true]], {}],
  ['a transfer told to no wallet', [[MASTER, told(TRANSFER, 30n)]], {}],
  ['a body that is cut', [[ALICES, beginCell().storeUint(TRANSFER, 32).storeUint(1, 8)]], {}],
] as [string, [number, Builder, boolean?][], Record<number, bigint>][])('%s', (_, received, expected) => {
  const trace = received.map(([account, body, aborted]) =>
    transaction(account, message(9, '0', '0', body), [], '0', aborted),
  );
  const owners = Object.entries(expected).map(([owner, amount]) => [raw(Number(owner)), { [raw(MASTER)]: amount }]);
  expect(changesOf(trace).jettons).toEqual(Object.fromEntries(owners));
});
