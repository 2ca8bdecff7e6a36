-- Who received a message from outside, each time: contracts may take the same one again, and messages are kept once each.
CREATE TABLE IF NOT EXISTS transactions_by_external (
  external_hash FixedString(32) CODEC(NONE),
  lt UInt64,
  account FixedString(36),
  mc_seqno UInt32
) ENGINE = ReplacingMergeTree ORDER BY (external_hash, lt, account)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS transactions_to_external TO transactions_by_external AS
SELECT external_hash, lt, account, mc_seqno FROM transactions
WHERE external_hash != toFixedString('', 32) AND trace_id = hash;

INSERT INTO transactions_by_external SELECT external_hash, lt, account, mc_seqno FROM transactions
WHERE external_hash != toFixedString('', 32) AND trace_id = hash;
