-- Of an event that a webhook refuses, how often it did: who goes on with it, at another host or after a restart, counts on.
ALTER TABLE subscriber_positions ADD COLUMN IF NOT EXISTS refusals UInt32 AFTER failures;
