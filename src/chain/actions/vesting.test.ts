/** What a vesting wallet is asked for, in forms that no recorded trace shows. */
import { expect, test } from 'vitest';
import { account, op, type Sent } from '../../../test/made-trace.ts';
import { Body, call, wholes } from '../../../test/made-transfers.ts';

test('of the message that is sent the header alone is read', () => {
  const header = new Body().u(0b011, 4).u(0, 2).to('bob').grams(5n).bit(0).grams(0n).grams(0n).big(0n, 96);
  // Neither an initial state nor a body follows.
  const message = header.cell();
  const answer: Sent = { to: 'alice', body: call(0xf7733acd).cell() };
  const body = call(0xa7733acd).u(3, 8).ref(message).cell();
  const [told, ...others] = wholes([{ to: 'vesting', body, sends: [answer] }]);
  expect(others).toEqual([]);
  expect(told).toMatchObject({
    type: 'vesting_send_message',
    details: {
      query_id: '1',
      source: account('alice'),
      vesting: account('vesting'),
      destination: account('bob'),
      amount: '5',
    },
  });
});

test('addresses are added one behind the other; one that is none is told as such', () => {
  const answer: Sent = { to: 'alice', body: call(0xf258a69b).cell() };
  const last = new Body().to('bob').cell();
  const body = call(0x7258a69b).to('carol').ref(new Body().to(null).ref(last).cell()).cell();
  const [told, ...others] = wholes([{ to: 'vesting', body, sends: [answer] }]);
  expect(others).toEqual([]);
  expect([told.type, told.details.accounts_added]).toEqual([
    'vesting_add_whitelist',
    [account('carol'), 'addr_none', account('bob')],
  ]);
});

test('the answer is part of it, and nothing behind that', () => {
  const refused: Sent = { to: 'vesting', body: op(0xffffffff) };
  const answering = (opcode: number): Sent[] => [{ to: 'alice', body: call(opcode).cell(), sends: [refused] }];
  const message = new Body().u(0b011, 4).u(0, 2).to('bob').grams(5n).bit(0).grams(0n).grams(0n).big(0n, 96).cell();
  const send: Sent = {
    to: 'vesting',
    body: call(0xa7733acd).u(3, 8).ref(message).cell(),
    sends: answering(0xf7733acd),
  };
  const add: Sent = { to: 'vesting', body: call(0x7258a69b).to('carol').cell(), sends: answering(0xf258a69b) };
  const typesOf = (sent: Sent) => wholes([sent]).map(({ type }) => type);
  expect(typesOf(send)).toEqual(['vesting_send_message', 'call_contract']);
  expect(typesOf(add)).toEqual(['vesting_add_whitelist', 'call_contract']);
});
