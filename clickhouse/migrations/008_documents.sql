-- Documents that the content of tokens names, by the hash of the URI: the newest of what was fetched.
CREATE TABLE IF NOT EXISTS documents (
  uri_hash FixedString(32) CODEC(NONE),
  place UInt64,
  fetched_at UInt32,
  found Bool,
  uri String CODEC(ZSTD(1)),
  content String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree(place) ORDER BY uri_hash
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, non_replicated_deduplication_window = 1000;
