-- How often a document could not be fetched since it was there last: it is tried again the later.
ALTER TABLE documents ADD COLUMN IF NOT EXISTS failures UInt8;
