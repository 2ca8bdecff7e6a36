import { openBoc } from '../../src/chain/boc.ts';
import { decodeBlockInfo } from '../../src/chain/header.ts';
import type { BlockHeader, Decimal } from '../../src/chain/model.ts';
import type { BlockFilter, BlockRecord, QueryContext, Rows } from '../../src/chain/records.ts';
import { bytes, u32 } from '../literal.ts';
import type { RowReader } from '../rowbinary.ts';
import { blocks as blockTable } from '../tables/blocks.ts';
import type { Row } from '../tables/table.ts';
import {
  all,
  asked,
  askedNumber,
  behind,
  type ConditionOn,
  limits,
  orderBy,
  type Sorted,
  where,
} from './conditions.ts';
import { makeCursor, readCursor, SHARD, shardNumber, shardOf, TIME, WORKCHAIN } from './keys.ts';
import { pageEnd } from './page-end.ts';
import { collect, type Reading } from './reading.ts';
import type { Steps } from './steps.ts';

export const COLUMNS = 'mc_seqno, tx_count, global_id, root_hash, file_hash, rand_seed, created_by, info';
const KEY = '(mc_seqno, workchain, shard, seqno)';
const CURSOR = 'b';

export type BlockQueries = ReturnType<typeof blockQueries>;

export function blockQueries(reading: Reading, steps: Steps) {
  return {
    async masterchainInfo(context: QueryContext): Promise<{ first: BlockRecord; last: BlockRecord } | null> {
      const edge = (sort: string) =>
        `SELECT ${COLUMNS} FROM blocks WHERE workchain = -1 AND mc_seqno <= ${reading.head.seqno} ORDER BY mc_seqno ${sort} LIMIT 1`;
      const rows = await reading.rows(
        `SELECT * FROM (${edge('ASC')}) UNION ALL SELECT * FROM (${edge('DESC')})`,
        'masterchain info',
        context,
      );
      const found = collect(rows, readBlock).sort((a, b) => a.header.seqno - b.header.seqno);
      return found.length === 0 ? null : { first: found[0], last: found[found.length - 1] };
    },

    async hasMasterchainBlock(seqno: number, context: QueryContext): Promise<boolean> {
      if (seqno < 1 || seqno > reading.head.seqno) return false;
      return (await steps.spanOf(seqno, context))?.hasMasterchainBlock ?? false;
    },

    /**
     * Greatest lt and time of any block up to the head of this reading, null when there is none. Looks at two columns
     * of the whole table: to be asked seldom.
     */
    async newestBelow(context: QueryContext): Promise<{ lt: Decimal; utime: number } | null> {
      const sql = `SELECT max(end_lt), max(gen_utime), count() FROM blocks WHERE mc_seqno <= ${reading.head.seqno}`;
      const rows = await reading.rows(sql, 'newest block', context);
      const [lt, utime, count] = [rows.u64(), rows.u32(), rows.u64()];
      return count === '0' ? null : { lt, utime };
    },

    async blocks(filter: BlockFilter, context: QueryContext): Promise<Rows<BlockRecord>> {
      if (filter.mcSeqno !== undefined && filter.mcSeqno < 0) return { rows: [], nextCursor: null };
      const sql = `SELECT ${COLUMNS} FROM blocks WHERE ${KEY} IN (${keysOf(filter, reading.head.seqno)})`;
      const rows = collect(await reading.rows(sql, 'blocks', context), readBlock);
      rows.sort((a, b) => compareBlocks(a, b, filter.sort));
      return { rows, nextCursor: nextBlocks(rows, filter) };
    },

    async shardState(mcSeqno: number, context: QueryContext): Promise<BlockRecord[]> {
      if (mcSeqno < 1 || mcSeqno > reading.head.seqno) return [];
      const tops = `SELECT workchain, shard, seqno FROM shard_tops WHERE mc_seqno = ${u32(mcSeqno)}`;
      const rows = await reading.rows(
        `SELECT ${COLUMNS} FROM blocks WHERE ${KEY} IN (
           SELECT mc_seqno, workchain, shard, seqno FROM blocks_by_id WHERE (workchain, shard, seqno) IN (${tops})
           UNION ALL SELECT mc_seqno, workchain, shard, seqno FROM blocks WHERE mc_seqno = ${u32(mcSeqno)} AND workchain = -1)`,
        'shard state',
        context,
      );
      const found = collect(rows, readBlock);
      if (!found.some(({ header }) => header.workchain === -1)) return [];
      return found.sort((a, b) => compareIds(a, b) || a.header.seqno - b.header.seqno);
    },
  };
}

/** What a filter asks of blocks. */
export function blockConditions(filter: BlockFilter): ConditionOn<typeof blockTable>[] {
  const { workchain, shard, seqno, rootHash, fileHash, mcSeqno, utime, lt } = filter;
  return [
    { column: 'genUtime', from: utime.start ?? 0, to: utime.end },
    { column: 'startLt', from: lt.start, to: lt.end },
    ...asked('workchain', workchain),
    ...asked('shard', shard),
    ...askedNumber('seqno', seqno),
    ...asked('rootHash', rootHash),
    ...asked('fileHash', fileHash),
    ...askedNumber('mcSeqno', mcSeqno),
  ];
}

/** By time in the direction asked for, then workchain and signed shard ascending, then seqno in that direction. */
export function blockOrder({ sort }: BlockFilter): Sorted<Row<typeof blockTable>>[] {
  return [
    { column: 'genUtime', sort },
    { column: 'workchain', sort: 'asc' },
    { column: 'shard', sort: 'asc' },
    { column: 'seqno', sort },
  ];
}

/** The keys of a page of blocks, from the table that has them in the order asked for. */
function keysOf(filter: BlockFilter, head: number): string {
  const { workchain, shard, seqno, rootHash, fileHash, mcSeqno } = filter;
  const hash = rootHash ?? fileHash;
  const byId = seqno !== undefined && seqno >= 0;
  const named = hash !== undefined || mcSeqno !== undefined || byId;
  const conditions = [where(blockTable, [{ column: 'mcSeqno', to: head }, ...blockConditions(filter)])];
  const from = (index: string, condition: string) =>
    conditions.push(`${KEY} IN (SELECT mc_seqno, workchain, shard, seqno FROM ${index} WHERE ${condition})`);
  if (hash) from('blocks_by_hash', `hash = ${bytes(hash)}`);
  else if (mcSeqno === undefined && byId) {
    const id = [...asked('workchain', workchain), ...asked('shard', shard), ...asked('seqno', seqno)];
    from('blocks_by_id', where(blockTable, id));
  }
  const order = blockOrder(filter);
  const place = readBlockCursor(filter);
  if (place) {
    const [time, chain, signed, number] = place;
    conditions.push(behind(blockTable, order, [Number(time), Number(chain), shardOf(signed), Number(number)]));
  }
  const table = named ? 'blocks' : 'blocks_by_time';
  // Blocks of one time are in ascending order of their shards, against that of the table.
  if (!named && filter.sort === 'desc') {
    conditions.push(pageEnd({ from: `FROM ${table} WHERE ${all(conditions)}`, by: 'gen_utime' }, filter));
  }
  return `SELECT mc_seqno, workchain, shard, seqno FROM ${table} WHERE ${all(conditions)} ORDER BY ${orderBy(order)} ${limits(filter.page)}`;
}

/** The values of a cursor of blocks: time, workchain, signed shard, seqno. Null at the beginning. */
export function readBlockCursor({ cursor }: BlockFilter): string[] | null {
  return cursor === undefined ? null : readCursor(cursor, CURSOR, [TIME, WORKCHAIN, SHARD, TIME]);
}

/** The cursor behind a page; null when it was the last. */
export function nextBlocks(rows: readonly BlockRecord[], { page }: BlockFilter): string | null {
  const last = rows.length < page.limit ? undefined : rows[rows.length - 1];
  return last ? cursorOf(last) : null;
}

export function readBlock(rows: RowReader): BlockRecord {
  const mcSeqno = rows.u32();
  const txCount = rows.u32();
  const globalId = rows.i32();
  const rootHash = rows.fixed(32);
  const fileHash = rows.fixed(32);
  const randSeed = rows.fixed(32);
  const createdBy = rows.fixed(32);
  const info = openBoc(rows.bytes());
  const header = { ...decodeBlockInfo(info, info.roots[0], globalId), rootHash, fileHash };
  return { header, mcSeqno, txCount, randSeed, createdBy };
}

function cursorOf({ header }: BlockRecord): string {
  return makeCursor(CURSOR, [
    String(header.genUtime),
    String(header.workchain),
    shardNumber(header.shard),
    String(header.seqno),
  ]);
}

/** What the order of blocks looks at. */
export interface OrderedBlock {
  header: Pick<BlockHeader, 'genUtime' | 'workchain' | 'shard' | 'seqno'>;
}

/** By time in the direction asked for, then workchain and signed shard ascending, then seqno in that direction. */
export function compareBlocks(a: OrderedBlock, b: OrderedBlock, sort: 'asc' | 'desc'): number {
  const sign = sort === 'asc' ? 1 : -1;
  return sign * (a.header.genUtime - b.header.genUtime) || compareIds(a, b) || sign * (a.header.seqno - b.header.seqno);
}

export function compareIds(a: OrderedBlock, b: OrderedBlock): number {
  return a.header.workchain - b.header.workchain || compareShards(a.header.shard, b.header.shard);
}

/** Shards are ordered as signed 64-bit numbers: those that begin with the digits 8 to f come first. */
function compareShards(a: string, b: string): number {
  const rank = (shard: string) => (shard[0] >= '8' ? 0 : 1);
  return rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0);
}
