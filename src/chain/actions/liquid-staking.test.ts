/** Delayed payouts of liquid staking in forms that no recorded trace shows. */
import { expect, test } from 'vitest';
import { account, op, type Sent } from '../../../test/made-trace.ts';
import { burning, call, tell } from '../../../test/made-transfers.ts';

test('a stake is what the minter of its tokens was asked for', () => {
  const arrived: Sent = {
    to: "alice's staked",
    body: call(0x178d4519).grams(9n).to('pool').to(null).grams(1n).bit(0).cell(),
  };
  const typesOf = (...sends: Sent[]) =>
    tell([{ to: 'pool', body: op(0x47d54391), value: '5000000000', sends }]).map(({ type }) => type);
  expect(typesOf({ to: 'minter', body: op(0x1674b0a0), sends: [arrived] })).toEqual(['stake_deposit']);
  expect(typesOf(arrived)).toEqual(['call_contract', 'call_contract']);
});

test('a payout that waits is an item, known or not', () => {
  const item: Sent = { to: 'payout', body: op(0x132f9a45) };
  const mint: Sent = { to: 'payouts', body: op(0x1674b0a0), sends: [item] };
  const withdraw: Sent = { to: 'pool', body: op(0x319b0cdc), sends: [mint] };
  const [told, ...others] = tell([
    burning('alice', 'staked', '7', { to: 'minter', body: op(0x7bdd97de), sends: [withdraw] }),
  ]);
  expect(others.map(({ type }) => type)).toEqual(['call_contract']);
  expect([told.type, told.success]).toEqual(['stake_withdrawal_request', true]);
  expect(told.details).toEqual({
    provider: 'liquid_staking',
    stake_holder: account('alice'),
    pool: account('pool'),
    payout_nft: account('payout'),
    asset: account('minter'),
    tokens_burnt: null,
  });
});

test('a payout that waits is the item that was made, whatever else was begun', () => {
  const init = (to: string, from: Sent['from']): Sent => ({ to, body: op(0x132f9a45), ...(from && { from }) });
  const items = [init('other', 'active'), init('payout', 'uninit')];
  const mint: Sent = { to: 'payouts', body: op(0x1674b0a0), sends: items };
  const withdraw: Sent = { to: 'pool', body: op(0x319b0cdc), sends: [mint] };
  const item = { index: '1', collection: null, uri: null, codeHash: null };
  const [told] = tell([burning('alice', 'staked', '7', { to: 'minter', body: op(0x7bdd97de), sends: [withdraw] })], {
    nftItem: (address) => (address === account('payout') ? item : undefined),
  });
  expect([told.type, told.details.payout_nft]).toEqual(['stake_withdrawal_request', account('payout')]);
});

/** Payouts, each of which has the next one burnt. */
function paying(owner: string, ...then: Sent[]): Sent {
  return payingFor(owner, owner, ...then);
}

/** The same for an item whose owner is called by a name, or by none. */
function payingFor(named: string | null, owner: string, ...then: Sent[]): Sent {
  const notice = call(0xed58b0b2).grams(7n);
  const told: Sent = {
    to: 'payouts',
    body: notice.to(named).cell(),
    sends: [{ to: owner, body: op(0xdb3b8abd), value: '9' }, ...then],
  };
  return { to: `payout of ${owner}`, body: op(0xf127fe4e), sends: [told] };
}

test('payouts are told one after the other, with the pool where the pool began them', () => {
  for (const [opcode, pool] of [
    [0x1140a64f, account('alice')],
    [0x1140a650, null],
  ] as const) {
    const actions = tell([{ to: 'payouts', body: op(opcode), sends: [paying('alice', paying('bob'))] }]);
    const told = actions.filter(({ type }) => type === 'stake_withdrawal');
    expect(told.map(({ details }) => details)).toEqual(
      ['alice', 'bob'].map((owner) => ({
        provider: 'liquid_staking',
        stake_holder: account(owner),
        pool,
        amount: '9',
        payout_nft: account(`payout of ${owner}`),
        tokens_burnt: '7',
        asset: null,
      })),
    );
  }
});

test('a payout of an item that names no owner is told all the same', () => {
  const [told, ...others] = tell([{ to: 'payouts', body: op(0x1140a64f), sends: [payingFor(null, 'bob')] }]).filter(
    ({ type }) => type === 'stake_withdrawal',
  );
  expect(others).toEqual([]);
  expect(told.details).toMatchObject({ stake_holder: null, payout_nft: account('payout of bob'), tokens_burnt: '7' });
});
