/**
 * The header of a block out of its `BlockInfo` cell, in SQL. The cell is the root of the bag in `blocks.info`, and
 * everything in it up to its references begins at a whole byte (block.tlb, `block_info`).
 */

interface Column {
  meaning: string;
  /** From the place behind the tag of the cell, which counts from 0. */
  sql: (cell: Cell) => string;
}

interface Cell {
  number(at: number, bytes: 1 | 2 | 4): string;
  flag(at: number, bit: number): string;
  /** Seqno of the block that the first reference is about. */
  referred: string;
}

const SHARD_BYTES = 13;
/** Behind the tag: version, flags, two seqnos, the shard. */
const TIME = 4 + 2 + 8 + SHARD_BYTES;
const REST = TIME + 4 + 8 + 8;

const HEADER: Readonly<Record<string, Column>> = {
  version: { meaning: '', sql: ({ number }) => number(0, 4) },
  flags: { meaning: '', sql: ({ number }) => number(5, 1) },
  after_merge: { meaning: '', sql: ({ flag }) => flag(4, 1) },
  before_split: { meaning: '', sql: ({ flag }) => flag(4, 2) },
  after_split: { meaning: '', sql: ({ flag }) => flag(4, 3) },
  want_split: { meaning: '', sql: ({ flag }) => flag(4, 4) },
  want_merge: { meaning: '', sql: ({ flag }) => flag(4, 5) },
  key_block: { meaning: '', sql: ({ flag }) => flag(4, 6) },
  vert_seqno_incr: { meaning: '', sql: ({ flag }) => flag(4, 7) },
  vert_seqno: { meaning: '', sql: ({ number }) => number(10, 4) },
  validator_list_hash_short: {
    meaning: 'Signed 32 bits, as in /api/v3/blocks',
    sql: ({ number }) => `reinterpretAsInt32(${number(REST, 4)})`,
  },
  gen_catchain_seqno: { meaning: '', sql: ({ number }) => number(REST + 4, 4) },
  min_ref_mc_seqno: { meaning: '', sql: ({ number }) => number(REST + 8, 4) },
  prev_key_block_seqno: { meaning: '', sql: ({ number }) => number(REST + 12, 4) },
  master_ref_seqno: {
    meaning: 'Of the masterchain block that it was built on; NULL in the masterchain',
    sql: ({ flag, referred }) => `if(${flag(4, 0)}, ${referred}, NULL)`,
  },
};

export const HEADER_COLUMNS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(HEADER).map(([name, { meaning }]) => [name, meaning]),
);

/** The parts of a SELECT. @param info a bag of cells, fewer than 256 of them, whose first one is the header */
export function header(info: string): string {
  const byte = (at: string): string => `reinterpretAsUInt8(substring(${info}, toUInt64(${at}), 1))`;
  const big = (at: string, bytes: number): string =>
    `reinterpretAsUInt${bytes * 8}(reverse(substring(${info}, toUInt64(${at}), ${bytes})))`;
  // Magic, sizes of numbers, then four numbers of cells and one of bytes. Places count from 1.
  const first = `(11 + ${byte('6')})`;
  const tag = `(${first} + 2)`;
  /** Behind the two bytes that describe a cell come its data, then its references. */
  const references = (cell: string): string => `${cell} + 2 + intDiv(${byte(`${cell} + 1`)} + 1, 2)`;
  const after = `toUInt64(${references('place')} + bitAnd(${byte('place')}, 7))`;
  const second = `arrayFold((place, i) -> ${after}, range(${byte(references(first))}), toUInt64(${first}))`;
  const cell: Cell = {
    number: (at, bytes) => big(`${tag} + ${at + 4}`, bytes),
    flag: (at, bit) => `toBool(bitTest(${byte(`${tag} + ${at + 4}`)}, ${7 - bit}))`,
    referred: big(`${second} + 2 + 8`, 4),
  };
  return Object.entries(HEADER)
    .map(([name, { sql }]) => `${sql(cell)} AS ${name}`)
    .join(', ');
}
