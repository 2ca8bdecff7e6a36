import { RowBinaryError, RowReader, RowWriter } from '../clickhouse/rowbinary.ts';
import type { Address, BlockId, Decimal, Hash, Shard } from '../src/chain/model.ts';
import type { BlockRecord } from '../src/chain/records.ts';

/** The sending side of a message. */
export interface LiveSender {
  txHash: Hash;
  lt: Decimal;
  mcSeqno: number;
  globalVersion: number;
}

export interface LiveTransaction {
  account: Address;
  lt: Decimal;
  traceId: Hash;
  /** Hash of the message that began the trace; null when a trace began without one. */
  externalHash: Hash | null;
  /** What is known of the account before and after, packed as in clickhouse/states.ts. */
  states: Buffer;
  /** Who sent the in-message, where that is known. */
  sender: LiveSender | null;
  /** The transaction as a bag of its own. */
  payload: Buffer;
}

/** What a block record needs besides the `info` cell. */
export interface LiveBlock extends Pick<BlockRecord, 'createdBy' | 'randSeed'> {
  workchain: number;
  shard: Shard;
  seqno: number;
  globalId: number;
  globalVersion: number;
  genUtime: number;
  startLt: Decimal;
  endLt: Decimal;
  rootHash: Hash;
  fileHash: Hash;
  /** The `BlockInfo` cell as a bag of its own. */
  info: Buffer;
  /** Tops of all shards, in masterchain blocks. */
  shardTops: BlockId[];
  /** By lt, then account. */
  transactions: LiveTransaction[];
}

/** An account after the step. */
export interface LiveAccount {
  account: Address;
  lt: Decimal;
  hash: Hash;
  lastTransactionHash: Hash;
  /** Packed as in clickhouse/states.ts. */
  state: Buffer;
  /** Its data, where the step made it known. */
  data: { hash: Hash; boc: Buffer } | null;
}

export interface LiveCode {
  hash: Hash;
  /** Get-method ids, ascending. */
  methods: number[];
  boc: Buffer;
}

/**
 * One step as it was projected, all that a reader of the newest steps needs. Equal steps of a log give equal bytes,
 * but for account data: a batch that is repeated after a crash may leave out data that blocks show in part only.
 */
export interface LiveStep {
  mcSeqno: number;
  /** The step before it in the log; 0 for the first. Steps that follow one another are thereby known to be all. */
  previous: number;
  globalId: number;
  /** Of the step's last block, the masterchain block unless it was imported without one. */
  rootHash: Hash;
  /** In canonical order. Empty for a step that could not be decoded. */
  blocks: LiveBlock[];
  /** By address. */
  accounts: LiveAccount[];
  /** Codes that accounts took on in this step, by hash. */
  codes: LiveCode[];
}

/** Of the bytes; a record of another version is not read. */
export const LIVE_STEP_VERSION = 1;

/** A record that is no step of this version. */
export class LiveStepError extends Error {
  override name = 'LiveStepError';
}

const CHUNK_BYTES = 64 * 1024;
const NO_HASH = Buffer.alloc(32);

/** A step in RowBinary, little-endian, lists with their lengths before them. */
export function encodeLiveStep(step: LiveStep): Buffer {
  const writer = new RowWriter(CHUNK_BYTES);
  writer.u8(LIVE_STEP_VERSION);
  writer.u32(step.mcSeqno);
  writer.u32(step.previous);
  writer.i32(step.globalId);
  writer.fixed(step.rootHash, 32);
  writer.arrayLength(step.blocks.length);
  for (const block of step.blocks) writeBlock(writer, block);
  writer.arrayLength(step.accounts.length);
  for (const account of step.accounts) writeAccount(writer, account);
  writer.arrayLength(step.codes.length);
  for (const code of step.codes) {
    writer.fixed(code.hash, 32);
    writer.arrayLength(code.methods.length);
    for (const method of code.methods) writer.u32(method);
    writer.string(code.boc);
  }
  return Buffer.concat(writer.take());
}

/**
 * The step of these bytes; its buffers are views into them.
 * @throws {LiveStepError}
 */
export function decodeLiveStep(bytes: Buffer): LiveStep {
  if (bytes[0] !== LIVE_STEP_VERSION) {
    throw new LiveStepError(`a step of version ${bytes[0]}, this program reads ${LIVE_STEP_VERSION}`);
  }
  try {
    const reader = new RowReader(bytes);
    reader.u8();
    const step = {
      mcSeqno: reader.u32(),
      previous: reader.u32(),
      globalId: reader.i32(),
      rootHash: reader.fixed(32),
      blocks: listOf(reader, readBlock),
      accounts: listOf(reader, readAccount),
      codes: listOf(reader, readCode),
    };
    if (!reader.done) throw new LiveStepError('bytes behind the end of a step');
    return step;
  } catch (error) {
    if (error instanceof RowBinaryError) throw new LiveStepError(`a damaged step: ${error.message}`, { cause: error });
    throw error;
  }
}

function writeBlock(writer: RowWriter, block: LiveBlock): void {
  writeId(writer, block);
  writer.i32(block.globalId);
  writer.u8(block.globalVersion);
  writer.u32(block.genUtime);
  writer.u64(block.startLt);
  writer.u64(block.endLt);
  for (const hash of [block.rootHash, block.fileHash, block.randSeed, block.createdBy]) writer.fixed(hash, 32);
  writer.string(block.info);
  writer.arrayLength(block.shardTops.length);
  for (const top of block.shardTops) writeId(writer, top);
  writer.arrayLength(block.transactions.length);
  for (const transaction of block.transactions) writeTransaction(writer, transaction);
}

function readBlock(reader: RowReader): LiveBlock {
  return {
    ...readId(reader),
    globalId: reader.i32(),
    globalVersion: reader.u8(),
    genUtime: reader.u32(),
    startLt: reader.u64(),
    endLt: reader.u64(),
    rootHash: reader.fixed(32),
    fileHash: reader.fixed(32),
    randSeed: reader.fixed(32),
    createdBy: reader.fixed(32),
    info: reader.bytes(),
    shardTops: listOf(reader, readId),
    transactions: listOf(reader, readTransaction),
  };
}

function writeTransaction(writer: RowWriter, transaction: LiveTransaction): void {
  const { sender } = transaction;
  writer.fixed(transaction.account, 36);
  writer.u64(transaction.lt);
  writer.fixed(transaction.traceId, 32);
  writer.fixed(transaction.externalHash ?? NO_HASH, 32);
  writer.string(transaction.states);
  writer.isNull(sender === null);
  if (sender) {
    writer.fixed(sender.txHash, 32);
    writer.u64(sender.lt);
    writer.u32(sender.mcSeqno);
    writer.u8(Math.min(sender.globalVersion, 255));
  }
  writer.string(transaction.payload);
}

function readTransaction(reader: RowReader): LiveTransaction {
  const account = reader.fixed(36);
  const lt = reader.u64();
  const traceId = reader.fixed(32);
  const external = reader.fixed(32);
  return {
    account,
    lt,
    traceId,
    externalHash: external.equals(NO_HASH) ? null : external,
    states: reader.bytes(),
    sender: reader.isNull()
      ? null
      : { txHash: reader.fixed(32), lt: reader.u64(), mcSeqno: reader.u32(), globalVersion: reader.u8() },
    payload: reader.bytes(),
  };
}

function writeAccount(writer: RowWriter, account: LiveAccount): void {
  writer.fixed(account.account, 36);
  writer.u64(account.lt);
  writer.fixed(account.hash, 32);
  writer.fixed(account.lastTransactionHash, 32);
  writer.string(account.state);
  writer.isNull(account.data === null);
  if (account.data) {
    writer.fixed(account.data.hash, 32);
    writer.string(account.data.boc);
  }
}

function readAccount(reader: RowReader): LiveAccount {
  return {
    account: reader.fixed(36),
    lt: reader.u64(),
    hash: reader.fixed(32),
    lastTransactionHash: reader.fixed(32),
    state: reader.bytes(),
    data: reader.isNull() ? null : { hash: reader.fixed(32), boc: reader.bytes() },
  };
}

function readCode(reader: RowReader): LiveCode {
  return { hash: reader.fixed(32), methods: listOf(reader, (row) => row.u32()), boc: reader.bytes() };
}

function writeId(writer: RowWriter, id: BlockId): void {
  writer.i32(id.workchain);
  writer.fixed(Buffer.from(id.shard, 'hex'), 8);
  writer.u32(id.seqno);
}

function readId(reader: RowReader): BlockId {
  return { workchain: reader.i32(), shard: reader.fixed(8).toString('hex'), seqno: reader.u32() };
}

function listOf<T>(reader: RowReader, read: (reader: RowReader) => T): T[] {
  const list: T[] = [];
  for (let left = reader.arrayLength(); left > 0; left--) list.push(read(reader));
  return list;
}
