import { hash } from 'node:crypto';
import type { BlockId, BlockIdExt } from '../src/chain/model.ts';
import type { LogRecord, StoredRecord } from './log.ts';

/** Where a block came from. */
export type BlockSource = 'lite' | 'archive' | 'file' | 'devnet';

const SOURCES: readonly string[] = ['lite', 'archive', 'file', 'devnet'] satisfies BlockSource[];
const VERSION = '1';

/** What the log says of a block besides its bytes. */
export interface BlockEnvelope {
  id: BlockIdExt;
  /** The `global_id` of the block: the identity of the network. */
  globalId: number;
  /** Root hash of the network's zero state, null when not known. */
  zeroState: Buffer | null;
  /** Masterchain seqno of the step the block belongs to. */
  mcSeqno: number;
  /** On the last record of a step the number of its records, else null. */
  seal: number | null;
  /** Unix seconds. */
  genUtime: number;
  /** Unix milliseconds. */
  receivedAtMs: number;
  source: BlockSource;
  /** `gen_software.version` of the block, null when the block has none. */
  globalVersion: number | null;
}

export interface BlockRecord extends BlockEnvelope {
  /** The block's bag of cells exactly as received; its SHA-256 is the file hash. */
  boc: Buffer;
}

export type NewBlockRecord = Omit<BlockRecord, 'zeroState' | 'globalVersion'> &
  Partial<Pick<BlockRecord, 'zeroState' | 'globalVersion'>>;

/** A block with its place in the log. */
export interface StoredBlock extends BlockRecord {
  offset: number;
}

/** A record that is not a block record of version 1, or whose value does not have the file hash it claims. */
export class EnvelopeError extends Error {
  constructor(
    readonly topic: string,
    readonly offset: number | null,
    /** Name of the header at fault; `value` for the block itself. */
    readonly field: string,
    message: string,
  ) {
    super(`${topic}${offset === null ? '' : `, offset ${offset}`}: ${field}: ${message}`);
    this.name = 'EnvelopeError';
  }
}

/** `workchain:shard:seqno`, the key of block records. */
export function blockKey(id: BlockId): string {
  return `${id.workchain}:${id.shard}:${id.seqno}`;
}

/**
 * The log record of a block.
 * @throws {EnvelopeError} when the SHA-256 of the bytes is not the file hash of the id
 */
export function encodeBlockRecord(block: NewBlockRecord): LogRecord {
  const { id } = block;
  const key = blockKey(id);
  if (!hash('sha256', block.boc, 'buffer').equals(id.fileHash)) {
    throw new EnvelopeError(`block ${key}`, null, 'fh', 'SHA-256 of the bytes is not the file hash');
  }
  const headers: Record<string, string> = {
    v: VERSION,
    net: String(block.globalId),
    id: `(${id.workchain},${id.shard},${id.seqno})`,
    rh: id.rootHash.toString('hex'),
    fh: id.fileHash.toString('hex'),
    mc: String(block.mcSeqno),
    ut: String(block.genUtime),
    rx: String(block.receivedAtMs),
    src: block.source,
  };
  if (block.zeroState != null) headers.zs = block.zeroState.toString('hex');
  if (block.globalVersion != null) headers.gv = String(block.globalVersion);
  if (block.seal !== null) headers.seal = String(block.seal);
  return { key, headers, value: block.boc };
}

/**
 * The envelope of a record without a look at its value: for searching.
 * @throws {EnvelopeError}
 */
export function decodeEnvelope(record: StoredRecord, topic: string): BlockEnvelope {
  const header = headerReader(record, topic);
  if (header.text('v') !== VERSION) header.fail('v', `version ${header.text('v')} is not ${VERSION}`);
  const envelope: BlockEnvelope = {
    id: { ...blockId(header), rootHash: header.hash('rh'), fileHash: header.hash('fh') },
    globalId: header.integer('net'),
    zeroState: header.has('zs') ? header.hash('zs') : null,
    mcSeqno: header.integer('mc'),
    seal: header.has('seal') ? header.integer('seal') : null,
    genUtime: header.integer('ut'),
    receivedAtMs: header.integer('rx'),
    source: blockSource(header),
    globalVersion: header.has('gv') ? header.integer('gv') : null,
  };
  if (record.key !== blockKey(envelope.id)) header.fail('id', `does not fit the record's key ${record.key}`);
  return envelope;
}

/**
 * The block of a record, its bytes checked against the file hash.
 * @throws {EnvelopeError}
 */
export function decodeBlockRecord(record: StoredRecord, topic: string): StoredBlock {
  const envelope = decodeEnvelope(record, topic);
  if (!hash('sha256', record.value, 'buffer').equals(envelope.id.fileHash)) {
    throw new EnvelopeError(topic, record.offset, 'value', 'SHA-256 is not the file hash in header fh');
  }
  return { ...envelope, offset: record.offset, boc: record.value };
}

function headerReader(record: StoredRecord, topic: string) {
  const fail = (name: string, message: string): never => {
    throw new EnvelopeError(topic, record.offset, name, message);
  };
  const text = (name: string): string => record.headers[name] ?? fail(name, 'missing');
  return {
    fail,
    text,
    has: (name: string): boolean => record.headers[name] !== undefined,
    integer(name: string): number {
      const value = Number(text(name));
      if (!/^-?\d+$/.test(text(name)) || !Number.isSafeInteger(value)) fail(name, `${text(name)} is not an integer`);
      return value;
    },
    hash(name: string): Buffer {
      if (!/^[0-9a-f]{64}$/.test(text(name))) fail(name, `${text(name)} is not 64 lower-case hex digits`);
      return Buffer.from(text(name), 'hex');
    },
  };
}

type HeaderReader = ReturnType<typeof headerReader>;

function blockId(header: HeaderReader): BlockId {
  const match = /^\((-?\d+),([0-9a-f]{16}),(\d+)\)$/.exec(header.text('id'));
  if (match === null) return header.fail('id', `${header.text('id')} is not (workchain,shard,seqno)`);
  return { workchain: Number(match[1]), shard: match[2], seqno: Number(match[3]) };
}

function isSource(text: string): text is BlockSource {
  return SOURCES.includes(text);
}

function blockSource(header: HeaderReader): BlockSource {
  const text = header.text('src');
  return isSource(text) ? text : header.fail('src', `${text} is none of ${SOURCES.join(', ')}`);
}
