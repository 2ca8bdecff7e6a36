-- Where the projection stands. An intent names a batch by its offsets in the log before anything of it is written;
-- `done` follows when every table has it. An intent without its done is repeated with the same bounds. `next_cell` is
-- the offset in the topic of cells of the first record that counts from a later batch on.
CREATE TABLE IF NOT EXISTS projection_state (
  number UInt64,
  done Bool,
  first_offset UInt64,
  next_offset UInt64,
  next_cell UInt64,
  first_mc_seqno UInt32,
  mc_seqno UInt32,
  root_hash FixedString(32),
  global_id Int32,
  version UInt32,
  instance String,
  transactions UInt64,
  messages UInt64,
  blocks UInt64,
  updated_at DateTime64(3) DEFAULT now64(3)
) ENGINE = MergeTree ORDER BY (number, done)
SETTINGS index_granularity = 256;

-- Steps of the log that are not in the tables because a block of theirs cannot be decoded.
CREATE TABLE IF NOT EXISTS gaps (
  mc_seqno UInt32,
  first_offset UInt64,
  next_offset UInt64,
  block String,
  error String
) ENGINE = ReplacingMergeTree ORDER BY mc_seqno
SETTINGS non_replicated_deduplication_window = 1000;

-- Who writes the tables. Each projector notes itself at its start with the next number; the newest one writes, an
-- earlier one that still runs stops at its next batch.
CREATE TABLE IF NOT EXISTS projectors (
  epoch UInt64,
  instance String,
  started_at DateTime64(3) DEFAULT now64(3)
) ENGINE = MergeTree ORDER BY (epoch, instance);
