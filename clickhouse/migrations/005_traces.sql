-- Traces and what they did. What is asked for by step or time is found by the logical times in the keys: they rise
-- together, so a range of one bounds the others (the minmax indexes).

CREATE TABLE IF NOT EXISTS traces (
  trace_id FixedString(32) CODEC(NONE),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  mc_seqno_start UInt32,
  start_lt UInt64,
  start_utime UInt32,
  end_lt UInt64,
  end_utime UInt32,
  external_hash FixedString(32) CODEC(NONE),
  external_hash_norm FixedString(32),
  transactions UInt32,
  messages UInt32,
  pending_messages UInt32,
  state Enum8('pending' = 0, 'complete' = 1, 'broken' = 2),
  classification Enum8('unclassified' = 0, 'ok' = 1, 'failed' = 2),
  places String CODEC(ZSTD(1)),
  INDEX mc_range mc_seqno TYPE minmax GRANULARITY 4
) ENGINE = ReplacingMergeTree ORDER BY (trace_id, mc_seqno)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS traces_by_lt (
  end_lt UInt64 CODEC(Delta, LZ4),
  trace_id FixedString(32) CODEC(NONE),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  end_utime UInt32 CODEC(Delta, LZ4),
  state Enum8('pending' = 0, 'complete' = 1, 'broken' = 2),
  INDEX mc_range mc_seqno TYPE minmax GRANULARITY 4,
  INDEX time_range end_utime TYPE minmax GRANULARITY 4
) ENGINE = ReplacingMergeTree ORDER BY (end_lt, trace_id, mc_seqno)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS trace_accounts (
  account FixedString(36),
  end_lt UInt64 CODEC(Delta, LZ4),
  trace_id FixedString(32) CODEC(NONE),
  end_utime UInt32 CODEC(Delta, LZ4),
  mc_seqno UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (account, end_lt, trace_id)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS actions (
  trace_end_lt UInt64 CODEC(Delta, LZ4),
  trace_id FixedString(32),
  number UInt16,
  action_id FixedString(32) CODEC(NONE),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  end_mc_seqno UInt32 CODEC(Delta, LZ4),
  trace_end_utime UInt32 CODEC(Delta, LZ4),
  start_lt UInt64 CODEC(Delta, LZ4),
  end_lt UInt64 CODEC(Delta, LZ4),
  start_utime UInt32 CODEC(Delta, LZ4),
  end_utime UInt32 CODEC(Delta, LZ4),
  type LowCardinality(String),
  success Bool,
  ancestors Array(LowCardinality(String)),
  external_hash FixedString(32),
  external_hash_norm FixedString(32),
  transactions String CODEC(ZSTD(1)),
  content String CODEC(ZSTD(3)),
  -- As listings ask for a type (clickhouse/queries/actions.ts): what was told again is looked at whatever its type is.
  INDEX types if(mc_seqno > end_mc_seqno, '', type) TYPE set(64) GRANULARITY 4,
  INDEX mc_range mc_seqno TYPE minmax GRANULARITY 4,
  INDEX end_range end_mc_seqno TYPE minmax GRANULARITY 4,
  INDEX time_range trace_end_utime TYPE minmax GRANULARITY 4
) ENGINE = ReplacingMergeTree ORDER BY (trace_end_lt, trace_id, number, mc_seqno)
SETTINGS index_granularity = 128, min_compress_block_size = 16384, max_compress_block_size = 65536, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS actions_by_id (
  action_id FixedString(32) CODEC(NONE),
  trace_end_lt UInt64,
  number UInt16,
  mc_seqno UInt32
) ENGINE = ReplacingMergeTree ORDER BY (action_id, trace_end_lt, number, mc_seqno)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS action_accounts (
  account FixedString(36),
  trace_end_lt UInt64 CODEC(Delta, LZ4),
  trace_id FixedString(32),
  number UInt16,
  mc_seqno UInt32 CODEC(Delta, LZ4),
  end_mc_seqno UInt32 CODEC(Delta, LZ4),
  trace_end_utime UInt32 CODEC(Delta, LZ4),
  type LowCardinality(String),
  ancestors Array(LowCardinality(String))
) ENGINE = ReplacingMergeTree ORDER BY (account, trace_end_lt, trace_id, number, mc_seqno)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS action_doubts (
  address FixedString(36),
  mc_seqno UInt32 CODEC(Delta, LZ4),
  trace_end_lt UInt64 CODEC(Delta, LZ4),
  trace_id FixedString(32) CODEC(NONE)
) ENGINE = ReplacingMergeTree ORDER BY (address, trace_end_lt, trace_id, mc_seqno)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS traces_to_lt TO traces_by_lt AS
SELECT end_lt, trace_id, mc_seqno, end_utime, state FROM traces;

CREATE MATERIALIZED VIEW IF NOT EXISTS actions_to_id TO actions_by_id AS
SELECT action_id, trace_end_lt, number, mc_seqno FROM actions;
