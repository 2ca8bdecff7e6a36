-- The newest actions of a type, however rare it is, without looking at those of all others.
CREATE TABLE IF NOT EXISTS actions_by_type (
  type LowCardinality(String),
  trace_end_lt UInt64 CODEC(Delta, LZ4),
  number UInt16,
  mc_seqno UInt32 CODEC(Delta, LZ4)
) ENGINE = ReplacingMergeTree ORDER BY (type, trace_end_lt, number, mc_seqno)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS actions_to_type TO actions_by_type AS
SELECT type, trace_end_lt, number, mc_seqno FROM actions WHERE type != '';

INSERT INTO actions_by_type SELECT type, trace_end_lt, number, mc_seqno FROM actions WHERE type != '';
