-- What transactions and messages tell of themselves, for analysts: so far it was in their cells alone. The columns are
-- filled from here on, so earlier tables are rebuilt.

ALTER TABLE transactions
  ADD COLUMN IF NOT EXISTS prev_lt UInt64 CODEC(Delta, LZ4),
  ADD COLUMN IF NOT EXISTS orig_status Enum8('nonexist' = 0, 'uninit' = 1, 'active' = 2, 'frozen' = 3),
  ADD COLUMN IF NOT EXISTS end_status Enum8('nonexist' = 0, 'uninit' = 1, 'active' = 2, 'frozen' = 3),
  ADD COLUMN IF NOT EXISTS descr Enum8('ord' = 0, 'storage' = 1, 'tick_tock' = 2, 'split_prepare' = 3, 'split_install' = 4, 'merge_prepare' = 5, 'merge_install' = 6),
  ADD COLUMN IF NOT EXISTS destroyed Bool,
  ADD COLUMN IF NOT EXISTS storage_fees Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS credit Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS compute Enum8('none' = 0, 'run' = 1, 'no_state' = 2, 'bad_state' = 3, 'no_gas' = 4, 'suspended' = 5),
  ADD COLUMN IF NOT EXISTS compute_success Nullable(Bool),
  ADD COLUMN IF NOT EXISTS exit_code Nullable(Int32),
  ADD COLUMN IF NOT EXISTS gas_used Nullable(UInt64),
  ADD COLUMN IF NOT EXISTS gas_limit Nullable(UInt64),
  ADD COLUMN IF NOT EXISTS gas_fees Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS vm_steps Nullable(UInt32),
  ADD COLUMN IF NOT EXISTS action_success Nullable(Bool),
  ADD COLUMN IF NOT EXISTS action_result_code Nullable(Int32),
  ADD COLUMN IF NOT EXISTS fwd_fees Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS action_fees Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS tot_actions Nullable(UInt16),
  ADD COLUMN IF NOT EXISTS msgs_created Nullable(UInt16),
  ADD COLUMN IF NOT EXISTS bounce Enum8('none' = 0, 'negfunds' = 1, 'nofunds' = 2, 'ok' = 3),
  ADD COLUMN IF NOT EXISTS in_value Nullable(UInt128);

ALTER TABLE transactions_by_lt
  ADD COLUMN IF NOT EXISTS prev_lt UInt64 CODEC(Delta, LZ4),
  ADD COLUMN IF NOT EXISTS orig_status Enum8('nonexist' = 0, 'uninit' = 1, 'active' = 2, 'frozen' = 3),
  ADD COLUMN IF NOT EXISTS end_status Enum8('nonexist' = 0, 'uninit' = 1, 'active' = 2, 'frozen' = 3),
  ADD COLUMN IF NOT EXISTS descr Enum8('ord' = 0, 'storage' = 1, 'tick_tock' = 2, 'split_prepare' = 3, 'split_install' = 4, 'merge_prepare' = 5, 'merge_install' = 6),
  ADD COLUMN IF NOT EXISTS destroyed Bool,
  ADD COLUMN IF NOT EXISTS storage_fees Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS credit Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS compute Enum8('none' = 0, 'run' = 1, 'no_state' = 2, 'bad_state' = 3, 'no_gas' = 4, 'suspended' = 5),
  ADD COLUMN IF NOT EXISTS compute_success Nullable(Bool),
  ADD COLUMN IF NOT EXISTS exit_code Nullable(Int32),
  ADD COLUMN IF NOT EXISTS gas_used Nullable(UInt64),
  ADD COLUMN IF NOT EXISTS gas_limit Nullable(UInt64),
  ADD COLUMN IF NOT EXISTS gas_fees Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS vm_steps Nullable(UInt32),
  ADD COLUMN IF NOT EXISTS action_success Nullable(Bool),
  ADD COLUMN IF NOT EXISTS action_result_code Nullable(Int32),
  ADD COLUMN IF NOT EXISTS fwd_fees Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS action_fees Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS tot_actions Nullable(UInt16),
  ADD COLUMN IF NOT EXISTS msgs_created Nullable(UInt16),
  ADD COLUMN IF NOT EXISTS bounce Enum8('none' = 0, 'negfunds' = 1, 'nofunds' = 2, 'ok' = 3),
  ADD COLUMN IF NOT EXISTS in_value Nullable(UInt128);

ALTER TABLE transactions_to_lt MODIFY QUERY
SELECT lt, account, mc_seqno, now, shard, seqno, in_opcode, hash, trace_id, aborted, total_fees, prev_lt, orig_status, end_status, descr, destroyed, storage_fees, credit, compute, compute_success, exit_code, gas_used, gas_limit, gas_fees, vm_steps, action_success, action_result_code, fwd_fees, action_fees, tot_actions, msgs_created, bounce, in_value
FROM transactions;

ALTER TABLE messages
  ADD COLUMN IF NOT EXISTS trace_id FixedString(32),
  ADD COLUMN IF NOT EXISTS in_now UInt32 CODEC(Delta, LZ4),
  ADD COLUMN IF NOT EXISTS ihr_disabled Nullable(Bool),
  ADD COLUMN IF NOT EXISTS bounce Nullable(Bool),
  ADD COLUMN IF NOT EXISTS bounced Nullable(Bool),
  ADD COLUMN IF NOT EXISTS fwd_fee Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS ihr_fee_or_flags Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS import_fee Nullable(UInt128),
  ADD COLUMN IF NOT EXISTS init_hash FixedString(32),
  ADD COLUMN IF NOT EXISTS comment Nullable(String) CODEC(ZSTD(1));

-- Whose wallet it was and when, so that the balances of an owner are found without it.
ALTER TABLE jetton_balances
  ADD COLUMN IF NOT EXISTS owner FixedString(36),
  ADD COLUMN IF NOT EXISTS utime UInt32 CODEC(Delta, LZ4),
  ADD INDEX IF NOT EXISTS owner_text
  concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(owner, 1, 4)))) - 2147483648), ':', hex(substring(owner, 5, 32)))
  TYPE bloom_filter(0.01) GRANULARITY 1;
