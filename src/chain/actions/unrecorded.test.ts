/**
 * Types and branches that no recorded trace shows, on traces written by the contracts' public layouts, every amount to
 * be found by hand. They hold the code to the description, not the description to a chain.
 */
import { expect, test } from 'vitest';
import { account, accountBytes, knowing, madeTrace, op, type Sent, written } from '../../../test/made-trace.ts';
import { Builder, type Cell } from '../builder.ts';
import { CellView } from '../layouts/cell-view.ts';
import { stonfiPayToV2 } from '../layouts/dex/stonfi.ts';
import { jettonBurn, jettonInternalTransfer, jettonNotify, jettonTransfer } from '../layouts/jettons.ts';
import { stateInit } from '../layouts/messages.ts';
import { nftOwnershipAssigned, nftTransfer } from '../layouts/nfts.ts';
import { classify } from './classify.ts';
import { SWAP_OK } from './dex/stonfi.ts';
import type { KnownContracts } from './known.ts';
import { auctionV3r3 } from './sale-data.ts';

const nothing = CellView.from(new Builder().cell());
const inline = (cell: CellView = nothing) => ({ inReference: false, cell });

function tell(sends: readonly Sent[], known: Partial<KnownContracts>) {
  const { state, actions, error } = classify(madeTrace({ to: 'alice', sends }), knowing(known));
  expect([state, error]).toEqual(['ok', undefined]);
  return actions.map(({ type, success, details, accounts }) => ({ type, success, details, accounts }));
}

/** Wallets named `<owner>'s <jetton>`. */
const wallets: KnownContracts['jettonWallet'] = (address) => {
  for (const owner of ['alice', 'router', 'pool', 'vault']) {
    for (const jetton of ['red', 'blue', 'lp']) {
      if (address === account(`${owner}'s ${jetton}`)) return { owner: account(owner), jetton: account(jetton) };
    }
  }
  return undefined;
};

/** Jettons from one owner to another. */
function sending(from: string, to: string, jetton: string, amount: string, after: readonly Sent[] = []): Sent {
  const head = { query_id: '1', amount, forward_payload: inline() };
  return {
    to: `${from}'s ${jetton}`,
    body: written(jettonTransfer, {
      ...head,
      destination: accountBytes(to),
      response_destination: accountBytes(from),
      custom_payload: null,
      forward_ton_amount: '1',
    }),
    sends: [arriving(from, to, jetton, amount, after)],
  };
}

function arriving(from: string, to: string, jetton: string, amount: string, after: readonly Sent[] = []): Sent {
  const head = { query_id: '1', amount, forward_payload: inline() };
  const notify = written(jettonNotify, { ...head, sender: accountBytes(from) });
  return {
    to: `${to}'s ${jetton}`,
    body: written(jettonInternalTransfer, {
      ...head,
      from: accountBytes(from),
      response_address: accountBytes(from),
      forward_ton_amount: '1',
    }),
    sends: [{ to, body: notify, sends: after }],
  };
}

function burning(owner: string, jetton: string, amount: string, then: Sent): Sent {
  const body = { query_id: '1', amount, response_destination: accountBytes(owner), custom_payload: null };
  return { to: `${owner}'s ${jetton}`, body: written(jettonBurn, body), sends: [then] };
}

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
      dedustPayout(500n, sending('vault', 'alice', 'red', '500')),
      dedustPayout(7n, { to: 'alice', body: op(0x474f86cf), value: '9' }),
    ],
  };
  const [told, ...others] = tell([burning('alice', 'lp', '33', notice)], { jettonWallet: wallets });
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
  return { to: 'router', body, sends: [sending('router', 'alice', jetton, amount)] };
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

/** One half of a deposit, and what it brought. */
function providing(amount1: bigint, amount2: bigint, outcome: Sent): Sent {
  const body = new Builder().u(0x37c096df, 32).u(0, 16).u(1, 48).u(0b100, 3).i(0, 8);
  body.bytes(accountBytes('alice').subarray(4)).grams(amount1).grams(amount2);
  return { to: 'pool', body: body.cell(), sends: [{ to: 'lp account', body: op(0x50c6a654), sends: [outcome] }] };
}

test('two jettons are put into a STON.fi v2 pool, as one action', () => {
  const waiting = { to: 'pool', body: op(0xd53276db) };
  const minted = { to: 'pool', body: op(0x06ecd527), sends: [arriving('pool', 'alice', 'lp', '44')] };
  const actions = tell(
    [
      sending('alice', 'router', 'red', '10', [providing(10n, 0n, waiting)]),
      sending('alice', 'router', 'blue', '20', [providing(0n, 20n, minted)]),
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

test('an item is put up for auction', () => {
  const move = (to: string) =>
    written(nftTransfer, {
      query_id: '1',
      new_owner: accountBytes(to),
      response_destination: null,
      custom_payload: null,
      forward_amount: '1',
      forward_payload: inline(),
    });
  const data = written(auctionV3r3, {
    end: false,
    canceled: false,
    last_member: null,
    last_bid: '0',
    last_bid_at: 0,
    end_time: 1,
    nft_owner: accountBytes('alice'),
    last_query_id: '0',
    mp_fee_factor: 5,
    mp_fee_base: 100,
    royalty_factor: 7,
    royalty_base: 200,
    fees: { mp_fee_addr: accountBytes('fees'), royalty_addr: accountBytes('royalties') },
    bids: { mp_addr: accountBytes('market'), min_bid: '1000', max_bid: '9000' },
  });
  const parts = { fixed_prefix_length: null, special: null, code: null, library: null };
  const init = written(stateInit, { ...parts, data: CellView.from(data) });
  const assigned = { query_id: '1', prev_owner: accountBytes('alice'), forward_payload: inline() };
  const listed: Sent = {
    to: 'lister',
    body: written(nftOwnershipAssigned, assigned),
    sends: [
      { to: 'auction', body: op(1), init, from: 'uninit' },
      { to: 'item', body: move('auction') },
    ],
  };
  const actions = tell([{ to: 'item', body: move('lister'), sends: [listed] }], {
    nftItem: (address) =>
      address === account('item')
        ? { index: '3', collection: account('collection'), uri: null, codeHash: null }
        : undefined,
    nftAuction: (address) =>
      address === account('auction')
        ? {
            nft: account('item'),
            owner: account('alice'),
            marketplace: account('market'),
            lastBid: '0',
            codeHash: null,
          }
        : undefined,
  });
  const [told] = actions.filter(({ type }) => type === 'nft_put_on_auction');
  expect(told.details).toEqual({
    nft_collection: account('collection'),
    nft_item: account('item'),
    nft_item_index: '3',
    owner: account('alice'),
    listing_address: account('lister'),
    auction_address: account('auction'),
    marketplace_address: null,
    marketplace_fee_factor: '5',
    marketplace_fee_base: '100',
    royalty_fee_base: '200',
    max_bid: '9000',
    min_bid: '1000',
    marketplace_fee_address: account('fees'),
    royalty_address: account('royalties'),
    marketplace: null,
  });
});

test('a swap that was held back failed', () => {
  const body = new Builder().u(0xee51ce51, 32).u(0, 16).u(1, 48).u(0b100, 3).i(0, 8);
  body.bytes(accountBytes('bob').subarray(4));
  const [told] = tell([{ to: 'guard', body: body.cell() }], {});
  expect(told.type).toBe('coffee_mev_protect_failed_swap');
  expect(told.accounts).toContain(account('bob'));
});
