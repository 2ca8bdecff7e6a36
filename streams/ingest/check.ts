import { type Block, decodeBlock } from '../../src/chain/block.ts';
import { openBoc } from '../../src/chain/boc.ts';
import { DecodeError } from '../../src/chain/errors.ts';
import type { BlockIdExt, Hash, ShardDescr } from '../../src/chain/model.ts';
import { FULL_SHARD } from '../../src/chain/shard-ident.ts';
import { blockKey } from '../envelope.ts';
import type { ShardTop } from './assembly.ts';

/** Where a block was found: a file, and the line when the file holds one block a line. */
export interface FilePosition {
  file: string;
  line: number | null;
}

export type IngestErrorCode =
  /** A file or folder cannot be read, or is of no known kind. */
  | 'unreadable'
  /** The bytes are not a block. */
  | 'bad_block'
  /** The block is not the one that its id promises. */
  | 'wrong_id'
  /** The block is of another network than the log or than the blocks before it. */
  | 'network'
  /** Two different blocks under one id, or blocks that contradict each other. */
  | 'conflict'
  /** A block that the step needs is not there. */
  | 'missing'
  /** The masterchain blocks do not follow each other or the log. */
  | 'order'
  /** The block belongs to a step that the log has passed. */
  | 'sealed'
  /** A step of more bytes than are taken in. */
  | 'too_large'
  /** Nobody can prove the block by the signatures of validators. */
  | 'unproven';

/** How a command is given another log. */
export const ANOTHER_LOG = 'another --data-dir, or with brokers another --topic-prefix';

/** A block or a file that cannot be taken in. The message is one line that names the place. */
export class IngestError extends Error {
  constructor(
    readonly code: IngestErrorCode,
    readonly place: FilePosition | null,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(place === null ? reason : `${positionText(place)}: ${reason}`, options);
    this.name = 'IngestError';
  }
}

/** `file`, or `file, line n`. */
export function positionText(place: FilePosition): string {
  return place.line === null ? place.file : `${place.file}, line ${place.line}`;
}

/** What ordering and appending need of a block. Holds no view into the block's bytes. */
export interface CheckedBlock {
  id: BlockIdExt;
  globalId: number;
  globalVersion: number | null;
  /** Unix seconds. */
  genUtime: number;
  /** Seqno of the masterchain block it was built on; null in masterchain blocks. */
  masterRefSeqno: number | null;
  prev: BlockIdExt[];
}

/**
 * Opens a block and computes its hashes: the SHA-256 of the bytes is the file hash, the representation hash of the
 * root cell the root hash, and workchain, shard and seqno are those of the header.
 *
 * @param expected the id the bytes were given under; null when they came without one
 * @throws {IngestError} `bad_block` with the place inside the block, `wrong_id` with what differs
 */
export function checkBlock(bytes: Buffer, expected: BlockIdExt | null, place: FilePosition): CheckedBlock {
  return examine(bytes, expected, place).block;
}

/**
 * The same, with the shard tops that a masterchain block registers (none in shard blocks) of the same decoding.
 * @throws {IngestError}
 */
export function checkBlockAndTops(
  bytes: Buffer,
  expected: BlockIdExt | null,
  place: FilePosition,
): { block: CheckedBlock; tops: ShardTop[] } {
  const { block, tops } = examine(bytes, expected, place);
  return { block, tops: tops.map((top) => ({ ...copyId(top), regMcSeqno: top.regMcSeqno })) };
}

function examine(
  bytes: Buffer,
  expected: BlockIdExt | null,
  place: FilePosition,
): { block: CheckedBlock; tops: ShardDescr[] } {
  // Reads the tops in any case, so that a masterchain block with unreadable ones is refused as such.
  const { header, tops } = openBlock(bytes, place, (block) => ({ header: block.header, tops: block.shardHashes() }));
  const id = copyId(header);
  if (id.workchain === -1 ? id.shard !== FULL_SHARD || header.notMaster : !header.notMaster) {
    throw new IngestError('bad_block', place, `block ${blockKey(id)} is marked as one of the wrong chain`);
  }
  if (expected !== null) compare(id, expected, place);
  const block: CheckedBlock = {
    id,
    globalId: header.globalId,
    globalVersion: header.genSoftware?.version ?? null,
    genUtime: header.genUtime,
    masterRefSeqno: header.masterRef?.seqno ?? null,
    prev: header.prev.map(copyId),
  };
  return { block, tops };
}

/**
 * Decodes a block and reads something of it.
 * @throws {IngestError} `bad_block`
 */
export function openBlock<T>(bytes: Buffer, place: FilePosition, read: (block: Block) => T): T {
  try {
    return read(decodeBlock(openBoc(bytes)));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new IngestError('bad_block', place, `not a block: ${error.message}`, { cause: error });
  }
}

const SLAB_BYTES = 64 * 1024;
let slab = Buffer.alloc(0);

/** Node's own pool would do the same but also holds short-lived bytes, which kept hashes would keep alive. */
function copyHash(hash: Hash): Hash {
  if (slab.length < hash.length) slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  const copy = slab.subarray(0, hash.length);
  copy.set(hash);
  slab = slab.subarray(hash.length);
  return copy;
}

/** A block id whose hashes are not views into the block. */
export function copyId({ workchain, shard, seqno, rootHash, fileHash }: BlockIdExt): BlockIdExt {
  return { workchain, shard, seqno, rootHash: copyHash(rootHash), fileHash: copyHash(fileHash) };
}

/** Equal hashes; the ids are taken to be equal. */
export function sameHashes(a: BlockIdExt, b: BlockIdExt): boolean {
  return a.rootHash.equals(b.rootHash) && a.fileHash.equals(b.fileHash);
}

function compare(actual: BlockIdExt, expected: BlockIdExt, place: FilePosition): void {
  const fail = (what: string, is: string, wanted: string): never => {
    throw new IngestError('wrong_id', place, `${what} of the block is ${is}, expected ${wanted}`);
  };
  for (const [what, is, wanted] of [
    ['file hash', actual.fileHash, expected.fileHash],
    ['root hash', actual.rootHash, expected.rootHash],
  ] as const) {
    if (!is.equals(wanted)) fail(what, is.toString('hex'), wanted.toString('hex'));
  }
  if (blockKey(actual) !== blockKey(expected)) fail('id', blockKey(actual), blockKey(expected));
}
