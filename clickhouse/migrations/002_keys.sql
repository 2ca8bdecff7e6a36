-- The narrow key tables are filled by views, so one insert and one deduplication token feeds them all.

CREATE MATERIALIZED VIEW IF NOT EXISTS blocks_to_id TO blocks_by_id AS
SELECT workchain, shard, seqno, mc_seqno, start_lt, end_lt FROM blocks;

CREATE MATERIALIZED VIEW IF NOT EXISTS blocks_to_time TO blocks_by_time AS
SELECT gen_utime, workchain, shard, seqno, mc_seqno, start_lt FROM blocks;

CREATE MATERIALIZED VIEW IF NOT EXISTS blocks_to_hash TO blocks_by_hash AS
SELECT arrayJoin([root_hash, file_hash]) AS hash, mc_seqno, workchain, shard, seqno FROM blocks;

CREATE MATERIALIZED VIEW IF NOT EXISTS transactions_to_lt TO transactions_by_lt AS
SELECT lt, account, mc_seqno, now, shard, seqno, in_opcode FROM transactions;

CREATE MATERIALIZED VIEW IF NOT EXISTS transactions_to_time TO transactions_by_time AS
SELECT now, lt, account, mc_seqno, shard, seqno FROM transactions;

CREATE MATERIALIZED VIEW IF NOT EXISTS transactions_to_hash TO transactions_by_hash AS
SELECT hash, account, lt FROM transactions;

CREATE MATERIALIZED VIEW IF NOT EXISTS transactions_to_state TO account_states_by_hash AS
SELECT state_after AS hash, account, lt FROM transactions
WHERE state_after != toFixedString('', 32);

CREATE MATERIALIZED VIEW IF NOT EXISTS messages_to_hash TO messages_by_hash AS
SELECT arrayJoin(if(hash_norm = toFixedString('', 32), [hash], [hash, hash_norm])) AS key, created_lt, hash FROM messages;

CREATE MATERIALIZED VIEW IF NOT EXISTS messages_to_source TO messages_by_source AS
SELECT source, created_lt, hash, destination, created_at, opcode, out_mc_seqno, in_mc_seqno FROM messages;

CREATE MATERIALIZED VIEW IF NOT EXISTS messages_to_destination TO messages_by_destination AS
SELECT destination, created_lt, hash, source, created_at, opcode, out_mc_seqno, in_mc_seqno FROM messages;

CREATE MATERIALIZED VIEW IF NOT EXISTS messages_to_body TO messages_by_body AS
SELECT body_hash, created_lt, hash, created_at, opcode, out_mc_seqno, in_mc_seqno FROM messages;

CREATE MATERIALIZED VIEW IF NOT EXISTS messages_to_time TO messages_by_time AS
SELECT created_at, hash, created_lt, opcode, out_mc_seqno, in_mc_seqno FROM messages;

CREATE MATERIALIZED VIEW IF NOT EXISTS account_codes_to_step TO account_codes_by_step AS
SELECT mc_seqno, account, lt, code_hash FROM account_codes;
