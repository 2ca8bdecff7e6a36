import type { Table } from './tables.ts';

/** Values above this take pages of their own in lmdb. */
const OVERFLOW_BYTES = 2_000;
const PAGE_BYTES = 4_096;
/** Header and pointer of an entry, and how full the pages of keys in random order are: measured (window.test.ts). */
const ENTRY_BYTES = 16;
const FILL = 1.45;

/** Writes and removals of one commit, with an estimate of what they add to the file. */
export interface Change {
  put(table: Table, key: Buffer, value: Buffer): void;
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
    remove(table, key) {
      table.removeSync(key);
    },
    get added() {
      return added;
    },
  };
}

export function entryBytes(key: Buffer, value: Buffer): number {
  if (value.length > OVERFLOW_BYTES) {
    const pages = Math.ceil((value.length + ENTRY_BYTES) / PAGE_BYTES) * PAGE_BYTES;
    return pages + (key.length + ENTRY_BYTES + 8) * FILL;
  }
  return (key.length + value.length + ENTRY_BYTES) * FILL;
}
