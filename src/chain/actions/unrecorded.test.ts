/**
 * Types and branches that no recorded trace shows, on traces written by the contracts' public layouts, every amount to
 * be found by hand. They hold the code to the description, not the description to a chain.
 */
import { expect, test } from 'vitest';
import { account, accountBytes, op, type Sent, written } from '../../../test/made-trace.ts';
import { arriving, burning, sending, tell, wallets } from '../../../test/made-transfers.ts';
import { Builder, type Cell } from '../builder.ts';
import { stonfiPayToV2 } from '../layouts/dex/stonfi.ts';
import { SWAP_OK } from './dex/stonfi.ts';

const dedustPayout = (amount: bigint, ...sends: Sent[]): Sent => ({ to: 'vault', body: payoutBody(amount), sends });

function payoutBody(amount: bigint): Cell {
  // A query id, the proof that the sender is a pool of these assets, the amount, no recipient, no payload.
  const proof = new Builder().u(0b100, 3).i(0, 8).bytes(Buffer.alloc(32, 1)).u(2, 8).bit(0).u(0, 4).u(0, 4).cell();
  return new Builder().u(0xad4eb6f5, 32).u(1, 48).u(0, 16).ref(proof).grams(amount).u(0, 2).bit(0).cell();
}

test('liquidity is taken out of a DeDust pool in a jetton and TON', () => {
  const notice = {
    to: 'pool',
    body: op(0x7bdd97de),
    sends: [
      dedustPayout(500n, sending({ from: 'vault', to: 'alice', jetton: 'red', amount: '500' })),
      dedustPayout(7n, { to: 'alice', body: op(0x474f86cf), value: '9' }),
    ],
  };
  // Who burns is told, whoever the wallet is known to be of.
  const jettonWallet: typeof wallets = (wallet) =>
    wallet === account("alice's lp") ? { owner: account('bob'), jetton: account('lp') } : wallets(wallet);
  const [told, ...others] = tell([burning('alice', 'lp', '33', notice)], { jettonWallet });
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['dex_withdraw_liquidity', true]);
  expect(told.details).toMatchObject({
    dex: 'dedust',
    amount_1: '500',
    asset_1: account('red'),
    user_jetton_wallet_1: account("alice's red"),
    amount_2: '7',
    asset_2: null,
    user_jetton_wallet_2: null,
    lp_tokens_burnt: '33',
    source: account('alice'),
    pool: account('pool'),
  });
});

function routerPays(amount: string, jetton: string): Sent {
  const body = written(stonfiPayToV2, {
    query_id: '1',
    to_address: accountBytes('alice'),
    excesses_address: accountBytes('alice'),
    original_caller: accountBytes('alice'),
    exit_code: SWAP_OK,
    custom_payload: null,
    additional: {
      fwd_ton_amount: '0',
      amount0_out: amount,
      token0_address: accountBytes(`router's ${jetton}`),
      amount1_out: '0',
      token1_address: null,
    },
  });
  return { to: 'router', body, sends: [sending({ from: 'router', to: 'alice', jetton, amount })] };
}

test('liquidity is taken out of a STON.fi v2 pool', () => {
  const notice = { to: 'pool', body: op(0x297437cf), sends: [routerPays('11', 'red'), routerPays('22', 'blue')] };
  const [told, ...others] = tell([burning('alice', 'lp', '33', notice)], { jettonWallet: wallets });
  expect(others).toEqual([]);
  expect(told.type).toBe('dex_withdraw_liquidity');
  expect(told.details).toMatchObject({
    dex: 'stonfi_v2',
    amount_1: '11',
    asset_1: account('red'),
    amount_2: '22',
    asset_2: account('blue'),
    user_jetton_wallet_2: account("alice's blue"),
    lp_tokens_burnt: '33',
    source: account('alice'),
    pool: account('pool'),
  });
  expect(told.accounts).toContain(account("alice's lp"));
});

test('what routers of STON.fi v2 give back beside what a withdrawal pays stays apart', () => {
  const excess: Sent = { to: 'alice', body: op(0xd53276db) };
  const pays = (amount: string, jetton: string): Sent => {
    const paid = routerPays(amount, jetton);
    return { ...paid, sends: [...(paid.sends ?? []), excess] };
  };
  const notice = { to: 'pool', body: op(0x297437cf), sends: [pays('11', 'red'), pays('22', 'blue'), excess] };
  const told = tell([burning('alice', 'lp', '33', notice)], { jettonWallet: wallets });
  expect(told.map(({ type, details }) => [type, details.amount_2, details.opcode])).toEqual([
    ['dex_withdraw_liquidity', '22', undefined],
    ['call_contract', undefined, '0xd53276db'],
    ['call_contract', undefined, '0xd53276db'],
  ]);
});

/** One half of a deposit, and what it brought. */
function providing(amount1: bigint, amount2: bigint, outcome: Sent): Sent {
  const body = new Builder().u(0x37c096df, 32).u(0, 16).u(1, 48).u(0b100, 3).i(0, 8);
  body.bytes(accountBytes('alice').subarray(4)).grams(amount1).grams(amount2);
  return { to: 'pool', body: body.cell(), sends: [{ to: 'lp account', body: op(0x50c6a654), sends: [outcome] }] };
}

test('two jettons are put into a STON.fi v2 pool, as one action', () => {
  const waiting = { to: 'pool', body: op(0xd53276db) };
  const lp = { ...arriving({ from: 'pool', to: 'alice', jetton: 'lp', amount: '44' }), sends: [] };
  const minted = { to: 'pool', body: op(0x06ecd527), sends: [lp] };
  const actions = tell(
    [
      sending({ from: 'alice', to: 'router', jetton: 'red', amount: '10', after: [providing(10n, 0n, waiting)] }),
      sending({ from: 'alice', to: 'router', jetton: 'blue', amount: '20', after: [providing(0n, 20n, minted)] }),
    ],
    { jettonWallet: wallets },
  );
  expect(actions.map(({ type }) => type)).toEqual(['dex_deposit_liquidity']);
  expect(actions[0].details).toMatchObject({
    dex: 'stonfi_v2',
    amount_1: '20',
    asset_1: account('blue'),
    user_jetton_wallet_1: account("alice's blue"),
    amount_2: '10',
    asset_2: account('red'),
    lp_tokens_minted: '44',
    source: account('alice'),
    pool: account('pool'),
    destination_liquidity: account('pool'),
  });
});

test('a swap that was held back failed', () => {
  const body = new Builder().u(0xee51ce51, 32).u(0, 16).u(1, 48).u(0b100, 3).i(0, 8);
  body.bytes(accountBytes('bob').subarray(4));
  const [told] = tell([{ to: 'guard', body: body.cell() }], {});
  expect(told.type).toBe('coffee_mev_protect_failed_swap');
  expect(told.accounts).toContain(account('bob'));
});
