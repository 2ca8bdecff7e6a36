-- States of accounts that a node was asked for and that no transaction tells: what was there before the log began.
CREATE TABLE IF NOT EXISTS learned_accounts (
  account FixedString(36),
  lt UInt64,
  mc_seqno UInt32 CODEC(Delta, LZ4),
  hash FixedString(32) CODEC(NONE),
  state String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree ORDER BY (account, lt)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;
