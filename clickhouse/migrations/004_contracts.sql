-- What contracts are: one row a contract of each kind, the newest state, kept when the contract is gone. `id` grows in the
-- order of first detection. Entries of key tables stay when the row that led to them was replaced: readers look at the row.
-- Jettons. Content is what the chain holds, as JSON.
CREATE TABLE IF NOT EXISTS jetton_masters (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  total_supply Int256,
  mintable Bool,
  admin_address FixedString(36),
  jetton_content String CODEC(ZSTD(1)),
  jetton_wallet_code_hash FixedString(32)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_masters_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_masters_by_admin (
  admin_address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (admin_address, id)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_wallets (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  balance Int256,
  owner FixedString(36),
  jetton FixedString(36),
  mintless_is_claimed Nullable(Bool)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_wallets_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_wallets_by_owner (
  owner FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36),
  jetton FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (owner, id)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_wallets_by_jetton (
  jetton FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (jetton, id)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

-- Wallets in order of balance: -1 withdraws the row that +1 wrote before. Pairs vanish at merge.
CREATE TABLE IF NOT EXISTS jetton_holders (
  jetton FixedString(36),
  balance Int256,
  address FixedString(36),
  lt UInt64,
  mc_seqno UInt32 CODEC(Delta, LZ4),
  sign Int8
) ENGINE = VersionedCollapsingMergeTree(sign, lt) ORDER BY (jetton, balance, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

-- Every balance that a wallet has had.
CREATE TABLE IF NOT EXISTS jetton_balances (
  address FixedString(36),
  lt UInt64,
  mc_seqno UInt32 CODEC(Delta, LZ4),
  jetton FixedString(36),
  balance Int256
) ENGINE = ReplacingMergeTree ORDER BY (address, lt)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

-- Events: the transaction is (wallet or item, transaction_lt), which has payloads, hashes and trace.
CREATE TABLE IF NOT EXISTS jetton_transfers (
  transaction_lt UInt64 CODEC(Delta, LZ4),
  source_wallet FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  transaction_aborted Bool,
  source FixedString(36),
  destination FixedString(36),
  jetton_master FixedString(36),
  amount UInt128,
  INDEX times transaction_now TYPE minmax GRANULARITY 4
) ENGINE = ReplacingMergeTree ORDER BY (transaction_lt, source_wallet)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_transfers_by_source (
  source FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  source_wallet FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  transaction_aborted Bool,
  jetton_master FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (source, transaction_lt, source_wallet)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_transfers_by_destination (
  destination FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  source_wallet FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  transaction_aborted Bool,
  jetton_master FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (destination, transaction_lt, source_wallet)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_transfers_by_wallet (
  source_wallet FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  transaction_aborted Bool
) ENGINE = ReplacingMergeTree ORDER BY (source_wallet, transaction_lt)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_transfers_by_jetton (
  jetton_master FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  source_wallet FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  transaction_aborted Bool
) ENGINE = ReplacingMergeTree ORDER BY (jetton_master, transaction_lt, source_wallet)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_burns (
  transaction_lt UInt64 CODEC(Delta, LZ4),
  jetton_wallet FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  transaction_aborted Bool,
  owner FixedString(36),
  jetton_master FixedString(36),
  amount UInt128,
  INDEX times transaction_now TYPE minmax GRANULARITY 4
) ENGINE = ReplacingMergeTree ORDER BY (transaction_lt, jetton_wallet)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_burns_by_owner (
  owner FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  jetton_wallet FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  jetton_master FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (owner, transaction_lt, jetton_wallet)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_burns_by_wallet (
  jetton_wallet FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (jetton_wallet, transaction_lt)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS jetton_burns_by_jetton (
  jetton_master FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  jetton_wallet FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (jetton_master, transaction_lt, jetton_wallet)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

-- NFTs and domains.
CREATE TABLE IF NOT EXISTS nft_collections (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  next_item_index Int256,
  owner_address FixedString(36),
  collection_content String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_collections_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_collections_by_owner (
  owner_address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (owner_address, id)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_items (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  init Bool,
  nft_index UInt256,
  collection_address FixedString(36),
  owner_address FixedString(36),
  content String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_items_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_items_by_owner (
  owner_address FixedString(36),
  collection_address FixedString(36),
  nft_index UInt256,
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (owner_address, collection_address, nft_index, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_items_by_collection (
  collection_address FixedString(36),
  nft_index UInt256,
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (collection_address, nft_index, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_items_by_lt (
  last_transaction_lt UInt64,
  address FixedString(36)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY (last_transaction_lt, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS dns_records (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  domain String,
  nft_item_owner FixedString(36),
  dns_next_resolver FixedString(36),
  dns_wallet FixedString(36),
  dns_site_adnl FixedString(32),
  dns_storage_bag_id FixedString(32)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS dns_records_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS dns_records_by_domain (
  domain String,
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (domain, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS dns_records_by_wallet (
  dns_wallet FixedString(36),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (dns_wallet, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_transfers (
  transaction_lt UInt64 CODEC(Delta, LZ4),
  nft_address FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  transaction_aborted Bool,
  nft_collection FixedString(36),
  old_owner FixedString(36),
  new_owner FixedString(36),
  INDEX times transaction_now TYPE minmax GRANULARITY 4
) ENGINE = ReplacingMergeTree ORDER BY (transaction_lt, nft_address)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_transfers_by_old_owner (
  old_owner FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  nft_address FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  nft_collection FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (old_owner, transaction_lt, nft_address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_transfers_by_new_owner (
  new_owner FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  nft_address FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4),
  nft_collection FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (new_owner, transaction_lt, nft_address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_transfers_by_item (
  nft_address FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (nft_address, transaction_lt)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_transfers_by_collection (
  nft_collection FixedString(36),
  transaction_lt UInt64 CODEC(Delta, LZ4),
  nft_address FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  transaction_now UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (nft_collection, transaction_lt, nft_address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

-- Sales and auctions.
CREATE TABLE IF NOT EXISTS nft_sales (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  is_complete Bool,
  created_at UInt32,
  marketplace FixedString(36),
  nft_address FixedString(36),
  nft_owner FixedString(36),
  full_price Int256,
  marketplace_fee_address FixedString(36),
  marketplace_fee Int256,
  royalty_address FixedString(36),
  royalty_amount Int256,
  sold_at Nullable(UInt32),
  sold_query_id Nullable(UInt64),
  jetton_prices Nullable(String)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_sales_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_sales_by_owner (
  nft_owner FixedString(36),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (nft_owner, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_auctions (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  end_flag Bool,
  end_time UInt32,
  marketplace FixedString(36),
  nft_address FixedString(36),
  nft_owner FixedString(36),
  last_bid Int256,
  last_member FixedString(36),
  min_step UInt32,
  mp_fee_address FixedString(36),
  mp_fee_factor UInt32,
  mp_fee_base UInt32,
  royalty_fee_address FixedString(36),
  royalty_fee_factor UInt32,
  royalty_fee_base UInt32,
  max_bid Int256,
  min_bid Int256,
  created_at UInt32,
  last_bid_at UInt32,
  is_canceled Bool,
  jetton_wallet FixedString(36),
  jetton_master FixedString(36)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_auctions_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_auctions_by_owner (
  nft_owner FixedString(36),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (nft_owner, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS telemint_items (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  token_name String,
  bidder_address FixedString(36),
  bid Int256,
  bid_ts UInt32,
  min_bid Int256,
  end_time UInt32,
  beneficiary_address FixedString(36),
  initial_min_bid Int256,
  max_bid Int256,
  min_bid_step Int256,
  min_extend_time UInt32,
  duration UInt32,
  royalty_numerator UInt32,
  royalty_denominator UInt32,
  royalty_destination FixedString(36)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS telemint_items_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

-- Multisig, vesting, pools.
CREATE TABLE IF NOT EXISTS multisig_wallets (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  next_order_seqno Int256,
  threshold UInt32,
  signers Array(FixedString(36)),
  proposers Array(FixedString(36))
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS multisig_wallets_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS multisig_orders (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  multisig_address FixedString(36),
  order_seqno Int256,
  threshold UInt32,
  sent_for_execution Bool,
  approvals_mask UInt256,
  approvals_num UInt32,
  expiration_date UInt64,
  order_boc String CODEC(ZSTD(1)),
  signers Array(FixedString(36))
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS multisig_orders_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS multisig_orders_by_multisig (
  multisig_address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (multisig_address, id)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS vesting_contracts (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  start_time UInt64,
  total_duration UInt32,
  unlock_period UInt32,
  cliff_duration UInt32,
  total_amount Int256,
  sender_address FixedString(36),
  owner_address FixedString(36),
  whitelist Array(FixedString(36))
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS vesting_contracts_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS dedust_pools (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  asset0 FixedString(36),
  asset1 FixedString(36),
  is_stable Bool,
  reserve0 Int256,
  reserve1 Int256,
  fee Int256
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS dedust_pools_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nominator_pools (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY address
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nominator_pools_by_id (
  id UInt64 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

-- Contracts that wait for a code or another contract that the log has not shown.
CREATE TABLE IF NOT EXISTS contract_waits (
  missing FixedString(36),
  address FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  waits Bool
) ENGINE = ReplacingMergeTree(mc_seqno) ORDER BY (missing, address)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- The key tables are filled by views, so one insert and one deduplication token feeds them all.

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_masters_to_id TO jetton_masters_by_id AS
SELECT id, address FROM jetton_masters;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_masters_to_admin TO jetton_masters_by_admin AS
SELECT admin_address, id, address FROM jetton_masters
WHERE admin_address != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_wallets_to_id TO jetton_wallets_by_id AS
SELECT id, address FROM jetton_wallets;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_wallets_to_owner TO jetton_wallets_by_owner AS
SELECT owner, id, address, jetton FROM jetton_wallets;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_wallets_to_jetton TO jetton_wallets_by_jetton AS
SELECT jetton, id, address FROM jetton_wallets;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_transfers_to_source TO jetton_transfers_by_source AS
SELECT source, transaction_lt, source_wallet, mc_seqno, transaction_now, transaction_aborted, jetton_master FROM jetton_transfers;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_transfers_to_destination TO jetton_transfers_by_destination AS
SELECT destination, transaction_lt, source_wallet, mc_seqno, transaction_now, transaction_aborted, jetton_master FROM jetton_transfers;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_transfers_to_wallet TO jetton_transfers_by_wallet AS
SELECT source_wallet, transaction_lt, mc_seqno, transaction_now, transaction_aborted FROM jetton_transfers;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_transfers_to_jetton TO jetton_transfers_by_jetton AS
SELECT jetton_master, transaction_lt, source_wallet, mc_seqno, transaction_now, transaction_aborted FROM jetton_transfers;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_burns_to_owner TO jetton_burns_by_owner AS
SELECT owner, transaction_lt, jetton_wallet, mc_seqno, transaction_now, jetton_master FROM jetton_burns;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_burns_to_wallet TO jetton_burns_by_wallet AS
SELECT jetton_wallet, transaction_lt, mc_seqno, transaction_now FROM jetton_burns;

CREATE MATERIALIZED VIEW IF NOT EXISTS jetton_burns_to_jetton TO jetton_burns_by_jetton AS
SELECT jetton_master, transaction_lt, jetton_wallet, mc_seqno, transaction_now FROM jetton_burns;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_collections_to_id TO nft_collections_by_id AS
SELECT id, address FROM nft_collections;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_collections_to_owner TO nft_collections_by_owner AS
SELECT owner_address, id, address FROM nft_collections
WHERE owner_address != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_items_to_id TO nft_items_by_id AS
SELECT id, address FROM nft_items;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_items_to_owner TO nft_items_by_owner AS
SELECT owner_address, collection_address, nft_index, address FROM nft_items
WHERE owner_address != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_items_to_collection TO nft_items_by_collection AS
SELECT collection_address, nft_index, address FROM nft_items
WHERE collection_address != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_items_to_lt TO nft_items_by_lt AS
SELECT last_transaction_lt, address FROM nft_items;

CREATE MATERIALIZED VIEW IF NOT EXISTS dns_records_to_id TO dns_records_by_id AS
SELECT id, address FROM dns_records;

CREATE MATERIALIZED VIEW IF NOT EXISTS dns_records_to_domain TO dns_records_by_domain AS
SELECT domain, address FROM dns_records;

CREATE MATERIALIZED VIEW IF NOT EXISTS dns_records_to_wallet TO dns_records_by_wallet AS
SELECT dns_wallet, address FROM dns_records
WHERE dns_wallet != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_transfers_to_old_owner TO nft_transfers_by_old_owner AS
SELECT old_owner, transaction_lt, nft_address, mc_seqno, transaction_now, nft_collection FROM nft_transfers;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_transfers_to_new_owner TO nft_transfers_by_new_owner AS
SELECT new_owner, transaction_lt, nft_address, mc_seqno, transaction_now, nft_collection FROM nft_transfers;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_transfers_to_item TO nft_transfers_by_item AS
SELECT nft_address, transaction_lt, mc_seqno, transaction_now FROM nft_transfers;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_transfers_to_collection TO nft_transfers_by_collection AS
SELECT nft_collection, transaction_lt, nft_address, mc_seqno, transaction_now FROM nft_transfers;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_sales_to_id TO nft_sales_by_id AS
SELECT id, address FROM nft_sales;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_sales_to_owner TO nft_sales_by_owner AS
SELECT nft_owner, address FROM nft_sales
WHERE nft_owner != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_auctions_to_id TO nft_auctions_by_id AS
SELECT id, address FROM nft_auctions;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_auctions_to_owner TO nft_auctions_by_owner AS
SELECT nft_owner, address FROM nft_auctions
WHERE nft_owner != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS telemint_items_to_id TO telemint_items_by_id AS
SELECT id, address FROM telemint_items;

CREATE MATERIALIZED VIEW IF NOT EXISTS multisig_wallets_to_id TO multisig_wallets_by_id AS
SELECT id, address FROM multisig_wallets;

CREATE MATERIALIZED VIEW IF NOT EXISTS multisig_orders_to_id TO multisig_orders_by_id AS
SELECT id, address FROM multisig_orders;

CREATE MATERIALIZED VIEW IF NOT EXISTS multisig_orders_to_multisig TO multisig_orders_by_multisig AS
SELECT multisig_address, id, address FROM multisig_orders;

CREATE MATERIALIZED VIEW IF NOT EXISTS vesting_contracts_to_id TO vesting_contracts_by_id AS
SELECT id, address FROM vesting_contracts;

CREATE MATERIALIZED VIEW IF NOT EXISTS dedust_pools_to_id TO dedust_pools_by_id AS
SELECT id, address FROM dedust_pools;

CREATE MATERIALIZED VIEW IF NOT EXISTS nominator_pools_to_id TO nominator_pools_by_id AS
SELECT id, address FROM nominator_pools;
