-- Under which token an insert into a view is known follows from how the server has loaded the view. One whose query was
-- changed while it ran knows it by another after the next start, and takes a repeated batch for a new one. So these are
-- made anew. For a moment there are both of a kind: what comes by both is merged.
CREATE MATERIALIZED VIEW IF NOT EXISTS whole_transactions_to_lt TO transactions_by_lt AS
SELECT lt, account, mc_seqno, now, shard, seqno, in_opcode, hash, trace_id, aborted, total_fees, prev_lt, orig_status, end_status, descr, destroyed, storage_fees, credit, compute, compute_success, exit_code, gas_used, gas_limit, gas_fees, vm_steps, action_success, action_result_code, fwd_fees, action_fees, tot_actions, msgs_created, bounce, in_value
FROM transactions;
DROP VIEW IF EXISTS transactions_to_lt;

CREATE MATERIALIZED VIEW IF NOT EXISTS whole_jetton_wallets_to_owner TO jetton_wallets_by_owner AS
SELECT owner, id, jetton FROM jetton_wallets;
DROP VIEW IF EXISTS jetton_wallets_to_owner;

CREATE MATERIALIZED VIEW IF NOT EXISTS whole_jetton_wallets_to_jetton TO jetton_wallets_by_jetton AS
SELECT jetton, id FROM jetton_wallets;
DROP VIEW IF EXISTS jetton_wallets_to_jetton;
