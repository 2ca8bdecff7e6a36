-- Every state of NFTs, of their collections and of those who sell them, at the end of each step that changed it; and what
-- answers about an earlier step want of jetton wallets and of accounts that a node was asked for.
ALTER TABLE jetton_balances ADD COLUMN IF NOT EXISTS mintless_is_claimed Nullable(Bool);

ALTER TABLE learned_accounts ADD COLUMN IF NOT EXISTS last_transaction_hash FixedString(32);

CREATE TABLE IF NOT EXISTS nft_collection_states (
  address FixedString(36),
  id UInt64 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  last_transaction_lt UInt64,
  code_hash FixedString(32),
  data_hash FixedString(32) CODEC(NONE),
  next_item_index Int256,
  owner_address FixedString(36),
  collection_content String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree ORDER BY (address, last_transaction_lt)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_item_states (
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
) ENGINE = ReplacingMergeTree ORDER BY (address, last_transaction_lt)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_item_states_by_owner (
  owner_address FixedString(36),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (owner_address, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_sale_states (
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
) ENGINE = ReplacingMergeTree ORDER BY (address, last_transaction_lt)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_sale_states_by_owner (
  nft_owner FixedString(36),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (nft_owner, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_auction_states (
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
) ENGINE = ReplacingMergeTree ORDER BY (address, last_transaction_lt)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS nft_auction_states_by_owner (
  nft_owner FixedString(36),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (nft_owner, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

-- What a step has changed of names: who holds all of them asks for it at each step.
CREATE TABLE IF NOT EXISTS dns_records_by_step (
  mc_seqno UInt32 CODEC(Delta, LZ4),
  address FixedString(36)
) ENGINE = ReplacingMergeTree ORDER BY (mc_seqno, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS dns_records_to_step TO dns_records_by_step AS
SELECT mc_seqno, address FROM dns_records;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_item_states_to_owner TO nft_item_states_by_owner AS
SELECT owner_address, address FROM nft_item_states
WHERE owner_address != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_sale_states_to_owner TO nft_sale_states_by_owner AS
SELECT nft_owner, address FROM nft_sale_states
WHERE nft_owner != toFixedString('', 36);

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_auction_states_to_owner TO nft_auction_states_by_owner AS
SELECT nft_owner, address FROM nft_auction_states
WHERE nft_owner != toFixedString('', 36);

-- Codes of the wallets that a master confirms: further ones are not asked for by a get-method.
CREATE TABLE IF NOT EXISTS jetton_wallet_codes (
  jetton FixedString(36),
  code_hash FixedString(32),
  mc_seqno UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (jetton, code_hash)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;
