-- Of a transaction of an earlier step than the row's: its contract was confirmed later.
ALTER TABLE jetton_transfers ADD COLUMN IF NOT EXISTS transaction_hash FixedString(32) CODEC(LZ4);
ALTER TABLE jetton_burns ADD COLUMN IF NOT EXISTS transaction_hash FixedString(32) CODEC(LZ4);
ALTER TABLE nft_transfers ADD COLUMN IF NOT EXISTS transaction_hash FixedString(32) CODEC(LZ4);
