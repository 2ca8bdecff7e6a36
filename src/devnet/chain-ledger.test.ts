import { type Account, Address, beginCell, Cell, loadAccount, storeAccount } from '@ton/core';
import { expect, test } from 'vitest';
import { Builder, parseBoc, toBoc } from '../chain/builder.ts';
import { DecodeError } from '../chain/errors.ts';
import { genesisOf, readLedgerAccount } from './chain-ledger.ts';

const code = beginCell().storeUint(1, 8).endCell();
const data = beginCell().storeUint(2, 8).storeRef(code).endCell();

function account(state: Account['storage']['state'], duePayment: bigint | null = null): Account {
  return {
    addr: new Address(0, Buffer.alloc(32, 9)),
    storageStats: { used: { cells: 300n, bits: 70_000n }, lastPaid: 1_700_000_000, duePayment, storageExtra: null },
    storage: { lastTransLt: 77n, balance: { coins: 123_456_789n }, state },
  };
}

const active = { type: 'active', state: { code, data } } as const;
const odd = { special: { tick: true, tock: false }, splitDepth: 3, code, data, libraries: null };

test.each<[string, Account, string, Cell | null]>([
  ['active', account(active), 'active', data],
  ['active and in debt', account(active, 55n), 'active', data],
  ['active, special, with a fixed prefix', account({ type: 'active', state: odd }), 'active', data],
  ['active without data', account({ type: 'active', state: { code } }), 'active', null],
  ['uninit', account({ type: 'uninit' }), 'uninit', null],
  ['frozen', account({ type: 'frozen', stateHash: 5n }), 'frozen', null],
])('what @ton/core wrote is read: %s', (_, written, status, expected) => {
  const body = beginCell().store(storeAccount(written));
  const cell = beginCell().storeBit(true).storeBuilder(body).endCell();
  const read = readLedgerAccount(parseBoc(cell.toBoc()));
  expect(read).toMatchObject({ status, balance: 123_456_789n });
  expect(read?.data?.hash().toString('hex')).toBe(expected?.hash().toString('hex'));
  expect(loadAccount(body.endCell().beginParse()).storage.balance.coins).toBe(read?.balance);
});

test('no account is null, and something else is refused', () => {
  expect(readLedgerAccount(new Builder().bit(0).cell())).toBe(null);
  expect(() => readLedgerAccount(new Builder().bit(1).u(0, 40).cell())).toThrow(DecodeError);
});

test('accounts of the zero state keep their cells and share equal codes', () => {
  const address = new Address(0, Buffer.alloc(32, 3));
  const twin = Cell.fromBoc(code.toBoc())[0];
  const [one, two] = genesisOf([
    { address, balance: 5n, code, data },
    { address, balance: 6n, code: twin, data },
  ]);
  expect(one.code).toBe(two.code);
  expect(one).toMatchObject({ workchain: 0, hash: address.hash, balance: 5n });
  expect(Cell.fromBoc(toBoc(one.data))[0].equals(data)).toBe(true);
});
