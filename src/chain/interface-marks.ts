/**
 * Marks of known contracts: a code hash decides alone; otherwise a mark holds when all of its get-methods are there.
 * The names, with the trailing space in one of them, are those that TON Center clients know.
 */
export interface InterfaceMark {
  name: string;
  /** Base64 code hashes. */
  codes: string[];
  /** Names of get-methods. */
  methods: string[];
}

export const INTERFACE_MARKS: readonly InterfaceMark[] = [
  {
    name: 'airdrop_interlocker_v1',
    codes: ['rNK47E23QUOW+lNphlPswEpBbuNknY9bILQfF2rYM/A='],
    methods: ['get_contract_data'],
  },
  {
    name: 'airdrop_interlocker_v2',
    codes: ['D/RKlvwkgRESNtjZkg/W4pthCCFePsW6dh6tlgKtraQ='],
    methods: ['get_distribution_info', 'get_unlocks_info', 'get_available_claim_amount'],
  },
  { name: 'bidask_pool', codes: [], methods: ['get_pool_info', 'get_current_bin', 'get_sqrt_p', 'get_active_range'] },
  { name: 'bidask_range', codes: [], methods: ['get_pool_addr', 'get_lp_multitoken_wallet'] },
  { name: 'bidask_lp_multitoken', codes: [], methods: ['get_bins_number', 'get_nft_data'] },
  { name: 'bidask_internal_liquidity_vault', codes: [], methods: ['get_liquidity_data'] },
  { name: 'cron', codes: [], methods: ['get_cron_info'] },
  { name: 'daolama_vault', codes: [], methods: ['get_pool_data'] },
  {
    name: 'dedust_factory',
    codes: [],
    methods: ['get_vault_address', 'get_pool_address', 'get_liquidity_deposit_address'],
  },
  { name: 'dedust_liquidity_deposit ', codes: [], methods: ['get_balances', 'get_target_balances'] },
  {
    name: 'dedust_pool',
    codes: [],
    methods: ['get_reserves', 'get_assets', 'get_jetton_data', 'is_stable', 'get_trade_fee', 'estimate_swap_out'],
  },
  { name: 'dedust_vault', codes: [], methods: ['get_asset'] },
  { name: 'dns', codes: [], methods: ['dnsresolve'] },
  { name: 'gram_miner', codes: ['zK5v+2A8fT53mrWewmf/wi3B6+CvmDmQIomnqD5MAPE='], methods: ['get_pow_params'] },
  { name: 'jetton_master', codes: [], methods: ['get_jetton_data', 'get_wallet_address'] },
  { name: 'jetton_wallet', codes: [], methods: ['get_wallet_data'] },
  { name: 'jetton_wallet_v1', codes: ['vrBoPr64kn/p/I7AoYvH3ReJlomCWhIeq0bFo6hg0M4='], methods: [] },
  { name: 'jetton_wallet_v2', codes: ['jSjqQht36AX+pSrPM1KWSZ8Drsjp/SHdtfJWSqZcSN4='], methods: [] },
  { name: 'jetton_wallet_governed', codes: ['iUaPAseOVwgC45l5yFFvw43wfqdqSDV+BTbyuns+43s='], methods: [] },
  { name: 'tonstake_pool', codes: [], methods: ['get_pool_full_data'] },
  { name: 'validator_controller', codes: [], methods: ['get_validator_controller_data'] },
  { name: 'locker', codes: [], methods: ['get_locker_data', 'get_bill_address'] },
  { name: 'locker_bill', codes: [], methods: ['get_locker_bill_data'] },
  { name: 'lockup_vesting', codes: [], methods: ['get_lockup_data'] },
  { name: 'lockup_universal', codes: [], methods: ['get_balances'] },
  { name: 'megatonfi_router', codes: [], methods: ['get_mining_data', 'get_lp_data'] },
  { name: 'megatonfi_exchange', codes: [], methods: ['get_lp_swap_data', 'get_lp_mining_data'] },
  {
    name: 'moon_pool',
    codes: ['KAgWUlMoah5P5j76ubo1SBE3qsCxoPntzLj2RC3eRsQ='],
    methods: ['get_jetton_data', 'get_reserves', 'get_assets', 'get_wallet_address'],
  },
  {
    name: 'moon_booster',
    codes: ['zoTDgsi2rA0FISu6o00F5U4eMOLMkony2cnWRyahEqg='],
    methods: ['get_status', 'get_pool'],
  },
  {
    name: 'moon_order_factory',
    codes: ['0Ec31vZ4EDqeRIwiEJkZ0PnL4F7xsag8XnuIZoOlRwQ='],
    methods: ['get_id', 'get_pipe'],
  },
  {
    name: 'moon_order',
    codes: ['iMONKVhrXXSLrbx7Tb/iOcJcuFypxFhqROBVB6bt9qY=', '7gcUCzzP4mHtKFgPYKFr2kxLnG19p64F9bfH4rHf4iY='],
    methods: ['get_status', 'get_order_amount', 'get_fill_out', 'get_vesting_data'],
  },
  {
    name: 'multisig_v2',
    codes: ['09FNqaYn8Ow1MzQYKXYq+SuVQLIb8DZl+sCcK0bqu6w='],
    methods: ['get_multisig_data', 'get_order_address'],
  },
  { name: 'multisig_order_v2', codes: ['oB4Ff71CiEArmJjXjWe9TpAlTJPFhmh5vC0dEoZUNrw='], methods: ['get_order_data'] },
  { name: 'nft_sale', codes: [], methods: ['get_sale_data'] },
  { name: 'nft_auction_v1', codes: [], methods: ['get_sale_data'] },
  { name: 'nft_offer_getgems_v1', codes: ['bl1mf6bvqBh8bQKe/UAVYBIy/S42wpHbw0be2rbcgCQ='], methods: [] },
  {
    name: 'nft_sale_getgems_v4',
    codes: ['a5WmQYucnSNZBF0edVm41UmuDlBvJMqrWPowyPsf64Y='],
    methods: ['get_fix_price_data_v4'],
  },
  {
    name: 'nft_sale_getgems_v3',
    codes: [
      'JCIfpXHlQuBVx3vt/b9SfHr0YM/cfzRMRQeHtM+h600=',
      '3rU7bFdlwebNI4v0e8XoO6WWvcwEsLhM1Qqx5HSgjzE=',
      'MgUN+sRPZIZrzIbyzZ4TBf6dyts5WcACI3z7CQLUQyM=',
    ],
    methods: [],
  },
  { name: 'nft_sale_getgems_v2', codes: ['gnj0xSM95vvtyWmvUZNEp6m//FRIVtuphqlcC8+Fcck='], methods: [] },
  {
    name: 'nft_auction_getgems_v3',
    codes: ['G9nFo5v/t6DzQViLXdkrgTqEK/Ze8UEJOCIAzq+Pct8=', 'ZmiHL6eXBUQ//UdSPo6eqfdquZ+aC1nSfej4GhwnudQ='],
    methods: [],
  },
  {
    name: 'nft_auction_getgems_v4',
    codes: ['zlp4U06qps7tja/UhtB262CpsNbb+1Nnb2YmScBomVY='],
    methods: ['get_auction_data_v4'],
  },
  {
    name: 'nft_collection',
    codes: [],
    methods: ['get_nft_content', 'get_collection_data', 'get_nft_address_by_index'],
  },
  { name: 'nft_item', codes: [], methods: ['get_nft_data'] },
  { name: 'nft_item_simple', codes: ['TJEjgoaC+m9DeXq0FzK8qJDK4Bdm4GdBACUFFuC/jUI='], methods: [] },
  { name: 'editable', codes: [], methods: ['get_editor'] },
  { name: 'sbt', codes: [], methods: ['get_authority_address'] },
  { name: 'payment_channel', codes: [], methods: ['get_channel_data'] },
  {
    name: 'pyth_price_oracle',
    codes: [],
    methods: [
      'get_update_fee',
      'get_single_update_fee',
      'get_governance_data_source_index',
      'get_governance_data_source',
      'get_last_executed_governance_sequence',
      'get_is_valid_data_source',
      'get_price_unsafe',
      'get_price_no_older_than',
      'get_ema_price_unsafe',
      'get_ema_price_no_older_than',
      'get_chain_id',
      'get_current_guardian_set_index',
      'get_guardian_set',
      'get_governance_chain_id',
      'get_governance_contract',
      'governance_action_is_consumed',
    ],
  },
  {
    name: 'stonfi_pool',
    codes: [],
    methods: [
      'get_pool_data',
      'get_expected_outputs',
      'get_expected_tokens',
      'get_expected_liquidity',
      'get_lp_account_address',
    ],
  },
  {
    name: 'stonfi_pool_v2',
    codes: [],
    methods: ['get_pool_data', 'get_pool_type', 'get_lp_account_address', 'get_jetton_data', 'get_wallet_address'],
  },
  {
    name: 'stonfi_router_v2',
    codes: [],
    methods: ['get_vault_address', 'get_pool_address', 'get_router_data', 'get_router_version'],
  },
  { name: 'stonfi_router', codes: [], methods: ['get_router_data', 'get_pool_address'] },
  { name: 'stonfi_lp_account_v2', codes: [], methods: ['get_lp_account_data'] },
  { name: 'stonfi_vault_v2', codes: [], methods: ['get_vault_data'] },
  {
    name: 'omniston_referral',
    codes: ['7cxi8XUil/vaJAjAnKQgs6+VKBAuM7ngoOvjhVPBj+w=', 'bNo1HDwO42iHOl6hD1O5pHpVqs3I3rP9EDwvloyVJSc='],
    methods: [],
  },
  {
    name: 'storage_provider',
    codes: [],
    methods: ['get_wallet_params', 'get_storage_params', 'seqno', 'get_public_key', 'get_storage_contract_address'],
  },
  {
    name: 'storage_contract',
    codes: [],
    methods: ['get_storage_contract_data', 'get_torrent_hash', 'is_active', 'get_next_proof_info'],
  },
  {
    name: 'storm_vamm',
    codes: [],
    methods: [
      'get_amm_name',
      'get_amm_status',
      'get_amm_contract_data',
      'get_exchange_settings',
      'get_spot_price',
      'get_terminal_amm_price',
      'get_vamm_type',
    ],
  },
  { name: 'storm_referral', codes: [], methods: ['get_nft_data', 'get_referral_data'] },
  { name: 'storm_referral_collection', codes: [], methods: ['get_referral_vaults_whitelist'] },
  { name: 'storm_executor', codes: [], methods: ['get_nft_data', 'get_executor_balances'] },
  { name: 'storm_executor_collection', codes: [], methods: ['get_amm_name'] },
  {
    name: 'storm_vault',
    codes: [],
    methods: [
      'get_executor_collection_address',
      'get_referral_collection_address',
      'get_vault_contract_data',
      'get_lp_minter_address',
      'get_vault_whitelisted_addresses',
      'get_vault_data',
      'get_vault_type',
    ],
  },
  { name: 'storm_position_manager', codes: [], methods: ['get_position_manager_contract_data'] },
  { name: 'subscription_v1', codes: [], methods: ['get_subscription_data'] },
  {
    name: 'subscription_v2',
    codes: ['XUG7cGLs/yqv7/IFppEtfFyyIwjbHRLCCH3IzAORwy4='],
    methods: ['get_subscription_info', 'get_payment_info', 'get_cron_info'],
  },
  { name: 'coffee_mev_protector', codes: ['WPvC26JoTTi4C/zj3Fqf/OAK+bRkx7TcIc9X46rhHxw='], methods: [] },
  { name: 'coffee_cross_dex', codes: ['/qnGoe9eqyxcqU1r7x4zmUxXhqvrUmR2DhUNozv7Nnc='], methods: [] },
  {
    name: 'coffee_staking_master',
    codes: [],
    methods: ['get_stored_data', 'get_collection_data', 'get_nft_address_by_index', 'get_nft_content'],
  },
  { name: 'coffee_staking_vault', codes: [], methods: ['get_stored_data', 'get_master_address'] },
  { name: 'coffee_staking_item', codes: [], methods: ['get_stored_data', 'get_nft_data'] },
  {
    name: 'coffee_factory',
    codes: [],
    methods: [
      'get_vault_address',
      'get_pool_address',
      'get_pool_address_no_settings',
      'get_pool_creator_address',
      'get_pool_creator_address_no_settings',
      'get_liquidity_depository_address',
      'get_liquidity_depository_address_no_settings',
      'get_admin_address',
      'get_code',
    ],
  },
  { name: 'coffee_vault', codes: [], methods: ['get_asset', 'is_active'] },
  { name: 'coffee_vault_native', codes: [], methods: [] },
  { name: 'coffee_vault_jetton', codes: [], methods: [] },
  { name: 'coffee_vault_extra', codes: [], methods: [] },
  {
    name: 'coffee_pool',
    codes: [],
    methods: [
      'get_jetton_data',
      'get_wallet_address',
      'get_pool_data',
      'estimate_swap_amount',
      'estimate_liquidity_withdraw_amount',
      'estimate_liquidity_deposit_amount',
    ],
  },
  { name: 'jetton_wallet_coffee_lp', codes: ['18OPqZSoKCZXIJ+T68Xf6Qil8G0uQfDAhekXvE9UorM='], methods: [] },
  {
    name: 'teleitem',
    codes: [],
    methods: ['get_telemint_auction_state', 'get_telemint_auction_config', 'get_telemint_token_name'],
  },
  {
    name: 'tonco_pool',
    codes: ['vJR9FjRsL9yEW3pEY4L1nIassHXiox2/qVbNDJ5UZ44='],
    methods: [
      'get_collection_data',
      'getIsActive',
      'getPoolStateAndConfiguration',
      'getChildContracts',
      'getAllTickInfos',
    ],
  },
  {
    name: 'tonco_router',
    codes: ['m5iR6qfbe+zGzN2hvZqNJdw98oF9V+SyfsAD2vgaRDk='],
    methods: ['getRouterState', 'getPoolAddress', 'getChildContracts'],
  },
  {
    name: 'tonkeeper_2fa',
    codes: ['xe8Z3yKu6LcHvXoYEXTkAKQiUiPFrkDYMg9d3XB9NKE='],
    methods: [
      'get_wallet_addr',
      'get_root_pubkey',
      'get_seed_pubkey',
      'get_delegation_state',
      'get_estimated_attached_value',
    ],
  },
  { name: 'tv_pool', codes: [], methods: ['get_pool_data', 'get_nominator_data', 'list_nominators', 'list_votes'] },
  { name: 'wallet_v1r1', codes: ['oM/CxIruFqJx8s/AtzgtgXVs7LEBfQd/qqs7tgL2how='], methods: [] },
  { name: 'wallet_v1r2', codes: ['1JAvzJ+tdGmPqONTIgpo2g3PcuMryy657gQhfBfTBiw='], methods: ['seqno'] },
  {
    name: 'wallet_v1r3',
    codes: ['WHzHie/xyE9G7DeX5F/ICaFP9a4k8eDHpqmcydyQYf8='],
    methods: ['seqno', 'get_public_key'],
  },
  { name: 'wallet_v2r1', codes: ['XJpeaMEI4YchoHxC+ZVr+zmtd+xtYktgxXbsiO7mUyk='], methods: ['seqno'] },
  {
    name: 'wallet_v2r2',
    codes: ['/pUw0yQ4Uwg+8u8LTCkIwKv2+hwx6iQ6rKpb+MfXU/E='],
    methods: ['seqno', 'get_public_key'],
  },
  { name: 'wallet_v3r1', codes: ['thBBpYp5gLlG6PueGY48kE0keZ/6NldOpCUcQaVm9YE='], methods: ['seqno'] },
  {
    name: 'wallet_v3r2',
    codes: ['hNr6RJ+Ypph3ibojI1gHK8D3bcRSQAKl0JGLmnXS1Zk='],
    methods: ['get_public_key', 'seqno'],
  },
  {
    name: 'wallet_v4r1',
    codes: ['ZN1UgFUixb6KnbWc6gEFzPDQh4bKeb64y3nogKjXMi0='],
    methods: ['get_plugin_list', 'is_plugin_installed', 'get_public_key', 'seqno', 'get_subwallet_id'],
  },
  {
    name: 'wallet_v4r2',
    codes: ['/rX/aCDi/w2Ug+fg1iyBfYRniftK5YDIeIZtlZ2r1cA='],
    methods: ['get_plugin_list', 'is_plugin_installed', 'get_public_key', 'seqno', 'get_subwallet_id'],
  },
  {
    name: 'wallet_v5_beta',
    codes: ['89fKU0k97trCizgZhqhJQDy6w9LFhHea8IEGWvCsS5M=', '5M87L0xtamHqDytUR9JmeFsmrzY32y3u5rzRqoJvNBI='],
    methods: ['seqno'],
  },
  {
    name: 'wallet_v5r1',
    codes: ['IINLe3KxEhR+Gy+0V7hOdNGjDwT3N9T2KmaOlVLSty8='],
    methods: ['seqno', 'get_public_key', 'get_subwallet_id', 'get_extensions', 'is_signature_allowed'],
  },
  { name: 'wallet_highload_v1r1', codes: ['2M27t58sXKpnesRQdwvgNRviHhJQSG3oXMUqoz3RZIQ='], methods: [] },
  { name: 'wallet_highload_v1r2', codes: ['Dc7tISadZgE+lbGfu1xVpvAa2tQIN7qo5SHN46AqpGw='], methods: [] },
  { name: 'wallet_highload_v2', codes: ['lJTRzI7fEvBWcaGpugmSEJbrUIEeGSTsZcPGKfu4CBI='], methods: ['get_public_key'] },
  { name: 'wallet_highload_v2r1', codes: ['jOtFs81LXMYOquHBO5wJI5Jnf+U2sumy2AG2Lv+TH+E='], methods: [] },
  { name: 'wallet_highload_v2r2', codes: ['ID3U81ittJmTEpqpJcrDmRa2ig5PeNJujywraer6Vnk='], methods: [] },
  {
    name: 'wallet_highload_v3r1',
    codes: ['EayteVWEQJDyg78ji8FEmHH3g+fMCXlAjT9IWUg+hSU='],
    methods: ['get_public_key', 'get_subwallet_id', 'get_timeout'],
  },
  { name: 'wallet_preprocessed_v2', codes: ['Reu86bXSNYhstr/hw62TtwjeBYJEiSNlye4N/kOct7U='], methods: [] },
  {
    name: 'wallet_vesting',
    codes: ['tItTGr7DtxRjgpH3137W3J9qJynvyiBHcTc3TUrotZA='],
    methods: ['seqno', 'get_public_key', 'get_vesting_data'],
  },
  {
    name: 'whales_pool',
    codes: [],
    methods: ['get_staking_status', 'get_pool_status', 'get_member', 'get_members_raw', 'get_params'],
  },
  { name: 'x1000_wallet_v1', codes: ['Q9RHFtMmqDLO1WprYKAstnYw4E9Xhf6J+HhKEQzzYVE='], methods: [] },
  {
    name: 'x1000_affiliate_account',
    codes: ['RFb60SpDTEiYsFrGW6td6A2zPydcYCB0bejhEaXNpOY='],
    methods: ['get_affiliate_account_data'],
  },
  {
    name: 'x1000_affiliate_program',
    codes: ['yLuWL5k+Jp+RQ1u+dsG7rdb6Tq0+msgcoJdeGCDL7ws='],
    methods: ['get_affiliate_account_address'],
  },
];

/** Base64 code hashes of the wallets whose addresses are written in the non-bounceable form. */
export const WALLET_CODES: readonly string[] = [
  'oM/CxIruFqJx8s/AtzgtgXVs7LEBfQd/qqs7tgL2how=', // wallet v1 r1
  '1JAvzJ+tdGmPqONTIgpo2g3PcuMryy657gQhfBfTBiw=', // wallet v1 r2
  'WHzHie/xyE9G7DeX5F/ICaFP9a4k8eDHpqmcydyQYf8=', // wallet v1 r3
  'XJpeaMEI4YchoHxC+ZVr+zmtd+xtYktgxXbsiO7mUyk=', // wallet v2 r1
  '/pUw0yQ4Uwg+8u8LTCkIwKv2+hwx6iQ6rKpb+MfXU/E=', // wallet v2 r2
  'thBBpYp5gLlG6PueGY48kE0keZ/6NldOpCUcQaVm9YE=', // wallet v3 r1
  'hNr6RJ+Ypph3ibojI1gHK8D3bcRSQAKl0JGLmnXS1Zk=', // wallet v3 r2
  'ZN1UgFUixb6KnbWc6gEFzPDQh4bKeb64y3nogKjXMi0=', // wallet v4 r1
  '/rX/aCDi/w2Ug+fg1iyBfYRniftK5YDIeIZtlZ2r1cA=', // wallet v4 r2
  '89fKU0k97trCizgZhqhJQDy6w9LFhHea8IEGWvCsS5M=', // wallet v5 beta
  'IINLe3KxEhR+Gy+0V7hOdNGjDwT3N9T2KmaOlVLSty8=', // wallet v5 r1
];
