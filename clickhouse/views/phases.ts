/** What a transaction tells of its phases, in the names of the lake. */
import { amount } from './view.ts';

interface Column {
  meaning: string;
  /** Of the row `t`. */
  sql: string;
}

const ran = "t.compute IN ('none', 'run')";

const PHASES: Readonly<Record<string, Column>> = {
  prev_trans_lt: { meaning: 'Logical time of the transaction before it; 0 for none', sql: 't.prev_lt' },
  orig_status: { meaning: 'nonexist, uninit, active or frozen', sql: 'toString(t.orig_status)' },
  end_status: { meaning: 'As `orig_status`, after the transaction', sql: 'toString(t.end_status)' },
  descr: { meaning: 'ord, tick_tock, storage, or of a split or merge', sql: 'toString(t.descr)' },
  destroyed: { meaning: '', sql: 't.destroyed' },
  storage_fees_collected: { meaning: 'Nanotons; NULL without the phase', sql: amount('t.storage_fees') },
  credit: { meaning: 'Nanotons; NULL without the phase', sql: amount('t.credit') },
  compute_skipped: {
    meaning: 'NULL without the phase',
    sql: "if(t.compute = 'none', NULL, toBool(t.compute != 'run'))",
  },
  skipped_reason: {
    meaning: 'no_state, bad_state, no_gas or suspended; NULL where it ran',
    sql: `if(${ran}, NULL, toString(t.compute))`,
  },
  compute_success: { meaning: 'NULL where nothing ran', sql: 't.compute_success' },
  compute_exit_code: { meaning: 'NULL where nothing ran', sql: 't.exit_code' },
  compute_gas_used: { meaning: 'NULL where nothing ran', sql: 't.gas_used' },
  compute_gas_limit: { meaning: 'NULL where nothing ran', sql: 't.gas_limit' },
  compute_gas_fees: { meaning: 'Nanotons; NULL where nothing ran', sql: amount('t.gas_fees') },
  compute_vm_steps: { meaning: 'NULL where nothing ran', sql: 't.vm_steps' },
  action_success: { meaning: 'NULL without the phase', sql: 't.action_success' },
  action_result_code: { meaning: 'NULL without the phase', sql: 't.action_result_code' },
  action_total_fwd_fees: { meaning: 'Nanotons; NULL where there are none', sql: amount('t.fwd_fees') },
  action_total_action_fees: { meaning: 'Nanotons; NULL where there are none', sql: amount('t.action_fees') },
  action_tot_actions: { meaning: 'NULL without the phase', sql: 't.tot_actions' },
  action_msgs_created: { meaning: 'NULL without the phase', sql: 't.msgs_created' },
  bounce: {
    meaning: 'negfunds, nofunds or ok; NULL without the phase',
    sql: "if(t.bounce = 'none', NULL, toString(t.bounce))",
  },
  in_value: { meaning: 'Nanotons of the message received; NULL where it has none', sql: amount('t.in_value') },
};

/** Meanings by name. */
export const PHASE_COLUMNS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(PHASES).map(([name, { meaning }]) => [name, meaning]),
);

/** Of the row `t`, as a part of a SELECT. */
export const phases: string = Object.entries(PHASES)
  .map(([name, { sql }]) => `${sql} AS ${name}`)
  .join(', ');
