import { storedRecord } from '../../clickhouse/queries/transactions.ts';
import { decodeState } from '../../clickhouse/states.ts';
import type { LiveAccount, LiveBlock, LiveTransaction } from '../../streams/live-steps.ts';
import { openBoc } from '../chain/boc.ts';
import { decodeBlockInfo } from '../chain/header.ts';
import type { Address, BlockId, Decimal, Hash, Message, Shard, Transaction } from '../chain/model.ts';
import type { BlockRecord, KnownState, TransactionRecord } from '../chain/records.ts';
import { decodeTransaction } from '../chain/transaction.ts';
import { lt, writeShard } from './keys.ts';

/** How the values of the tables are laid out. A change needs a new window version (window.ts). */

/** What every key of a transaction leads to: enough to filter by without the transaction itself. */
export interface Place {
  number: number;
  now: number;
  mcSeqno: number;
  shard: Shard;
  seqno: number;
}

export const PLACE_BYTES = 26;

export function encodePlace(place: Place): Buffer {
  const bytes = Buffer.allocUnsafe(PLACE_BYTES);
  bytes.writeUIntBE(place.number, 0, 6);
  bytes.writeUInt32BE(place.now, 6);
  bytes.writeUInt32BE(place.mcSeqno, 10);
  writeShard(bytes, 14, place.shard);
  bytes.writeUInt32BE(place.seqno, 22);
  return bytes;
}

export const placeNumber = (place: Buffer): number => place.readUIntBE(0, 6);
export const placeTime = (place: Buffer): number => place.readUInt32BE(6);
export const placeStep = (place: Buffer): number => place.readUInt32BE(10);
export const placeShard = (place: Buffer): Shard => place.toString('hex', 14, 22);
export const placeSeqno = (place: Buffer): number => place.readUInt32BE(22);

const TRANSACTION_HEAD = 57;

/** Step, block, version, trace, packed states, then the transaction as a bag of its own. */
export function encodeTransaction(mcSeqno: number, block: LiveBlock, transaction: LiveTransaction): Buffer {
  const head = Buffer.allocUnsafe(TRANSACTION_HEAD);
  head.writeUInt32BE(mcSeqno, 0);
  head.writeInt32BE(block.workchain, 4);
  writeShard(head, 8, block.shard);
  head.writeUInt32BE(block.seqno, 16);
  head[20] = block.globalVersion;
  transaction.traceId.copy(head, 21);
  head.writeUInt32BE(transaction.states.length, 53);
  return Buffer.concat([head, transaction.states, transaction.payload]);
}

export function decodeStored(bytes: Buffer): TransactionRecord {
  const statesEnd = TRANSACTION_HEAD + bytes.readUInt32BE(53);
  const place = {
    workchain: bytes.readInt32BE(4),
    shard: bytes.toString('hex', 8, 16),
    seqno: bytes.readUInt32BE(16),
    mcSeqno: bytes.readUInt32BE(0),
    traceId: bytes.subarray(21, 53),
    globalVersion: bytes[20],
  };
  return storedRecord(place, bytes.subarray(TRANSACTION_HEAD, statesEnd), bytes.subarray(statesEnd));
}

/** The transaction of a bag of its own. */
export function openTransaction(payload: Buffer, workchain: number): Transaction {
  const boc = openBoc(payload);
  return decodeTransaction(boc, boc.roots[0], workchain);
}

/** One side of a message; step 0 stands for a side that was not seen. */
export interface Side {
  mcSeqno: number;
  lt: Decimal;
  txHash: Hash;
}

/** A message with its sides, and where it is read: `index` 0 of a transaction is its in-message, then the others. */
export interface StoredMessage {
  createdLt: Decimal;
  hash: Hash;
  sent: Side;
  received: Side;
  globalVersion: number;
  /** The version that the form of the transaction shows the message with. */
  shownVersion: number;
  number: number;
  index: number;
  createdAt: number;
  opcode: number | null;
  source: Address;
  destination: Address;
  bodyHash: Hash;
  /** Zeros where it is the hash itself. */
  hashNorm: Hash;
}

const MESSAGE_BYTES = 243;

export function encodeMessage(message: StoredMessage): Buffer {
  const bytes = Buffer.allocUnsafe(MESSAGE_BYTES);
  writeSide(bytes, 0, message.sent);
  writeSide(bytes, 44, message.received);
  bytes[88] = Math.min(message.globalVersion, 255);
  bytes.writeUIntBE(message.number, 89, 6);
  bytes.writeUInt16BE(message.index, 95);
  bytes.writeUInt32BE(message.createdAt, 97);
  bytes[101] = message.opcode === null ? 0 : 1;
  bytes.writeUInt32BE(message.opcode ?? 0, 102);
  message.source.copy(bytes, 106);
  message.destination.copy(bytes, 142);
  message.bodyHash.copy(bytes, 178);
  message.hashNorm.copy(bytes, 210);
  bytes[242] = Math.min(message.shownVersion, 255);
  return bytes;
}

export function decodeMessageEntry(key: Buffer, bytes: Buffer): StoredMessage {
  return {
    createdLt: lt(key, 0),
    hash: key.subarray(8, 40),
    sent: readSide(bytes, 0),
    received: readSide(bytes, 44),
    globalVersion: bytes[88],
    shownVersion: bytes[242],
    number: bytes.readUIntBE(89, 6),
    index: bytes.readUInt16BE(95),
    createdAt: bytes.readUInt32BE(97),
    opcode: bytes[101] === 0 ? null : bytes.readUInt32BE(102),
    source: bytes.subarray(106, 142),
    destination: bytes.subarray(142, 178),
    bodyHash: bytes.subarray(178, 210),
    hashNorm: bytes.subarray(210, 242),
  };
}

function writeSide(bytes: Buffer, at: number, side: Side): void {
  bytes.writeUInt32BE(side.mcSeqno, at);
  bytes.writeBigUInt64BE(BigInt(side.lt), at + 4);
  side.txHash.copy(bytes, at + 12);
}

function readSide(bytes: Buffer, at: number): Side {
  return { mcSeqno: bytes.readUInt32BE(at), lt: lt(bytes, at + 4), txHash: bytes.subarray(at + 12, at + 44) };
}

/** The message at an index of a transaction. */
export function messageAt({ inMsg, outMsgs }: Transaction, index: number): Message | null {
  return index === 0 ? inMsg : (outMsgs[index - 1] ?? null);
}

const BLOCK_HEAD = 136;

export function encodeBlock(block: LiveBlock): Buffer {
  const head = Buffer.allocUnsafe(BLOCK_HEAD);
  head.writeInt32BE(block.globalId, 0);
  head.writeUInt32BE(block.transactions.length, 4);
  const hashes = [block.rootHash, block.fileHash, block.randSeed, block.createdBy];
  for (const [i, hash] of hashes.entries()) hash.copy(head, 8 + 32 * i);
  return Buffer.concat([head, block.info]);
}

/** @param key with the step in front */
export function decodeBlockEntry(key: Buffer, bytes: Buffer): BlockRecord {
  const hash = (i: number): Hash => bytes.subarray(8 + 32 * i, 40 + 32 * i);
  const info = openBoc(bytes.subarray(BLOCK_HEAD));
  const header = decodeBlockInfo(info, info.roots[0], bytes.readInt32BE(0));
  return {
    header: { ...header, rootHash: hash(0), fileHash: hash(1) },
    mcSeqno: key.readUInt32BE(0),
    randSeed: hash(2),
    createdBy: hash(3),
    txCount: bytes.readUInt32BE(4),
  };
}

export function encodeTops(tops: readonly BlockId[]): Buffer {
  const bytes = Buffer.allocUnsafe(16 * tops.length);
  tops.forEach((top, i) => {
    bytes.writeInt32BE(top.workchain, 16 * i);
    writeShard(bytes, 16 * i + 4, top.shard);
    bytes.writeUInt32BE(top.seqno, 16 * i + 12);
  });
  return bytes;
}

/** Keys of blocks by id. */
export function decodeTops(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length / 16 }, (_, i) => bytes.subarray(16 * i, 16 * i + 16));
}

/** A state without code and data. */
export interface StoredAccount {
  mcSeqno: number;
  lt: Decimal;
  hash: Hash;
  lastTransactionHash: Hash;
  state: KnownState;
}

const ACCOUNT_HEAD = 77;

/** With the place of the code hash in the packed state in front of it, 0 where there is none. */
export function encodeAccount(mcSeqno: number, account: LiveAccount): Buffer {
  const head = Buffer.allocUnsafe(ACCOUNT_HEAD);
  const { codeHash } = decodeState(account.state);
  head.writeUInt32BE(mcSeqno, 0);
  head.writeBigUInt64BE(BigInt(account.lt), 4);
  account.hash.copy(head, 12);
  account.lastTransactionHash.copy(head, 44);
  head[76] = codeHash ? account.state.indexOf(codeHash) : 0;
  return Buffer.concat([head, account.state]);
}

export function decodeAccount(bytes: Buffer): StoredAccount {
  return {
    mcSeqno: bytes.readUInt32BE(0),
    lt: lt(bytes, 4),
    hash: bytes.subarray(12, 44),
    lastTransactionHash: bytes.subarray(44, 76),
    state: decodeState(bytes.subarray(ACCOUNT_HEAD)),
  };
}

/** Of an account, copied: the address book asks for nothing else. */
export function codeHashOf(account: Buffer): Hash | null {
  const at = account[76];
  if (at === 0) return null;
  return Buffer.from(account.subarray(ACCOUNT_HEAD + at, ACCOUNT_HEAD + at + 32));
}

export function encodeCode(methods: readonly number[], boc: Buffer): Buffer {
  const head = Buffer.allocUnsafe(4 + 4 * methods.length);
  head.writeUInt32BE(methods.length, 0);
  for (const [i, method] of methods.entries()) head.writeUInt32BE(method, 4 + 4 * i);
  return Buffer.concat([head, boc]);
}

export function decodeCode(bytes: Buffer): { methods: number[]; boc: Buffer } {
  const methods = decodeMethods(bytes);
  return { methods, boc: bytes.subarray(4 + 4 * methods.length) };
}

export function decodeMethods(bytes: Buffer): number[] {
  return Array.from({ length: bytes.readUInt32BE(0) }, (_, i) => bytes.readUInt32BE(4 + 4 * i));
}

/** What a step has: to take it out again, and to know where the next one starts. */
export interface StoredStep {
  previous: number;
  rootHash: Hash;
  firstNumber: number;
  count: number;
  /** Estimated bytes on disk. */
  bytes: number;
  maxLt: bigint;
  maxUtime: number;
  accounts: Address[];
}

const STEP_HEAD = 64;

export function encodeStep(step: StoredStep): Buffer {
  const head = Buffer.allocUnsafe(STEP_HEAD);
  head.writeUInt32BE(step.previous, 0);
  step.rootHash.copy(head, 4);
  head.writeUIntBE(step.firstNumber, 36, 6);
  head.writeUInt32BE(step.count, 42);
  head.writeUIntBE(step.bytes, 46, 6);
  head.writeBigUInt64BE(step.maxLt, 52);
  head.writeUInt32BE(step.maxUtime, 60);
  return Buffer.concat([head, ...step.accounts]);
}

export function decodeStep(bytes: Buffer): StoredStep {
  const accounts: Address[] = [];
  for (let at = STEP_HEAD; at < bytes.length; at += 36) accounts.push(bytes.subarray(at, at + 36));
  return {
    previous: bytes.readUInt32BE(0),
    rootHash: bytes.subarray(4, 36),
    firstNumber: bytes.readUIntBE(36, 6),
    count: bytes.readUInt32BE(42),
    bytes: bytes.readUIntBE(46, 6),
    maxLt: bytes.readBigUInt64BE(52),
    maxUtime: bytes.readUInt32BE(60),
    accounts,
  };
}
