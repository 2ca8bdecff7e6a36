/** Trades and deposits in forms that no recorded trace shows: they hold the code to the description. */
import { expect, test } from 'vitest';
import { account, op, type Sent } from '../../../../test/made-trace.ts';
import { Body, burning, call, sending, tell, wallets } from '../../../../test/made-transfers.ts';
import { Builder, type Cell } from '../../builder.ts';
import type { KnownContracts } from '../known.ts';

const known: Partial<KnownContracts> = { jettonWallet: wallets };

/** An asset of swap.coffee: the jetton of a name, else TON. */
function coffeeAsset(into: Body, jetton: string | null): Body {
  if (jetton === null) return into.u(0, 2);
  return into
    .u(1, 2)
    .u(0, 8)
    .bytes(Buffer.from(account(jetton).slice(2), 'hex'));
}

/** A pool of swap.coffee that tells what it traded. */
function traded(jetton: string | null, from: bigint, into: bigint): Sent {
  return { to: null, body: coffeeAsset(call(0xc0ffee30), jetton).grams(from).grams(into).cell() };
}

const coffeePool = (...sends: Sent[]): Sent => ({ to: 'pool', body: op(0xc0ffee20), sends });

function coffeePayout(amount: bigint, then: Sent): Sent {
  return { to: 'vault', body: call(0xc0ffee21).to('alice').grams(amount).cell(), sends: [then] };
}

const redOut = sending({ from: 'vault', to: 'alice', jetton: 'red', amount: '30' });

/** TON for a vault; the way and the terms that follow the amount are left out: they are not read. */
function tonTrade(...sends: Sent[]): Sent {
  return { to: 'vault', body: call(0xc0ffee00).grams(10n).cell(), sends };
}

test('TON is traded for jettons over two pools of swap.coffee', () => {
  const second = coffeePool(traded('blue', 20n, 30n), coffeePayout(30n, redOut));
  const [told, ...others] = tell([tonTrade(coffeePool(traded(null, 10n, 20n), second))], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', true]);
  expect(told.details).toMatchObject({
    dex: 'coffee',
    sender: account('alice'),
    asset_in: null,
    asset_out: account('red'),
    dex_incoming_transfer: { asset: null, amount: '10', source: account('alice'), destination: account('vault') },
    dex_outgoing_transfer: { asset: account('red'), amount: '30', destination_jetton_wallet: account("alice's red") },
    peer_swaps: [
      { asset_in: null, amount_in: '10', asset_out: account('blue'), amount_out: '20' },
      { asset_in: account('blue'), amount_in: '20', asset_out: account('red'), amount_out: '30' },
    ],
  });
});

test('a way over pools of swap.coffee is no trade when one of them tells of none', () => {
  const blue = coffeePayout(20n, sending({ from: 'vault', to: 'alice', jetton: 'blue', amount: '20' }));
  const failed = coffeePool(traded(null, 10n, 20n), coffeePool({ to: null, body: op(0xc0ffee31) }, blue));
  const [told, ...others] = tell([tonTrade(failed)], known);
  expect([told, ...others].map(({ type, details }) => [type, details.opcode])).toEqual([
    ['call_contract', '0xc0ffee00'],
    ['call_contract', '0xc0ffee20'],
    ['call_contract', '0xc0ffee20'],
    ['call_contract', '0xc0ffee21'],
    ['jetton_transfer', undefined],
  ]);
});

test('swap.coffee pays in TON, with a notification or without', () => {
  const sold = (paid: Sent): Sent => {
    const after = [coffeePool(traded('red', 10n, 20n), coffeePayout(20n, paid))];
    return sending({ from: 'alice', to: 'vault', jetton: 'red', amount: '10', after });
  };
  const ends = { asset: null, source_jetton_wallet: null, destination_jetton_wallet: null };
  // Without one the payout says how much and to whom, and its sender counts; with one the message itself does.
  for (const [opcode, amount, source] of [
    [0xc0ffee32, '20', 'pool'],
    [0xc0ffee36, '19', 'vault'],
  ] as const) {
    const [told, ...others] = tell([sold({ to: 'alice', body: op(opcode), value: '19' })], known);
    expect(others).toEqual([]);
    expect([told.type, told.success]).toEqual(['jetton_swap', true]);
    expect(told.details).toMatchObject({
      dex: 'coffee',
      asset_in: account('red'),
      asset_out: null,
      dex_outgoing_transfer: { ...ends, amount, source: account(source), destination: account('alice') },
    });
  }
});

/** Red jettons for a pool of two assets; an extra currency is given by its number. */
function coffeeDeposit(...assets: (string | number | null)[]): Sent {
  const pool = new Body();
  for (const asset of assets) {
    if (typeof asset === 'number') pool.u(2, 2).u(asset, 32);
    else coffeeAsset(pool, asset);
  }
  const body = call(0xc0ffee27).grams(10n).ref(new Builder().cell()).ref(pool.cell());
  const request: Sent = {
    to: 'factory',
    body: body.to('alice').cell(),
    sends: [{ to: 'depository', body: op(0xc0ffee22) }],
  };
  return sending({ from: 'alice', to: 'vault', jetton: 'red', amount: '10', after: [request] });
}

test('jettons are put into a pool of swap.coffee beside an extra currency', () => {
  const [told, ...others] = tell([coffeeDeposit(7, 'red')], known);
  expect(others).toEqual([]);
  expect(told.type).toBe('dex_deposit_liquidity');
  expect(told.details).toMatchObject({
    amount_1: null,
    amount_2: '10',
    asset_2: account('red'),
    user_jetton_wallet_2: account("alice's red"),
    target_asset_1: account('red'),
    target_asset_2: null,
    pool: null,
  });
});

/** What a vault of swap.coffee has made of a request for a pool. */
const poolCreator: Sent = {
  to: 'factory',
  body: op(0xc0ffee23),
  sends: [{ to: 'creator', body: op(0xc0ffee22) }],
};

/** A pool of TON and red jettons, for bob; whatever its formula. */
const poolTerms = (into: Body, formula: number): Body =>
  coffeeAsset(coffeeAsset(into, null), 'red').u(formula, 3).bit(0).to('bob').u(0, 1).bit(0).u(1, 1).bit(0);

test('jettons and TON are put by for a pool of swap.coffee, whatever its formula', () => {
  for (const formula of [0, 1, 2]) {
    const payload = poolTerms(new Body().u(0xc0ffee11, 32), formula).cell();
    const red = sending({ from: 'alice', to: 'vault', jetton: 'red', amount: '10', payload, after: [poolCreator] });
    const body = poolTerms(call(0xc0ffee02).grams(10n), formula).cell();
    for (const [sent, asset] of [
      [red, account('red')],
      [{ to: 'vault', body, sends: [poolCreator] }, null],
    ] as const) {
      const [told] = tell([sent], known);
      expect(told.type).toBe('coffee_create_pool_creator');
      expect(told.details).toEqual({
        source: account('alice'),
        source_jetton_wallet: asset === null ? null : account("alice's red"),
        deposit_recipient: account('bob'),
        pool_creator_contract: account('creator'),
        provided_asset: null,
        asset_1: asset,
        asset_2: null,
        amount: '10',
      });
    }
  }
});

test('jettons that the pool is not of are no deposit', () => {
  const types = tell([coffeeDeposit('blue', null)], known).map(({ type }) => type);
  expect(types).not.toContain('dex_deposit_liquidity');
  expect(types).toContain('jetton_transfer');
});

test('a deposit that waits in STON.fi v2 is taken back in TON', () => {
  const ton = call(0x01f3835d).grams(8n).to('alice').bit(0).cell();
  const left: Sent = { to: 'bob', body: op(0xd53276db) };
  const proxied: Sent = {
    to: 'proxy wallet',
    body: call(0x0f8a7ea5).grams(8n).to('alice').to('alice').bit(0).grams(1n).bit(0).cell(),
    sends: [{ to: 'alice', body: ton, sends: [left] }],
  };
  const coins = new Body().grams(1n).grams(8n).to('proxy wallet').grams(0n);
  const pay = call(0x657b54f5).to('alice').to('alice').to('alice').u(1, 32).bit(0).ref(coins.to(null).cell());
  const refund: Sent = {
    to: 'pool',
    body: op(0x0f98e2b8),
    sends: [{ to: 'router', body: pay.cell(), sends: [proxied] }],
  };
  const pton = '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3';
  const [told, ...others] = tell([{ to: 'lp account', body: op(0x132b9a2c), sends: [refund] }], {
    jettonWallet: (wallet) =>
      wallet === account('proxy wallet') ? { owner: account('router'), jetton: pton } : undefined,
  });
  // What comes of the TON is not part of it.
  expect(others.map(({ type, details }) => [type, details.opcode])).toEqual([['call_contract', '0xd53276db']]);
  expect(told.type).toBe('dex_withdraw_liquidity');
  expect(told.details).toMatchObject({
    dex: 'stonfi_v2',
    source: account('alice'),
    pool: account('pool'),
    amount_1: '8',
    asset_1: null,
    amount_2: null,
    lp_tokens_burnt: null,
  });
});

test('liquidity is taken out of a pool of swap.coffee in TON, with a notification or without', () => {
  for (const [opcode, wallet] of [
    [0xc0ffee32, account('alice')],
    [0xc0ffee36, null],
  ] as const) {
    const changed: Sent = { to: null, body: call(0xc0ffee35).grams(30n).grams(20n).grams(33n).cell() };
    const ton = coffeePayout(20n, { to: 'alice', body: op(opcode), value: '19' });
    const notice: Sent = { to: 'pool', body: op(0x7bdd97de), sends: [coffeePayout(30n, redOut), ton, changed] };
    const [told, ...others] = tell([burning('alice', 'lp', '33', notice)], known);
    expect(others).toEqual([]);
    expect(told.type).toBe('dex_withdraw_liquidity');
    expect(told.details).toMatchObject({
      dex: 'coffee',
      amount_1: '30',
      asset_1: account('red'),
      user_jetton_wallet_1: account("alice's red"),
      amount_2: '20',
      asset_2: null,
      user_jetton_wallet_2: wallet,
    });
  }
});

const payload = (opcode: number): Cell => call(opcode).to('bob').cell();

test('jettons are held back by a guard of swap.coffee, and given back', () => {
  const held = sending({ from: 'alice', to: 'guard', jetton: 'red', amount: '10', payload: payload(0x6bc79e7e) });
  const [told] = tell([held], known);
  expect(told.type).toBe('coffee_mev_protect_hold_funds');
  expect(told.details).toEqual({
    source: account('alice'),
    source_jetton_wallet: account("alice's red"),
    mev_contract: account('guard'),
    mev_contract_jetton_wallet: null,
    asset: account('red'),
    amount: '10',
  });
  const back = sending({ from: 'guard', to: 'alice', jetton: 'red', amount: '10', payload: payload(0xee51ce51) });
  const [failed] = tell([back], known);
  expect(failed.type).toBe('coffee_mev_protect_failed_swap');
  expect(failed.accounts).toContain(account('bob'));
});
