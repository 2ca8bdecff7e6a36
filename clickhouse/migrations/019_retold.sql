-- What was told again is few rows among all: pages look which of them count (clickhouse/queries/actions.ts).
ALTER TABLE actions ADD INDEX IF NOT EXISTS told_again mc_seqno - end_mc_seqno TYPE minmax GRANULARITY 16;
ALTER TABLE actions MATERIALIZE INDEX told_again;
ALTER TABLE action_accounts ADD INDEX IF NOT EXISTS told_again mc_seqno - end_mc_seqno TYPE minmax GRANULARITY 16;
ALTER TABLE action_accounts MATERIALIZE INDEX told_again;
