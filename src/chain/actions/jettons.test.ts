/** Bodies of jettons that no recorded trace shows: senders leave out what their wallets do not ask for. */
import { expect, test } from 'vitest';
import { account, type Sent } from '../../../test/made-trace.ts';
import { arriving, type Body, call, tell, wallets } from '../../../test/made-transfers.ts';
import { Builder, type Cell } from '../builder.ts';

const known = { jettonWallet: wallets };

test('jettons move without a payload, too', () => {
  const body = call(0x0f8a7ea5).grams(7n).to('bob').to('alice').bit(0).grams(1n).cell();
  const arrived = arriving({ from: 'alice', to: 'bob', jetton: 'red', amount: '7' });
  const [told, ...others] = tell([{ to: "alice's red", body, sends: [arrived] }], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_transfer', true]);
  expect(told.details).toMatchObject({
    asset: account('red'),
    receiver: account('bob'),
    amount: '7',
    forward_payload: null,
    comment: null,
    is_encrypted_comment: false,
  });
});

test('of what a minter was to send on, the amount is enough', () => {
  const order = call(0x178d4519).grams(9n).cell();
  const body = call(0x15).to('bob').grams(5n).ref(order).cell();
  const [told, ...others] = tell([{ to: 'red', body, aborted: true }], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_mint', false]);
  expect(told.details).toEqual({
    asset: account('red'),
    receiver: account('bob'),
    receiver_jetton_wallet: null,
    amount: '9',
    ton_amount: '5',
  });
});

test('who was to get what did not arrive may be nobody, but not an address outside the chain', () => {
  const outside = new Builder().u(0b01, 2).u(8, 9).u(5, 8).cell();
  const order = call(0x178d4519).grams(9n).cell();
  for (const opcode of [0x642b7d07, 0x15]) {
    const minting = (to: Body, ...sends: Sent[]): Sent[] => [
      { to: 'red', body: to.grams(5n).ref(order).cell(), sends },
    ];
    const [told] = tell(minting(call(opcode).to(null)), known);
    expect([told.type, told.success, told.details.receiver]).toEqual(['jetton_mint', false, null]);
    expect(tell(minting(call(opcode).append(outside)), known)[0].type).toBe('call_contract');
    const arrived = call(0x178d4519).grams(9n).to('red').to(null).grams(1n).bit(0).cell();
    const [minted] = tell(minting(call(opcode).append(outside), { to: "bob's red", body: arrived }), known);
    expect([minted.type, minted.success, minted.details.receiver]).toEqual(['jetton_mint', true, account('bob')]);
  }
});

test('what a wallet was sent must be readable to be minted', () => {
  const minting = (arrived: Cell): Sent => {
    const body = call(0x642b7d07).to('bob').grams(5n).ref(new Builder().cell()).cell();
    return { to: 'red', body, sends: [{ to: "bob's red", body: arrived }] };
  };
  const whole = call(0x178d4519).grams(9n).to('red').to(null).grams(1n).bit(0).cell();
  const [told] = tell([minting(whole)], known);
  expect([told.type, told.success, told.details.amount]).toEqual(['jetton_mint', true, '9']);
  const types = tell([minting(call(0x178d4519).grams(9n).cell())], known).map(({ type }) => type);
  expect(types).toEqual(['call_contract', 'call_contract']);
});

test('a burn that ends before it says where excesses go is a call', () => {
  const burning = (body: Cell): Sent[] => [{ to: "alice's red", body, aborted: true }];
  const cut = call(0x595f07bc).grams(7n);
  expect(tell(burning(cut.cell()), known).map(({ type }) => type)).toEqual(['call_contract']);
  expect(tell(burning(cut.to(null).cell()), known).map(({ type }) => type)).toEqual(['jetton_burn']);
});

test('what a wallet is asked with an address outside the chain, or for nobody, is a call', () => {
  const asked = (body: Cell) => {
    const sends = [arriving({ from: 'alice', to: 'bob', jetton: 'red', amount: '7' })];
    return tell([{ to: "alice's red", body, sends }], known).map(({ type }) => type);
  };
  const outside = new Builder().u(0b01, 2).u(8, 9).u(5, 8).cell();
  const head = () => call(0x0f8a7ea5).grams(7n);
  const rest = (body: Body): Cell => body.bit(0).grams(1n).bit(0).cell();
  expect(asked(rest(head().to('bob').to(null)))).toEqual(['jetton_transfer']);
  expect(asked(rest(head().to(null).to('alice')))).not.toContain('jetton_transfer');
  expect(asked(rest(head().to('bob').append(outside)))).not.toContain('jetton_transfer');
  expect(asked(rest(head().append(outside).to(null)))).not.toContain('jetton_transfer');
});

test('an order to mint whose amount cannot be read is a call, whatever arrived', () => {
  const minting = (order: Cell) => {
    const sends = [{ to: "bob's red", body: call(0x178d4519).grams(9n).to('red').to(null).grams(1n).bit(0).cell() }];
    const body = call(0x15).to('bob').grams(5n).ref(order).cell();
    return tell([{ to: 'red', body, sends }], known).map(({ type }) => type);
  };
  expect(minting(call(0x178d4519).grams(9n).cell())).toEqual(['jetton_mint']);
  expect(minting(new Builder().cell())).toEqual(['call_contract', 'call_contract']);
});
