/** Trades, deposits and payouts at TONCO in forms that no recorded trace shows. */
import { expect, test } from 'vitest';
import { account, comment, op, type Sent } from '../../../../test/made-trace.ts';
import { Body, call, sending, tell, wallets } from '../../../../test/made-transfers.ts';
import { Builder, type Cell } from '../../builder.ts';
import { address } from '../../layouts/addresses.ts';
import type { KnownContracts } from '../known.ts';

const known: Partial<KnownContracts> = { jettonWallet: wallets };
const PTON = '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3';
/** The wallet from which one router of TONCO pays TON. */
const ROUTER_PTON = '0:871DA9215B14902166F0EA2A16DB56278D528108377F8158C5F4CCFDFDD22E17';
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

test('what the first pool of TONCO leaves over is not what a way over two brought', () => {
  const out = sending({ from: 'router', to: 'alice', jetton: 'lp', amount: '30' });
  const second = toncoPool('blue', toncoPays(200, 'lp', 30n, out));
  const hop = sending({ from: 'router', to: 'router', jetton: 'blue', amount: '20', after: [second] });
  const over = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '1' });
  const pays = toncoPays(200, 'blue', 20n, hop);
  const traded = toncoPool('red', { ...pays, sends: [hop, over] });
  const sent = sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after: [traded] });
  const [told, ...others] = tell([sent], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['jetton_swap', true]);
  expect(told.details).toMatchObject({ asset_out: account('lp'), dex_outgoing_transfer: { amount: '30' } });
});

test('a transfer at TONCO that cannot be read ends the trade only where it is the last', () => {
  const types = (...sends: Sent[]): string[] => {
    const after = [toncoPool('red', { ...toncoPays(200, 'lp', 30n, sends[0]), sends })];
    return tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], known).map(
      ({ type }) => type,
    );
  };
  // Nothing is known of the wallet.
  const unread: Sent = {
    to: 'a wallet',
    body: call(0x0f8a7ea5).grams(8n).to('alice').to('alice').bit(0).grams(1n).bit(0).cell(),
    sends: [{ to: 'alice', body: call(0x01f3835d).grams(8n).to('alice').bit(0).cell() }],
  };
  const out = sending({ from: 'router', to: 'alice', jetton: 'lp', amount: '30' });
  expect(types(unread, out)).toEqual(['jetton_swap']);
  expect(types(out, unread)).not.toContain('jetton_swap');
});

test('what comes of the TON that TONCO paid is not part of the trade', () => {
  const left: Sent = { to: 'bob', body: op(0xd53276db) };
  const paid: Sent = {
    to: "router's pton",
    body: call(0x0f8a7ea5).grams(8n).to('alice').to('alice').bit(0).grams(1n).bit(0).cell(),
    sends: [{ to: 'alice', body: call(0x01f3835d).grams(8n).to('alice').bit(0).cell(), sends: [left] }],
  };
  const after = [toncoPool('red', toncoPays(200, 'pton', 8n, paid))];
  const told = tell([sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after })], withPton);
  expect(told.map(({ type, details }) => [type, details.opcode])).toEqual([
    ['jetton_swap', undefined],
    ['call_contract', '0xd53276db'],
  ]);
  // Nor is TON that a pool leaves over, of which the router's transfer is told.
  const out = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '5' });
  const pays = toncoPays(200, 'red', 5n, out);
  const partly = toncoPool('blue', { ...pays, sends: [paid, out] });
  const [swap, ...others] = tell(
    [sending({ from: 'alice', to: 'router', jetton: 'blue', amount: '9', after: [partly] })],
    withPton,
  );
  expect([swap.type, swap.details.asset_out]).toEqual(['jetton_swap', account('red')]);
  expect(others.map(({ details }) => details.opcode)).toEqual(['0x01f3835d', '0xd53276db']);
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
  // Then what was asked for is not looked at, either.
  const paid: Sent = {
    to: "router's pton",
    body: call(0x01f3835d)
      .grams(10n)
      .to('alice')
      .bit(1)
      .ref(toncoAsks('red', 6n, comment('for you')))
      .cell(),
    sends: [{ to: 'router', body: op(0x7362d09c), sends: after }],
  };
  const [inTon] = tell([paid], withPton);
  expect([inTon.type, inTon.success]).toEqual(['jetton_swap', false]);
  expect(inTon.details).toMatchObject({ asset_in: null, asset_out: account('lp'), min_out_amount: '30' });
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

test('TON is put into a pool of TONCO, beside a wallet that is named', () => {
  const typesOf = (deposit: Sent) => tell([deposit], { ...withPton, nftItem }).map(({ type }) => type);
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
  // A wallet that nobody knows is taken for one of TON.
  const [unknown] = tell([toncoDeposit("router's red", position())], { ...known, nftItem });
  expect([unknown.type, unknown.details.asset_1]).toEqual(['dex_deposit_liquidity', null]);
  for (const deposit of [toncoDeposit(null, position()), toncoDeposit("router's red", call(0xd5ecca2a))]) {
    expect(typesOf(deposit)).not.toContain('dex_deposit_liquidity');
  }
});

/** What a router of TONCO pays out of a position: TON and red jettons in that order, or what it is told instead. */
function toncoPosition(payouts: readonly Sent[], coins: Cell | null = tonAndRed("router's pton"), index = 5n): Sent {
  const pay = call(0xa1daa96d)
    .to('bob')
    .to('alice')
    .u(201, 32)
    .u(0, 32)
    .u(1, 32)
    .bit(coins === null ? 0 : 1);
  if (coins !== null) pay.ref(coins);
  const burned = call(0xd73ac09d).to('alice').big(index, 64).cell();
  return {
    to: 'pool',
    body: call(0x530b5f2c).big(4n, 64).big(77n, 128).i(-10, 24).i(10, 24).cell(),
    sends: [
      {
        to: 'position',
        body: call(0x46ca335a).to('alice').cell(),
        sends: [{ to: 'pool', body: burned, sends: [{ to: 'router', body: pay.cell(), sends: payouts }] }],
      },
    ],
  };
}

function tonAndRed(pton: string | Buffer): Cell {
  const coins = new Body().grams(9n);
  if (typeof pton === 'string') coins.to(pton);
  else address.write(coins, pton);
  return coins.grams(30n).to("router's red").cell();
}

const routerPton = Buffer.from(`80000000${ROUTER_PTON.slice(2)}`, 'hex');

/** pTON that a router sends out of a wallet of its own, as TON or not. */
function ptonOut(...sends: Sent[]): Sent {
  const body = call(0x0f8a7ea5).grams(8n).to('alice').to('alice').bit(0).grams(1n).bit(0).cell();
  return { to: "router's pton", body, sends };
}

const tonOut = ptonOut({ to: 'alice', body: call(0x01f3835d).grams(8n).to('alice').bit(0).cell() });
const redOut = sending({ from: 'router', to: 'alice', jetton: 'red', amount: '30' });
// What was sent, not what the router was told to send.
const ton = { amount: '8', asset: null, wallet: null };
const red = { amount: '30', asset: account('red'), wallet: account("alice's red") };

interface Told {
  amount: string;
  asset: string | null;
  wallet: string | null;
}

const parts = (one: Told, other: Told) => ({
  amount_1: one.amount,
  asset_1: one.asset,
  user_jetton_wallet_1: one.wallet,
  amount_2: other.amount,
  asset_2: other.asset,
  user_jetton_wallet_2: other.wallet,
});

function withdrawn(position: Sent) {
  const [told, ...others] = tell([position], withPton);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['dex_withdraw_liquidity', true]);
  return told.details;
}

test('what a position at TONCO is paid out in stands in the order of the pool, by the wallet of the first payout', () => {
  for (const payouts of [
    [tonOut, redOut],
    [redOut, tonOut],
  ]) {
    expect(withdrawn(toncoPosition(payouts, tonAndRed(routerPton)))).toMatchObject(parts(ton, red));
  }
  // From another wallet of pTON nothing is known to come: where TON was paid first it is taken for the second.
  expect(withdrawn(toncoPosition([tonOut, redOut]))).toMatchObject(parts(red, ton));
  expect(withdrawn(toncoPosition([redOut, tonOut]))).toMatchObject(parts(ton, red));
});

test('of a position at TONCO that was paid out in the second asset alone that is told twice', () => {
  const asked = { ...red, wallet: account('alice') };
  const details = withdrawn(toncoPosition([redOut], tonAndRed(routerPton)));
  expect(details).toMatchObject(parts(asked, red));
  expect(withdrawn(toncoPosition([tonOut], tonAndRed(routerPton)))).toMatchObject(parts(ton, asked));
});

test('pTON that TONCO does not pay as TON is told as it is', () => {
  const details = withdrawn(toncoPosition([ptonOut(), redOut], tonAndRed(routerPton)));
  expect(details).toMatchObject(parts({ ...ton, asset: PTON }, red));
});

test('a position at TONCO has the number it was burnt with, or else the one that was asked for', () => {
  const payouts = [tonOut, redOut];
  expect(withdrawn(toncoPosition(payouts))).toMatchObject({ burnt_nft_index: '5' });
  expect(withdrawn(toncoPosition(payouts, tonAndRed("router's pton"), 0n))).toMatchObject({ burnt_nft_index: '4' });
});

test('a payout of TONCO that does not name what is paid is no withdrawal', () => {
  const nameless = new Body().grams(9n).to(null).grams(30n).to("router's red").cell();
  for (const coins of [null, nameless]) {
    const types = tell([toncoPosition([tonOut, redOut], coins)], withPton).map(({ type }) => type);
    expect(types).not.toContain('dex_withdraw_liquidity');
  }
});

test('what comes back to the router from a new pool of TONCO is no part of it, but for what is left of the value', () => {
  const empty = new Builder().cell();
  const minters = new Body().to('red').to('blue').to(null).cell();
  const asked = call(0x2e3034ef)
    .to("router's red")
    .to("router's blue")
    .i(60, 24)
    .big(9n, 160)
    .u(1, 16)
    .u(2, 16)
    .u(3, 16);
  const init = call(0x441c39ed)
    .bit(0)
    .bit(0)
    .to(null)
    .bit(0)
    .to(null)
    .bit(1)
    .i(60, 24)
    .bit(1)
    .big(9n, 160)
    .bit(1)
    .bit(1);
  const typesOf = (...sends: Sent[]) => {
    const made: Sent = { to: 'pool', body: init.cell(), sends };
    const body = asked.ref(empty).ref(empty).ref(minters).cell();
    return tell([{ to: 'router', body, sends: [made] }]).map(({ type, isPart }) => [type, isPart]);
  };
  expect(typesOf({ to: 'router', body: op(0xffffffff) }, { to: 'alice', body: op(0xd53276db) })).toEqual([
    ['tonco_deploy_pool', false],
    ['call_contract', true],
    ['call_contract', true],
    ['call_contract', true],
    ['call_contract', false],
  ]);
});
