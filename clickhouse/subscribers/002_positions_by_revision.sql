-- The positions, of which the newest revision counts, and of that the newest row: what an older one notes late, from
-- another host, does not count. The former table keeps what it has.
CREATE TABLE IF NOT EXISTS subscriber_positions (
  kind Enum8('webhook' = 1, 'name' = 2),
  owner String,
  name String,
  revision UInt32,
  cursor String,
  failures UInt32,
  error String,
  saved_at DateTime64(6) DEFAULT now64(6),
  version UInt128 MATERIALIZED bitShiftLeft(toUInt128(revision), 64) + toUnixTimestamp64Micro(saved_at)
) ENGINE = ReplacingMergeTree(version) ORDER BY (kind, owner, name);

INSERT INTO subscriber_positions (kind, owner, name, revision, cursor, failures, error, saved_at)
SELECT kind, owner, name, revision, cursor, failures, error, saved_at FROM positions FINAL;
