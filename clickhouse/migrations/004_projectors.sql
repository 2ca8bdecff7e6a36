-- Who writes the tables. Each projector notes itself at its start with the next number; the newest one writes, an
-- earlier one that still runs stops at its next batch.
CREATE TABLE IF NOT EXISTS projectors (
  epoch UInt64,
  instance String,
  started_at DateTime64(3) DEFAULT now64(3)
) ENGINE = MergeTree ORDER BY (epoch, instance);
