/** Charges and refunds as no recorded trace shows them: who is expected is an address of the chain, of outside, or none. */
import { expect, test } from 'vitest';
import { account, op, type Sent } from '../../../test/made-trace.ts';
import { Body, call, wholes } from '../../../test/made-transfers.ts';
import type { Cell } from '../builder.ts';

/** 12 bits outside the chain. */
const outside = (body: Body): Body => body.u(0b01, 2).u(12, 9).u(0xa5c, 12);

const EXPECTED: [(body: Body) => Body, string | null][] = [
  [(body) => body.to('bob'), account('bob')],
  [outside, '12;a5c'],
  [(body) => body.to(null), null],
];

const back: Sent = { to: 'alice', body: op(0x2565934c) };

test('a proxy charges a client', () => {
  for (const [expected, text] of EXPECTED) {
    const body = expected(call(0xbb63ff93).u(0, 32).u(77, 32)).cell();
    const [told, ...others] = wholes([{ to: 'proxy', body, sends: [back, { to: 'client', body: op(0x65448ff4) }] }]);
    expect([told.type, told.success, others]).toEqual(['cocoon_proxy_charge', true, []]);
    expect(told.details).toEqual({
      query_id: '1',
      new_tokens_used: '77',
      expected_address: text,
      source: account('proxy'),
      destination: account('client'),
    });
  }
});

test('a client gets back what is left', () => {
  for (const [expected, text] of EXPECTED) {
    const body = expected(call(0xefd711e1).u(0, 32).u(77, 32)).cell();
    const paid: Sent = { to: 'bob', body: op(0xc59a7cd3), value: '500' };
    const asked: Sent = { to: 'proxy', body: op(0x65448ff4), sends: [paid, back] };
    const [told, ...others] = wholes([{ to: 'client', body, sends: [asked] }]);
    expect([told.type, told.success, others]).toEqual(['cocoon_grant_refund', true, []]);
    expect(told.details).toEqual({
      query_id: '1',
      new_tokens_used: '77',
      expected_address: text,
      source: account('client'),
      destination: account('bob'),
      amount: '500',
    });
  }
});

test('a worker is paid; a body that is cut off is no payout', () => {
  const paid: Sent = { to: 'bob', body: op(0xc59a7cd3), value: '500' };
  const request = () => call(0x4d725d2c).to('bob').u(2, 2).u(0, 32).u(9, 32);
  const tell = (opcode: number, expected: (body: Body) => Body, payload: (body: Body) => Body) => {
    const body = expected(call(opcode).u(0, 32).u(77, 32)).cell();
    const asked: Sent = { to: 'proxy', body: payload(request()).cell(), sends: [paid, back] };
    return wholes([{ to: 'worker', body, sends: [asked] }]);
  };
  const [none, cut] = [(body: Body) => body.bit(0), (body: Body) => body];
  for (const [expected] of EXPECTED) {
    const [told, ...others] = tell(0xa040ad28, expected, none);
    expect([told.type, told.success, others]).toEqual(['cocoon_worker_payout', true, []]);
    expect(told.details).toEqual({
      payout_type: 'regular',
      query_id: '1',
      new_tokens: '77',
      worker_state: 2,
      worker_tokens: '9',
      source: account('alice'),
      destination: account('bob'),
      amount: '500',
    });
    expect(tell(0xf5f26a36, expected, none)[0].details).toMatchObject({ payout_type: 'last' });
  }
  for (const actions of [tell(0xa040ad28, cut, none), tell(0xa040ad28, EXPECTED[0][0], cut)]) {
    expect(actions.map(({ type }) => type)).not.toContain('cocoon_worker_payout');
  }
});

test('of what comes back from a top up the first is part of it', () => {
  const body = call(0xf172e6c2).grams(9n).to('alice').cell();
  const asked: Sent = { to: 'proxy', body: op(0x65448ff4), sends: [back, back] };
  const [told, ...others] = wholes([{ to: 'client', body, sends: [asked] }]);
  expect([told.type, told.details.amount]).toEqual(['cocoon_client_top_up', '9']);
  expect(others.map(({ type, details }) => [type, details.opcode])).toEqual([['call_contract', '0x2565934c']]);
});

test('a client withdraws, however much: what cannot be read is none', () => {
  const paid: Sent = { to: 'bob', body: op(0xc59a7cd3), value: '500' };
  const withdraw = (request: Cell) => {
    const asked: Sent = { to: 'proxy', body: request, sends: [paid, back] };
    return wholes([{ to: 'client', body: call(0xda068e78).to('alice').cell(), sends: [asked] }]);
  };
  const granted = (payload: Cell) => call(0x65448ff4).to('alice').ref(op(0)).bit(1).ref(payload).cell();
  for (const [request, amount] of [
    [granted(new Body().u(0xc68ebc7b, 32).grams(9n).cell()), '9'],
    [granted(op(0xc68ebc7b)), '0'],
    [op(0x65448ff4), '0'],
  ] as const) {
    const [told, ...others] = withdraw(request);
    expect([told.type, told.success, others]).toEqual(['cocoon_client_withdraw', true, []]);
    expect(told.details).toMatchObject({ withdraw_amount: amount, amount, source: account('alice') });
  }
});

test('excesses go to an account, or to nobody, and not outside the chain', () => {
  const sends = [back, { to: 'client', body: op(0x65448ff4) }];
  const typesOf = (to: Body) => {
    const body = call(0xfafa6cc1).append(to.cell()).cell();
    return wholes([{ to: 'client', body, sends }]).map(({ type }) => type);
  };
  expect(typesOf(new Body().to(null))).toEqual(['cocoon_client_request_refund']);
  expect(typesOf(outside(new Body()))).toEqual(['call_contract', 'call_contract', 'call_contract']);
});
