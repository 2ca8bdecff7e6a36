import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

/** Of a store, in its folder. */
export const LMDB_FILE = 'data.mdb';
const LOCK_FILE = 'lock.mdb';
/** More than lmdb writes into both when it makes them. */
const FIRST_BYTES = 64 * 1024;

/** `MDB_MAGIC` of liblmdb (mdb.c). */
const MAGIC = 0xbeefc0de;
/** The layout below is that of data version 2; of another one lmdb tells by itself. */
const DATA_VERSION = 2;
/**
 * Two meta pages begin the file; a page begins with a header (`MDB_page`), behind it stands `MDB_meta`. What was flushed to
 * the disk last has another one half a page behind the first (lmdb-js, `mdb_env_pick_meta`).
 */
const SMALLEST_PAGE = 512;
const AT = { magic: 24, version: 28, pageSize: 48, freeRoot: 88, mainRoot: 136, lastPage: 144, transaction: 152 };
const META_BYTES = 160;
/** Of an empty tree (`P_INVALID`), as a number. */
const NO_PAGE = 2 ** 64;
/** Free pages at the end need not be in the file ("the file may be shorter", mdb.c): none of our commits leaves so many. */
const MISSING_BYTES = 4 * 1024 * 1024;

/**
 * Why a file cannot be a whole store of lmdb, as far as its beginning tells; null for a good one, or none. lmdb itself
 * does not look: opening a file that is none, and reading one that was cut off, ends the process by a signal.
 */
export function damageOf(file: string): string | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  try {
    return fstatSync(descriptor).size === 0 ? null : damageIn(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * A file that is large enough for any of its meta pages is lmdb's to judge: after a power cut it goes back to the one
 * that was flushed last, which stands in the middle of the first page.
 */
function damageIn(descriptor: number): string | null {
  const first = readMeta(descriptor, 0);
  if (first === null) return NOT_ONE;
  const { version, pageSize } = first;
  if (version !== DATA_VERSION) return null;
  const second = readMeta(descriptor, pageSize);
  // Of one that is just being made the second page may not be there yet; lmdb refuses it by itself.
  if (second === null) return fstatSync(descriptor).size < 2 * pageSize ? null : NOT_ONE;
  const flushed = readState(descriptor, pageSize / 2);
  const states = [first, second, ...(flushed === null || flushed.transaction === 0 ? [] : [flushed])];
  // Looked at last: who writes it has written all that a meta page names before that.
  const { size } = fstatSync(descriptor);
  const needed = states.map(({ roots, lastPage }) =>
    Math.max((Math.max(...roots) + 1) * pageSize, (lastPage + 1) * pageSize - MISSING_BYTES),
  );
  if (size >= Math.min(...needed)) return null;
  const newest = states.reduce((one, other) => (other.transaction > one.transaction ? other : one));
  return `it has ${size} bytes of ${(newest.lastPage + 1) * pageSize}: it was cut off`;
}

const NOT_ONE = 'it does not begin as a database does';

/** What a meta page tells; null where there is none. */
function readMeta(descriptor: number, position: number) {
  const meta = readBytes(descriptor, position);
  if (meta === null) return null;
  const pageSize = meta.readUInt32LE(AT.pageSize);
  if (meta.readUInt32LE(AT.magic) !== MAGIC || pageSize < SMALLEST_PAGE) return null;
  return { version: meta.readUInt32LE(AT.version), pageSize, ...stateIn(meta) };
}

function readState(descriptor: number, position: number) {
  const meta = readBytes(descriptor, position);
  return meta && stateIn(meta);
}

function readBytes(descriptor: number, position: number): Buffer | null {
  const meta = Buffer.alloc(META_BYTES);
  return readSync(descriptor, meta, 0, META_BYTES, position) < META_BYTES ? null : meta;
}

function stateIn(meta: Buffer) {
  const numberAt = (at: number): number => Number(meta.readBigUInt64LE(at));
  return {
    roots: [1, ...[AT.freeRoot, AT.mainRoot].map(numberAt).filter((root) => root !== NO_PAGE)],
    lastPage: numberAt(AT.lastPage),
    transaction: numberAt(AT.transaction),
  };
}

/**
 * Makes the folder of a store, and sees that its files can be written, those that are missing also made: where the system
 * refuses lmdb their first bytes, as on a full disk, or its lock, as to another user, opening ends the process by a signal.
 * @throws {Error} of the system
 */
export function expectRoom(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const sizes = [LMDB_FILE, LOCK_FILE].map((name) => {
    const file = join(folder, name);
    const size = statSync(file, { throwIfNoEntry: false })?.size;
    // Not by opening it: closing it again would let go of the locks that lmdb has on it in this process.
    if (size !== undefined) accessSync(file, constants.R_OK | constants.W_OK);
    return size ?? 0;
  });
  if (sizes.every((size) => size > 0)) return;
  const tried = join(folder, `room-${process.pid}-${threadId}`);
  try {
    writeFileSync(tried, Buffer.alloc(FIRST_BYTES));
  } finally {
    rmSync(tried, { force: true });
  }
}
