import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32c } from '../chain/crc.ts';
import { errorMessage } from '../chain/errors.ts';
import type { Hash } from '../chain/model.ts';
import { type Extent, PLACE_BYTES, readLength, readPlace, writePlace } from './block-index.ts';
import type { BlockPlace, ProducedBlock } from './model.ts';

/** The folder holds another chain, or is not one of ours. */
class ChainFolderError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ChainFolderError';
  }
}

/** The blocks of a chain: in one file that only grows, or in memory. */
export interface BlockFile {
  /** Writes the blocks of a step at once and returns where each is. */
  append(blocks: readonly ProducedBlock[]): Extent[];
  read(extent: Extent): Buffer;
  close(): void;
}

/** Blocks that live as long as the process. */
export function createBlockMemory(): BlockFile {
  const kept: Buffer[] = [];
  return {
    append: (blocks) =>
      blocks.map(({ bytes }) => {
        kept.push(bytes);
        return { offset: kept.length - 1, length: bytes.length };
      }),
    read: ({ offset }) => kept[offset],
    close: () => {
      kept.length = 0;
    },
  };
}

const FILE_MAGIC = 'tonstream devnet 1\n'.padEnd(32);
const HEADER_BYTES = 64;
const STEP_MAGIC = 0x54535031;
/** Magic, number of blocks, bytes of places and blocks, their checksum. */
const STEP_HEADER = 16;
const ZEROS_AT_ONCE = 64 * 1024;

/**
 * Opens the block file of a folder. Every step is one record: places first, blocks behind them. What a killed process
 * left unfinished at the end is cut off; a file that is damaged before its end is left as it is.
 *
 * @param zeroHash root hash of the masterchain's zero state: a folder belongs to one chain
 * @param found called with every block of the file, in order
 * @throws {ChainFolderError}
 */
export function openBlockFile(
  folder: string,
  zeroHash: Hash,
  found: (place: BlockPlace, extent: Extent) => void,
): BlockFile {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'blocks');
  const descriptor = openSync(path, existsSync(path) ? 'r+' : 'w+');
  let end: number;
  try {
    end = readFile(descriptor, path, zeroHash, found);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  return {
    append: (blocks) => {
      const { record, extents } = writeStep(blocks, end);
      try {
        writeAll(descriptor, record, end);
        // Whoever follows the chain keeps what he has read: after a power cut it must not go on with other blocks.
        fdatasyncSync(descriptor);
      } catch (error) {
        throw cannotWrite(path, error);
      }
      end += record.length;
      return extents;
    },
    read: ({ offset, length }) => readAt(descriptor, offset, length),
    close: () => closeSync(descriptor),
  };
}

function readFile(
  descriptor: number,
  path: string,
  zeroHash: Hash,
  found: (place: BlockPlace, extent: Extent) => void,
): number {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(FILE_MAGIC);
  zeroHash.copy(header, 32);
  const size = fstatSync(descriptor).size;
  if (size < HEADER_BYTES) {
    ftruncateSync(descriptor, 0);
    writeAll(descriptor, header, 0);
    return HEADER_BYTES;
  }
  const existing = readAt(descriptor, 0, HEADER_BYTES);
  if (!existing.subarray(0, 32).equals(header.subarray(0, 32))) {
    throw new ChainFolderError(`${path} is no block file of a devnet`);
  }
  if (!existing.equals(header)) {
    throw new ChainFolderError(
      `${path} belongs to a devnet with another genesis: another seed, other accounts or another version. Choose another --data-dir, or remove this one`,
    );
  }
  const end = readSteps(descriptor, path, size, found);
  if (end < size) ftruncateSync(descriptor, end);
  return end;
}

/** Returns the end of the last complete step. @throws {ChainFolderError} for damage that no kill and no power cut leaves */
function readSteps(
  descriptor: number,
  path: string,
  size: number,
  found: (place: BlockPlace, extent: Extent) => void,
): number {
  let at = HEADER_BYTES;
  while (at + STEP_HEADER <= size) {
    const header = readAt(descriptor, at, Math.min(STEP_HEADER + 4 * PLACE_BYTES, size - at));
    const [magic, count, length] = [header.readUInt32BE(0), header.readUInt32BE(4), header.readUInt32BE(8)];
    const end = at + STEP_HEADER + length;
    if (magic !== STEP_MAGIC && isZero(descriptor, at, size)) return at;
    if (magic !== STEP_MAGIC || count * PLACE_BYTES > length) throw damaged(path, at);
    // A step was written whole before the next began: only the last one can be torn.
    if (end === size && crc32c(readAt(descriptor, at + STEP_HEADER, length)) !== header.readUInt32BE(12)) return at;
    let offset = at + STEP_HEADER + count * PLACE_BYTES;
    if (offset > size) return at;
    const places = readAt(descriptor, at + STEP_HEADER, count * PLACE_BYTES);
    const extents = Array.from({ length: count }, (_, i) => {
      const extent = { offset, length: readLength(places, i * PLACE_BYTES) };
      offset += extent.length;
      return extent;
    });
    // A step that claims to go on behind the end of the file is torn only where its blocks are as long as that.
    if (offset !== end) throw damaged(path, at);
    if (end > size) return at;
    for (const [i, extent] of extents.entries()) found(readPlace(places, i * PLACE_BYTES), extent);
    at = end;
  }
  return at;
}

export function cannotWrite(path: string, error: unknown): ChainFolderError {
  const why = errorMessage(error);
  return new ChainFolderError(`${path} cannot be written: ${why}; the next start goes on behind its last step`, {
    cause: error,
  });
}

function damaged(path: string, at: number): ChainFolderError {
  return new ChainFolderError(
    `${path} is damaged at byte ${at}: put a copy in its place, or begin another chain with another --data-dir`,
  );
}

/** A power cut may leave the size of what was written last, without its bytes. */
function isZero(descriptor: number, from: number, size: number): boolean {
  for (let at = from; at < size; at += ZEROS_AT_ONCE) {
    if (readAt(descriptor, at, Math.min(ZEROS_AT_ONCE, size - at)).some((byte) => byte !== 0)) return false;
  }
  return true;
}

function writeStep(blocks: readonly ProducedBlock[], at: number): { record: Buffer; extents: Extent[] } {
  const places = blocks.length * PLACE_BYTES;
  const total = STEP_HEADER + places + blocks.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const record = Buffer.alloc(total);
  const extents: Extent[] = [];
  let offset = STEP_HEADER + places;
  blocks.forEach((block, i) => {
    const extent = { offset: at + offset, length: block.bytes.length };
    writePlace(block, extent, record, STEP_HEADER + i * PLACE_BYTES);
    block.bytes.copy(record, offset);
    offset += block.bytes.length;
    extents.push(extent);
  });
  record.writeUInt32BE(STEP_MAGIC, 0);
  record.writeUInt32BE(blocks.length, 4);
  record.writeUInt32BE(total - STEP_HEADER, 8);
  record.writeUInt32BE(crc32c(record, STEP_HEADER), 12);
  return { record, extents };
}

function readAt(descriptor: number, offset: number, length: number): Buffer {
  const out = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const read = readSync(descriptor, out, done, length - done, offset + done);
    if (read === 0) throw new ChainFolderError('the block file ends too early');
    done += read;
  }
  return out;
}

function writeAll(descriptor: number, bytes: Buffer, offset: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, offset + done);
  }
}
