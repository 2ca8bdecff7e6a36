/** Forms of EVAA's messages that no recorded trace shows: they hold the code to the description. */
import { expect, test } from 'vitest';
import { account, comment, op, type Sent } from '../../../test/made-trace.ts';
import { Body, call, sending, wallets, wholes } from '../../../test/made-transfers.ts';
import { Builder, type Cell } from '../builder.ts';

const ASSET = 0xabcn;

/** The header of a message to a user's contract: version 6, no upgrade. */
const headed = (opcode: number): Body => new Body().grams(6n).bit(0).u(0, 2).u(opcode, 32).u(0, 32).u(1, 32);

const u64 = <B extends Builder>(builder: B, ...values: bigint[]): B => {
  for (const value of values) builder.big(value, 64);
  return builder;
};

/** What a liquidation is asked for with, behind its query id. */
function asked(into: Body, incoming: bigint): Cell {
  into.to('bob').to('alice').big(ASSET, 256);
  return u64(u64(into, 5n).i(-1, 2), incoming).cell();
}

function liquidating(...sends: Sent[]): Sent {
  return { to: 'master', body: asked(call(3), 70n), sends };
}

const atUser = (...sends: Sent[]): Sent => ({ to: 'bob at evaa', body: headed(0x31).cell(), sends });

function satisfied(...sends: Sent[]): Sent {
  const details = u64(u64(new Builder(), 0n, 60n, 0n, 0n).big(ASSET, 256), 0n, 80n).cell();
  const body = call(0x311).to('bob').to('alice').big(1n, 256).ref(details).cell();
  return { to: 'master', body, sends };
}

const report: Sent = { to: 'alice', body: op(0x311d) };

const only = (sends: readonly Sent[]) => {
  const actions = wholes(sends, { jettonWallet: wallets });
  expect(actions.map(({ type }) => type)).toEqual(['evaa_liquidate']);
  return actions[0];
};

const common = {
  source: account('alice'),
  borrower: account('bob'),
  borrower_contract: account('bob at evaa'),
  collateral: '2748',
  asset_id: '0xabc',
  asset: null,
  is_known_asset: false,
};
const failed = { ...common, debt_amount: '70', amount: '0' };

test('a loan is liquidated', () => {
  const update = { to: 'bob at evaa', body: headed(0x311a).cell() };
  const { success, details, accounts } = only([liquidating(atUser(satisfied(update, report)))]);
  expect(success).toBe(true);
  expect(details).toEqual({ ...common, fail_reason: null, debt_amount: '60', amount: '80' });
  for (const name of ['alice', 'bob', 'bob at evaa']) expect(accounts).toContain(account(name));
});

test("the borrower's contract refuses, and says why", () => {
  const refusing = (error: Builder) => {
    const details = u64(u64(error, 70n).big(ASSET, 256), 5n, 0n).ref(new Builder().cell());
    return details;
  };
  const refused = (code: number): Sent => {
    const details = refusing(new Builder()).u(code, 32).cell();
    const body = call(0x31f).to('bob').to('alice').big(1n, 256).ref(details).cell();
    return { to: 'master', body, sends: [report] };
  };
  const reasonOf = (code: number) => only([liquidating(atUser(refused(code)))]);
  expect(reasonOf(0xe003)).toMatchObject({ success: false, details: { ...failed, fail_reason: 'not_liquidatable' } });
  expect(reasonOf(0xe123).details.fail_reason).toBe('unknown');
  const silent = call(0x31f).to('bob').to('alice').big(1n, 256).ref(refusing(new Builder()).cell()).cell();
  const [told] = wholes([liquidating(atUser({ to: 'master', body: silent, sends: [report] }))]);
  expect(told.details.fail_reason).toBe('parse_error');
});

test('a liquidation that nothing was paid back for is none', () => {
  const unpaid = satisfied({ to: 'bob at evaa', body: op(0x311f) });
  const details = u64(u64(new Builder(), 70n).big(ASSET, 256), 5n, 0n).ref(new Builder().cell()).u(0xe003, 32).cell();
  const body = call(0x31f).to('bob').to('alice').big(1n, 256).ref(details).cell();
  for (const outcome of [unpaid, { to: 'master', body }]) {
    const types = wholes([liquidating(atUser(outcome))]).map(({ type }) => type);
    expect(types).not.toContain('evaa_liquidate');
  }
});

test('the master cannot pay what was agreed to', () => {
  const unpaid = satisfied({ to: 'bob at evaa', body: op(0x311f) }, { to: 'alice', body: op(0x311f) });
  const { success, details } = only([liquidating(atUser(unpaid))]);
  expect([success, details]).toEqual([false, { ...failed, fail_reason: 'master_not_enough_liquidity' }]);
});

test('the master refuses at once', () => {
  const { success, details } = only([liquidating({ to: 'alice', body: op(0xffffffff) })]);
  expect(success).toBe(false);
  expect(details).toEqual({ ...failed, borrower_contract: null, fail_reason: 'immediate_rejection' });
});

/** Jettons sent for a liquidation, and sent back at once, before anything else. */
function refunded(payload: Cell, ...after: Sent[]): Sent {
  const back = sending({ from: 'master', to: 'alice', jetton: 'red', amount: '70' });
  return sending({ from: 'alice', to: 'master', jetton: 'red', amount: '70', payload, after: [back, ...after] });
}

test('a loan in jettons is liquidated', () => {
  const { details } = only([refunded(asked(call(3), 0n))]);
  expect(details).toMatchObject({ ...failed, borrower_contract: null, debt_amount: '0' });
  expect(details.fail_reason).toBe('immediate_rejection');
});

test("what the borrower's contract did counts, whatever came back beside it", () => {
  const update = { to: 'bob at evaa', body: headed(0x311a).cell() };
  const { success, details } = only([refunded(asked(call(3), 0n), atUser(satisfied(update, report)))]);
  expect([success, details]).toEqual([true, { ...common, fail_reason: null, debt_amount: '60', amount: '80' }]);
});

test('a request in jettons without a query id is none', () => {
  const types = wholes([refunded(asked(new Body().u(3, 32), 0n))], { jettonWallet: wallets }).map(({ type }) => type);
  expect(types).toEqual(['jetton_transfer', 'jetton_transfer']);
});

test('of a request in jettons the borrower is of the chain, or it is none', () => {
  const told = (borrower: (into: Body) => Body) => {
    const payload = u64(borrower(call(3)).to('alice').big(ASSET, 256), 5n)
      .i(-1, 2)
      .big(70n, 64)
      .cell();
    return wholes([refunded(payload)], { jettonWallet: wallets })[0];
  };
  expect(told((into) => into.u(0b01, 2).u(8, 9).u(0, 8)).type).toBe('jetton_transfer');
  expect(told((into) => into.u(0b00, 2)).details.borrower).toBe(null);
  // Of an address for any of several accounts, what it begins with is passed over.
  const hash = BigInt(`0x${account('bob').slice(2)}`);
  const anycast = told((into) => into.u(0b101, 3).u(1, 5).bit(0).i(0, 8).big(hash, 256));
  expect(anycast.details.borrower).toBe(account('bob'));
});

const TON_ID = 0x1a4219fe5e60d63af2a3cc7dce6fec69b45c6b5718497a6148e7c232ac87bd8an;

function withdrawing(id: bigint, payout: Sent): Sent {
  const update: Sent = { to: 'alice at evaa', body: headed(0x211a).cell(), sends: [{ to: 'alice', value: '1' }] };
  const done = u64(call(0x211).to('alice').big(id, 256), 30n).cell();
  const user = {
    to: 'alice at evaa',
    body: headed(0x21).cell(),
    sends: [{ to: 'master', body: done, sends: [payout, update] }],
  };
  return { to: 'master', body: u64(call(2).big(id, 256), 40n).to('alice').cell(), sends: [user] };
}

test('TON is paid out in TON, jettons in jettons', () => {
  const inTon: Sent = { to: 'alice', body: op(0x211a) };
  const inJettons = sending({ from: 'master', to: 'alice', jetton: 'red', amount: '30' });
  const told = (id: bigint, payout: Sent) => wholes([withdrawing(id, payout)], { jettonWallet: wallets });
  for (const [id, payout, asset] of [
    [TON_ID, inTon, null],
    [ASSET, inJettons, account('red')],
  ] as const) {
    const [withdrawn, ...others] = told(id, payout);
    expect(others).toEqual([]);
    expect([withdrawn.type, withdrawn.success]).toEqual(['evaa_withdraw', true]);
    expect(withdrawn.details).toMatchObject({ asset, amount: '30', fail_reason: null });
  }
  for (const [id, payout] of [
    [TON_ID, inJettons],
    [ASSET, inTon],
  ] as const) {
    expect(told(id, payout).map(({ type }) => type)).not.toContain('evaa_withdraw');
  }
});

test('a header of nothing but zeros makes a transfer of a call', () => {
  const zeros = new Body().grams(0n).bit(0).u(0, 2).u(0x11, 32).u(0, 32).u(1, 32).big(ASSET, 256).cell();
  const body = u64(call(1).i(-1, 2), 9n).to('alice').cell();
  const user: Sent = { to: 'alice at evaa', body: zeros, sends: [supplied()] };
  const sent = (sends: Sent[]): Sent => ({ to: 'master', body, sends });
  expect(wholes([sent([user])]).map(({ type }) => type)).not.toContain('evaa_supply');
  const upgraded = { ...user, body: headed(0x11).big(ASSET, 256).cell() };
  expect(wholes([sent([upgraded])]).map(({ type }) => type)).toEqual(['evaa_supply']);
});

/** Jettons supplied for someone. */
function supplying(recipient: string, ...outcome: Sent[]): Sent {
  const payload = new Body().u(1, 32).i(-1, 2).to(recipient).cell();
  const user: Sent = { to: `${recipient} at evaa`, body: headed(0x11).big(ASSET, 256).cell(), sends: outcome };
  return sending({ from: 'alice', to: 'master', jetton: 'red', amount: '10', payload, after: [user] });
}

const supplied = (...sends: Sent[]): Sent => {
  const body = u64(call(0x11a).to('bob').big(ASSET, 256), 9n).cell();
  return { to: 'master', body, sends };
};

test('jettons are supplied for someone else', () => {
  const thanks = { to: 'bob', body: comment('EVAA supply.') };
  const actions = wholes([supplying('bob', supplied(thanks))], { jettonWallet: wallets });
  expect(actions.map(({ type }) => type)).toEqual(['evaa_supply']);
  expect(actions[0].details).toMatchObject({
    recipient_jetton_wallet: null,
    master_jetton_wallet: account("master's red"),
    master: account('master'),
    asset_id: '0xabc',
    is_ton: false,
    source: account('alice'),
    source_wallet: account("alice's red"),
    recipient: account('bob'),
    recipient_contract: account('bob at evaa'),
    asset: account('red'),
    amount: '9',
  });
});

test('what comes back of a supply that failed is part of it', () => {
  const back = sending({ from: 'master', to: 'bob', jetton: 'red', amount: '10' });
  const [told, ...others] = wholes([supplying('bob', { to: 'master', body: op(0x11f) }, back)], {
    jettonWallet: wallets,
  });
  expect([told.type, told.success, others]).toEqual(['evaa_supply', false, []]);
  expect(told.details).toMatchObject({ amount: '10', recipient_jetton_wallet: account("bob's red") });
});

test('a supply that nothing came of is a transfer', () => {
  const types = wholes([supplying('bob')], { jettonWallet: wallets }).map(({ type }) => type);
  expect(types).toEqual(['jetton_transfer', 'call_contract']);
});
