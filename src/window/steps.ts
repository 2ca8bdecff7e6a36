import { compareBlocks } from '../../clickhouse/queries/blocks.ts';
import type { BlockRecord, StepRange, StepRecords, StepRun, TransactionRecord } from '../chain/records.ts';
import { columnOf } from './kind.ts';
import { blockKind, transactionKind } from './kinds.ts';
import { blockOf } from './rows.ts';
import type { Sides } from './sides.ts';
import { named } from './transactions.ts';
import type { Found, View } from './view.ts';

const MASTERCHAIN = -1;
/**
 * Transactions from which on no further step is begun, whatever is asked for: some 2 ms without a turn of the event
 * loop.
 */
const READ_AT_ONCE = 200;

/** Rows of a step lie together, and no key is read. */
export async function steps(range: StepRange, { view, below, context }: Sides): Promise<StepRun> {
  const { first, last, enough } = range;
  if (first < view.first) {
    const end = Math.min(last, view.first - 1);
    return view.below === null ? { steps: [], last: end } : below.steps({ ...range, last: end }, context);
  }
  if (first > view.head) throw new Error(`steps from ${first} on are asked for, the newest is ${view.head}`);
  const found: StepRecords[] = [];
  let count = 0;
  for (const mcSeqno of view.steps(first)) {
    if (mcSeqno > last) break;
    const step = stepAt(view, mcSeqno);
    found.push(step);
    count += step.transactions.length;
    if (count >= Math.min(enough, READ_AT_ONCE)) return { steps: found, last: mcSeqno };
  }
  return { steps: found, last: Math.min(last, view.head) };
}

function stepAt(view: View, mcSeqno: number): StepRecords {
  const blocks = view.rowsOf(blockKind, mcSeqno).map((one) => new StepBlock(one));
  const transactions = transactionsOf(view, mcSeqno);
  blocks.sort((a, b) => compareBlocks(a.order, b.order, 'asc'));
  const utime = blocks.find(({ order }) => order.header.workchain === MASTERCHAIN)?.order.header.genUtime ?? null;
  return { mcSeqno, utime, transactions, blocks };
}

/** By lt and account, which sort as their bytes do. */
function transactionsOf(view: View, mcSeqno: number): TransactionRecord[] {
  const rows = view.rowsOf(transactionKind, mcSeqno);
  rows.sort((a, b) => compareColumn(a.row, b.row, 'lt') || compareColumn(a.row, b.row, 'account'));
  return rows.map((row) => named(view, row));
}

function compareColumn(a: Buffer, b: Buffer, column: 'lt' | 'account'): number {
  const at = transactionKind.offsets.get(column) ?? 0;
  const end = at + transactionKind.columns[column].bytes;
  return a.compare(b, at, end, at, end);
}

/** A block of which nothing is decoded but its place, until somebody asks. */
class StepBlock implements BlockRecord {
  readonly order;
  readonly #found: Found;
  #record: BlockRecord | null = null;

  constructor(found: Found) {
    const get = <K extends 'workchain' | 'shard' | 'seqno' | 'genUtime'>(column: K) =>
      columnOf(blockKind, found.row, column);
    this.#found = found;
    const [workchain, shard, seqno, genUtime] = [get('workchain'), get('shard'), get('seqno'), get('genUtime')];
    this.order = { header: { workchain, shard, seqno, genUtime } };
  }

  get #whole(): BlockRecord {
    this.#record ??= blockOf(this.#found.id, this.#found.row);
    return this.#record;
  }

  get header() {
    return this.#whole.header;
  }
  get mcSeqno() {
    return this.#whole.mcSeqno;
  }
  get createdBy() {
    return this.#whole.createdBy;
  }
  get randSeed() {
    return this.#whole.randSeed;
  }
  get txCount() {
    return this.#whole.txCount;
  }
}
