import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../../clickhouse/client.ts';
import { bytes, list } from '../../../clickhouse/literal.ts';
import { LARGE_KEYS_PER_QUERY, lotsOf } from '../../../clickhouse/lots.ts';
import { RowReader } from '../../../clickhouse/rowbinary.ts';
import { LIBRARY } from '../../../src/chain/boc.ts';
import { type Cell, parseBoc, Slice } from '../../../src/chain/builder.ts';
import { eachLeaf } from '../../../src/chain/dictionary.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import type { Hash } from '../../../src/chain/model.ts';
import { type CellText, cellText } from '../../../src/tvm/executor.ts';
import { namedLibraries } from '../../../src/tvm/libraries.ts';
import { createUnwritten } from '../held.ts';

/** A code, or a library, as the detectors need it. */
export interface KnownCode {
  text: CellText;
  /** Ids of the get-methods; null when the code does not begin as compilers make it begin. */
  methods: ReadonlySet<number> | null;
  libraries: readonly Hash[];
  /** The hash that a library cell stands for; null for other code. */
  standsFor: Hash | null;
}

const CACHE_BYTES = 64 * 1024 * 1024;
const ENTRY_BYTES = 512;
const METHOD_BYTES = 64;
const MAX_LIBRARIES = 32;
const MAX_METHODS = 4_000;

export type CodeStore = ReturnType<typeof createCodeStore>;

/**
 * Codes by hash: those that the batch at work has asked for, those of batches on their way into the tables, and a
 * bounded cache over table `codes`. That the table has none is remembered as well, until a step shows it: codes that no
 * block shows are what is asked for most.
 */
export function createCodeStore(clickhouse: Pick<ClickHouse, 'query'>) {
  const cache = new LRUCache<string, KnownCode | 'none'>({ maxSize: CACHE_BYTES, sizeCalculation: sizeOf });
  const unwritten = createUnwritten<KnownCode>();
  /** Whatever the cache drops meanwhile, the batch sees one answer from its begin to its end. */
  let held = new Map<string, KnownCode | null>();

  function known(key: string): KnownCode | null | undefined {
    const fresh = unwritten.get(key) ?? held.get(key);
    if (fresh !== undefined) return fresh;
    const cached = cache.get(key);
    return cached === 'none' ? null : cached;
  }

  async function read(asked: ReadonlyMap<string, Hash>, signal: AbortSignal): Promise<void> {
    const hashes = [...asked.values()];
    const found = new Map<string, KnownCode | null>();
    for (const some of lotsOf(hashes, LARGE_KEYS_PER_QUERY)) {
      const keys = list(some.map(bytes));
      const result = await clickhouse.query(
        `SELECT code_hash, boc FROM codes WHERE code_hash IN ${keys} LIMIT 1 BY code_hash`,
        { label: 'reading codes', signal },
      );
      for (const rows = new RowReader(result); !rows.done; ) found.set(hashKey(rows.fixed(32)), readCode(rows.bytes()));
    }
    for (const key of asked.keys()) {
      const code = found.get(key) ?? null;
      held.set(key, code);
      cache.set(key, code ?? 'none');
    }
  }

  /** Those of the hashes that are known, brought into memory. */
  async function load(hashes: Iterable<Hash>, signal: AbortSignal): Promise<KnownCode[]> {
    const missing = new Map<string, Hash>();
    const keys = new Set<string>();
    for (const hash of hashes) {
      const key = hashKey(hash);
      keys.add(key);
      const found = known(key);
      if (found === undefined) missing.set(key, hash);
      else held.set(key, found);
    }
    if (missing.size > 0) await read(missing, signal);
    return [...keys].flatMap((key) => known(key) ?? []);
  }

  return {
    load,
    /** And the codes that library cells among them stand for. */
    async loadWithLibraries(hashes: Iterable<Hash>, signal: AbortSignal): Promise<void> {
      const found = await load(hashes, signal);
      const behind = found.flatMap(({ standsFor }) => (standsFor ? [standsFor] : []));
      if (behind.length > 0) await load(behind, signal);
    },
    /** Null when no code with this hash was brought into memory. */
    held: (hash: Hash): KnownCode | null => known(hashKey(hash)) ?? null,
    put(hash: Hash, boc: Buffer, batch: number): void {
      const code = readCode(boc);
      if (code !== null) unwritten.put(hashKey(hash), code, batch);
    },
    /** Before a batch: what the one before has asked for is left to the cache. */
    clear(): void {
      held = new Map();
    },
    written(batch: number): void {
      unwritten.written(batch, (key, code) => {
        cache.set(key, code);
        held.set(key, code);
      });
    },
  };
}

function sizeOf(code: KnownCode | 'none'): number {
  return ENTRY_BYTES + (code === 'none' ? 0 : code.text.length + (code.methods?.size ?? 0) * METHOD_BYTES);
}

/** Null for bytes that are no tree of cells. */
function readCode(boc: Buffer): KnownCode | null {
  try {
    const root = parseBoc(boc);
    const standsFor = root.type === LIBRARY ? root.data.subarray(1, 33) : null;
    const libraries = namedLibraries([root], MAX_LIBRARIES);
    return { text: cellText(root), methods: standsFor ? null : methodsOf(root), libraries, standsFor };
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

const SETCP_0 = 0xff00;
/** `PUSHCONT` of a continuation with one reference and 8 bytes: how Tact wraps the selector of its contracts. */
const TACT_SELECTOR = 0x8e88;
/** `DICTPUSHCONST`: 14 bits F4A4_, then the key length in 10 bits. */
const DICTPUSHCONST = 0xf4a4 >> 2;

/** Ids of the get-methods: the keys of the dictionary that the code selects from; null where it does not begin so. */
function methodsOf(root: Cell): ReadonlySet<number> | null {
  if (root.exotic || root.bits < 40 || root.refs.length === 0) return null;
  const code = new Slice(root);
  if (code.u(16) !== SETCP_0) return null;
  if (code.clone().u(16) === TACT_SELECTOR) code.skip(16);
  if (code.bitsLeft < 24 || code.u(14) !== DICTPUSHCONST) return null;
  const keyBits = code.u(10);
  if (keyBits < 1 || keyBits > 32) return null;
  const methods = new Set<number>();
  const spare = 2 ** (((keyBits + 7) & ~7) - keyBits);
  try {
    eachLeaf(code.ref(), keyBits, (_, key) => {
      if (methods.size === MAX_METHODS) throw new DecodeError(`more than ${MAX_METHODS} get-methods`);
      methods.add(Math.floor(key.readUIntBE(0, key.length) / spare));
    });
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
  return methods;
}
