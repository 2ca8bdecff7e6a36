/** The traffic as the classifier tells it: every kind of thing that is meant to happen is told as what it is. */
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { Action } from '../chain/actions/action.ts';
import { addressOf, rawAddress } from '../chain/address.ts';
import { createActors } from './actors/actors.ts';
import { createCast } from './actors/cast.ts';
import { initialAccounts } from './actors/initial-accounts.ts';
import { createChain } from './chain.ts';
import { chainLedger, genesisOf } from './chain-ledger.ts';
import { exchangeRouterAddress } from './contracts/exchange.ts';
import { createTeller, type ToldTrace } from './test-traces.ts';

const START = 1_760_000_000;
const identity = { seed: 'told test', traders: 6 };
const BLOCKS = 140;
/** Seconds from block to block. */
const BLOCK_S = 3;

/** Types that the traffic makes again and again. */
const INTENDED = [
  'ton_transfer',
  'call_contract',
  'contract_deploy',
  'jetton_transfer',
  'jetton_burn',
  'jetton_mint',
  'jetton_swap',
  'nft_mint',
  'nft_transfer',
  'nft_discovery',
  'nft_put_on_sale',
  'nft_update_sale',
  'nft_cancel_sale',
  'nft_purchase',
  'nft_put_on_auction',
  'auction_bid',
  'auction_outbid',
  'nft_finish_auction',
  'nft_cancel_auction',
  'multisig_create_order',
  'multisig_approve',
  'multisig_execute',
  'vesting_add_whitelist',
  'vesting_send_message',
  'subscribe',
  'unsubscribe',
  'change_dns',
  'delete_dns',
  'renew_dns',
  'dns_release',
  'dns_purchase',
  'stake_deposit',
  'stake_withdrawal',
];

let traces: ToldTrace[];
let actions: Action[];
let left: number;

beforeAll(async () => {
  const cast = createCast(identity);
  const genesis = genesisOf(initialAccounts(cast));
  const chain = await createChain({ folder: null, seed: 'x', genesis, blockTimeMs: BLOCK_S * 1000, startUtime: START });
  const now = { seqno: 0, nowMs: START * 1000 };
  const stories = {
    sale: 6,
    auction: 8,
    council: 8,
    heritage: 3,
    subscription: 6,
    names: 18,
    stake: 6,
    decree: 4,
    airdrop: 4,
  };
  const plain = {
    transfer: 1,
    jettonPayment: 1,
    burn: 1,
    trade: 2,
    mint: 1,
    mintItem: 1,
    giveItem: 1,
    discovery: 1,
    guest: 1,
  };
  const failing = { jettonOverdraft: 1, bounce: 1, lost: 1, outOfGas: 1, actionFailure: 1, externalFailure: 1, log: 1 };
  const actors = createActors({
    ...identity,
    ledger: chainLedger(chain),
    now,
    rate: 1,
    weights: { ...stories, ...plain, ...failing },
  });
  const teller = createTeller(chain);
  traces = [];
  for (let seqno = 1; seqno <= BLOCKS; seqno++) {
    traces.push(...teller.take(chain.produce(START + seqno * BLOCK_S)));
    if (seqno < BLOCKS - 8) await actors.step({ seqno, nowMs: (START + seqno * BLOCK_S) * 1000 });
  }
  left = teller.open();
  expect(actors.counts).toMatchObject({ refused: 0, expired: 0 });
  actors.close();
  chain.close();
  actions = traces.flatMap(({ told }) => told.actions);
});

test('every trace is told, and comes to its end', () => {
  expect(traces.filter(({ told }) => told.state !== 'ok').map(({ told }) => told.error)).toEqual([]);
  expect(left).toBe(0);
});

test('everything that is meant to happen is told as what it is', () => {
  const types = new Set(actions.map(({ type }) => type));
  expect(INTENDED.filter((type) => !types.has(type))).toEqual([]);
});

const leg = z.object({ asset: z.string(), source: z.string(), destination: z.string(), amount: z.string() });
const trade = z.object({
  dex: z.literal('stonfi'),
  sender: z.string(),
  asset_in: z.string(),
  asset_out: z.string(),
  dex_incoming_transfer: leg,
  dex_outgoing_transfer: leg,
});

test('trades are told with what each side gave, those that were refused too', () => {
  const trades = actions.filter(({ type }) => type === 'jetton_swap');
  const router = rawAddress(addressOf(0, exchangeRouterAddress.hash));
  for (const { success, details } of trades) {
    const {
      sender,
      asset_in,
      asset_out,
      dex_incoming_transfer: paid,
      dex_outgoing_transfer: got,
    } = trade.parse(details);
    // What was asked for and not got is known once it was ever traded.
    if (success) expect(asset_out).not.toBe(asset_in);
    expect(paid).toMatchObject({ asset: asset_in, source: sender, destination: router });
    expect(got).toMatchObject({ asset: success ? asset_out : asset_in, source: router, destination: sender });
    expect(got.amount === paid.amount).toBe(!success);
  }
  expect(new Set(trades.map(({ success }) => success))).toEqual(new Set([true, false]));
});
