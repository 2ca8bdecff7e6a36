-- Traces that no message from outside began have none of these hashes: 32 zeros were kept as they are.
ALTER TABLE traces MODIFY COLUMN external_hash FixedString(32) CODEC(LZ4);
