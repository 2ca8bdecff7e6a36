/** Trades of STON.fi as no recorded trace shows them: they hold the code to the description. */
import { expect, test } from 'vitest';
import { account, accountBytes, comment, op, type Sent, written } from '../../../../test/made-trace.ts';
import { Body, call, leg, sending, tell, wallets } from '../../../../test/made-transfers.ts';
import type { Cell } from '../../builder.ts';
import { CellView } from '../../layouts/cell-view.ts';
import {
  stonfiPayToV2,
  stonfiSwap,
  stonfiSwapPayload,
  stonfiSwapV2,
  stonfiSwapV2Payload,
} from '../../layouts/dex/stonfi.ts';
import { opcodeText } from '../kind.ts';
import type { KnownContracts } from '../known.ts';
import { SWAP_OK } from './stonfi.ts';

const NO_LIQUIDITY = 0x5ffe1295;
const RESERVE_ERROR = 0x38976e9b;

const known: Partial<KnownContracts> = { jettonWallet: wallets };

const givenBackAmounts = new Body().grams(10n).to("router's red").grams(0n).to("router's blue").cell();

/** What a pool of STON.fi has the router pay. Pools say first that the amounts stand in a reference. */
const routerPays = (exitCode: number): Cell =>
  call(0xf93bb43f).to('alice').u(exitCode, 32).bit(1).ref(givenBackAmounts).cell();

/** Red jettons that a pool of STON.fi was asked to trade, and that it had the router give back. */
function givenBack(exitCode: number, wallet = "router's red", pay = routerPays(exitCode)): Sent {
  const back = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '10' });
  const swap = written(stonfiSwap, {
    query_id: '1',
    to_address: accountBytes('alice'),
    sender_address: accountBytes(wallet),
    jetton_amount: '10',
    min_out: '9',
    has_ref_address: false,
    addrs: { from_user: accountBytes('alice') },
  });
  const payload = written(stonfiSwapPayload, {
    token_wallet: accountBytes("router's blue"),
    min_out: '9',
    to_address: accountBytes('alice'),
    referral_address: null,
  });
  // What is left of the pool's value is part of the trade.
  const excesses = { to: 'alice', body: op(0xd53276db) };
  const after = [{ to: 'pool', body: swap, sends: [{ to: 'router', body: pay, sends: [back] }, excesses] }];
  return sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', payload, after });
}

test('STON.fi gives back what it does not trade', () => {
  for (const exitCode of [NO_LIQUIDITY, RESERVE_ERROR]) {
    const [told, ...others] = tell([givenBack(exitCode)], known);
    expect(others).toEqual([]);
    expect([told.type, told.success]).toEqual(['jetton_swap', false]);
    expect(told.details).toMatchObject({
      dex: 'stonfi',
      sender: account('alice'),
      asset_in: account('red'),
      asset_out: account('blue'),
      dex_incoming_transfer: leg('red', '10', 'alice', 'router'),
      dex_outgoing_transfer: leg('red', '10', 'router', 'alice'),
    });
    expect(told.accounts).toContain(account("router's blue"));
  }
});

test('what a router of STON.fi is to pay stands in a reference, said or not', () => {
  const pay = call(0xf93bb43f).to('alice').u(NO_LIQUIDITY, 32).ref(givenBackAmounts).cell();
  const [told, ...others] = tell([givenBack(NO_LIQUIDITY, undefined, pay)], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details.dex_outgoing_transfer).toEqual(leg('red', '10', 'router', 'alice'));
});

test('what came to a wallet of STON.fi that is not known is no trade', () => {
  const types = tell([givenBack(SWAP_OK, 'unheard of')], known).map(({ type }) => type);
  expect(types).not.toContain('jetton_swap');
});

/** What a pool of STON.fi v2 is asked for, and what it has the router pay. */
function tradedV2(
  { exitCode = NO_LIQUIDITY, wanted = "router's blue", further = null as CellView | null, paid = "router's red" },
  out: Sent,
): Sent {
  const alice = accountBytes('alice');
  const pay = written(stonfiPayToV2, {
    query_id: '1',
    to_address: alice,
    excesses_address: alice,
    original_caller: alice,
    exit_code: exitCode,
    custom_payload: null,
    additional: {
      fwd_ton_amount: '0',
      amount0_out: '10',
      token0_address: accountBytes(paid),
      amount1_out: '0',
      token1_address: accountBytes("router's blue"),
    },
  });
  const { route: dex_payload, body } = askedV2(wanted, further);
  const swap = written(stonfiSwapV2, {
    query_id: '1',
    from_user: alice,
    left_amount: '10',
    right_amount: '0',
    dex_payload: { transferred_op: 0x6664de2a, ...dex_payload, swap_body: body },
  });
  return { to: 'pool', body: swap, sends: [{ to: 'router', body: pay, sends: [out] }] };
}

function askedV2(wanted: string, further: CellView | null) {
  const alice = accountBytes('alice');
  const route = {
    token_wallet1: accountBytes(wanted),
    refund_address: alice,
    excesses_address: alice,
    tx_deadline: '0',
  };
  const body = {
    min_out: '9',
    receiver: alice,
    fwd_gas: '0',
    custom_payload: further,
    refund_fwd_gas: '0',
    refund_payload: null,
    ref_fee: 0,
    ref_address: null,
  };
  return { route, body };
}

/** The payload that asks a router of STON.fi v2 for a trade. */
function payloadV2(wanted: string, further: CellView | null = null): Cell {
  const { route, body } = askedV2(wanted, further);
  return written(stonfiSwapV2Payload, { ...route, cross_swap_body: body });
}

test('STON.fi v2 gives back what it does not trade', () => {
  const back = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '10' });
  const after = [tradedV2({}, back)];
  const [told, ...others] = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details).toMatchObject({
    dex: 'stonfi_v2',
    asset_in: account('red'),
    // What was asked for.
    asset_out: account('blue'),
    dex_incoming_transfer: leg('red', '10', 'alice', 'router'),
    dex_outgoing_transfer: leg('red', '10', 'router', 'alice'),
    peer_swaps: [],
  });
});

const PTON = '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3';

/** The wallets above, and the router's of pTON. */
const withPton: Partial<KnownContracts> = {
  jettonWallet: (wallet) =>
    wallet === account("router's pton") ? { owner: account('router'), jetton: PTON } : wallets(wallet),
};

/** TON for the router, with what it is asked for. */
function tonForRouter(payload: Cell, ...sends: Sent[]): Sent {
  return {
    to: "router's pton",
    body: call(0x01f3835d).grams(10n).to('alice').bit(1).ref(payload).cell(),
    sends: [{ to: 'router', body: op(0x7362d09c), sends }],
  };
}

/** pTON that the router sends: its wallet makes TON of it. */
function ptonOut(...sends: Sent[]): Sent {
  return {
    to: "router's pton",
    body: call(0x0f8a7ea5).grams(8n).to('alice').to('alice').bit(0).grams(1n).bit(0).cell(),
    sends,
  };
}

const ton8: Sent = { to: 'alice', body: call(0x01f3835d).grams(8n).to('alice').bit(0).cell() };

/** Red jettons for a pool of STON.fi v2 that pays for them in TON. */
function soldForTon(...sends: Sent[]): Sent {
  const after = [tradedV2({ exitCode: SWAP_OK }, ptonOut(...sends))];
  return sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after });
}

const kindsOf = (sends: Sent[]) => tell(sends, withPton).map(({ type, details }) => [type, details.opcode]);

test('STON.fi v2 pays in TON, and has not traded when the TON stays where it is', () => {
  const [told, ...others] = tell([soldForTon(ton8)], withPton);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', true]);
  expect(told.details).toMatchObject({
    asset_out: null,
    dex_outgoing_transfer: { asset: null, amount: '8', source: account('router'), destination: account('alice') },
  });
  expect(tell([soldForTon()], withPton).map(({ type }) => type)).not.toContain('jetton_swap');
});

test('what comes of the TON that STON.fi v2 paid is not part of the trade', () => {
  const left: Sent = { to: 'bob', body: op(0xd53276db) };
  const bounced: Sent = { to: 'alice', body: op(0xffffffff) };
  expect(kindsOf([soldForTon({ ...ton8, sends: [left, bounced] })])).toEqual([
    ['jetton_swap', undefined],
    ['call_contract', '0xd53276db'],
    ['call_contract', '0xffffffff'],
  ]);
});

/** TON that the router sends to another router's wallet of pTON, which tells that router. */
function tonToSecond(destination: string, asked: Cell, ...sends: Sent[]): Sent {
  return {
    to: "router's pton",
    body: call(0x0f8a7ea5).grams(8n).to(destination).to('alice').bit(0).grams(1n).bit(0).cell(),
    sends: [
      {
        to: "second router's pton",
        body: call(0x01f3835d).grams(8n).to('alice').bit(1).ref(asked).cell(),
        sends: [{ to: 'second router', body: op(0x7362d09c), sends }],
      },
    ],
  };
}

test('TON goes on to the next pool of STON.fi v2 when it is sent there to be traded', () => {
  const red = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '10' });
  const next = tradedV2({ exitCode: SWAP_OK, wanted: "router's red" }, red);
  const asked = payloadV2("router's red");
  const trades = (out: Sent) => {
    const after = [tradedV2({ exitCode: SWAP_OK, wanted: "router's pton", paid: "router's pton" }, out)];
    return kindsOf([sending({ from: 'alice', to: 'router', jetton: 'blue', amount: '10', after })]);
  };
  const swap = ['jetton_swap', undefined];
  expect(trades(tonToSecond("second router's pton", asked, next))).toEqual([swap]);
  // What was said to be for somebody else, or for something else, ended the trade in TON.
  const beside = [0x7362d09c, 0x6664de2a, 0x657b54f5].map((opcode) => ['call_contract', opcodeText(opcode)]);
  for (const out of [tonToSecond('bob', asked, next), tonToSecond("second router's pton", comment('for you'), next)]) {
    expect(trades(out)).toEqual([swap, ...beside, ['jetton_transfer', undefined]]);
  }
  // A pool that never answers is not part of it, but what was said to its router is.
  const dead: Sent = { to: 'pool', body: op(0x6664de2a) };
  expect(trades(tonToSecond("second router's pton", asked, dead))).toEqual([swap, ['call_contract', '0x6664de2a']]);
});

test('TON goes on to the next pool of STON.fi v2 when its wallet tells the next router itself', () => {
  const red = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '10' });
  const next = tradedV2({ exitCode: SWAP_OK, wanted: "router's red" }, red);
  const told = ptonOut({ to: 'second router', body: op(0x7362d09c), sends: [next] });
  const after = [tradedV2({ exitCode: SWAP_OK, wanted: "router's pton", paid: "router's pton" }, told)];
  const [swap, ...others] = tell(
    [sending({ from: 'alice', to: 'router', jetton: 'blue', amount: '10', after })],
    withPton,
  );
  expect(others).toEqual([]);
  expect([swap.type, swap.success]).toEqual(['jetton_swap', true]);
  expect(swap.details).toMatchObject({
    asset_in: account('blue'),
    asset_out: account('red'),
    peer_swaps: [
      { asset_in: account('blue'), amount_in: '10', asset_out: null, amount_out: '10' },
      { asset_in: null, amount_in: '10', asset_out: account('red'), amount_out: '10' },
    ],
  });
});

test('the second pool of STON.fi v2 gives back what the first one paid, which is no trade over several', () => {
  const further = CellView.from(payloadV2("router's lp"));
  const back = sending({ from: 'router', to: 'alice', jetton: 'blue', amount: '10' });
  const second = tradedV2({ wanted: "router's lp", paid: "router's blue" }, back);
  const after = [tradedV2({ exitCode: SWAP_OK, paid: "router's blue", further }, second)];
  const [told, ...others] = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details).toMatchObject({
    asset_in: account('red'),
    asset_out: account('lp'),
    dex_outgoing_transfer: leg('blue', '10', 'router', 'alice'),
    peer_swaps: [],
  });
});

test('a way over pools of STON.fi v2 is no trade when a wallet on it is not known', () => {
  const blue = sending({ from: 'router', to: 'alice', jetton: 'blue', amount: '10' });
  const trade = (between: string) => {
    const second = tradedV2({ exitCode: SWAP_OK, paid: "router's blue" }, blue);
    const after = [tradedV2({ exitCode: SWAP_OK, wanted: between, paid: between }, second)];
    return tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], known);
  };
  expect(trade("router's lp")[0].details.peer_swaps).toEqual([
    { asset_in: account('red'), amount_in: '10', asset_out: account('lp'), amount_out: '10' },
    { asset_in: account('lp'), amount_in: '10', asset_out: account('blue'), amount_out: '10' },
  ]);
  expect(trade('unheard of').map(({ type }) => type)).not.toContain('jetton_swap');
});

test('of what STON.fi v2 was asked for, the wallet alone is read', () => {
  const further = CellView.from(payloadV2("somebody's green"));
  const payload = new Body().u(0x6664de2a, 32).to("router's blue").cell();
  const after = [tradedV2({ further }, sending({ from: 'router', to: 'alice', jetton: 'red', amount: '10' }))];
  const [told] = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', payload, after })], known);
  expect([told.type, told.success, told.details.asset_out]).toEqual(['jetton_swap', false, account('blue')]);
});

test('of what STON.fi v2 did not trade, the first asset on the way is told when the last is not known', () => {
  const further = CellView.from(payloadV2("somebody's green"));
  const trade = tradedV2({ further }, ptonOut(ton8));
  const paid = payloadV2("router's blue", further);
  const [forTon] = tell([tonForRouter(paid, trade)], withPton);
  const after = [tradedV2({ further }, sending({ from: 'router', to: 'alice', jetton: 'red', amount: '10' }))];
  const move = { from: 'alice', to: 'router', jetton: 'red', amount: '10', payload: paid, after };
  const [forJettons] = tell([sending(move)], withPton);
  for (const { type, success, details } of [forTon, forJettons]) {
    expect([type, success, details.asset_out]).toEqual(['jetton_swap', false, account('blue')]);
  }
});
