-- Which version of each projection made its tables. Written when the first step is projected, and exchanged with the
-- tables that are made anew. Nothing repeats it, so it is on the disk before anything else is written.
CREATE TABLE IF NOT EXISTS projection_versions (
  name String,
  version UInt32
) ENGINE = ReplacingMergeTree ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- What was projected before versions were noted.
INSERT INTO projection_versions (name, version)
SELECT arrayJoin(['contracts', 'traces', 'statistics']), 1 FROM (SELECT 1 FROM projection_state LIMIT 1);
