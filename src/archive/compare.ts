import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import type { TellProgress } from '../progress.ts';
import { stepOf } from '../window/chunk.ts';
import type { TransactionForm } from '../window/form.ts';
import { columnOf, keysOf, layoutOf } from '../window/kind.ts';
import { actionKind, retoldKind, transactionKind } from '../window/kinds.ts';
import { transactionOf } from '../window/rows.ts';
import type { Found, View } from '../window/view.ts';
import { idOfShowing, sentMessageKind, transactionShowing } from './messages.ts';
import { readSlab, type SlabStep } from './slab.ts';

export interface ArchiveComparison {
  first: number;
  head: number;
  /** Steps that were compared row by row. */
  steps: number;
  transactions: number;
  problems: string[];
}

const TOLD_AGAIN = layoutOf(retoldKind, 'trace');
/** Steps compared row by row, some that follow each other at places spread over all of them. */
const SAMPLED_STEPS = 400;
/** Read at once: a question for one step takes the tables nearly as long. */
const STEPS_AT_ONCE = 8;
const MOST_PROBLEMS = 20;
/** Transactions from one word of progress to the next. */
const TOLD_EVERY = 16_384;

export interface CompareOptions {
  /** Steps that are compared row by row. */
  sampled?: number;
  /** Of the transactions: a form that is here must be what it makes of the row. */
  form: TransactionForm | null;
  tell?: TellProgress;
}

/**
 * Compares the archive with the tables: how many transactions each of them has, and of a sample of steps the rows byte
 * by byte, with their forms. What is kept newest must be there where the tables have no newer one behind the archive's
 * last step.
 */
export async function compareArchive(
  view: View,
  clickhouse: Pick<ClickHouse, 'query'>,
  signal: AbortSignal,
  { sampled = SAMPLED_STEPS, form, tell = () => undefined }: CompareOptions,
): Promise<ArchiveComparison> {
  const { first, head } = view;
  const problems: string[] = [];
  const problem = (text: string): void => {
    if (problems.length < MOST_PROBLEMS) problems.push(`archive: ${text}`);
  };
  const counts = await countInTables(clickhouse, view, signal);
  const [layout] = transactionKind.layouts;
  let transactions = 0;
  for (const { value } of view.range(layout, { low: Buffer.alloc(1), high: null })) {
    if (transactions++ % TOLD_EVERY === 0)
      tell('counting the archive', 'transactions', transactions, counts.transactions);
    const step = stepOf(value);
    if (step < first || step > head) problem(`a transaction of step ${step}, which is not among ${first} to ${head}`);
  }
  if (transactions !== counts.transactions) {
    problem(`${transactions} transactions in the steps ${first} to ${head}, the tables have ${counts.transactions}`);
  }
  const runs = runsOf(counts.steps, sampled);
  const steps = runs.reduce((sum, run) => sum + run.length, 0);
  let compared = 0;
  for (const run of runs) {
    tell('comparing the archive', 'steps', compared, steps);
    const span = { low: run[0], high: run[run.length - 1] };
    for (const step of await readSlab(clickhouse, span, signal)) compareStep({ view, form }, step).forEach(problem);
    compared += run.length;
  }
  return { first, head, steps, transactions, problems };
}

async function countInTables(clickhouse: Pick<ClickHouse, 'query'>, { first, head }: View, signal: AbortSignal) {
  const between = `mc_seqno BETWEEN ${first} AND ${head}`;
  const label = 'counts of the archive’s steps';
  const count = `SELECT count() FROM (SELECT DISTINCT account, lt FROM transactions WHERE ${between})`;
  const transactions = Number(new RowReader(await clickhouse.query(count, { label, signal })).u64());
  const rows = new RowReader(
    await clickhouse.query(`SELECT DISTINCT mc_seqno FROM blocks WHERE ${between} ORDER BY mc_seqno`, {
      label,
      signal,
    }),
  );
  const steps: number[] = [];
  while (!rows.done) steps.push(rows.u32());
  return { transactions, steps };
}

/** So many of them, or some more, as runs of neighbours: the first and the last among them, all where there are no more. */
export function runsOf(all: readonly number[], count: number): number[][] {
  const isWhole = all.length <= count;
  const runs = Math.ceil((isWhole ? all.length : count) / STEPS_AT_ONCE);
  const last = Math.max(0, all.length - STEPS_AT_ONCE);
  return Array.from({ length: runs }, (_, i) => {
    const from = isWhole ? i * STEPS_AT_ONCE : Math.floor((i * last) / Math.max(1, runs - 1));
    return all.slice(from, from + STEPS_AT_ONCE);
  });
}

function compareStep(
  { view, form }: { view: View; form: TransactionForm | null },
  { mcSeqno, rows, told: toldAgain }: SlabStep,
): string[] {
  const wrong: string[] = [];
  for (const { kind, row } of rows) {
    const [layout] = kind.layouts;
    const [key] = keysOf(layout, row);
    const found = view.findByKey(kind, layout, key);
    // Of what is kept newest the tables have earlier rows as well, until they are merged.
    const isReplaced = found !== null && kind.newest !== null && stepOf(found.id) > mcSeqno;
    const isSame = kind === sentMessageKind ? isSameMessage : isSameRow;
    if (!isReplaced && (found === null || !isSame(view, found, row) || stepOf(found.id) !== mcSeqno)) {
      wrong.push(`${kind.name} ${key.toString('hex')} of step ${mcSeqno} is ${found ? 'another' : 'missing'}`);
    } else if (form !== null && found !== null && kind === transactionKind && !isSameForm(view, found, form)) {
      wrong.push(`the form of transaction ${key.toString('hex')} of step ${mcSeqno} is another`);
    }
  }
  for (const { row: told, entry } of toldAgain) {
    const again = view.beside(TOLD_AGAIN, told.traceId);
    const newest = again === null ? told.mcSeqno : retoldKind.columns.mcSeqno.get(again, 0);
    if (newest > told.mcSeqno) continue;
    const [layout] = actionKind.layouts;
    const [key] = keysOf(layout, entry);
    const found = view.findByKey(actionKind, layout, key);
    const isRight = told.type === '' ? found === null : found?.row.equals(entry) && stepOf(found.id) === mcSeqno;
    if (!isRight) wrong.push(`action ${key.toString('hex')} of step ${mcSeqno} is ${found ? 'another' : 'missing'}`);
  }
  return wrong;
}

function isSameForm(view: View, { id, row }: Found, form: TransactionForm): boolean {
  const kept = view.form(id);
  return kept === null || kept.equals(form.of(transactionOf(id, row)));
}

const isSameRow = (_: View, found: Found, row: Buffer): boolean => found.row.equals(row);

/** Beside its columns the transaction that shows it. */
function isSameMessage(view: View, found: Found, unplaced: Buffer): boolean {
  const [shown] = keysOf(transactionKind.layouts[0], view.row(transactionKind, idOfShowing(found)));
  const columns = (['received', 'globalVersion', 'outLt'] as const).every(
    (name) => columnOf(sentMessageKind, found.row, name) === columnOf(sentMessageKind, unplaced, name),
  );
  return columns && shown.equals(transactionShowing(unplaced));
}
