import type { Table } from './tables.ts';

/** Values above this take pages of their own in lmdb. */
const OVERFLOW_BYTES = 2_000;
const PAGE_BYTES = 4_096;
/** Header and pointer of an entry, and how full the pages of keys in random order are: measured (window.test.ts). */
const ENTRY_BYTES = 16;
const FILL = 1.45;
/** Pages of keys in ascending order have room left for less than one entry. */
const APPENDED_FILL = 1.3;

/** Writes and removals of one commit, with an estimate of what they add to the file. */
export interface Change {
  put(table: Table, key: Buffer, value: Buffer): void;
  /**
   * The same for a key behind all others of the table, whose pages get full.
   * @param bytes of the value as it is stored, where it is packed
   */
  append(table: Table, key: Buffer, value: Buffer, bytes?: number): void;
  remove(table: Table, key: Buffer): void;
  /** Estimated bytes added since the start. */
  readonly added: number;
}

export function createChange(): Change {
  let added = 0;
  return {
    put(table, key, value) {
      table.putSync(key, value);
      added += entryBytes(key, value);
    },
    append(table, key, value, bytes = value.length) {
      table.putSync(key, value, { append: true });
      added += storedBytes(key, bytes, APPENDED_FILL);
    },
    remove(table, key) {
      table.removeSync(key);
    },
    get added() {
      return added;
    },
  };
}

export function entryBytes(key: Buffer, value: Buffer): number {
  return storedBytes(key, value.length, FILL);
}

function storedBytes(key: Buffer, length: number, fill: number): number {
  if (length > OVERFLOW_BYTES) {
    const pages = Math.ceil((length + ENTRY_BYTES) / PAGE_BYTES) * PAGE_BYTES;
    return pages + (key.length + ENTRY_BYTES + 8) * fill;
  }
  return (key.length + length + ENTRY_BYTES) * fill;
}
