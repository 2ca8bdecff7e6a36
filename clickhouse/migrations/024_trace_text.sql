-- Traces by the text that analysts know them by.
ALTER TABLE traces ADD INDEX IF NOT EXISTS trace_text base64Encode(trace_id) TYPE minmax GRANULARITY 4;
ALTER TABLE traces MATERIALIZE INDEX trace_text;
