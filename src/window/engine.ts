/**
 * What the window asks of a store of keys: get and range in a snapshot, and one batch of writes a commit. Here it is
 * lmdb; nothing outside this file knows.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabaseOptions, type Transaction } from 'lmdb';
import { z } from 'zod';
import { mindCommits } from '../../streams/environment.ts';
import { damageOf, expectRoom, LMDB_FILE } from '../../streams/lmdb-file.ts';
import { errorMessage } from '../chain/errors.ts';

/** Bytes that values have in common: what they are packed against. */
export interface Packing {
  dictionary?: Buffer;
}

export interface TableOptions {
  name: string;
  /** Values are packed (lz4); not packed unless given. */
  packing?: Packing;
}

/** An entry of a range. */
export interface Entry {
  key: Buffer;
  value: Buffer;
  /** The row that it leads to, where that was read to find it. */
  row?: Buffer;
}

/** Bounds are keys or prefixes of keys: from `low` up to, not including, `high`; null for the end. */
export interface Range {
  low: Buffer;
  high: Buffer | null;
  reverse?: boolean;
}

/** One moment of the store. To be ended with `done`. */
export interface Snapshot {
  /** The value until the next read. */
  peek(table: string, key: Buffer): Buffer | undefined;
  /** The value, in memory that stays. */
  get(table: string, key: Buffer): Buffer | undefined;
  range(table: string, range: Range): Iterable<Entry>;
  /** What all tables take on the disk, or one of them. */
  bytes(table?: string): number;
  done(): void;
}

/** Writes of one commit, in their order. Buffers that are given away must not change any more. */
export interface Batch {
  put(table: string, key: Buffer, value: Buffer): void;
  /** The same for a key behind all others of the table. */
  append(table: string, key: Buffer, value: Buffer): void;
  delete(table: string, key: Buffer): void;
}

/** The note, and what it is known by: another one after each commit. */
export interface Noted {
  value: Buffer;
  version: number;
}

export interface Engine {
  /** The note as it was committed last, or in a snapshot; null when the store is empty. */
  note(snapshot?: Snapshot): Noted | null;
  snapshot(): Snapshot;
  /**
   * Writes a batch and the note that it gives in one commit, by a thread of its own. False, and nothing is written, when
   * the note is no longer the one that was read before, for another process has written. A kill leaves all of a commit
   * or nothing.
   */
  commit(was: Noted | null, write: (batch: Batch) => Buffer): Promise<boolean>;
  /** Another note in its place, at once; false as above. */
  setNote(was: Noted, is: Buffer): boolean;
  /** Forgets the note and empties all tables. */
  clear(): void;
  /** Removes the tables that are here by a name that begins so and that were not named at the opening. */
  dropOthers(beginning: string): void;
  close(): Promise<void>;
}

/** Where the system does not name its boot. */
const SYNCED = 'synced';
const NOTES = 'notes';
const NOTE = Buffer.from('state');
/** Below this a value is not packed. */
const PACKED_FROM = 300;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const VERSIONS = 2 ** 47;
const bytes = { encoding: 'binary', keyEncoding: 'binary' } as const;

type Store = Database<Buffer, Buffer>;

const ignore = (): void => undefined;

/**
 * Opens the folder, which is made when it is not there. On a local disk: lmdb maps its file into memory. All who open it
 * are to name the same tables.
 *
 * Where the system names its boot, nothing waits for the disk: a kill loses nothing, for what was written is with the
 * system; what a power cut has left half written is in the folder of another boot, and that is removed. A store that is
 * `lasting` stays over boots, and its commits reach the disk in their order.
 *
 * @throws {Error} naming the folder, where the system refuses its files
 */
export function openEngine(folder: string, tables: readonly TableOptions[], { lasting = false } = {}): Engine {
  const boot = lasting ? null : bootId();
  const path = join(folder, boot ?? SYNCED);
  mkdirSync(path, { recursive: true });
  for (const name of readdirSync(folder))
    if (join(folder, name) !== path) rmSync(join(folder, name), { recursive: true, force: true });
  // A cache: what cannot be read is made again.
  if (damageOf(join(path, LMDB_FILE)) !== null) for (const name of readdirSync(path)) rmSync(join(path, name));
  const root = openRoot(path, {
    maxDbs: tables.length + 4,
    ...(boot ? { noSync: true, overlappingSync: false } : {}),
  });
  const commits = mindCommits(root, `the store in ${path}`);
  const stores = new Map<string, Store>(
    tables.map(({ name, packing }) => [
      name,
      root.openDB<Buffer, Buffer>({
        name,
        ...bytes,
        ...(packing ? { compression: { threshold: PACKED_FROM, ...packing } } : {}),
      }),
    ]),
  );
  const notes = root.openDB<Buffer, Buffer>({ name: NOTES, useVersions: true, ...bytes });
  const store = (name: string): Store => {
    const found = stores.get(name);
    if (!found) throw new Error(`the window has no table ${name}`);
    return found;
  };

  return {
    note(snapshot) {
      if (!(snapshot instanceof LmdbSnapshot)) root.resetReadTxn();
      const transaction = snapshot instanceof LmdbSnapshot ? snapshot.transaction : undefined;
      const found = notes.getEntry(NOTE, transaction ? { transaction } : undefined);
      return found ? { value: found.value, version: found.version ?? 0 } : null;
    },
    snapshot() {
      // The one that lmdb has may be a turn of the event loop old: another process may have written meanwhile.
      root.resetReadTxn();
      return new LmdbSnapshot(root.useReadTransaction(), stores);
    },
    commit(was, write) {
      let minded: Promise<boolean> | null = null;
      // The writes of a batch that is not committed reject, too: the commit tells of it for all. Most share a promise.
      const mind = (written: Promise<boolean>): void => {
        if (written === minded) return;
        minded = written;
        written.catch(ignore);
      };
      const batch: Batch = {
        put: (table, key, value) => mind(store(table).put(key, value)),
        append(table, key, value) {
          // The options are not in its types.
          const into = store(table);
          mind(Reflect.apply(into.put, into, [key, value, APPENDED]));
        },
        delete: (table, key) => mind(store(table).remove(key)),
      };
      const all = (): void => {
        mind(notes.put(NOTE, write(batch), newVersion()));
      };
      const committed = was ? notes.ifVersion(NOTE, was.version, all) : notes.ifNoExists(NOTE, all);
      return commits.outcome(committed);
    },
    setNote(was, is) {
      return root.transactionSync(() => {
        if (notes.getEntry(NOTE)?.version !== was.version) return false;
        notes.putSync(NOTE, is, newVersion());
        return true;
      });
    },
    clear() {
      root.transactionSync(() => {
        for (const one of [...stores.values(), notes]) one.clearSync();
      });
    },
    dropOthers(beginning) {
      // With what ends a name in C.
      const names = Array.from(root.getKeys(), (key) => key.toString('latin1', 0, key.length - 1));
      for (const name of names) {
        if (name.startsWith(beginning) && !stores.has(name)) root.openDB<Buffer, Buffer>({ name, ...bytes }).dropSync();
      }
    },
    close: commits.close,
  };
}

const newVersion = (): number => Math.floor(Math.random() * VERSIONS);

const APPENDED = { append: true };

/** The file of the store in a folder. */
export function engineFile(folder: string): string {
  return join(folder, bootId() ?? SYNCED, LMDB_FILE);
}

/** lmdb names no file when it is refused one. */
function openRoot(path: string, options: Pick<RootDatabaseOptions, 'maxDbs' | 'noSync' | 'overlappingSync'>) {
  try {
    expectRoom(path);
    return open<Buffer, Buffer>({ path, noSubdir: false, ...options, ...bytes });
  } catch (error) {
    const why = errorMessage(error);
    throw new Error(`cannot open the store in ${path}: ${why}`, { cause: error });
  }
}

/** Another one each time the system is started; null where it does not tell. */
function bootId(): string | null {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** What lmdb reads into a buffer of its own, valid until the next read; not in its types with a transaction. */
interface QuickReads {
  getBinaryFast(key: Buffer, options: { transaction: Transaction }): Buffer | undefined;
}

/** As lmdb tells it; not in its types. */
const stats = z.object({
  pageSize: z.number(),
  treeBranchPageCount: z.number(),
  treeLeafPageCount: z.number(),
  overflowPages: z.number(),
});

/** Room for what one snapshot reads; more is taken where that is not enough, twice as much each time. */
const FIRST_SLAB_BYTES = 8 * 1024;
const LARGEST_SLAB_BYTES = 256 * 1024;
const NO_SLAB = Buffer.alloc(0);

/**
 * `Database.get` makes a buffer for each value, which takes twice as long as reading it; here many values share one
 * (1,000 transactions: 2.6 ms against 0.9 ms). A class, not a factory: every request makes one.
 */
class LmdbSnapshot implements Snapshot {
  readonly transaction: Transaction;
  readonly #stores: ReadonlyMap<string, Store>;
  readonly #options: { transaction: Transaction };
  #size = FIRST_SLAB_BYTES / 2;
  #slab: Buffer = NO_SLAB;
  #at = 0;
  #open = true;

  constructor(transaction: Transaction, stores: ReadonlyMap<string, Store>) {
    this.transaction = transaction;
    this.#stores = stores;
    this.#options = { transaction };
  }

  #store(table: string): Store {
    if (!this.#open) throw new Error('the view of the window has ended');
    const found = this.#stores.get(table);
    if (!found) throw new Error(`the window has no table ${table}`);
    return found;
  }

  peek(table: string, key: Buffer): Buffer | undefined {
    const reads: QuickReads = this.#store(table);
    return reads.getBinaryFast(key, this.#options);
  }

  get(table: string, key: Buffer): Buffer | undefined {
    const found = this.peek(table, key);
    if (found === undefined) return undefined;
    // Set by lmdb: the shared buffer itself is longer.
    const { length } = found;
    if (this.#at + length > this.#slab.length) {
      this.#size = Math.min(2 * this.#size, LARGEST_SLAB_BYTES);
      this.#slab = Buffer.allocUnsafeSlow(Math.max(this.#size, length));
      this.#at = 0;
    }
    const at = this.#at;
    this.#slab.set(found.subarray(0, length), at);
    this.#at += length;
    return this.#slab.subarray(at, at + length);
  }

  range(table: string, { low, high, reverse = false }: Range): Iterable<Entry> {
    const { transaction } = this;
    const from = this.#store(table);
    if (high && low.compare(high) >= 0) return [];
    return reverse
      ? from.getRange({
          ...(high ? { start: high, exclusiveStart: true } : {}),
          end: low,
          inclusiveEnd: true,
          reverse: true,
          transaction,
        })
      : from.getRange({ start: low, ...(high ? { end: high } : {}), transaction });
  }

  bytes(table?: string): number {
    let sum = 0;
    for (const one of table === undefined ? this.#stores.values() : [this.#store(table)]) {
      const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = stats.parse(one.getStats());
      sum += pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
    }
    return sum;
  }

  done(): void {
    if (this.#open) this.transaction.done();
    this.#open = false;
  }
}
