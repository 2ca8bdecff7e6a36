/** What a projected step has for the window: rows of each kind, and the forms of its transactions. */
import { storedRecord } from '../../clickhouse/queries/transactions.ts';
import { decodeState } from '../../clickhouse/states.ts';
import type { LiveBlock, LiveStep, LiveTransaction } from '../../streams/live-steps.ts';
import { openBoc } from '../chain/boc.ts';
import type { Message, Transaction } from '../chain/model.ts';
import { decodeTransaction } from '../chain/transaction.ts';
import type { TransactionForm } from './form.ts';
import { encodeRow, type Kind } from './kind.ts';
import { accountKind, blockKind, dataKind, messageKind, topKind, transactionKind } from './kinds.ts';

/** Takes a row, and its form where the kind has such; gives its id. */
export type WriteRow = (kind: Kind, row: Buffer, form?: Buffer) => Buffer;

interface Arriving {
  live: LiveTransaction;
  block: LiveBlock;
  transaction: Transaction;
}

/** Writes the rows of a step, those of one kind behind another. */
export function writeRows(step: LiveStep, form: TransactionForm | null, write: WriteRow): void {
  for (const block of step.blocks) writeBlock(block, write);
  const arriving = arrivals(step);
  const places = arriving.map((one) => writeTransaction(step.mcSeqno, one, form, write).subarray(-PLACE_BYTES));
  writeMessages(step.mcSeqno, arriving, places, write);
  for (const { account, lt, hash, lastTransactionHash, state } of step.accounts) {
    const { codeHash } = decodeState(state);
    write(accountKind, encodeRow(accountKind, { account, lt, hash, lastTransactionHash, codeHash }, [state]));
  }
  for (const { account, lt, data } of step.accounts) {
    if (data) write(dataKind, encodeRow(dataKind, { account, lt, dataHash: data.hash }, [data.boc]));
  }
}

/** The transaction of a bag of its own. */
export function openTransaction(payload: Buffer, workchain: number): Transaction {
  const boc = openBoc(payload);
  return decodeTransaction(boc, boc.roots[0], workchain);
}

/** By lt, then account: a message is sent before it is received, as the projector sees it. */
function arrivals(step: LiveStep): Arriving[] {
  const all = step.blocks.flatMap((block) => block.transactions.map((live) => ({ live, block, lt: BigInt(live.lt) })));
  all.sort((a, b) => (a.lt < b.lt ? -1 : a.lt > b.lt ? 1 : a.live.account.compare(b.live.account)));
  return all.map(({ live, block }) => ({
    live,
    block,
    transaction: openTransaction(live.payload, block.workchain),
  }));
}

function writeBlock(block: LiveBlock, write: WriteRow): void {
  write(blockKind, encodeRow(blockKind, { ...block, txCount: block.transactions.length }, [block.info]));
  for (const top of block.shardTops) write(topKind, encodeRow(topKind, { ...top }));
}

function writeTransaction(
  mcSeqno: number,
  { live, block, transaction }: Arriving,
  form: TransactionForm | null,
  write: WriteRow,
): Buffer {
  const { workchain, shard, seqno, globalVersion } = block;
  const { account, lt, now, hash } = transaction;
  const { traceId, states, payload } = live;
  const values = { account, lt, now, shard, seqno, hash, traceId, globalVersion, statesBytes: states.length };
  const row = encodeRow(transactionKind, values, [states, payload]);
  if (form === null) return write(transactionKind, row);
  const place = { workchain, shard, seqno, mcSeqno, traceId, globalVersion };
  // As it is read again, but for the transaction, which is decoded already.
  return write(transactionKind, row, form.of({ ...storedRecord(place, states, payload), transaction }));
}

/** One side of a message. */
interface Side {
  mcSeqno: number;
  lt: string;
  txHash: Buffer | null;
}

const NO_SIDE: Side = { mcSeqno: 0, lt: '0', txHash: null };
const PLACE_BYTES = 3;

interface Sides {
  message: Message;
  index: number;
  sent: Side;
  received: Side;
  globalVersion: number;
  shownVersion: number;
  shownBy: Buffer;
}

/** As in table `messages`: one that is received in the step has both sides there, as far as the sender is known. */
function writeMessages(
  mcSeqno: number,
  arriving: readonly Arriving[],
  places: readonly Buffer[],
  write: WriteRow,
): void {
  const found = new Map<string, Sides>();
  const add = (sides: Sides): void => {
    const key = sides.message.hash.toString('latin1');
    if (sides.received.mcSeqno > 0 || !found.has(key)) found.set(key, sides);
  };
  arriving.forEach(({ live, block, transaction }, i) => {
    const side = { mcSeqno, lt: transaction.lt, txHash: transaction.hash };
    const shown = { shownVersion: block.globalVersion, shownBy: places[i] };
    const { sender } = live;
    if (transaction.inMsg) {
      const globalVersion = sender?.globalVersion ?? block.globalVersion;
      add({ ...shown, message: transaction.inMsg, index: 0, sent: sender ?? NO_SIDE, received: side, globalVersion });
    }
    transaction.outMsgs.forEach((message, out) => {
      const { globalVersion } = block;
      add({ ...shown, message, index: out + 1, sent: side, received: NO_SIDE, globalVersion });
    });
  });
  for (const sides of found.values()) write(messageKind, messageRow(sides));
}

function messageRow({ message, sent, received, ...shown }: Sides): Buffer {
  const { createdLt, hash, source, destination, bodyHash, createdAt, opcode } = message;
  const norm = message.hashNorm();
  return encodeRow(messageKind, {
    createdLt,
    hash,
    source,
    destination,
    bodyHash,
    createdAt,
    opcode,
    outMcSeqno: sent.mcSeqno,
    outLt: sent.lt,
    outTxHash: sent.txHash,
    inMcSeqno: received.mcSeqno,
    inLt: received.lt,
    inTxHash: received.txHash,
    globalVersion: Math.min(shown.globalVersion, 255),
    shownVersion: Math.min(shown.shownVersion, 255),
    shownBy: shown.shownBy,
    index: shown.index,
    hashNorm: norm?.equals(hash) ? null : norm,
  });
}
