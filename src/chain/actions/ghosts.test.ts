/** Messages that a wallet was asked to send and did not. */
import { Address, beginCell, Cell as CoreCell, internal, storeMessageRelaxed } from '@ton/core';
import { expect, test } from 'vitest';
import { account, comment, knowing, madeTrace } from '../../../test/made-trace.ts';
import { call } from '../../../test/made-transfers.ts';
import { Builder, type Cell, parseBoc, toBoc } from '../builder.ts';
import { classify } from './classify.ts';

const core = (cell: Cell): CoreCell => CoreCell.fromBoc(toBoc(cell))[0];

/** To bob, with coins and a comment; the contract that is to be deployed comes with it, in the cell or beside it. */
function order(init: boolean): Cell {
  const state = { code: core(comment('code')), data: core(comment('data')) };
  const message = internal({
    to: Address.parse(account('bob')),
    value: 7n,
    bounce: false,
    body: core(comment('for you')),
    ...(init ? { init: state } : {}),
  });
  const cell = beginCell().store(storeMessageRelaxed(message)).endCell();
  return parseBoc(cell.toBoc());
}

test('what was to be deployed by an unsent message is read past', () => {
  for (const init of [false, true]) {
    // Signature, subwallet, valid until, seqno, then a mode and a message.
    const head = new Builder().bytes(Buffer.alloc(64 + 12)).u(3, 8);
    const body = head.ref(order(init)).cell();
    const { state, actions } = classify(madeTrace({ to: 'wallet', body }), knowing());
    expect(state).toBe('ok');
    expect(actions.map(({ type, success }) => [type, success])).toEqual([['ton_transfer', false]]);
    expect(actions[0].details).toMatchObject({
      source: account('wallet'),
      destination: account('bob'),
      value: '7',
      comment: 'for you',
    });
    expect(actions[0].accounts).toEqual([account('wallet')]);
  }
});

/** A body that asks a wallet to send these. */
function asking(...messages: CoreCell[]): Cell {
  const head = new Builder().bytes(Buffer.alloc(64 + 12));
  for (const message of messages) head.u(3, 8).ref(parseBoc(message.toBoc()));
  return head.cell();
}

const relaxed = (value: bigint, body: Cell): CoreCell => {
  const message = internal({ to: Address.parse(account("alice's red")), value, body: core(body) });
  return beginCell().store(storeMessageRelaxed(message)).endCell();
};

test('what is no message between contracts is passed over', () => {
  const out = beginCell().storeUint(0b11, 2).endCell();
  const inward = beginCell().storeUint(0b10, 2).endCell();
  const body = asking(out, relaxed(7n, comment('one')), inward, relaxed(8n, comment('two')));
  const { actions } = classify(madeTrace({ to: 'wallet', body }), knowing());
  expect(actions.map(({ type, details }) => [type, details.value])).toEqual([
    ['ton_transfer', '7'],
    ['ton_transfer', '8'],
  ]);
});

test('what a wallet did send is not told as unsent while nobody has received it', () => {
  const body = asking(relaxed(7n, comment('one')));
  const trace = madeTrace({ to: 'wallet', body, sends: [{ to: "alice's red", body: comment('one') }] });
  const begun = { ...trace, transactions: trace.transactions.slice(0, 1) };
  expect(classify(begun, knowing())).toEqual({ state: 'ok', actions: [] });
});

test('a call without a value does not count as failed, of jettons neither', () => {
  const transfer = call(0x0f8a7ea5).grams(7n).to('bob').to('alice').bit(0).grams(1n).bit(0).cell();
  const told = (value: bigint) => {
    const { actions } = classify(madeTrace({ to: 'wallet', body: asking(relaxed(value, transfer)) }), knowing());
    return actions.map(({ type, success }) => [type, success]);
  };
  expect(told(5n)).toEqual([['jetton_transfer', false]]);
  expect(told(0n)).toEqual([['jetton_transfer', true]]);
});

test('of what a wallet v5 was asked to do, the messages are told', () => {
  const send = new Builder()
    .u(0x0ec3c86d, 32)
    .u(3, 8)
    .ref(new Builder().cell())
    .ref(parseBoc(relaxed(7n, comment('one')).toBoc()));
  const code = new Builder().u(0xad4de08e, 32).ref(send.cell()).ref(comment('code')).cell();
  const head = new Builder().u(0x7369676e, 32).bytes(Buffer.alloc(12));
  const body = head.bit(1).ref(code).bit(0).bytes(Buffer.alloc(64)).cell();
  const { actions } = classify(madeTrace({ to: 'wallet', body }), knowing());
  expect(actions.map(({ type, details }) => [type, details.value])).toEqual([['ton_transfer', '7']]);
});

test('a body of wallet v2 is read where it is as long as one of v3: with four messages', () => {
  const told = (count: number) => {
    const body = new Builder().bytes(Buffer.alloc(64 + 8));
    for (let i = 0; i < count; i++) body.u(3, 8).ref(parseBoc(relaxed(7n, comment('one')).toBoc()));
    const { state, actions } = classify(madeTrace({ to: 'wallet', body: body.cell() }), knowing());
    return [state, ...actions.map(({ type }) => type)];
  };
  for (const count of [1, 2, 3]) expect(told(count)).toEqual(['ok', 'unknown']);
  expect(told(4)).toEqual(['ok', ...Array(4).fill('ton_transfer')]);
});
