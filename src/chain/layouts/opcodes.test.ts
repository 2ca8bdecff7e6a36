import { describe, expect, it } from 'vitest';
import { opcodeName, opcodes } from './registry.ts';

/** The names that clients of the v3 API know, as its contract lists them. */
const NAMES = `
00000000 text_comment  00000001 pyth_update_guardian_set  00000002 evaa_withdraw_master  
00000003 evaa_liquidate_master  00000005 pyth_parse_price_feed_updates  00000006 pyth_parse_unique_price_feed_updates  
00000008 evaa_idle_master  0000000f evaa_revert_call  00000011 evaa_supply_user  
00000015 minter_jetton_mint  00000021 evaa_withdraw_user  00000031 evaa_liquidate_user  
00000041 evaa_supply_withdraw_user  00000042 evaa_supply_withdraw_master_jetton  00000081 evaa_idle_user  
000000a1 evaa_init_master  000000a2 evaa_claim_asset_reserves  000000c1 evaa_init_upgrade  
000000c2 evaa_submit_upgrade  000000c3 evaa_cancel_upgrade  000000e1 evaa_force_enable  
000000e4 evaa_update_config  000000e8 evaa_disable_contract_for_upgrade  000000e9 evaa_force_disable_contract  
0000011a evaa_supply_success  0000011f evaa_supply_fail  00000211 evaa_withdraw_collateralized  
00000311 evaa_liquidate_satisfied  0000031f evaa_liquidate_unsatisfied  00000401 evaa_supply_withdraw_master_without_prices  
00000411 evaa_supply_withdraw_satisfied  0000041f evaa_supply_withdraw_unsatisfied  0000081e evaa_idle_excess  
00000a32 evaa_add_new_token  00000a99 evaa_add_to_reserve  00000d21 evaa_debug_principals_edit_user  
000011ae evaa_supply_excess_with_data  0000211a evaa_withdraw_success  0000211f evaa_withdraw_fail  
000021e6 evaa_withdraw_locked_excess  000021e7 evaa_withdraw_not_collateralized_excess  000021e8 evaa_withdraw_missing_prices_excess  
000021ec evaa_withdraw_execution_crashed  0000311a evaa_liquidate_success  0000311d evaa_liquidate_success_report  
0000311f evaa_liquidate_fail  0000411a evaa_supply_withdraw_success  0000411f evaa_supply_withdraw_fail  
00009998 evaa_get_store_request  00009999 evaa_get_store_response  0000d001 evaa_do_data_checks  
00010001 pyth_response_success  00010002 pyth_response_error  00011ae1 evaa_supply_fail_with_data  
00211fe8 evaa_withdraw_no_funds_excess  0085f5a3 dedust_upgrade_operator  012e8f40 logs  
0168d4b7 jvault_unstake_request  01d81ebc storm_self_deposit_jetton  01f3835d pton_ton_transfer  
01fb7a25 tegro_jetton_swap_forward_payload  022fa189 cocoon_change_params  02422cbe bidask_provide_refund  
0302cd79 storm_deploy_ordinary_sa  0490f09b stonfi_deposit_ref_fee_v2  04c52fd2 storm_execute_orders_bundle  
04db6665 storm_change_lazer_data  04ded148 prove_ownership  05138d91 nft_ownership_assigned  
0524c7ae ownership_proof  06ecd527 stonfi_cb_add_liquidity_v2  076ee4e0 jvault_update_referrer  
088eaa32 challenge_quarantined_channel_state  08e7d036 cocoon_worker_proxy_payout_request  0a77535c tonstake_pool_withdrawal  
0a9577f0 coffee_staking_update_rewards  0b429f52 dedust_collect_fees  0b9d20cc storm_change_cold_key_factory  
0c09445a bidask_internal_continue_provide  0c6ca95e storm_update_sa_ordinary_code  0dc8bb28 bidask_liquidity_added_notify  
0dd607e3 sbt_owner_info  0e0620c2 init_payment_channel  0ef28735 storm_change_max_leverage  
0f8a7ea5 jetton_transfer  107c49ef offer_storage_contract  107e0000 evaa_user_execute_action  
10a1ce75 bemo_deploy_unstake_request  11aefd51 cocoon_upgrade_code  13076670 storm_provide_position  
132f9a45 tonstake_nft_init  13559d58 storm_change_factory_content  139a1b4e tonstake_controller_pool_halt  
1596920c whales_nominators_force_kick  166cedee dedust_cancel_deposit  1674b0a0 tonstake_payout_mint_jettons  
1690c604 credit  16cb7fc2 dedust_cancel_ownership_transfer  16e09400 bidask_internal_burn  
174c830c storm_change_lazer_data_request  178d4519 jetton_internal_transfer  179d61f9 storm_change_factory_code  
186b2edf storm_deposit_notify  18a092f7 storm_deposit_notify_with_deploy  1bba3896 bidask_swap_fallback_v2  
1bd24ca6 storm_change_hot_key_factory  1be6df93 dedust_change_operator_user_addr  1bea50f1 storm_take_position_v2  
1ca43d2f storm_notify_update_position  1d1715bf whales_nominators_withdraw_unowned_response  1e8d79c4 moon_cancel_order  
1f04537a sbt_destroy  1f151acf start_uncooperative_channel_close  200f9086 coffee_cross_dex_resend  
20d835c2 storm_withdraw_success  2100c922 stonfi_vault_pay_to_v2  2114702d cron_trigger  
214ad1d2 bidask_save_liquidity_info  2167da4b encrypted_text_comment  21cfe02b dedust_create_vault  
220c4c19 storm_add_public_key  23d421e1 whales_nominators_stake_withdraw_completed  250ad226 bidask_multitoken_mint  
251d6a98 whales_nominators_withdraw_unowned  25432a91 finish_uncooperative_channel_close  2565934c cocoon_return_excesses_back  
25938561 stonfi_swap  25d66911 dedust_upgrade_vault  26c63ab7 dedust_reset_gas_v2  
26ed7f65 cocoon_owner_worker_register  270695fb tonstake_controller_pool_send_message  27756729 tgbtc_new_key_event  
28055719 storm_change_max_leverage_request  287e167a tegro_add_liquidity_forward_payload  28d36491 storm_trade_notification_v2  
297437cf stonfi_burn_notification_ext_v2  299a3e15 teleitem_msg_deploy  29bb3721 storm_deposit_native  
29d22935 pton_reset_gas  2aaa96a0 tonstake_pool_set_governance_fee  2e04891a cron_reward  
2e3034ef tonco_router_create_pool  2e41d3ac cron_init  2fcb26a2 get_static_data  
30026327 tonstake_controller_validator_withdrawal  30c7219b blum_memepad_send_liq_log  319b0cdc tonstake_pool_withdraw  
3475fdd2 storm_trade_notification  34d2e9f9 storm_change_hot_key  354bcdf4 stonfi_withdraw_fee_v2  
367f2743 storm_fail_notification  370fec51 auction_fill_up  371638ae teleitem_msg_cancel_auction  
37c096df stonfi_provide_lp_v2  38127de1 teleitem_bid_info  383411ea jvault_set_data  
38633538 bemo_return_unstake_request  3a86f1a0 lock_and_claim  3c41d0b2 cocoon_del_proxy_type  
3d3761a6 hipo_finance_deposit_coins  3e56c929 storm_change_v3_state  3ea0bafc bidask_provide_both_forward_payload  
3ebe5431 tonco_account_add_liquidity  40e108d6 dedust_deposit_liquidity  419d5d4d proof_storage  
42062d62 bidask_burn_payout  4253c4d5 bemo_stake  42a0fb43 tonco_reset_gas  
441c39ed tonco_pool_init  4468de77 tonco_pool_fund_account  44bc1fe3 jvault_send_claimed_rewards  
44beae41 process_governance_decision  45078540 stonfi_swap_ok_ref_forward_payload  453443a6 tgbtc_dkg_completed_event  
4637289a telemint_msg_deploy  4637289b telemint_msg_deploy_v2  46ca335a tonco_position_nft_burn  
46ed2e94 storage_withdraw  474f86cf dedust_payout  47657424 elector_recover_stake_request  
47d54391 tonstake_pool_deposit  487a8e81 teleitem_msg_start_auction  48e5a95d dedust_set_user_addr  
492ab1b3 bemo_unstake  499a9262 jvault_unstake_jettons  49f48ee9 moon_order_cancelled  
4bc7c2df tonstake_pool_touch  4d696e65 gram_submit_proof_of_work  4d725d2c cocoon_worker_proxy_request  
4e73744b elector_new_stake  4e737e4d tonco_pool_unlock  4eb1f0f9 change_dns_record  
4ed14b65 dns_balance_release  4ee9b106 coffee_cross_dex_resend_forward_payload  4f5f4313 pton_deploy_wallet  
4f7c5789 cocoon_upgrade_full  4fedc82b storm_referral_fees  508238ec subscription_reduce_payment  
50c6a654 stonfi_add_liquidity_v2  512cbd25 storm_withdraw_request  520e4831 bidask_swap_success  
530b5f2c tonco_pool_start_burn  53684037 tonkeeper_2fa_signed  53e252ae dedust_upgrade_pool  
53f34cd6 update_pubkey  54240fe5 dedust_deposit_asset  5445efee hipo_finance_tokens_minted  
54cbf19b update_storage_params  54d37487 tonstake_imanager_operation_fee  5577587e channel_cooperative_close  
557cea20 outbid_notification  558e804a storm_self_deposit_native  55c26cd5 tonstake_controller_return_available_funds  
55c35b40 jvault_request_update_referrer  563c1d96 cocoon_reset_root  56a8e920 megaton_update_mining_params  
56f6110e w5_dns_renewal_calc_and_topup  59317e9a dedust_sync_pool_asset_quote  595f07bc jetton_burn  
59699475 bidask_internal_continue_swap  5a091c43 storm_deposit_ton  5a6a036f bidask_internal_continue_swap_v2  
5a89f5a2 storm_notify_with_deploy  5a8cf652 storm_force_close_min_margin  5b0dd9f4 storm_init_sa  
5b27f9c5 storm_deposit_revert  5b705138 storm_force_close_max_leverage  5be57626 hipo_finance_proxy_tokens_minted  
5c11ada9 daolama_vault_supply  5cfc6b87 cocoon_client_proxy_top_up  5e517f36 tonstake_pool_set_roles  
5f40f1ec storm_execute_orders_bundle  5fcc3d14 nft_transfer  600c00fd tegro_swap_ton  
60dfc677 storm_update_position  61ee542d dedust_swap_external  6335b11a tonstake_controller_send_request_loan  
63381632 stonfi_pay_vault_v2  636a4391 cocoon_close_request_payload  642b7d07 jetton_mint  
644794b8 storm_remove_all_keys_except_current  64737472 wallet_plugin_destruct  6501f354 jetton_change_admin  
6540cf85 pton_internal_deploy  65448ff4 cocoon_client_proxy_request  6578746e w5_extension_action_request  
657b54f5 stonfi_pay_to_v2  66210c65 bidask_internal_swap  666392ee storm_failed_bundle_execution  
6664de2a stonfi_swap_v2  66f6f069 settle_channel_conditionals  67617302 gas_pump_buy_log  
67617303 gas_pump_sell_log  67617305 gas_pump_send_to_pool_log  67617306 gas_pump_change_trade_state_log  
67c7d281 top_up_channel_balance  6873c90c dedust_sync_asset_quote  693d3950 get_royalty_params  
6a1f6a60 cocoon_owner_client_increase_stake  6b0b787f dedust_pay_out_from_deposit  6bc79e7e coffee_mev_protect_hold_funds  
6bdcbeb8 tonco_pool_set_fee  6c6c2080 sale_update_message  6cde12e2 storm_unsuccessful_deposit  
6d49eaf2 cocoon_unregister_proxy  6e24728d dedust_provide_pool_state  6e6f7465 wallet_plugin_installation_notification  
6edd65f0 bidask_native_transfer_notification  6eec039d storm_withdraw_request_user  6f89f5e3 sbt_revoke  
70246da6 storm_change_cold_key  706c7567 payment_request  71860e80 cocoon_add_proxy_type  
7247e7a5 tonstake_controller_pool_unhalt  7258a69b vesting_add_white_list  72aca8aa dedust_swap_peer  
73403c43 bidask_burn  7362d09c jetton_notify  7369676e w5_external_signed_request  
73696e74 w5_internal_signed_request  73756273 subscription_payment  742b36d8 blum_memepad_sell  
74bb3427 whales_nominators_stake_withdraw_delayed  75097f5d multisig_execute  756e6b77 subscription_fallback  
7610e6eb cocoon_ext_proxy_payout_request  76519f8b storm_remove_public_key  76840119 storm_deposit_jetton  
77a33521 megaton_wton_mint  77a80ef3 tgbtc_mint_event  78d9f109 jvault_claim_rewards_msg  
79a126ef channel_cooperative_commit  79e7c016 tonstake_controller_pool_set_sudoer  79f937ea close_storage_contract  
7a0bda1c storm_change_cold_key_request  7a361688 accept_storage_contract  7aa23eb5 invoice_payload  
7b4b42e6 approve  7bcd1fef whales_nominators_deposit  7bdd97de jetton_burn_notification  
7c40ac87 dedust_create_stable_pool  7ed7f6ce dedust_configure_start_time  81702ef8 tonco_pool_mint_and_refund  
817462a9 dedust_sync_fee_collector_addr  82609bf6 multisig_approve_accepted  8473b408 cocoon_owner_client_change_secret_hash_and_top_up  
878da6e3 tonkeeper_relayer_fee_forward_payload  87d36990 bidask_internal_swap_v2  8a518d0d dedust_destroy_non_ready_vault  
8b771735 report_static_data  8d94a79a cocoon_del_worker_type  8efed779 tonstake_controller_withdraw_validator  
90c80a07 bemo_unstake_notification  927c7cb5 cocoon_register_proxy  92b11c18 cocoon_del_model_type  
96612e37 moon_order_payout  96aa1586 moon_boost_pool  96e7f528 tonstake_controller_pool_upgrade  
96feef7b bidask_provide  9713f187 cocoon_ext_proxy_increase_stake  97d51f2f dedust_create_volatile_pool  
983432e2 moon_deploy_order  9971881c tonstake_pool_prepare_governance_migration  99a811fb whales_nominators_accept_stake  
99a84311 dedust_install_liquidity_deposit_code  99b49842 moon_fill_order  9b3aa3fa dedust_install  
9bf5561c tonstake_pool_set_deposit_settings  9c73fba2 multisig_order_init  9c7924ba cocoon_update_proxy  
9d65482b dedust_destroy_non_ready  9f3f0937 dedust_reset_gas  a040ad28 cocoon_payout_payload  
a19fd934 whales_nominators_accept_withdraws  a1daa96d tonco_router_pay_to_normal  a2065f2c whales_nominators_send_stake  
a2370f61 cocoon_upgrade_contracts  a32c59bf multisig_execute_internal  a35cb580 cocoon_client_proxy_register  
a37a0983 teleitem_ok  a3e45df1 dedust_install_pool_code  a43227e1 teleitem_return_bid  
a762230f multisig_approve  a7733acd vesting_send_message  a7fb58f8 tonco_pool_swap  
a805f43e dedust_configure_pool_asset_quote_provider  a8cb00ad report_royalty_params  a913dc0d dedust_take_vault_state  
a91baf56 storage_reward_withdrawal  a9357034 cocoon_owner_client_change_secret_hash  aae79256 dedust_fulfill_deposit  
abb46b3d dedust_configure_quote_provider  ac392598 scaled_ui_display_multiplier_changed  ad4eb6f5 dedust_pay_out_from_pool  
ad83913f dedust_provide_current_quote  ae25d79e pton_ton_refund  ae42e5a4 highload_v3_internal_request  
ae9307ce jvault_update_rewards  af31d23f bidask_adding_liquidity_notify  af750d34 blum_memepad_buy  
afaf283e multisig_approve_rejected  b1b0b7e2 tonco_pool_lock  b1ebae06 tonstake_imanager_request_notification  
b27edcad tonstake_pool_deploy_controller  b2c1b6e3 tonco_pool_mint  b30c7310 coffee_staking_claim_rewards  
b31db781 moon_deposit_liquidity  b37a900b moon_swap  b4fc3916 moon_vesting_payout  
b51d5a01 cocoon_owner_proxy_close  b56b9598 dedust_deposit_liquidity_all  b6236d63 storage_contract_terminated  
b902e61a coffee_cross_dex_failure  b9d29997 dedust_deploy_operator  bb63ff93 cocoon_charge_payload  
bbe27821 cron_destroyed  bc3f26f6 dedust_install_vault_code  bddd4954 dedust_take_pool_state  
be5a7595 coffee_staking_init  c015297f dedust_configure_trade_fee  c0ffee00 coffee_swap  
c0ffee01 coffee_swap_extra  c0ffee02 coffee_create_pool  c0ffee03 coffee_create_pool_extra  
c0ffee04 coffee_deposit_liquidity  c0ffee05 coffee_deposit_liquidity_extra  c0ffee06 coffee_create_vault  
c0ffee07 coffee_withdraw_deposit  c0ffee10 coffee_swap_forward_payload  c0ffee11 coffee_create_pool_forward_payload  
c0ffee12 coffee_deposit_liquidity_forward_payload  c0ffee20 coffee_swap_internal  c0ffee21 coffee_payout_internal  
c0ffee22 coffee_deploy  c0ffee23 coffee_create_pool_creator_request  c0ffee24 coffee_create_pool_creator_internal  
c0ffee25 coffee_create_pool_request  c0ffee26 coffee_create_pool_internal  c0ffee27 coffee_create_liquidity_depository_request  
c0ffee28 coffee_create_liquidity_depository_internal  c0ffee29 coffee_deposit_liquidity_internal  c0ffee2a coffee_create_vault_internal  
c0ffee2c coffee_activate_vault_internal  c0ffee2d coffee_withdraw_internal  c0ffee2e coffee_update_contract_internal  
c0ffee30 coffee_swap_succeeded  c0ffee31 coffee_swap_failed  c0ffee32 coffee_payout  
c0ffee33 coffee_deposit_liquidity_succeeded  c0ffee34 coffee_deposit_liquidity_failed  c0ffee35 coffee_withdraw_liquidity_succeeded  
c0ffee36 coffee_notification  c0ffee40 coffee_update_admin  c0ffee42 coffee_activate_vault  
c0ffee43 coffee_withdraw  c0ffee44 coffee_update_code_cells  c0ffee45 coffee_update_contract  
c0ffee46 coffee_update_withdrawer  c1344900 tonstake_imanager_stats  c146134d cocoon_add_model_type  
c45f9f3b cocoon_owner_client_register  c47c1f57 moon_swap_failed  c4a1ae54 cocoon_change_owner  
c52ed8d4 cocoon_change_fees  c59a7cd3 cocoon_payout  c64370e5 stonfi_swap_ok_forward_payload  
c68ebc7b cocoon_client_proxy_refund_granted  c9a5752d dedust_create_legacy_jetton_vault  c9f04485 tonstake_imanager_set_interest  
ca444ce6 tgbtc_burn_event  ca61554e dedust_transfer_ownership  cb7f38d6 moon_swap_succeed  
ccc2c823 nerd_qr_verify  ceac8af4 blum_memepad_buy_log  cf90d618 storm_complete_order  
d027efe5 cron_notify  d0c3bfea sbt_request_owner  d1b02ea5 bidask_internal_provide  
d372158c top_up  d3a25890 bidask_swap_success_v2  d4caedcd storage_contract_confirmed  
d53276db excess  d55e4686 dedust_deposit_liquidity  d5ecca2a tonco_position_nft_init  
d68a4ac1 jvault_receive_jettons  d73ac09d tonco_pool_burn  da067c19 moon_create_order  
da068e78 cocoon_owner_client_withdraw  da803efd whales_nominators_withdraw  db3b8abd tonstake_nft_payout  
dddc88ba channel_closed  de1ddbcc storm_execute_order  dee60404 dedust_accept_ownership  
df4a27aa dedust_upgrade  dfdca27b tonstake_pool_loan_repayment  e0505d0e tonstake_controller_new_stake  
e1a36cd4 dedust_reject_deposit  e34b1c60 cocoon_add_worker_type  e3a0d482 dedust_swap  
e4737472 wallet_plugin_destruct_response  e4748df1 deploy_storage_contract  e505d21a dedust_install_operator_code  
e511abc7 cocoon_close_complete_request_payload  e642c965 tonstake_pool_request_loan  e8a0abfe disapprove  
e93405b9 dedust_provide_vault_state  ea06185d dedust_swap  eb373a05 tonstake_controller_recover_stake  
ebd6ec83 bidask_burn_all  ed58b0b2 tonstake_nft_burn_notification  ed7378a6 tonstake_controller_return_unused_loan  
eda15922 dedust_configure_fee_collector_addr  ee51ce51 coffee_mev_protect_failed_swap  eed236d3 jetton_set_status  
ef2e2def blum_memepad_sell_log  efd711e1 cocoon_grant_refund_payload  f04ec526 dedust_create_liquidity_deposit  
f06c7567 payment_confirmed  f0fd2250 tonstake_controller_update_validator_hash  f0fd50bb blum_memepad_unlock_wallet  
f127fe4e tonstake_nft_burn  f172e6c2 cocoon_ext_client_top_up  f1989255 dedust_forward  
f258a69b vesting_add_white_list_response  f2ef6c1b bidask_swap  f374484c elector_new_stake_confirmation  
f4c354c9 cocoon_client_proxy_refund_force  f5c5baa3 jvault_request_update_rewards  f5f26a36 cocoon_last_payout_payload  
f71783cb subscription_deploy  f718510f mulisig_new_order  f7733acd vesting_send_message_response  
f93bb43f stonfi_payment_request  f9471134 coffee_staking_deposit  f96f7324 elector_recover_stake_response  
fafa6cc1 cocoon_owner_client_request_refund  fcf9e58f stonfi_provide_liquidity_forward_payload  ffffffff bounce  

`;

const expected = [...NAMES.matchAll(/([0-9a-f]{8}) (\w+)/g)].map(([, code, name]): [number, string] => [
  Number.parseInt(code, 16),
  name,
]);

describe('opcodes', () => {
  it('have the 498 names of the contract', () => {
    expect(expected).toHaveLength(498);
    expect(expected.map(([opcode]) => [opcode, opcodeName(opcode)])).toEqual(expected);
  });

  it('are no others', () => {
    expect(opcodes().sort((a, b) => a - b)).toEqual(expected.map(([opcode]) => opcode));
    expect(opcodeName(0x12345678)).toBeNull();
  });
});
