import { describe, expect, it } from 'vitest';
import { shelf } from '../../../test/shelf.ts';
import { differences, label, type TraceFixture, traceFixtures } from '../../../test/trace-fixtures.ts';
import { classify } from './classify.ts';

/**
 * What is told so far, by family. A fixture whose actions are all of these must come out exactly. The list only grows.
 */
const TOLD: Record<string, readonly string[]> = {
  auctions: [
    'auction_bid',
    'auction_outbid',
    'nft_finish_auction',
    'nft_cancel_auction',
    'teleitem_start_auction',
    'teleitem_cancel_auction',
  ],
  cocoon: [
    'cocoon_worker_payout',
    'cocoon_proxy_payout',
    'cocoon_proxy_charge',
    'cocoon_client_top_up',
    'cocoon_register_proxy',
    'cocoon_unregister_proxy',
    'cocoon_client_register',
    'cocoon_client_change_secret_hash',
    'cocoon_client_request_refund',
    'cocoon_grant_refund',
    'cocoon_client_increase_stake',
    'cocoon_client_withdraw',
  ],
  exchanges: [
    'jetton_swap/coffee',
    'jetton_swap/dedust',
    'jetton_swap/stonfi',
    'jetton_swap/stonfi_v2',
    'jetton_swap/tonco',
    'coffee_create_pool',
    'coffee_create_pool_creator',
    'coffee_create_vault',
    'coffee_mev_protect_hold_funds',
    'coffee_staking_claim_rewards',
    'coffee_staking_deposit',
    'coffee_staking_withdraw',
    'dex_deposit_liquidity/coffee',
    'dex_deposit_liquidity/tonco',
    'dex_withdraw_liquidity/coffee',
    'dex_withdraw_liquidity/tonco',
    'tonco_deploy_pool',
  ],
  dns: ['change_dns', 'delete_dns', 'renew_dns', 'dns_release', 'dns_purchase'],
  ethena: ['stake_deposit/ethena', 'stake_withdrawal_request/ethena'],
  evaa: ['evaa_supply', 'evaa_withdraw'],
  jettons: ['jetton_transfer', 'jetton_burn', 'jetton_mint'],
  jvault: ['jvault_stake', 'jvault_unstake', 'jvault_unstake_request', 'jvault_claim'],
  layerzero: [
    'layerzero_send',
    'layerzero_send_tokens',
    'layerzero_receive',
    'layerzero_commit_packet',
    'layerzero_dvn_verify',
  ],
  liquidStaking: [
    'stake_deposit/liquid_staking',
    'stake_withdrawal/liquid_staking',
    'stake_withdrawal_request/liquid_staking',
  ],
  multisig: ['multisig_create_order', 'multisig_approve', 'multisig_execute'],
  nfts: ['nft_mint', 'nft_transfer', 'nft_discovery'],
  sales: ['nft_purchase', 'nft_put_on_sale', 'nft_put_on_auction', 'nft_cancel_sale', 'nft_update_sale'],
  staking: [
    'election_deposit',
    'election_recover',
    'stake_deposit/nominator',
    'stake_withdrawal/nominator',
    'stake_withdrawal_request/nominator',
  ],
  subscriptions: ['subscribe', 'unsubscribe'],
  tgbtc: ['tgbtc_mint', 'tgbtc_burn', 'tgbtc_burn_fallback', 'tgbtc_new_key', 'tgbtc_dkg_log_fallback'],
  ton: ['ton_transfer', 'call_contract', 'contract_deploy', 'tick_tock', 'extra_currency_transfer', 'unknown'],
  vesting: ['vesting_send_message', 'vesting_add_whitelist'],
};

/** The reference gives up on a DNS change of an item that it does not know; the rule is to tell it. */
const OTHER_RULE = new Set(['syn_dns_change_no_ctx']);

function isTold({ expected, name }: TraceFixture): boolean {
  const told = new Set(Object.values(TOLD).flat());
  return expected.every((action) => told.has(label(action))) && !OTHER_RULE.has(name);
}

describe.skipIf(shelf === null)('classified as recorded', () => {
  const fixtures = shelf === null ? [] : traceFixtures().filter(isTold);
  it.each(fixtures.map((fixture) => [fixture.name, fixture] as const))('%s', (_, fixture) => {
    expect(differences(fixture)).toEqual([]);
  });

  it('tells the change of a name that is not known', () => {
    const fixture = traceFixtures().find(({ name }) => OTHER_RULE.has(name));
    if (fixture === undefined) throw new Error('no such fixture');
    const { state, actions } = classify(fixture.trace, fixture.known);
    expect([state, actions.map(({ type, details }) => [type, details.nft_collection])]).toEqual([
      'ok',
      [['change_dns', null]],
    ]);
  });
});
