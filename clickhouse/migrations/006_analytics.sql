-- What analysts read in the order of time: transactions with what they are filtered and joined by, and the ranges of
-- steps and times of each run of rows. The columns are filled from here on, so earlier tables are rebuilt.

ALTER TABLE transactions_by_lt
  ADD COLUMN IF NOT EXISTS hash FixedString(32) CODEC(NONE),
  ADD COLUMN IF NOT EXISTS trace_id FixedString(32),
  ADD COLUMN IF NOT EXISTS aborted Bool,
  ADD COLUMN IF NOT EXISTS total_fees UInt128,
  ADD INDEX IF NOT EXISTS mc_range mc_seqno TYPE minmax GRANULARITY 1,
  ADD INDEX IF NOT EXISTS now_range now TYPE minmax GRANULARITY 1;

ALTER TABLE transactions_to_lt MODIFY QUERY
SELECT lt, account, mc_seqno, now, shard, seqno, in_opcode, hash, trace_id, aborted, total_fees FROM transactions;

ALTER TABLE messages
  ADD INDEX IF NOT EXISTS in_range in_mc_seqno TYPE minmax GRANULARITY 4,
  ADD INDEX IF NOT EXISTS out_range out_mc_seqno TYPE minmax GRANULARITY 4,
  ADD INDEX IF NOT EXISTS created_range created_at TYPE minmax GRANULARITY 4;

-- Addresses as text, so that a comparison with one finds its rows in tables that are in the order of addresses.
ALTER TABLE transactions ADD INDEX IF NOT EXISTS account_text
  concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(account, 1, 4)))) - 2147483648), ':', hex(substring(account, 5, 32)))
  TYPE minmax GRANULARITY 4;

ALTER TABLE accounts ADD INDEX IF NOT EXISTS account_text
  concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(account, 1, 4)))) - 2147483648), ':', hex(substring(account, 5, 32)))
  TYPE minmax GRANULARITY 4;

ALTER TABLE messages_by_source ADD INDEX IF NOT EXISTS account_text
  concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(source, 1, 4)))) - 2147483648), ':', hex(substring(source, 5, 32)))
  TYPE minmax GRANULARITY 4;

ALTER TABLE messages_by_destination ADD INDEX IF NOT EXISTS account_text
  concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(destination, 1, 4)))) - 2147483648), ':', hex(substring(destination, 5, 32)))
  TYPE minmax GRANULARITY 4;
