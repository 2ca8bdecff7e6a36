import { compareDecimal } from '../../src/chain/decimal.ts';
import type {
  BlockRecord,
  QueryContext,
  StepRange,
  StepRecords,
  StepRun,
  TransactionRecord,
} from '../../src/chain/records.ts';
import { u32, u64 } from '../literal.ts';
import { COLUMNS as BLOCK_COLUMNS, compareBlocks, readBlock } from './blocks.ts';
import { collect, type Reading } from './reading.ts';
import { COLUMNS, comparePlaces, readTransaction } from './transactions.ts';

const MASTERCHAIN = -1;

/** Many steps in two statements: the blocks say how many transactions there are, and between which logical times. */
export function stepRecordQueries(reading: Reading) {
  async function blocksOf({ first, last, enough }: StepRange, context: QueryContext): Promise<BlockRecord[]> {
    const counts = `SELECT mc_seqno, sum(tx_count) AS own FROM blocks WHERE mc_seqno BETWEEN ${u32(first)} AND ${u32(last)} GROUP BY mc_seqno`;
    const sums = `SELECT mc_seqno, sum(own) OVER (ORDER BY mc_seqno) - own AS before FROM (${counts})`;
    const end = `SELECT max(mc_seqno) FROM (${sums}) WHERE before < ${u32(enough)}`;
    const sql = `SELECT ${BLOCK_COLUMNS} FROM blocks WHERE mc_seqno BETWEEN ${u32(first)} AND (${end})`;
    return collect(await reading.rows(sql, 'blocks of steps', context), readBlock);
  }

  async function transactionsOf(blocks: readonly BlockRecord[], context: QueryContext): Promise<TransactionRecord[]> {
    const filled = blocks.filter(({ txCount }) => txCount > 0);
    if (filled.length === 0) return [];
    const numbers = filled.map(({ mcSeqno }) => mcSeqno);
    const inSteps = `mc_seqno BETWEEN ${Math.min(...numbers)} AND ${Math.max(...numbers)}`;
    const start = filled.map(({ header }) => header.startLt).reduce((a, b) => (compareDecimal(a, b) < 0 ? a : b));
    const end = filled.map(({ header }) => header.endLt).reduce((a, b) => (compareDecimal(a, b) > 0 ? a : b));
    const keys = `SELECT account, lt FROM transactions_by_lt WHERE lt BETWEEN ${u64(start)} AND ${u64(end)} AND ${inSteps}`;
    // The steps again: they spare parts of the table from other times.
    const sql = `SELECT ${COLUMNS} FROM transactions WHERE (account, lt) IN (${keys}) AND ${inSteps}`;
    return collect(await reading.rows(sql, 'transactions of steps', context), readTransaction);
  }

  return {
    async steps({ first, last, enough }: StepRange, context: QueryContext): Promise<StepRun> {
      const end = Math.min(last, reading.head.seqno);
      if (first > end) throw new Error(`steps from ${first} on are asked for, the newest is ${reading.head.seqno}`);
      const blocks = await blocksOf({ first, last: end, enough }, context);
      const steps = new Map<number, StepRecords>();
      for (const block of blocks.sort((a, b) => a.mcSeqno - b.mcSeqno || compareBlocks(a, b, 'asc'))) {
        const { mcSeqno, header } = block;
        const step = steps.get(mcSeqno) ?? { mcSeqno, utime: null, transactions: [], blocks: [] };
        steps.set(mcSeqno, step);
        step.blocks.push(block);
        if (header.workchain === MASTERCHAIN) step.utime ??= header.genUtime;
      }
      const found = await transactionsOf(blocks, context);
      found.sort((a, b) => comparePlaces(a.transaction, b.transaction, 'lt', 'asc'));
      for (const record of found) steps.get(record.mcSeqno)?.transactions.push(record);
      const count = blocks.reduce((sum, { txCount }) => sum + txCount, 0);
      return { steps: [...steps.values()], last: count < enough ? end : (blocks.at(-1)?.mcSeqno ?? end) };
    },
  };
}
