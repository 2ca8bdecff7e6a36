import { expect, test } from 'vitest';
import { account, comment, knowing, madeTrace, op } from '../../../test/made-trace.ts';
import { Builder } from '../builder.ts';
import { classify, MAX_TRANSACTIONS } from './classify.ts';
import type { Trace } from './trace.ts';

const tell = (trace: Trace) => {
  const { state, actions } = classify(trace, knowing());
  return { state, types: actions.map(({ type }) => type).sort() };
};

test('a bounce is a call of its own', () => {
  const bounced = { to: 'wallet', body: op(0xffffffff) };
  const trace = madeTrace({
    to: 'wallet',
    sends: [{ to: 'shop', body: comment('5'), aborted: true, sends: [bounced] }],
  });
  const { actions } = classify(trace, knowing());
  expect(actions.map(({ type, success }) => [type, success])).toEqual([
    ['ton_transfer', false],
    ['call_contract', true],
  ]);
});

test('a message that no transaction received has no action', () => {
  const trace = madeTrace({
    to: 'wallet',
    sends: [
      { to: 'a', body: op(1) },
      { to: 'b', body: op(2) },
    ],
  });
  const cut = { ...trace, transactions: trace.transactions.slice(0, 2) };
  expect(tell(cut)).toEqual({ state: 'ok', types: ['call_contract'] });
});

test('without a single root the trace is not told', () => {
  const one = madeTrace({ to: 'wallet', sends: [{ to: 'a' }] });
  const { transactions } = one;
  const [root] = transactions;
  const stranger = { ...root, hash: 'stranger', inMsg: null };
  expect(tell({ ...one, transactions: [...transactions, stranger] })).toEqual({ state: 'failed', types: ['unknown'] });
});

test('a circle of messages ends', () => {
  const one = madeTrace({ to: 'wallet', sends: [{ to: 'a' }] });
  const [root, a] = one.transactions;
  const circle = [{ ...root, outMsgs: a.inMsg === null ? [] : [a.inMsg, a.inMsg, a.inMsg] }, a];
  expect(tell({ ...one, transactions: circle })).toEqual({ state: 'failed', types: ['unknown'] });
});

test('a message that two transactions received, and that was sent twice, is refused', () => {
  const one = madeTrace({ to: 'wallet', sends: [{ to: 'a' }] });
  const [root, a] = one.transactions;
  const twice = { ...root, outMsgs: [...root.outMsgs, ...root.outMsgs] };
  const again = { ...a, hash: 'again' };
  expect(tell({ ...one, transactions: [twice, a, again] })).toEqual({ state: 'failed', types: ['unknown'] });
});

test('an unforeseen failure leaves the messages, one by one', () => {
  const sale = { to: 'sale', sends: [{ to: 'item', body: op(0x5fcc3d14), from: 'uninit' as const }] };
  const broken = knowing({
    nftItem: () => {
      throw new TypeError('out of order');
    },
  });
  const { state, actions, error } = classify(madeTrace({ to: 'wallet', sends: [sale] }), broken);
  expect({ state, types: actions.map(({ type }) => type) }).toEqual({
    state: 'failed',
    types: ['ton_transfer', 'call_contract', 'contract_deploy'],
  });
  expect(error).toBeInstanceOf(TypeError);
});

/** The same trace, begun by the clock instead of a message. */
function ticking(trace: Trace): Trace {
  const [root, ...others] = trace.transactions;
  return { ...trace, externalHash: null, transactions: [{ ...root, inMsg: null }, ...others] };
}

test('a tick by itself is no action, whatever it logs', () => {
  const log = { to: null, body: op(7) };
  expect(tell(ticking(madeTrace({ to: 'config' })))).toEqual({ state: 'ok', types: [] });
  expect(tell(ticking(madeTrace({ to: 'config', sends: [log] })))).toEqual({ state: 'ok', types: [] });
  const sending = ticking(madeTrace({ to: 'config', sends: [log, { to: 'elector', body: op(8) }] }));
  expect(tell(sending)).toEqual({ state: 'ok', types: ['call_contract', 'tick_tock'] });
});

test('a very large trace is left alone', () => {
  const trace = madeTrace({ to: 'wallet', sends: Array.from({ length: MAX_TRANSACTIONS }, () => ({ to: 'a' })) });
  expect(tell(trace)).toEqual({ state: 'unclassified', types: [] });
});

test('an action is found by who began it and by all it names', () => {
  const trace = madeTrace({ to: 'wallet', sends: [{ to: 'a', body: op(1) }] });
  const [{ accounts, transactions }] = classify(trace, knowing()).actions;
  expect(accounts.sort()).toEqual([account('wallet'), account('a')].sort());
  expect(transactions.sort()).toEqual(trace.transactions.map(({ hash }) => hash).sort());
});

test('a wallet that was asked to send nothing but a log did something unknown', () => {
  // A message out of the chain: no addresses, no times, no state, no body.
  const log = new Builder().u(0b11, 2).u(0, 4).bytes(Buffer.alloc(12)).u(0, 2).cell();
  const body = new Builder()
    .bytes(Buffer.alloc(64 + 12))
    .ref(log)
    .cell();
  expect(tell(madeTrace({ to: 'wallet', body }))).toEqual({ state: 'ok', types: ['unknown'] });
});
