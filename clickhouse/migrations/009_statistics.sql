-- What the transactions of a block add up to, so that the chain of a time is summed without reading transactions. The
-- columns are filled from here on, so earlier tables are rebuilt.

ALTER TABLE blocks
  ADD COLUMN IF NOT EXISTS failed UInt32,
  ADD COLUMN IF NOT EXISTS messages UInt32,
  ADD COLUMN IF NOT EXISTS external_in UInt32,
  ADD COLUMN IF NOT EXISTS traces UInt32,
  ADD COLUMN IF NOT EXISTS new_accounts UInt32,
  ADD COLUMN IF NOT EXISTS deployments UInt32,
  ADD COLUMN IF NOT EXISTS gas UInt64,
  ADD COLUMN IF NOT EXISTS fees UInt128,
  ADD COLUMN IF NOT EXISTS value UInt128;

-- Hours and days of the chain, each as it stood at a step: of the rows of a bucket the one of the newest step counts.
CREATE TABLE IF NOT EXISTS chain_statistics (
  resolution Enum8('hour' = 0, 'day' = 1),
  bucket UInt32,
  mc_seqno UInt32,
  blocks UInt64,
  transactions UInt64,
  failed UInt64,
  messages UInt64,
  external_in UInt64,
  traces UInt64,
  new_accounts UInt64,
  deployments UInt64,
  gas UInt64,
  fees UInt256,
  value UInt256,
  active_accounts UInt64
) ENGINE = ReplacingMergeTree ORDER BY (resolution, bucket, mc_seqno)
SETTINGS index_granularity = 256;

-- Hours of opcodes, jettons and types of actions. All of a kind and hour are written whenever they are counted.
CREATE TABLE IF NOT EXISTS subject_statistics (
  kind Enum8('opcode' = 0, 'jetton' = 1, 'action' = 2),
  bucket UInt32,
  subject String,
  mc_seqno UInt32,
  count UInt64,
  failed Nullable(UInt64),
  amount Nullable(UInt256),
  senders Nullable(UInt64),
  receivers Nullable(UInt64)
) ENGINE = ReplacingMergeTree ORDER BY (kind, bucket, subject, mc_seqno)
SETTINGS index_granularity = 256;
