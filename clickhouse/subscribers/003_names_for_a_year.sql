-- A name under which nobody has subscribed or acknowledged for a year is forgotten: each key may have so many only.
ALTER TABLE subscriber_positions MODIFY TTL toDateTime(saved_at) + INTERVAL 1 YEAR DELETE WHERE kind = 'name';
