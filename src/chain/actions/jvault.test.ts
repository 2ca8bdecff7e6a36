/** Requests to unstake as no recorded trace shows them: something of what is known is missing. */
import { expect, test } from 'vitest';
import { account, op, type Sent, written } from '../../../test/made-trace.ts';
import { Body, call, sending, wallets, wholes } from '../../../test/made-transfers.ts';
import { Builder } from '../builder.ts';
import { CellView } from '../layouts/cell-view.ts';
import { jvaultClaimRewards } from '../layouts/services.ts';
import type { KnownContracts } from './known.ts';

const ofWallet = CellView.from(new Body().to('pool').to('minter').cell());
const data: KnownContracts['data'] = (address) => (address === account('stake') ? ofWallet : undefined);

const asking = (...sends: Sent[]): Sent[] => [{ to: 'stake', body: call(0x0168d4b7).grams(5n).cell(), sends }];

/** What alice stakes, and what her stake does then. */
function staking(...answers: Sent[]): Sent {
  const received: Sent = { to: 'stake', body: op(0xd68a4ac1), sends: answers };
  const payload = new Body().u(0, 32).u(86400, 32).cell();
  return sending({ from: 'alice', to: 'pool', jetton: 'red', amount: '5', payload, after: [received] });
}

test('a stake that was called off failed, whatever else was done for it', () => {
  const back = sending({ from: 'pool', to: 'alice', jetton: 'red', amount: '5' });
  const cancelled: Sent = { to: 'pool', body: op(0x9eada1d9), sends: [back] };
  for (const [answers, success] of [
    [[updating(false)], true],
    [[updating(true)], false],
    [[cancelled], false],
    [[updating(false), cancelled], false],
  ] as const) {
    const [told, ...others] = wholes([staking(...answers)], { jettonWallet: wallets });
    expect([told.type, told.success, others]).toEqual(['jvault_stake', success, []]);
    expect(told.details).toMatchObject({ period: 86400, stake_wallet: account('stake'), pool: account('pool') });
  }
});

function updating(aborted: boolean): Sent {
  const update: Sent = { to: 'stake', body: op(0xae9307ce) };
  return { to: 'pool', body: op(0xf5c5baa3), aborted, sends: [update] };
}

test('what is staked for is told by the stake alone, and what failed at the pool failed', () => {
  for (const aborted of [false, true]) {
    const [told, ...others] = wholes(asking(updating(aborted)), { data });
    expect(others).toEqual([]);
    expect([told.type, told.success]).toEqual(['jvault_unstake_request', !aborted]);
    expect(told.details).toEqual({
      source: account('alice'),
      stake_wallet: account('stake'),
      pool: account('pool'),
      amount: '5',
      exit_code: null,
      asset: null,
      staking_asset: account('minter'),
    });
  }
});

test('a request that the pool answered is one whatever the stake can tell', () => {
  const empty = CellView.from(new Builder().cell());
  const ofPool = CellView.from(new Body().bit(1).u(1, 32).to('admin').to('creator').to('unknown').cell());
  // Of a pool whose jetton cannot be told from what it keeps, nothing is.
  const cases: [stake: CellView | undefined, pool: CellView | undefined, minter: string | null][] = [
    [undefined, undefined, null],
    [empty, undefined, null],
    [ofWallet, undefined, account('minter')],
    [ofWallet, empty, null],
    [ofWallet, ofPool, null],
  ];
  for (const [stake, pool, minter] of cases) {
    const known: KnownContracts['data'] = (address) => (address === account('stake') ? stake : pool);
    const [told, ...others] = wholes(asking(updating(false)), { data: known });
    expect([told.type, told.success, others]).toEqual(['jvault_unstake_request', true, []]);
    expect(told.details).toMatchObject({ pool: account('pool'), asset: null, staking_asset: minter });
  }
});

test('a request that nothing followed is none where the staked jetton is not known', () => {
  expect(wholes(asking(), { data }).map(({ type }) => type)).toEqual(['call_contract']);
});

/** An address as the key of a dictionary: 267 bits, and five to fill the last byte. */
function key(name: string): string {
  const hash = BigInt(`0x${account(name).slice(2)}`);
  return (((0b100n << 264n) | hash) << 5n).toString(16).padStart(68, '0');
}

test('rewards in several jettons are claimed together, and of none is it told how much', () => {
  const claiming = (...jettons: string[]): Sent[] => {
    const entries = jettons.map((jetton): [string, { bit: number }] => [key(jetton), { bit: 0 }]);
    const body = written(jvaultClaimRewards, { query_id: '1', jettons_to_claim: new Map(entries) });
    const paid = sending({ from: 'pool', to: 'alice', jetton: 'red', amount: '7' });
    const sent: Sent = { to: 'pool', body: op(0x44bc1fe3), sends: [paid, { to: 'stake', body: op(0xae9307ce) }] };
    return [{ to: 'stake', body, sends: [sent] }];
  };
  const ends = { source: account('alice'), stake_wallet: account('stake'), pool: account('pool') };
  const known = { jettonWallet: wallets };
  const [one, ...others] = wholes(claiming('red'), known);
  expect([one.type, one.success, others]).toEqual(['jvault_claim', true, []]);
  expect(one.details).toEqual({ ...ends, claimed_rewards: [{ jetton: account('red'), amount: '7' }] });
  const [both] = wholes(claiming('red', 'blue'), known);
  expect(both.details).toEqual({ ...ends, claimed_rewards: [] });
});

const referrer = (name: string, ...sends: Sent[]): Sent => ({
  to: 'pool',
  body: op(0x55c35b40),
  sends: [updated(name, ...sends)],
});
const updated = (name: string, ...sends: Sent[]): Sent => ({ to: name, body: op(0x076ee4e0), sends });

test('the referrer of a referrer is part of it, and nobody whom it did not ask for', () => {
  const update: Sent = { to: 'stake', body: op(0xae9307ce) };
  const asked = (...sends: Sent[]): Sent => ({ to: 'pool', body: op(0xf5c5baa3), sends: [...sends, update] });
  const types = (...sends: Sent[]) => wholes(asking(asked(...sends)), { data }).map(({ type }) => type);
  expect(types(referrer('first', referrer('second', referrer('third'))))).toEqual(['jvault_unstake_request']);
  expect(types(referrer('first', updated('second')))).toEqual(['jvault_unstake_request', 'call_contract']);
  expect(types(updated('first'))).toEqual(['jvault_unstake_request', 'call_contract']);
});
