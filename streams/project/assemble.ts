import type { Chunks } from '../../clickhouse/chunks.ts';
import { joinStates } from '../../clickhouse/states.ts';
import { blockRow, blocks, countTransaction, shardTops } from '../../clickhouse/tables/blocks.ts';
import { messageRow, messages } from '../../clickhouse/tables/messages.ts';
import type { StepRows, Table } from '../../clickhouse/tables/table.ts';
import { transactionRow, transactions } from '../../clickhouse/tables/transactions.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address } from '../../src/chain/model.ts';
import type { StoredCell } from '../cell-record.ts';
import { type AccountStore, type BatchAccounts, type BatchPlace, stateWithHash } from './accounts.ts';
import { createCodes } from './codes.ts';
import type { AssemblyMetrics } from './counters.ts';
import type { DecodedBlock, DecodedStep } from './decode.ts';
import { createBatchMessages, unknownMessages } from './messages.ts';
import { inOrder, type Placed } from './order.ts';
import { createPauses } from './pause.ts';
import type { BatchCounts } from './position.ts';
import type { OpenProjection } from './projection.ts';
import { createBatchRows, type Insert } from './rows.ts';
import type { Senders } from './senders.ts';
import { createBatchStates } from './states.ts';
import { createStepRows, type GrowingRows } from './step-rows.ts';
import { linkTrace, type OpenMessages, startsTrace } from './traces.ts';

export interface AssemblerOptions {
  accounts: Pick<AccountStore, 'begin'>;
  openMessages: OpenMessages;
  senders: Senders;
  maxDataBytes: number;
  metrics: AssemblyMetrics;
  /** Beside the chain itself, in their order. Default: none. */
  projections?: readonly OpenProjection[];
  /** Tables of which there is no insert. */
  unwritten?: ReadonlySet<Table>;
  /** Where inserts have their memory from. Default: it is made. */
  chunks?: Chunks;
}

export interface AssembledBatch {
  inserts: Insert[];
  counts: BatchCounts;
  /** The rows of each step, in their order, for those who follow the newest; empty unless asked for. */
  steps: StepRows[];
  /** Writes what projections count out of the tables, once these have all inserts. */
  count(signal: AbortSignal): Promise<void>;
}

export interface AssemblyOptions {
  /** Whether the rows of each step are wanted. Default: not. */
  live?: boolean;
  /** For each step, what of the topic of cells counts from it on. Default: nothing. */
  cells?: readonly StoredCell[][];
}

/** What one batch is assembled with. */
interface Workbench {
  rows: GrowingRows;
  counts: BatchCounts;
  accounts: BatchAccounts;
  known: ReturnType<typeof createBatchMessages>;
  metrics: AssemblyMetrics;
}

/**
 * Turns decoded steps into rows, in the order of the log. What depends on earlier steps (traces, states before,
 * both sides of a message) is found in memory or, once a batch, in the tables. The rows are the same however the
 * steps before were cut into batches, and however often the batch is begun.
 */
export function createAssembler(options: AssemblerOptions) {
  const {
    accounts: store,
    openMessages,
    senders,
    maxDataBytes,
    metrics,
    projections = [],
    unwritten,
    chunks,
  } = options;
  const codes = createCodes(maxDataBytes, metrics);

  async function assemble(
    steps: DecodedStep[],
    batch: BatchPlace,
    signal: AbortSignal,
    { live = false, cells = [] }: AssemblyOptions = {},
  ): Promise<AssembledBatch> {
    const all = createBatchRows(unwritten, chunks);
    const counts: BatchCounts = { blocks: 0, transactions: 0, messages: 0 };
    const [accounts, earlier, ...projected] = await Promise.all([
      store.begin(batch, touchedAccounts(steps, cells.flat()), signal),
      senders.find(unknownMessages(steps, openMessages), batch.firstMcSeqno, signal),
      ...projections.map((projection) => projection.begin(batch, steps, signal)),
    ]);
    const known = createBatchMessages(openMessages, earlier, batch.number);
    const states = createBatchStates({ accounts, codes, maxDataBytes, metrics, signal });
    const made: GrowingRows[] = [];
    const pause = createPauses();
    for (const [at, step] of steps.entries()) {
      await pause();
      const rows = createStepRows(step.mcSeqno);
      for (const cell of cells[at] ?? []) states.learn(cell, rows);
      const workbench = { rows, counts, accounts, known, metrics };
      for (const block of step.blocks) writeBlock(rows, block, counts);
      for (const [place, placed] of inOrder(step).entries()) {
        const after = placed.after && states.filled(placed.after);
        writeTransaction(workbench, after === placed.after ? placed : { ...placed, after }, place);
        if (after) await states.write(after, placed.block, rows);
      }
      made.push(rows);
    }
    known.end();
    for (const projection of projected) await projection.project(made);
    for (const rows of made) {
      await pause();
      all.add(rows);
    }
    const count = async (asked: AbortSignal): Promise<void> => {
      for (const projection of projected) await projection.count?.(asked);
    };
    return { inserts: await all.inserts(pause), counts, steps: live ? made : [], count };
  }

  return { assemble };
}

function touchedAccounts(steps: DecodedStep[], cells: StoredCell[]): Address[] {
  const touched = new Map<string, Address>();
  for (const { kind, account } of cells) {
    if ((kind === 'data' || kind === 'account') && account !== null) touched.set(hashKey(account), account);
  }
  // Each account with transactions has a state.
  for (const { blocks } of steps) {
    for (const { states } of blocks) for (const { account } of states) touched.set(hashKey(account), account);
  }
  return [...touched.values()];
}

function writeBlock(rows: GrowingRows, block: DecodedBlock, counts: BatchCounts): void {
  rows.add(blocks, blockRow(block.record, block.info));
  const { mcSeqno } = block.record;
  for (const { workchain, shard, seqno } of block.shardTops) rows.add(shardTops, { mcSeqno, workchain, shard, seqno });
  counts.blocks++;
}

/**
 * A transaction, the message it received, and those it sends.
 * @param at its place among the transactions of the step
 */
function writeTransaction(workbench: Workbench, placed: Placed, at: number): void {
  const { rows, counts, accounts, known, metrics } = workbench;
  const { transaction, block, blockAt, payload, after } = placed;
  const { inMsg, outMsgs } = transaction;
  const globalVersion = block.record.header.genSoftware?.version ?? 0;
  const arrival = inMsg ? known.receive(inMsg) : null;
  const trace = linkTrace(transaction, arrival);
  if (arrival === null && !startsTrace(inMsg)) metrics.brokenTrace();
  const blockOf = rows.of(blocks)[blockAt];
  const before = stateWithHash(accounts.get(transaction.account), transaction.stateBefore);
  const row = transactionRow(transaction, {
    boc: block.boc,
    at,
    block: blockAt,
    in: blockOf,
    globalVersion,
    traceId: trace.traceId,
    externalHash: trace.externalHash,
    states: joinStates(before, after),
    payload,
  });
  rows.add(transactions, row);
  countTransaction(blockOf, transaction, trace.traceId.equals(transaction.hash));
  if (inMsg) {
    const sender = arrival && { mcSeqno: arrival.outMcSeqno, lt: arrival.outLt, txHash: arrival.outTxHash };
    rows.add(messages, messageRow(row, 0, { sender, globalVersion: arrival?.globalVersion ?? globalVersion }));
  }
  for (const i of outMsgs.keys()) rows.add(messages, messageRow(row, i + 1, { sender: null, globalVersion }));
  known.send(transaction, block, trace);
  counts.transactions++;
  counts.messages += outMsgs.length + (inMsg ? 1 : 0);
}
