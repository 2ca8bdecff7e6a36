/**
 * The topic of pending traces, `<prefix>.pending-traces.v1`: what becomes of messages between being sent and being
 * complete in the index. Key the normalised hash of the message in hex. A record is a trace as it stands, all of it, or
 * its end; so the newest record of a key is its state, and whoever reads the topic has what every other reader has.
 */
import { RowBinaryError, RowReader, RowWriter } from '../clickhouse/rowbinary.ts';
import type { StoredAction } from '../src/chain/actions/stored-action.ts';
import { NO_HASH } from '../src/chain/hash.ts';
import type { Address, BlockId, Decimal, Hash } from '../src/chain/model.ts';
import type { Finality } from '../src/chain/records.ts';
import { EnvelopeError } from './envelope.ts';
import type { LogRecord, StoredRecord } from './log.ts';

const VERSION = '1';

/** A transaction of a pending trace: emulated, in a signed shard block, or in a block that is registered. */
export interface PendingNode {
  finality: Finality;
  /** The block; of an emulated transaction the one that it was made up in. */
  block: BlockId;
  /** Root hash of the block; null while emulated. */
  blockHash: Hash | null;
  /** Of a registered block its step, else the next one. */
  mcSeqno: number;
  /** The transaction as a bag of cells. */
  transaction: Buffer;
  /** What is known of its account before and after (clickhouse/states.ts). */
  states: Buffer;
  /** Of a transaction in a signed block that leaves a verified jetton wallet, the wallet; null of all others. */
  wallet: PendingWallet | null;
}

/** A jetton wallet behind a transaction. */
export interface PendingWallet {
  owner: Address;
  /** The master. */
  jetton: Address;
  balance: Decimal;
}

const CLASSIFICATIONS = ['unclassified', 'ok', 'failed'] as const;

export interface PendingTrace {
  /** Normalised hash of the message that begins it. */
  hashNorm: Hash;
  /** The hash of that message as it was sent. */
  externalHash: Hash;
  /** Counts what is said of the trace, from 1. */
  version: number;
  /** Of the configuration: how messages are shown. */
  globalVersion: number;
  /** Some of what is emulated was left out: a limit, or a contract that cannot be run. */
  isIncomplete: boolean;
  classification: (typeof CLASSIFICATIONS)[number];
  /** Unix milliseconds: when it was said first, and when this was. */
  begunMs: number;
  changedMs: number;
  /** A parent is before its children; the first is the root. */
  nodes: PendingNode[];
  actions: StoredAction[];
}

/**
 * Why a trace was invalidated: its message was in no block in time; another message of its account has taken its place;
 * the signed block that it was seen in was replaced, and it did not come again.
 */
export const REASONS = ['expired', 'superseded', 'replaced'] as const;
export type InvalidationReason = (typeof REASONS)[number];

export type PendingChange =
  | { kind: 'trace'; trace: PendingTrace }
  /** `account`: whom the message was for, where nothing was told of it before. */
  | { kind: 'invalidated'; hashNorm: Hash; reason: InvalidationReason; account?: Address }
  /** It is complete, and has been in the index for a while. */
  | { kind: 'ended'; hashNorm: Hash }
  /** Whether signed shard blocks are seen, which is where `confirmed` comes from. */
  | { kind: 'levels'; confirmed: boolean };

/** A change with its place in the topic. */
export interface StoredPendingChange {
  change: PendingChange;
  /** Of the newest step that is taken into account. */
  mcSeqno: number;
  offset: number;
  /** Unix milliseconds of the append. */
  time: number;
}

const FINALITIES: readonly Finality[] = ['pending', 'confirmed', 'finalized'];
/** In the place of a level: confirmed, and a wallet follows. */
const CONFIRMED_WALLET = FINALITIES.length;
const ADDRESS_BYTES = 36;
const CHUNK_BYTES = 32 * 1024;

export function encodePendingChange(change: PendingChange, mcSeqno: number): LogRecord {
  const headers = { v: VERSION, kind: change.kind, mc: String(mcSeqno) };
  if (change.kind === 'levels') {
    return { key: 'levels', headers: { ...headers, confirmed: String(change.confirmed) }, value: Buffer.alloc(0) };
  }
  if (change.kind === 'trace') {
    return { key: change.trace.hashNorm.toString('hex'), headers, value: encodeTrace(change.trace) };
  }
  const end = change.kind === 'invalidated' ? endHeaders(change) : {};
  return { key: change.hashNorm.toString('hex'), headers: { ...headers, ...end }, value: Buffer.alloc(0) };
}

function endHeaders({ reason, account }: Extract<PendingChange, { kind: 'invalidated' }>): Record<string, string> {
  return account === undefined ? { reason } : { reason, account: account.toString('hex') };
}

/** @throws {EnvelopeError} */
export function decodePendingChange(record: StoredRecord, topic: string): StoredPendingChange {
  const { headers, key, value, offset, time } = record;
  const fail = (field: string, message: string): never => {
    throw new EnvelopeError(topic, offset, field, message);
  };
  if (headers.v !== VERSION) fail('v', `version ${headers.v ?? '(none)'} is not ${VERSION}`);
  if (!/^\d{1,10}$/.test(headers.mc ?? '')) fail('mc', 'not a seqno');
  return { change: read(), mcSeqno: Number(headers.mc), offset, time };

  function read(): PendingChange {
    if (headers.kind === 'levels') return { kind: 'levels', confirmed: headers.confirmed === 'true' };
    if (!/^[0-9a-f]{64}$/.test(key)) fail('key', 'not a hash');
    const hashNorm = Buffer.from(key, 'hex');
    if (headers.kind === 'ended') return { kind: 'ended', hashNorm };
    if (headers.kind === 'invalidated') {
      const reason = REASONS.find((one) => one === headers.reason) ?? fail('reason', 'not a reason');
      const { account } = headers;
      if (account === undefined) return { kind: 'invalidated', hashNorm, reason };
      if (!/^[0-9a-f]{72}$/.test(account)) fail('account', 'not an address');
      return { kind: 'invalidated', hashNorm, reason, account: Buffer.from(account, 'hex') };
    }
    if (headers.kind !== 'trace') fail('kind', `${headers.kind ?? '(none)'} is not known`);
    try {
      return { kind: 'trace', trace: decodeTrace(value, hashNorm) };
    } catch (error) {
      if (!(error instanceof RowBinaryError)) throw error;
      return fail('value', error.message);
    }
  }
}

function encodeTrace(trace: PendingTrace): Buffer {
  const writer = new RowWriter(CHUNK_BYTES);
  writer.fixed(trace.externalHash, 32);
  writer.u32(trace.version);
  writer.u8(trace.globalVersion);
  writer.bool(trace.isIncomplete);
  writer.u8(CLASSIFICATIONS.indexOf(trace.classification));
  writer.u64(String(trace.begunMs));
  writer.u64(String(trace.changedMs));
  writer.u16(trace.nodes.length);
  for (const node of trace.nodes) {
    const { wallet } = node;
    writer.u8(wallet === null ? FINALITIES.indexOf(node.finality) : CONFIRMED_WALLET);
    writer.i32(node.block.workchain);
    writer.string(node.block.shard);
    writer.u32(node.block.seqno);
    writer.fixed(node.blockHash ?? NO_HASH, 32);
    writer.u32(node.mcSeqno);
    writer.string(node.transaction);
    writer.string(node.states);
    if (wallet === null) continue;
    writer.fixed(wallet.owner, ADDRESS_BYTES);
    writer.fixed(wallet.jetton, ADDRESS_BYTES);
    writer.string(wallet.balance);
  }
  writer.u16(trace.actions.length);
  for (const action of trace.actions) {
    writer.fixed(action.actionId, 32);
    writer.u64(action.startLt);
    writer.u64(action.endLt);
    writer.u32(action.startUtime);
    writer.u32(action.endUtime);
    writer.string(action.type);
    writer.bool(action.success);
    writer.u8(action.ancestors.length);
    for (const ancestor of action.ancestors) writer.string(ancestor);
    writer.string(action.transactions);
    writer.string(action.content);
  }
  return Buffer.concat(writer.take());
}

/** @throws {RowBinaryError} */
function decodeTrace(value: Buffer, hashNorm: Hash): PendingTrace {
  const reader = new RowReader(value);
  const head = {
    hashNorm,
    externalHash: reader.fixed(32),
    version: reader.u32(),
    globalVersion: reader.u8(),
    isIncomplete: reader.bool(),
    classification: CLASSIFICATIONS[reader.u8()] ?? 'unclassified',
    begunMs: Number(reader.u64()),
    changedMs: Number(reader.u64()),
  };
  const nodes = Array.from({ length: reader.u16() }, () => readNode(reader));
  const actions = Array.from({ length: reader.u16() }, () => readAction(reader));
  if (!reader.done || nodes.length === 0) throw new RowBinaryError('not a trace: it has no root, or too many bytes');
  return { ...head, nodes, actions };
}

function readNode(reader: RowReader): PendingNode {
  const level = reader.u8();
  const finality = level === CONFIRMED_WALLET ? 'confirmed' : FINALITIES[level];
  if (finality === undefined) throw new RowBinaryError('not a level of finality');
  const block = { workchain: reader.i32(), shard: reader.string(), seqno: reader.u32() };
  const blockHash = reader.fixed(32);
  return {
    finality,
    block,
    blockHash: blockHash.equals(NO_HASH) ? null : blockHash,
    mcSeqno: reader.u32(),
    transaction: reader.bytes(),
    states: reader.bytes(),
    wallet: level === CONFIRMED_WALLET ? readWallet(reader) : null,
  };
}

function readWallet(reader: RowReader): PendingWallet {
  return { owner: reader.fixed(ADDRESS_BYTES), jetton: reader.fixed(ADDRESS_BYTES), balance: reader.string() };
}

function readAction(reader: RowReader): StoredAction {
  return {
    actionId: reader.fixed(32),
    startLt: reader.u64(),
    endLt: reader.u64(),
    startUtime: reader.u32(),
    endUtime: reader.u32(),
    type: reader.string(),
    success: reader.bool(),
    ancestors: Array.from({ length: reader.u8() }, () => reader.string()),
    transactions: reader.bytes(),
    content: reader.string(),
  };
}
