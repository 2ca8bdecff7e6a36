/** Deposits to DeDust as no recorded trace shows them: they hold the code to the description. */
import { expect, test } from 'vitest';
import { account, accountBytes, op, type Sent, written } from '../../../../test/made-trace.ts';
import { arriving, Body, call, inline, sending, tell, wallets } from '../../../../test/made-transfers.ts';
import type { Cell } from '../../builder.ts';
import { CellView } from '../../layouts/cell-view.ts';
import { dedustDepositAll, dedustDepositLiquidity, dedustDepositPayload } from '../../layouts/dex/dedust.ts';
import { jettonInternalTransfer, jettonNotify, jettonTransfer } from '../../layouts/jettons.ts';
import type { KnownContracts } from '../known.ts';

const known: Partial<KnownContracts> = { jettonWallet: wallets };

const ton = { kind: 'native' } as const;
const red = { kind: 'jetton', workchain_id: 0, address: accountBytes('red').subarray(4) } as const;
const pool = { is_stable: false, asset0: ton, asset1: red };
const targets = { min_lp_amount: '1', asset0_target_balance: '100', asset1_target_balance: '50' };
const outcomes = { fulfill_payload: null, reject_payload: null };

/** What a vault makes known to the contract of a deposit, which passes it on to the pool or waits. */
const created = (contract: string, ...sends: Sent[]): Sent => ({
  to: 'factory',
  body: op(0xf04ec526),
  sends: [
    { to: contract, body: op(0x9b3aa3fa) },
    { to: contract, body: op(0x54240fe5), sends },
  ],
});

function complete(owner: string, ...sends: Sent[]): Sent {
  const proof = { factory_addr: accountBytes('factory'), contract_type: { kind: 'liquidity_deposit' } as const };
  const body = written(dedustDepositAll, {
    query_id: '1',
    proof: { proof: { ...proof, params: { owner_addr: accountBytes(owner), pool_params: pool } } },
    owner_addr: accountBytes(owner),
    min_lp_amount: '1',
    assets: { asset0: ton, asset0_amount: '100', asset1: red, asset1_amount: '50' },
    ...outcomes,
  });
  const lp = { ...arriving({ from: 'pool', to: owner, jetton: 'lp', amount: '7' }), sends: [] };
  return { to: 'pool', body, sends: [lp, ...sends] };
}

function tonIn(...sends: Sent[]): Sent {
  const deposit = { query_id: '1', amount: '100', pool_params: pool, deposit_params: targets, ...outcomes };
  return { to: 'ton vault', body: written(dedustDepositLiquidity, deposit), sends };
}

const asked: Cell = written(dedustDepositPayload, { pool_params: pool, ...targets, ...outcomes });

const redIn = (...after: Sent[]): Sent =>
  sending({ from: 'alice', to: 'vault', jetton: 'red', amount: '50', payload: asked, after });

test('both assets are put into a pool of DeDust', () => {
  const [told, ...others] = tell([tonIn(created('deposit')), redIn(created('deposit', complete('alice')))], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['dex_deposit_liquidity', true]);
  expect(told.details).toMatchObject({
    dex: 'dedust',
    amount_1: '100',
    asset_1: null,
    user_jetton_wallet_1: null,
    amount_2: '50',
    asset_2: account('red'),
    user_jetton_wallet_2: account("alice's red"),
    target_asset_1: null,
    target_asset_2: account('red'),
    lp_tokens_minted: '7',
    destination_liquidity: account('deposit'),
  });
});

test('no halves are put together where one contract has more than two', () => {
  const amounts = (...more: Sent[]) =>
    tell([tonIn(created('deposit')), redIn(created('deposit', complete('alice'))), ...more], known)
      .filter(({ type }) => type === 'dex_deposit_liquidity')
      .map(({ details }) => `${details.amount_1} ${details.amount_2}`)
      .sort();
  const other = tonIn(created('other'));
  expect(amounts(other)).toEqual(['100 50', '100 null']);
  expect(amounts(other, other, other)).toEqual(['100 null', '100 null', '100 null', '100 null', '50 null']);
});

test('the wallet is told of who has the deposit, and of nobody else', () => {
  const wallet = (owner: string) => {
    const [told] = tell([redIn(created('deposit', complete(owner)))], known);
    expect(told.details).toMatchObject({ source: account(owner), asset_1: account('red'), amount_1: '50' });
    return told.details.user_jetton_wallet_1;
  };
  expect(wallet('alice')).toBe(account("alice's red"));
  expect(wallet('bob')).toBeNull();
});

test('the first half is told by a payload in a reference', () => {
  const half = (forward_payload: ReturnType<typeof inline>): Sent => {
    const head = { query_id: '1', amount: '50', forward_payload };
    const alice = accountBytes('alice');
    const notified = {
      to: 'vault',
      body: written(jettonNotify, { ...head, sender: alice }),
      sends: [created('deposit')],
    };
    const moved = { ...head, from: alice, response_address: alice, forward_ton_amount: '1' };
    const asks = {
      ...head,
      destination: accountBytes('vault'),
      response_destination: alice,
      custom_payload: null,
      forward_ton_amount: '1',
    };
    return {
      to: "alice's red",
      body: written(jettonTransfer, asks),
      sends: [{ to: "vault's red", body: written(jettonInternalTransfer, moved), sends: [notified] }],
    };
  };
  const types = (payload: ReturnType<typeof inline>) => tell([half(payload)], known).map(({ type }) => type);
  const view = CellView.from(asked);
  expect(types({ inReference: true, cell: view })).toEqual(['dex_deposit_liquidity']);
  expect(types(inline(view))).toContain('jetton_transfer');
});

test('jettons that a vault gives back are excesses when their wallet is known', () => {
  const told = (jetton: string) => {
    const back = sending({ from: 'vault', to: 'alice', jetton, amount: '3' });
    const payout: Sent = { to: 'vault', body: op(0x6b0b787f), sends: [back] };
    const fulfilled: Sent = { to: 'deposit', body: op(0xaae79256), sends: [payout] };
    return tell([tonIn(created('deposit', complete('alice', fulfilled)))], known);
  };
  const [whole, ...others] = told('red');
  expect(others).toEqual([]);
  expect(whole.details.vault_excesses).toEqual([{ asset: account('red'), amount: '3' }]);
  const [part, ...calls] = told('unheard of');
  expect(part.details.vault_excesses).toEqual([]);
  expect(calls.map(({ details }) => details.opcode)).toEqual(['0x0f8a7ea5', '0x178d4519', '0x7362d09c']);
});

test('jettons from a wallet that is not known are no deposit', () => {
  const unknown: Partial<KnownContracts> = {
    jettonWallet: (address) => (address === account("vault's red") ? undefined : wallets(address)),
  };
  for (const deposit of [redIn(created('deposit')), redIn(created('deposit', complete('alice')))]) {
    expect(tell([deposit], known).map(({ type }) => type)).toContain('dex_deposit_liquidity');
    expect(tell([deposit], unknown).map(({ type }) => type)).not.toContain('dex_deposit_liquidity');
  }
});

test('of a deposit what follows the amounts is not read, nor is the proof', () => {
  const assets = (into: Body) => into.u(0, 4).grams(100n).u(1, 4).i(0, 8).bytes(red.address).grams(50n);
  const body = call(0xb56b9598).ref(new Body().cell()).to('alice').grams(1n).ref(assets(new Body()).cell()).cell();
  const lp = { ...arriving({ from: 'pool', to: 'alice', jetton: 'lp', amount: '7' }), sends: [] };
  const pooled: Sent = { to: 'pool', body, sends: [lp] };
  const params = (into: Body) => into.bit(0).u(0, 4).u(1, 4).i(0, 8).bytes(red.address);
  const balances = (into: Body) => into.grams(1n).grams(100n).grams(50n);
  const ton = params(call(0xd55e4686).grams(100n)).ref(balances(new Body()).cell()).cell();
  const payload = balances(params(new Body().u(0x40e108d6, 32))).cell();
  const jettons = sending({
    from: 'alice',
    to: 'vault',
    jetton: 'red',
    amount: '50',
    payload,
    after: [created('deposit', pooled)],
  });
  const [told, ...others] = tell([{ to: 'ton vault', body: ton, sends: [created('deposit')] }, jettons], known);
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['dex_deposit_liquidity', true]);
  expect(told.details).toMatchObject({
    amount_1: '100',
    asset_1: null,
    amount_2: '50',
    asset_2: account('red'),
    target_amount_1: '100',
    target_amount_2: '50',
    lp_tokens_minted: '7',
  });
  // The first half by itself is told by its payload.
  const [half] = tell(
    [sending({ from: 'alice', to: 'vault', jetton: 'red', amount: '50', payload, after: [created('deposit')] })],
    known,
  );
  expect([half.type, half.details.target_amount_2]).toEqual(['dex_deposit_liquidity', '50']);
});
