/** Trades, deposits and payouts at TONCO in forms that no recorded trace shows. */
import { expect, test } from 'vitest';
import { account, comment, op, type Sent } from '../../../../test/made-trace.ts';
import { Body, call, sending, tell, wallets } from '../../../../test/made-transfers.ts';
import { Builder, type Cell } from '../../builder.ts';
import type { KnownContracts } from '../known.ts';

const known: Partial<KnownContracts> = { jettonWallet: wallets };
const PTON = '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3';
const withPton: Partial<KnownContracts> = {
  jettonWallet: (wallet) =>
    wallet === account("router's pton") ? { owner: account('router'), jetton: PTON } : wallets(wallet),
};

/** A trade in a pool of TONCO that was paid from a wallet of the router. */
function toncoPool(jetton: string, ...sends: Sent[]): Sent {
  return { to: 'pool', body: call(0xa7fb58f8).to('alice').to(`router's ${jetton}`).cell(), sends };
}

function toncoPays(exitCode: number, jetton: string, amount: bigint, then: Sent): Sent {
  const coins = new Body().grams(amount);
  coins.to(`router's ${jetton}`).grams(0n).to(null);
  const body = call(0xa1daa96d).to('alice').to('alice').u(exitCode, 32).u(0, 32).u(1, 32).bit(1).ref(coins.cell());
  return { to: 'router', body: body.cell(), sends: [then] };
}

test('jettons are traded over two pools of TONCO', () => {
  const out = sending({ from: 'router', to: 'alice', jetton: 'lp', amount: '30' });
  const second = toncoPool('blue', toncoPays(200, 'lp', 30n, out));
  const hop = sending({ from: 'router', to: 'router', jetton: 'blue', amount: '20', after: [second] });
  const first = toncoPool('red', toncoPays(0, 'blue', 20n, hop));
  const [told, ...others] = tell(
    [sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after: [first] })],
    known,
  );
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', true]);
  expect(told.details).toMatchObject({
    dex: 'tonco',
    asset_in: account('red'),
    asset_out: account('lp'),
    min_out_amount: '30',
    dex_outgoing_transfer: { amount: '30', destination: account('alice') },
    peer_swaps: [
      { asset_in: account('red'), amount_in: '10', asset_out: account('blue'), amount_out: '20' },
      { asset_in: account('blue'), amount_in: '20', asset_out: account('lp'), amount_out: '30' },
    ],
  });
});

test('of two pools of TONCO the second gives back what the first one paid', () => {
  const back = sending({ from: 'router', to: 'alice', jetton: 'blue', amount: '20' });
  const second = toncoPool('blue', toncoPays(205, 'blue', 20n, back));
  const hop = sending({ from: 'router', to: 'router', jetton: 'blue', amount: '20', after: [second] });
  const after = [toncoPool('red', toncoPays(0, 'blue', 20n, hop))];
  const [told, ...others] = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details.peer_swaps).toEqual([
    { asset_in: account('red'), amount_in: '10', asset_out: account('blue'), amount_out: '20' },
  ]);
});

test('of a way over pools of TONCO that begins with a wallet that is not known nothing is told', () => {
  const out = sending({ from: 'router', to: 'alice', jetton: 'lp', amount: '30' });
  const hop = sending({
    from: 'router',
    to: 'router',
    jetton: 'blue',
    amount: '20',
    after: [toncoPool('blue', toncoPays(200, 'lp', 30n, out))],
  });
  const after = [toncoPool('red', toncoPays(0, 'unheard of', 20n, hop))];
  const [told] = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], known);
  expect([told.type, told.success, told.details.peer_swaps]).toEqual(['jetton_swap', true, []]);
});

test('TON that a router of TONCO sends on between two pools is part of the trade', () => {
  const out = sending({ from: 'router', to: 'alice', jetton: 'lp', amount: '30' });
  const second = toncoPool('blue', toncoPays(200, 'lp', 30n, out));
  const aside: Sent = { to: 'router', body: call(0x01f3835d).grams(8n).to('alice').bit(0).cell() };
  const hop = sending({ from: 'router', to: 'router', jetton: 'blue', amount: '20', after: [second, aside] });
  const first = toncoPool('red', toncoPays(0, 'blue', 20n, hop));
  const told = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after: [first] })], known);
  expect(told.map(({ type }) => type)).toEqual(['jetton_swap']);
});

/** What a router of TONCO is asked for: jettons, and what to do with them. */
function toncoAsks(jetton: string, minOut: bigint, then: Cell): Cell {
  const body = new Body().u(0xa7fb58f8, 32).to(`router's ${jetton}`).big(0n, 160).grams(minOut);
  return body.to('alice').bit(1).ref(then).cell();
}

test('what TONCO did not trade is told by the last router on the way, not by what the receiver is sent', () => {
  const back: Sent = {
    to: "router's pton",
    body: call(0x0f8a7ea5).grams(8n).to('alice').to('alice').bit(0).grams(1n).bit(0).cell(),
    sends: [{ to: 'alice', body: call(0x01f3835d).grams(8n).to('alice').bit(0).cell() }],
  };
  const unlike = new Builder().u(0xa7fb58f8, 32).cell();
  for (const last of [comment('for you'), op(0x12345678), unlike]) {
    const payload = toncoAsks('blue', 7n, toncoAsks('red', 6n, last));
    const paid: Sent = {
      to: "router's pton",
      body: call(0x01f3835d).grams(10n).to('alice').bit(1).ref(payload).cell(),
      sends: [{ to: 'router', body: op(0x7362d09c), sends: [toncoPool('pton', toncoPays(205, 'pton', 8n, back))] }],
    };
    const [told, ...others] = tell([paid], withPton);
    expect(others).toEqual([]);
    expect([told.type, told.success]).toEqual(['jetton_swap', false]);
    expect(told.details).toMatchObject({ asset_in: null, asset_out: account('red'), min_out_amount: '6' });
  }
  // What was asked for cannot be read: what came back is told.
  const paid: Sent = {
    to: "router's pton",
    body: call(0x01f3835d).grams(10n).to('alice').bit(1).ref(unlike).cell(),
    sends: [{ to: 'router', body: op(0x7362d09c), sends: [toncoPool('pton', toncoPays(205, 'pton', 8n, back))] }],
  };
  const [told] = tell([paid], withPton);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details).toMatchObject({ asset_in: null, asset_out: null, min_out_amount: '8' });
});

test('a pool of TONCO that pays twice has not traded', () => {
  const out = sending({ from: 'router', to: 'alice', jetton: 'lp', amount: '30' });
  const back = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '1' });
  const after = [toncoPool('red', toncoPays(200, 'lp', 30n, out), toncoPays(200, 'red', 1n, back))];
  const told = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], known);
  expect(told.map(({ type }) => type)).not.toContain('jetton_swap');
});

test('a trade at TONCO whose payment cannot be read is one that failed', () => {
  const out = sending({ from: 'router', to: 'alice', jetton: 'lp', amount: '30' });
  const after = [toncoPool('red', { to: 'router', body: op(0xa1daa96d), sends: [out] })];
  const [told, ...others] = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', false]);
  expect(told.details).toMatchObject({ asset_in: account('red'), asset_out: account('lp'), min_out_amount: '30' });
});

/** Liquidity for a pool of TONCO, which makes an item of the position. */
function toncoDeposit(otherWallet: string | null, made: Body): Sent {
  const minted: Sent = { to: 'position', body: made.cell(), from: 'nonexist', status: 'active' };
  const added = call(0x3ebe5431).grams(0n).grams(10n).grams(9n).grams(10n).big(77n, 128).i(-10, 24).i(10, 24).cell();
  const refund: Sent = { to: 'pool', body: op(0x81702ef8), sends: [minted] };
  const fund: Sent = {
    to: 'pool',
    body: op(0x4468de77),
    sends: [{ to: 'deposits', body: added, sends: [refund] }],
  };
  const payload = new Body().u(0x4468de77, 32).to(otherWallet).grams(9n).grams(10n).cell();
  const notice = call(0x7362d09c).grams(10n).to('alice').bit(1).ref(payload).cell();
  return {
    to: "router's pton",
    body: call(0x01f3835d).grams(10n).to('alice').bit(0).cell(),
    sends: [{ to: 'router', body: notice, sends: [fund] }],
  };
}

const nftItem: KnownContracts['nftItem'] = (address) =>
  address === account('position') ? { index: '5', collection: account('pool'), uri: null, codeHash: null } : undefined;

/** Of the fees in the reference the index alone is read. */
const position = () => {
  const fees = new Body().big(0n, 256).big(0n, 256).big(5n, 64);
  return call(0xd5ecca2a).to('alice').big(77n, 128).i(-10, 24).i(10, 24).ref(fees.cell());
};

test('TON is put into a pool of TONCO, from a known wallet beside one that is named', () => {
  const typesOf = (deposit: Sent, contracts: Partial<KnownContracts>) =>
    tell([deposit], { ...contracts, nftItem }).map(({ type }) => type);
  const [told, ...others] = tell([toncoDeposit("router's red", position())], { ...withPton, nftItem });
  expect(others.map(({ type }) => type)).toEqual(['contract_deploy']);
  expect([told.type, told.success]).toEqual(['dex_deposit_liquidity', true]);
  expect(told.details).toMatchObject({
    dex: 'tonco',
    amount_1: '10',
    asset_1: null,
    amount_2: null,
    target_asset_1: account('red'),
    target_asset_2: null,
    lp_tokens_minted: '77',
    nft_index: '5',
    nft_address: account('position'),
  });
  for (const [deposit, contracts] of [
    [toncoDeposit("router's red", position()), known],
    [toncoDeposit(null, position()), withPton],
    [toncoDeposit("router's red", call(0xd5ecca2a)), withPton],
  ] as const) {
    expect(typesOf(deposit, contracts)).not.toContain('dex_deposit_liquidity');
  }
});

/** What a router of TONCO pays out of a position, of TON and red jettons. */
function toncoPosition(...payouts: Sent[]): Sent {
  const coins = new Body().grams(9n).to("router's pton").grams(30n).to("router's red").cell();
  const pay = call(0xa1daa96d).to('alice').to('alice').u(201, 32).u(0, 32).u(1, 32).bit(1).ref(coins).cell();
  const burned = call(0xd73ac09d).to('alice').big(5n, 64).cell();
  return {
    to: 'pool',
    body: call(0x530b5f2c).big(5n, 64).big(77n, 128).i(-10, 24).i(10, 24).cell(),
    sends: [
      {
        to: 'position',
        body: call(0x46ca335a).to('alice').cell(),
        sends: [{ to: 'pool', body: burned, sends: [{ to: 'router', body: pay, sends: payouts }] }],
      },
    ],
  };
}

test('a position at TONCO is paid out in TON and jettons, from whatever wallet of pTON', () => {
  const ton: Sent = {
    to: "router's pton",
    body: call(0x0f8a7ea5).grams(8n).to('alice').to('alice').bit(0).grams(1n).bit(0).cell(),
    sends: [{ to: 'alice', body: call(0x01f3835d).grams(8n).to('alice').bit(0).cell() }],
  };
  const red = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '30' });
  for (const payouts of [
    [ton, red],
    [red, ton],
  ]) {
    const [told, ...others] = tell([toncoPosition(...payouts)], withPton);
    expect(others).toEqual([]);
    expect([told.type, told.success]).toEqual(['dex_withdraw_liquidity', true]);
    // What was sent, not what the router was told to send.
    expect(told.details).toMatchObject({
      dex: 'tonco',
      amount_1: '8',
      asset_1: null,
      user_jetton_wallet_1: null,
      amount_2: '30',
      asset_2: account('red'),
      user_jetton_wallet_2: account("alice's red"),
    });
  }
});
