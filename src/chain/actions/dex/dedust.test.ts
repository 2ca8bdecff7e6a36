/** Trades of DeDust as no recorded trace shows them: they hold the code to the description. */
import { expect, test } from 'vitest';
import { account, accountBytes, op, type Sent, written } from '../../../../test/made-trace.ts';
import { Body, call, leg, sending, tell, wallets } from '../../../../test/made-transfers.ts';
import type { Cell } from '../../builder.ts';
import { type DedustStep, dedustSwap, dedustSwapEvent, dedustSwapPayload } from '../../layouts/dex/dedust.ts';
import type { KnownContracts } from '../known.ts';

/** Of the pool between TON and red jettons, and the one between red and blue. */
const known: Partial<KnownContracts> = {
  jettonWallet: wallets,
  dedustPool(address) {
    if (address === account('pool')) return { assets: [null, account('red')] };
    return address === account('second pool') ? { assets: [account('red'), account('blue')] } : undefined;
  },
};

const asset = (jetton: string | null) =>
  jetton === null
    ? ({ kind: 'native' } as const)
    : ({ kind: 'jetton', workchain_id: 0, address: accountBytes(jetton).subarray(4) } as const);

const terms = {
  swap_params: {
    deadline: { timestamp: 0 },
    recipient_addr: null,
    referral_addr: null,
    fulfill_payload: null,
    reject_payload: null,
  },
};

/** What was asked for: one pool behind the other. */
const route = (pool: string, ...more: string[]): DedustStep => ({
  pool_addr: accountBytes(pool),
  params: { kind: false, limit: '0', next: more.length === 0 ? null : route(more[0], ...more.slice(1)) },
});

function traded(from: string | null, amountIn: string, to: string | null, amountOut: string): Sent {
  const details = { sender_addr: accountBytes('alice'), referral_addr: null, reserve0: '1', reserve1: '1' };
  const event = { asset_in: asset(from), asset_out: asset(to), amount_in: amountIn, amount_out: amountOut, details };
  return { to: null, body: written(dedustSwapEvent, event) };
}

/** A pool that was asked to trade. */
const pool = (name: string, opcode: number, ...sends: Sent[]): Sent => ({ to: name, body: op(opcode), sends });
const first = (...sends: Sent[]): Sent => pool('pool', 0x61ee542d, ...sends);
const second = (...sends: Sent[]): Sent => pool('second pool', 0x72aca8aa, ...sends);

const proof = new Body().to('factory').u(2, 8).bit(0).u(0, 4).u(0, 4).cell();

/** What a pool has a vault pay: a query id, the proof, the amount, no recipient, no payload. */
function payout(amount: bigint, then: Sent): Sent {
  const body = call(0xad4eb6f5).ref(proof).grams(amount).to(null).bit(0).cell();
  return { to: 'vault', body, sends: [then] };
}

const tonOut = (value: string): Sent => ({ to: 'alice', body: call(0x474f86cf).bit(0).cell(), value });

function tonIn(amount: string, step: DedustStep, ...sends: Sent[]): Sent {
  return { to: 'vault', body: written(dedustSwap, { query_id: '1', amount, step, ...terms }), sends };
}

test('TON is traded for jettons in a pool of DeDust, and jettons for TON', () => {
  const red = sending({ from: 'vault', to: 'alice', jetton: 'red', amount: '50' });
  const [bought, ...others] = tell(
    [tonIn('100', route('pool'), first(traded(null, '100', 'red', '50'), payout(50n, red)))],
    known,
  );
  expect(others).toEqual([]);
  expect([bought.type, bought.success]).toEqual(['jetton_swap', true]);
  expect(bought.details).toEqual({
    dex: 'dedust',
    sender: account('alice'),
    asset_in: null,
    asset_out: account('red'),
    dex_incoming_transfer: leg(null, '100', 'alice', 'vault'),
    dex_outgoing_transfer: leg('red', '50', 'vault', 'alice'),
    peer_swaps: [],
    min_out_amount: undefined,
  });
  const payload = written(dedustSwapPayload, { step: route('pool'), ...terms });
  const after = [first(traded('red', '50', null, '98'), payout(98n, tonOut('90')))];
  const [sold] = tell([sending({ from: 'alice', to: 'vault', jetton: 'red', amount: '50', payload, after })], known);
  expect([sold.type, sold.success]).toEqual(['jetton_swap', true]);
  // What the pool told, not what the last message carried.
  expect(sold.details).toMatchObject({
    asset_in: account('red'),
    asset_out: null,
    dex_incoming_transfer: leg('red', '50', 'alice', 'vault'),
    dex_outgoing_transfer: leg(null, '98', 'vault', 'alice'),
  });
});

test('TON is traded over two pools of DeDust', () => {
  const blue = sending({ from: 'vault', to: 'alice', jetton: 'blue', amount: '20' });
  const next = second(traded('red', '50', 'blue', '20'), payout(20n, blue));
  const [told, ...others] = tell(
    [tonIn('100', route('pool', 'second pool'), first(traded(null, '100', 'red', '50'), next))],
    known,
  );
  expect(others).toEqual([]);
  expect(told.success).toBe(true);
  expect(told.details).toMatchObject({
    asset_in: null,
    asset_out: account('blue'),
    dex_outgoing_transfer: leg('blue', '20', 'vault', 'alice'),
    peer_swaps: [
      { asset_in: null, amount_in: '100', asset_out: account('red'), amount_out: '50' },
      { asset_in: account('red'), amount_in: '50', asset_out: account('blue'), amount_out: '20' },
    ],
  });
});

test('a pool of DeDust that tells of no trade gave back what came', () => {
  const [told, ...others] = tell([tonIn('100', route('pool'), first(payout(100n, tonOut('99'))))], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details).toMatchObject({
    asset_in: null,
    asset_out: account('red'),
    dex_incoming_transfer: leg(null, '100', 'alice', 'vault'),
    dex_outgoing_transfer: leg(null, '100', 'vault', 'alice'),
    peer_swaps: [],
  });
});

test('the second pool of DeDust gives back what the first one paid', () => {
  const red = sending({ from: 'vault', to: 'alice', jetton: 'red', amount: '50' });
  const next = second(payout(50n, red));
  const [told, ...others] = tell(
    [tonIn('100', route('pool', 'second pool'), first(traded(null, '100', 'red', '50'), next))],
    known,
  );
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details).toMatchObject({
    asset_in: null,
    // What was asked for.
    asset_out: account('blue'),
    dex_incoming_transfer: leg(null, '100', 'alice', 'vault'),
    dex_outgoing_transfer: leg('red', '50', 'vault', 'alice'),
    peer_swaps: [],
  });
});

test('of what DeDust is asked for, the way alone is read', () => {
  const step = (body: Body): Cell => body.to('pool').bit(0).grams(0n).bit(0).cell();
  const red = sending({ from: 'vault', to: 'alice', jetton: 'red', amount: '50' });
  const bought = first(traded(null, '100', 'red', '50'), payout(50n, red));
  const sold = [first(traded('red', '50', null, '98'), payout(98n, tonOut('90')))];
  const payload = step(new Body().u(0xe3a0d482, 32));
  for (const sent of [
    { to: 'vault', body: step(call(0xea06185d).grams(100n)), sends: [bought] },
    sending({ from: 'alice', to: 'vault', jetton: 'red', amount: '50', payload, after: sold }),
  ]) {
    expect(tell([sent], known).map(({ type, success }) => [type, success])).toEqual([['jetton_swap', true]]);
  }
});

test('of what a pool of DeDust has a vault pay, the amount alone is read', () => {
  const body = call(0xad4eb6f5).ref(new Body().cell()).grams(50n).cell();
  const red = sending({ from: 'vault', to: 'alice', jetton: 'red', amount: '50' });
  const paid: Sent = { to: 'vault', body, sends: [red] };
  const [told, ...others] = tell([tonIn('100', route('pool'), first(traded(null, '100', 'red', '50'), paid))], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', true]);
  expect(told.details.dex_outgoing_transfer).toEqual(leg('red', '50', 'vault', 'alice'));
});

test('jettons that DeDust gives back are those that came, whatever the pool had the vault pay', () => {
  const back = sending({ from: 'vault', to: 'alice', jetton: 'red', amount: '48' });
  const payload = written(dedustSwapPayload, { step: route('pool'), ...terms });
  const sent = sending({
    from: 'alice',
    to: 'vault',
    jetton: 'red',
    amount: '50',
    payload,
    after: [first(payout(50n, back))],
  });
  const [told] = tell([sent], known);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details.dex_outgoing_transfer).toEqual(leg('red', '48', 'vault', 'alice'));
});

test('a pool of DeDust that nothing is known of is no trade', () => {
  const back = first(payout(100n, tonOut('99')));
  const types = tell([tonIn('100', route('pool'), back)], { jettonWallet: wallets }).map(({ type }) => type);
  expect(types).not.toContain('jetton_swap');
});
