-- Of a batch whose rows are all in the tables and published, but for those that go in last.
ALTER TABLE projection_state ADD COLUMN IF NOT EXISTS written Bool DEFAULT false AFTER done;
