import { encodeStates } from '../../clickhouse/states.ts';
import { blockRow, blocks, shardTops } from '../../clickhouse/tables/blocks.ts';
import { messageRow, messages } from '../../clickhouse/tables/messages.ts';
import { transactionRow, transactions } from '../../clickhouse/tables/transactions.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address, Message } from '../../src/chain/model.ts';
import { serialize } from '../../src/chain/serialize.ts';
import type { StoredCell } from '../cell-record.ts';
import { type AccountStore, type BatchAccounts, type BatchPlace, stateWithHash } from './accounts.ts';
import { createCodes } from './codes.ts';
import type { AssemblyMetrics } from './counters.ts';
import type { DecodedBlock, DecodedStep } from './decode.ts';
import { createLiveDraft, type LiveDraft } from './live.ts';
import { createBatchMessages, unknownMessages } from './messages.ts';
import { inOrder, type Placed } from './order.ts';
import { createPauses } from './pause.ts';
import type { BatchCounts } from './position.ts';
import { type BatchRows, createBatchRows, type Insert } from './rows.ts';
import type { SentMessages } from './sent.ts';
import { createBatchStates } from './states.ts';
import { linkTrace, type OpenMessages, startsTrace } from './traces.ts';

export interface AssemblerOptions {
  accounts: AccountStore;
  openMessages: OpenMessages;
  sent: SentMessages;
  maxDataBytes: number;
  metrics: AssemblyMetrics;
}

export interface AssembledBatch {
  inserts: Insert[];
  counts: BatchCounts;
  /** Contents of the steps, in their order, for those who follow the newest; empty unless asked for. */
  drafts: LiveDraft[];
}

export interface AssemblyOptions {
  /** Whether drafts are wanted. Default: none. */
  live?: boolean;
  /** For each step, what of the topic of cells counts from it on. Default: nothing. */
  cells?: readonly StoredCell[][];
}

/** What one batch is assembled with. */
interface Workbench {
  rows: BatchRows;
  counts: BatchCounts;
  accounts: BatchAccounts;
  known: ReturnType<typeof createBatchMessages>;
  metrics: AssemblyMetrics;
  live: LiveDraft | null;
}

/**
 * Turns decoded steps into rows, in the order of the log. What depends on earlier steps (traces, states before,
 * both sides of a message) is found in memory or, once a batch, in the tables. The rows are the same however the
 * steps before were cut into batches, and however often the batch is begun.
 */
export function createAssembler({ accounts: store, openMessages, sent, maxDataBytes, metrics }: AssemblerOptions) {
  const codes = createCodes(maxDataBytes, metrics);

  async function assemble(
    steps: DecodedStep[],
    batch: BatchPlace,
    signal: AbortSignal,
    { live = false, cells = [] }: AssemblyOptions = {},
  ): Promise<AssembledBatch> {
    const rows = createBatchRows();
    const counts: BatchCounts = { blocks: 0, transactions: 0, messages: 0 };
    const [accounts, earlier] = await Promise.all([
      store.begin(batch, touchedAccounts(steps, cells.flat()), signal),
      sent.find(unknownMessages(steps, openMessages), batch.firstMcSeqno, signal),
    ]);
    const known = createBatchMessages(openMessages, earlier, batch.number);
    const states = createBatchStates({ accounts, codes, rows, maxDataBytes, metrics, signal });
    const drafts: LiveDraft[] = [];
    const pause = createPauses();
    for (const [at, step] of steps.entries()) {
      await pause();
      for (const cell of cells[at] ?? []) states.learn(cell, step.mcSeqno);
      const draft = live ? createLiveDraft(step.blocks, maxDataBytes) : null;
      if (draft) drafts.push(draft);
      const workbench = { rows, counts, accounts, known, metrics, live: draft };
      for (const block of step.blocks) writeBlock(rows, block, counts);
      for (const placed of inOrder(step)) {
        writeTransaction(workbench, placed);
        if (placed.after) await states.write(placed.after, placed.block, draft);
      }
    }
    known.end();
    return { inserts: await rows.inserts(pause), counts, drafts };
  }

  return { assemble };
}

function touchedAccounts(steps: DecodedStep[], cells: StoredCell[]): Address[] {
  const touched = new Map<string, Address>();
  for (const { kind, account } of cells) {
    if (kind === 'data' && account !== null) touched.set(hashKey(account), account);
  }
  for (const { states, transactions } of steps.flatMap((step) => step.blocks)) {
    for (const { account } of states) touched.set(hashKey(account), account);
    for (const { account } of transactions) touched.set(hashKey(account), account);
  }
  return [...touched.values()];
}

function writeBlock(rows: BatchRows, block: DecodedBlock, counts: BatchCounts): void {
  const { mcSeqno } = block.record;
  rows.add(blocks, blockRow(block.record, block.info));
  for (const { workchain, shard, seqno } of block.shardTops) rows.add(shardTops, { mcSeqno, workchain, shard, seqno });
  counts.blocks++;
}

/** A transaction, the message it received, and notes of those it sends. */
function writeTransaction(workbench: Workbench, placed: Placed): void {
  const { rows, counts, accounts, known, metrics, live } = workbench;
  const { transaction, block, payload, after } = placed;
  const { record, boc } = block;
  const { inMsg } = transaction;
  const globalVersion = record.header.genSoftware?.version ?? 0;
  const arrival = inMsg ? known.receive(inMsg) : null;
  const trace = linkTrace(transaction, arrival);
  if (arrival === null && !startsTrace(inMsg)) metrics.brokenTrace();
  const before = stateWithHash(accounts.get(transaction.account), transaction.stateBefore);
  live?.transaction(placed, { ...trace, before, arrival });
  const { mcSeqno, header } = record;
  const place = { block: header, mcSeqno, globalVersion, traceId: trace.traceId, externalHash: trace.externalHash };
  rows.add(transactions, transactionRow(transaction, { ...place, states: encodeStates(before, after), payload }));
  const side = { mcSeqno, lt: transaction.lt, txHash: transaction.hash };
  const bagOf = (message: Message) => (): Buffer => serialize(boc, message.cell, { crc: false });
  if (inMsg) {
    const sent = arrival && { mcSeqno: arrival.outMcSeqno, lt: arrival.outLt, txHash: arrival.outTxHash };
    const version = arrival?.globalVersion ?? globalVersion;
    rows.add(messages, messageRow(inMsg, { sent, received: side, globalVersion: version, payload: bagOf(inMsg) }));
  }
  for (const message of transaction.outMsgs) {
    rows.add(messages, messageRow(message, { sent: side, received: null, globalVersion, payload: bagOf(message) }));
  }
  known.send(transaction, block, trace);
  counts.transactions++;
  counts.messages += transaction.outMsgs.length + (inMsg ? 1 : 0);
}
