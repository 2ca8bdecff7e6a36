-- The newest items of a collection, without reading all that it has.
CREATE TABLE IF NOT EXISTS nft_items_by_collection_lt (
  collection_address FixedString(36),
  last_transaction_lt UInt64,
  address FixedString(36)
) ENGINE = ReplacingMergeTree(last_transaction_lt) ORDER BY (collection_address, last_transaction_lt, address)
SETTINGS index_granularity = 128, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS nft_items_to_collection_lt TO nft_items_by_collection_lt AS
SELECT collection_address, last_transaction_lt, address FROM nft_items
WHERE collection_address != toFixedString('', 36);

INSERT INTO nft_items_by_collection_lt SELECT collection_address, last_transaction_lt, address FROM nft_items
WHERE collection_address != toFixedString('', 36);
