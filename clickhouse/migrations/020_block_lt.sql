-- Logical times of blocks rise with their times, which the table is in the order of.
ALTER TABLE blocks_by_time ADD INDEX IF NOT EXISTS lt_range start_lt TYPE minmax GRANULARITY 4;
ALTER TABLE blocks_by_time MATERIALIZE INDEX lt_range;
