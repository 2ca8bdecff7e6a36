import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Of a store, in its folder. */
export const LMDB_FILE = 'data.mdb';

/** `MDB_MAGIC` of liblmdb (mdb.c). */
const MAGIC = 0xbeefc0de;
/** The layout below is that of data version 2; of another one lmdb tells by itself. */
const DATA_VERSION = 2;
/** Two meta pages begin the file; a page begins with a header (`MDB_page`), behind it stands `MDB_meta`. */
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

function damageIn(descriptor: number): string | null {
  const first = readMeta(descriptor, 0);
  if (first !== null && first.version !== DATA_VERSION) return null;
  const second = first && readMeta(descriptor, first.pageSize);
  if (first === null || second === null) return 'it does not begin as a database does';
  const { roots, lastPage, pageSize } = second.transaction > first.transaction ? second : first;
  // Looked at last: who writes it has written all that a meta page names before that.
  const { size } = fstatSync(descriptor);
  const whole = (lastPage + 1) * pageSize;
  const needed = Math.max((Math.max(...roots) + 1) * pageSize, whole - MISSING_BYTES);
  return size < needed ? `it has ${size} bytes of ${whole}: it was cut off` : null;
}

function readMeta(descriptor: number, position: number) {
  const meta = Buffer.alloc(META_BYTES);
  if (readSync(descriptor, meta, 0, META_BYTES, position) < META_BYTES) return null;
  const pageSize = meta.readUInt32LE(AT.pageSize);
  if (meta.readUInt32LE(AT.magic) !== MAGIC || pageSize < SMALLEST_PAGE) return null;
  const numberAt = (at: number): number => Number(meta.readBigUInt64LE(at));
  return {
    version: meta.readUInt32LE(AT.version),
    pageSize,
    roots: [1, ...[AT.freeRoot, AT.mainRoot].map(numberAt).filter((root) => root !== NO_PAGE)],
    lastPage: numberAt(AT.lastPage),
    transaction: numberAt(AT.transaction),
  };
}
