-- What subscribers have said and how far they have heard. None of it follows from the log, so it has a database of its
-- own, which a rebuild of the tables leaves alone.

CREATE TABLE IF NOT EXISTS webhooks (
  id String,
  owner String,
  url String,
  secret String,
  subscription String,
  batch UInt16,
  start String,
  revision UInt32,
  removed Bool,
  created_at DateTime64(3)
) ENGINE = ReplacingMergeTree(revision) ORDER BY id;

-- Cursors: of a webhook behind the last event that it has taken, of a named subscription behind the last one that was
-- acknowledged. One of another revision of its webhook does not count. The newest row is the one that counts.
CREATE TABLE IF NOT EXISTS positions (
  kind Enum8('webhook' = 1, 'name' = 2),
  owner String,
  name String,
  revision UInt32,
  cursor String,
  failures UInt32,
  error String,
  saved_at DateTime64(6) DEFAULT now64(6)
) ENGINE = ReplacingMergeTree(saved_at) ORDER BY (kind, owner, name);

-- Events that a webhook has refused too often. What is to be told again is `replay` until it was.
CREATE TABLE IF NOT EXISTS dead_letters (
  webhook String,
  event_id String,
  cursor String,
  state Enum8('dead' = 1, 'replay' = 2, 'taken' = 3),
  error String,
  saved_at DateTime64(6) DEFAULT now64(6)
) ENGINE = ReplacingMergeTree(saved_at) ORDER BY (webhook, event_id)
TTL toDateTime(saved_at) + INTERVAL 30 DAY;

-- Who delivers: of those that were renewed lately the one that was claimed first, all by the clock of the server.
CREATE TABLE IF NOT EXISTS leases (
  name String,
  holder String,
  claimed_us Int64 DEFAULT toUnixTimestamp64Micro(now64(6)),
  released Bool,
  renewed_at DateTime64(6) DEFAULT now64(6)
) ENGINE = ReplacingMergeTree(renewed_at) ORDER BY (name, holder)
TTL toDateTime(renewed_at) + INTERVAL 1 DAY;
