/** Forms of the archive's transactions: in tables of their version, in groups (form-groups.ts). */
import { setImmediate as turn } from 'node:timers/promises';
import type { Hash } from '../chain/model.ts';
import { stepKey } from '../window/chunk.ts';
import type { TableOptions } from '../window/engine.ts';
import { packing, type ShownMessage, type TransactionForm } from '../window/form.ts';
import { createKept, type Kept } from '../window/kept.ts';
import type { Kind } from '../window/kind.ts';
import { transactionKind } from '../window/kinds.ts';
import { tableDownwards } from '../window/placing.ts';
import { transactionOf } from '../window/rows.ts';
import type { View } from '../window/view.ts';

/** A view of transactions with forms. */
export interface FormedView extends View {
  /** The message with this hash in the form of the transaction with this id; null where there is no form that shows it. */
  messageIn(id: Buffer, hash: Hash): (ShownMessage & { form: Buffer }) | null;
}

/** Forms of transactions, and the table that they are in. */
export interface KeptForms {
  form: TransactionForm;
  table: string;
  /** Those that are asked for again and again, of the archive of these tables: by the id, as latin1 text. */
  keptOf(tables: string): Kept<Buffer>;
}

/** How the names of their tables begin. */
export const FORM_TABLES = 'forms ';

/** Of forms of this version: those of another one are not read, and what has none is shown from its row. */
const tableOf = ({ version }: TransactionForm): string => `${FORM_TABLES}${version}`;

export function formTables(form: TransactionForm): TableOptions[] {
  const table = tableOf(form);
  return [table, tableDownwards({ table })].map((name) => ({ name, packing: packing(form) }));
}

/** Forms that are kept in memory; most are some thousands of bytes long. */
const KEPT_FORMS_BYTES = 32 * 1024 * 1024;
const FORM_BYTES = 4_000;
const KEPT_BYTES = 300;

export function keptForms(form: TransactionForm | null): KeptForms | null {
  if (form === null) return null;
  // What a step has written never changes.
  const keptIn = (tables: string) => ({
    tables,
    kept: createKept<Buffer>(
      { isUnchanged: () => true },
      KEPT_FORMS_BYTES,
      FORM_BYTES,
      ({ length }) => length + KEPT_BYTES,
    ),
  });
  let memory = keptIn('');
  return {
    form,
    table: tableOf(form),
    keptOf(tables) {
      if (memory.tables !== tables) memory = keptIn(tables);
      return memory.kept;
    },
  };
}

/** By the rows. */
export type Forms = ReadonlyMap<Buffer, Buffer>;

export const NO_FORMS: Forms = new Map();
/** Worked without a turn of the event loop. */
const TURN_MS = 10;

/** What has its rows. */
interface Step {
  mcSeqno: number;
  rows: readonly { kind: Kind; row: Buffer }[];
}

/** Made before the commit, for what takes as long as this is not to hold up the process. */
export async function formsOf(steps: readonly Step[], form: TransactionForm): Promise<Forms> {
  const forms = new Map<Buffer, Buffer>();
  let turnedAt = performance.now();
  for (const { mcSeqno, rows } of steps) {
    const first = stepKey(mcSeqno);
    for (const { kind, row } of rows) {
      if (kind !== transactionKind) continue;
      forms.set(row, form.of(transactionOf(first, row)));
      if (performance.now() - turnedAt < TURN_MS) continue;
      await turn();
      turnedAt = performance.now();
    }
  }
  return forms;
}
