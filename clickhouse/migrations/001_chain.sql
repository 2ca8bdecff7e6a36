-- Blocks, transactions, messages, accounts: what a sealed masterchain step holds.
--
-- Natural keys everywhere, so nothing can stay double. `mc_seqno` is the step that made a row visible: readers ask
-- for `mc_seqno <= head`. Addresses are 36 bytes that sort by workchain, then account id; zeros mean "none".
-- `payload` is the thing's own bag of cells, as in the block. Small granules: these tables answer point reads.

CREATE TABLE IF NOT EXISTS blocks (
  mc_seqno UInt32 CODEC(Delta, LZ4),
  workchain Int32,
  shard Int64,
  seqno UInt32 CODEC(Delta, LZ4),
  gen_utime UInt32 CODEC(Delta, LZ4),
  start_lt UInt64 CODEC(Delta, LZ4),
  end_lt UInt64 CODEC(Delta, LZ4),
  tx_count UInt32,
  global_id Int32,
  root_hash FixedString(32) CODEC(NONE),
  file_hash FixedString(32) CODEC(NONE),
  rand_seed FixedString(32) CODEC(NONE),
  created_by FixedString(32),
  info String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree ORDER BY (mc_seqno, workchain, shard, seqno)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS blocks_by_id (
  workchain Int32,
  shard Int64,
  seqno UInt32 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  start_lt UInt64 CODEC(Delta, LZ4),
  end_lt UInt64 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (workchain, shard, seqno)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS blocks_by_time (
  gen_utime UInt32 CODEC(Delta, LZ4),
  workchain Int32,
  shard Int64,
  seqno UInt32,
  mc_seqno UInt32 CODEC(Delta, LZ4),
  start_lt UInt64 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (gen_utime, workchain, shard, seqno)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS blocks_by_hash (
  hash FixedString(32) CODEC(NONE),
  mc_seqno UInt32,
  workchain Int32,
  shard Int64,
  seqno UInt32
) ENGINE = ReplacingMergeTree ORDER BY hash
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- The top block of every shard as a masterchain block registers it.
CREATE TABLE IF NOT EXISTS shard_tops (
  mc_seqno UInt32 CODEC(Delta, LZ4),
  workchain Int32,
  shard Int64,
  seqno UInt32
) ENGINE = ReplacingMergeTree ORDER BY (mc_seqno, workchain, shard)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 1000;

-- `states`: what is known of the account before and after (clickhouse/states.ts). The partition is as good as one;
-- its key makes every part know its range of steps, so a query that names steps opens no part from another time.
CREATE TABLE IF NOT EXISTS transactions (
  account FixedString(36),
  lt UInt64 CODEC(Delta, LZ4),
  hash FixedString(32) CODEC(NONE),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  now UInt32 CODEC(Delta, LZ4),
  shard Int64,
  seqno UInt32 CODEC(Delta, LZ4),
  trace_id FixedString(32),
  external_hash FixedString(32),
  in_opcode Nullable(UInt32),
  aborted Bool,
  total_fees UInt128,
  global_version UInt8,
  state_after FixedString(32) CODEC(NONE),
  states String CODEC(ZSTD(1)),
  payload String CODEC(ZSTD(1)),
  INDEX now_range now TYPE minmax GRANULARITY 4,
  INDEX mc_range mc_seqno TYPE minmax GRANULARITY 4
) ENGINE = ReplacingMergeTree PARTITION BY intDiv(mc_seqno, 100000000) ORDER BY (account, lt)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS transactions_by_lt (
  lt UInt64 CODEC(Delta, LZ4),
  account FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  now UInt32 CODEC(Delta, LZ4),
  shard Int64,
  seqno UInt32 CODEC(Delta, LZ4),
  in_opcode Nullable(UInt32),
  INDEX opcodes in_opcode TYPE bloom_filter(0.01) GRANULARITY 16
) ENGINE = ReplacingMergeTree ORDER BY (lt, account)
SETTINGS index_granularity = 512, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS transactions_by_time (
  now UInt32 CODEC(Delta, LZ4),
  lt UInt64 CODEC(Delta, LZ4),
  account FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  shard Int64,
  seqno UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (now, lt, account)
SETTINGS index_granularity = 512, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS transactions_by_hash (
  hash FixedString(32) CODEC(NONE),
  account FixedString(36) CODEC(NONE),
  lt UInt64 CODEC(NONE)
) ENGINE = ReplacingMergeTree ORDER BY hash
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- The account states that became known, by state hash: the transaction that left the account in that state.
CREATE TABLE IF NOT EXISTS account_states_by_hash (
  hash FixedString(32) CODEC(NONE),
  account FixedString(36) CODEC(NONE),
  lt UInt64 CODEC(NONE)
) ENGINE = ReplacingMergeTree ORDER BY hash
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- One row a message once merged: written when it is seen leaving, again (with both sides) when it is received.
-- A side not seen has sequence number 0. Messages without created_lt and created_at (external-in) hold the greatest
-- value there, which gives the order "nulls are greatest".
CREATE TABLE IF NOT EXISTS messages (
  created_lt UInt64 CODEC(Delta, LZ4),
  hash FixedString(32) CODEC(NONE),
  hash_norm FixedString(32),
  source FixedString(36),
  destination FixedString(36),
  created_at UInt32 CODEC(Delta, LZ4),
  opcode Nullable(UInt32),
  body_hash FixedString(32),
  value UInt128,
  out_mc_seqno UInt32 CODEC(Delta, LZ4),
  out_lt UInt64 CODEC(Delta, LZ4),
  out_tx_hash FixedString(32),
  in_mc_seqno UInt32 CODEC(Delta, LZ4),
  in_lt UInt64 CODEC(Delta, LZ4),
  in_tx_hash FixedString(32),
  global_version UInt8,
  payload String CODEC(ZSTD(1)),
  INDEX opcodes opcode TYPE bloom_filter(0.01) GRANULARITY 16
) ENGINE = ReplacingMergeTree(in_mc_seqno) ORDER BY (created_lt, hash)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- Both the hash and, where it differs, the normalised hash of external messages.
CREATE TABLE IF NOT EXISTS messages_by_hash (
  key FixedString(32) CODEC(NONE),
  created_lt UInt64,
  hash FixedString(32)
) ENGINE = ReplacingMergeTree ORDER BY (key, created_lt, hash)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS messages_by_source (
  source FixedString(36),
  created_lt UInt64 CODEC(Delta, LZ4),
  hash FixedString(32) CODEC(NONE),
  destination FixedString(36),
  created_at UInt32 CODEC(Delta, LZ4),
  opcode Nullable(UInt32),
  out_mc_seqno UInt32 CODEC(Delta, LZ4),
  in_mc_seqno UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree(in_mc_seqno) ORDER BY (source, created_lt, hash)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS messages_by_destination (
  destination FixedString(36),
  created_lt UInt64 CODEC(Delta, LZ4),
  hash FixedString(32) CODEC(NONE),
  source FixedString(36),
  created_at UInt32 CODEC(Delta, LZ4),
  opcode Nullable(UInt32),
  out_mc_seqno UInt32 CODEC(Delta, LZ4),
  in_mc_seqno UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree(in_mc_seqno) ORDER BY (destination, created_lt, hash)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS messages_by_body (
  body_hash FixedString(32),
  created_lt UInt64 CODEC(Delta, LZ4),
  hash FixedString(32) CODEC(NONE),
  created_at UInt32 CODEC(Delta, LZ4),
  opcode Nullable(UInt32),
  out_mc_seqno UInt32 CODEC(Delta, LZ4),
  in_mc_seqno UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree(in_mc_seqno) ORDER BY (body_hash, created_lt, hash)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS messages_by_time (
  created_at UInt32 CODEC(Delta, LZ4),
  hash FixedString(32) CODEC(NONE),
  created_lt UInt64,
  opcode Nullable(UInt32),
  out_mc_seqno UInt32 CODEC(Delta, LZ4),
  in_mc_seqno UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree(in_mc_seqno) ORDER BY (created_at, hash)
SETTINGS index_granularity = 512, non_replicated_deduplication_window = 1000;

-- The newest state of each account. `state` is the whole of it, packed (clickhouse/states.ts); the columns beside it
-- are for filters and analysis.
CREATE TABLE IF NOT EXISTS accounts (
  account FixedString(36),
  lt UInt64,
  mc_seqno UInt32,
  hash FixedString(32) CODEC(NONE),
  last_transaction_hash FixedString(32) CODEC(NONE),
  status Enum8('nonexist' = 0, 'uninit' = 1, 'active' = 2, 'frozen' = 3),
  balance UInt128,
  code_hash FixedString(32),
  state String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree(lt) ORDER BY account
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- The newest data of each account that was ever seen in full.
CREATE TABLE IF NOT EXISTS account_data (
  account FixedString(36),
  lt UInt64,
  mc_seqno UInt32,
  data_hash FixedString(32) CODEC(NONE),
  boc String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree(lt) ORDER BY account
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- Every change of an account's code.
CREATE TABLE IF NOT EXISTS account_codes (
  account FixedString(36),
  lt UInt64,
  mc_seqno UInt32,
  code_hash FixedString(32)
) ENGINE = ReplacingMergeTree ORDER BY (account, lt)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- The same in the order of the steps: what changed since a step.
CREATE TABLE IF NOT EXISTS account_codes_by_step (
  mc_seqno UInt32,
  account FixedString(36),
  lt UInt64,
  code_hash FixedString(32)
) ENGINE = ReplacingMergeTree ORDER BY (mc_seqno, account, lt)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 1000;

-- Code cells by hash, with the get-method ids found in them.
CREATE TABLE IF NOT EXISTS codes (
  code_hash FixedString(32) CODEC(NONE),
  methods Array(UInt32),
  boc String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree ORDER BY code_hash
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

-- Balances in order: -1 withdraws the row that +1 wrote before. Pairs vanish at merge.
CREATE TABLE IF NOT EXISTS balances (
  balance UInt128,
  account FixedString(36),
  lt UInt64,
  mc_seqno UInt32,
  sign Int8
) ENGINE = VersionedCollapsingMergeTree(sign, lt) ORDER BY (balance, account)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 1000;
