import { NO_LT, NO_TIME } from '../../clickhouse/queries/messages.ts';
import { storedRecord } from '../../clickhouse/queries/transactions.ts';
import type { LiveAccount, LiveBlock, LiveStep, LiveTransaction } from '../../streams/live-steps.ts';
import type { Message, Transaction } from '../chain/model.ts';
import type { TransactionRecord } from '../chain/records.ts';
import { type Change, createChange, entryBytes } from './change.ts';
import {
  decodeMessageEntry,
  encodeAccount,
  encodeBlock,
  encodeCode,
  encodeMessage,
  encodePlace,
  encodeStep,
  encodeTops,
  encodeTransaction,
  openTransaction,
  type Side,
} from './entries.ts';
import { packedBytes } from './form.ts';
import {
  accountLtKey,
  blockIdKey,
  blockKey,
  ltAccountKey,
  NO_ADDRESS,
  NO_HASH,
  numberKey,
  timeKey,
  u32Key,
} from './keys.ts';
import { messageIndexKeys, messageKeyOf } from './message-keys.ts';
import type { WindowState } from './state.ts';
import type { Tables } from './tables.ts';

const NO_SIDE: Side = { mcSeqno: 0, lt: '0', txHash: NO_HASH };
const NOTHING = Buffer.alloc(0);

/** A transaction on its way into the tables. */
interface Arriving {
  live: LiveTransaction;
  block: LiveBlock;
  transaction: Transaction;
  number: number;
  mcSeqno: number;
}

/**
 * Writes a step behind the head. Inside a write transaction.
 * @param nextOffset where the step after it begins in the topic
 */
export function applyStep(tables: Tables, state: WindowState, step: LiveStep, nextOffset: number): WindowState {
  const change = createChange();
  for (const block of step.blocks) writeBlock(tables, change, step.mcSeqno, block);
  const arriving = arrivals(step, state.nextNumber);
  for (const one of arriving) {
    writeTransaction(tables, change, one);
    writeMessages(tables, change, one);
  }
  for (const account of step.accounts) writeAccount(tables, change, step.mcSeqno, account);
  const codeBytes = writeCodes(tables, step);
  const entry = {
    previous: step.previous,
    rootHash: step.rootHash,
    firstNumber: state.nextNumber,
    count: arriving.length,
    bytes: Math.ceil(change.added + entryBytes(u32Key(0), Buffer.alloc(64 + 36 * step.accounts.length))),
    maxLt: step.blocks.reduce((most, { endLt }) => (BigInt(endLt) > most ? BigInt(endLt) : most), 0n),
    maxUtime: Math.max(0, ...step.blocks.map(({ genUtime }) => genUtime)),
    accounts: step.accounts.map(({ account }) => account),
  };
  tables.steps.putSync(u32Key(step.mcSeqno), encodeStep(entry));
  return {
    ...state,
    head: step.mcSeqno,
    rootHash: step.rootHash.toString('hex'),
    nextOffset,
    nextNumber: state.nextNumber + arriving.length,
    bytes: state.bytes + entry.bytes,
    codeBytes: state.codeBytes + codeBytes,
  };
}

/** By lt, then account: a message is sent before it is received, as the projector sees it. */
function arrivals(step: LiveStep, firstNumber: number): Arriving[] {
  const all = step.blocks.flatMap((block) => block.transactions.map((live) => ({ live, block, lt: BigInt(live.lt) })));
  all.sort((a, b) => (a.lt < b.lt ? -1 : a.lt > b.lt ? 1 : a.live.account.compare(b.live.account)));
  return all.map(({ live, block }, i) => ({
    live,
    block,
    transaction: openTransaction(live.payload, block.workchain),
    number: firstNumber + i,
    mcSeqno: step.mcSeqno,
  }));
}

function writeBlock(tables: Tables, change: Change, mcSeqno: number, block: LiveBlock): void {
  const key = blockKey(mcSeqno, block);
  const id = blockIdKey(block);
  change.put(tables.blocks, key, encodeBlock(block));
  change.put(tables.blocksById, id, u32Key(mcSeqno));
  change.put(tables.blocksByHash, block.rootHash, key);
  change.put(tables.blocksByHash, block.fileHash, key);
  change.put(tables.blocksByTime, Buffer.concat([u32Key(block.genUtime), id]), u32Key(mcSeqno));
  if (block.shardTops.length > 0) change.put(tables.tops, u32Key(mcSeqno), encodeTops(block.shardTops));
}

function writeTransaction(tables: Tables, change: Change, arriving: Arriving): void {
  const { live, block, transaction, number, mcSeqno } = arriving;
  const { account, lt, now, hash } = transaction;
  const place = encodePlace({ number, now, mcSeqno, shard: block.shard, seqno: block.seqno });
  const stored = encodeTransaction(mcSeqno, block, live);
  change.append(tables.transactions, numberKey(number), stored);
  if (tables.form) {
    const form = tables.form.of(recordOf(arriving));
    change.append(tables.forms, numberKey(number), form, packedBytes(form, stored.length));
  }
  change.put(tables.transactionsByAccount, accountLtKey(account, lt), place);
  change.put(tables.transactionsByLt, ltAccountKey(lt, account), place);
  change.put(tables.transactionsByTime, timeKey(now, lt, account), place);
  change.put(tables.transactionsByHash, hash, numberKey(number));
}

/** As it is read again, but for the transaction, which is decoded already. */
function recordOf({ live, block, transaction, mcSeqno }: Arriving): TransactionRecord {
  const { workchain, shard, seqno, globalVersion } = block;
  const place = { workchain, shard, seqno, mcSeqno, traceId: live.traceId, globalVersion };
  return { ...storedRecord(place, live.states, live.payload), transaction };
}

/**
 * As in table `messages`: the record of a received message has both sides, as far as the sender is known; it is never
 * replaced by one that was only sent.
 */
function writeMessages(tables: Tables, change: Change, arriving: Arriving): void {
  const { live, block, transaction, mcSeqno } = arriving;
  const side: Side = { mcSeqno, lt: transaction.lt, txHash: transaction.hash };
  if (transaction.inMsg) {
    const { sender } = live;
    const sent = sender ? { mcSeqno: sender.mcSeqno, lt: sender.lt, txHash: sender.txHash } : NO_SIDE;
    const globalVersion = sender?.globalVersion ?? block.globalVersion;
    writeMessage(tables, change, arriving, {
      message: transaction.inMsg,
      index: 0,
      sent,
      received: side,
      globalVersion,
    });
  }
  transaction.outMsgs.forEach((message, i) => {
    const { globalVersion } = block;
    writeMessage(tables, change, arriving, { message, index: i + 1, sent: side, received: NO_SIDE, globalVersion });
  });
}

interface Sides {
  message: Message;
  index: number;
  sent: Side;
  received: Side;
  globalVersion: number;
}

function writeMessage(tables: Tables, change: Change, { number, block }: Arriving, sides: Sides): void {
  const { message, index, sent, received, globalVersion } = sides;
  const key = messageKeyOf(message);
  const known = tables.messages.get(key);
  if (known && received.mcSeqno === 0 && decodeMessageEntry(key, known).received.mcSeqno > 0) return;
  const norm = message.hashNorm();
  const { globalVersion: shownVersion } = block;
  const stored = {
    createdLt: message.createdLt ?? NO_LT,
    hash: message.hash,
    sent,
    received,
    globalVersion,
    shownVersion,
    number,
    index,
    createdAt: message.createdAt ?? NO_TIME,
    opcode: message.opcode,
    source: message.source ?? NO_ADDRESS,
    destination: message.destination ?? NO_ADDRESS,
    bodyHash: message.bodyHash,
    hashNorm: norm && !norm.equals(message.hash) ? norm : NO_HASH,
  };
  // Counted each time: the step that had it before is taken out without it.
  change.put(tables.messages, key, encodeMessage(stored));
  for (const [table, indexKey] of messageIndexKeys(stored)) change.put(tables[table], indexKey, NOTHING);
}

function writeAccount(tables: Tables, change: Change, mcSeqno: number, account: LiveAccount): void {
  change.put(tables.accounts, account.account, encodeAccount(mcSeqno, account));
  const { data } = account;
  if (data) change.put(tables.accountData, account.account, Buffer.concat([data.hash, data.boc]));
}

/** Codes belong to no step: many accounts have the same. */
function writeCodes(tables: Tables, step: LiveStep): number {
  let added = 0;
  for (const { hash, methods, boc } of step.codes) {
    if (tables.codes.doesExist(hash)) continue;
    const value = encodeCode(methods, boc);
    tables.codes.putSync(hash, value);
    added += entryBytes(hash, value);
  }
  return added;
}
