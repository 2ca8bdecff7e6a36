import { compareBlocks, compareIds, nextBlocks, readBlockCursor } from '../../clickhouse/queries/blocks.ts';
import { compareDecimal, shardOf } from '../../clickhouse/queries/keys.ts';
import type { BlockFilter, BlockRecord, Rows } from '../chain/records.ts';
import { behindPrefix, blockIdKey, u32Key } from './keys.ts';
import { ENOUGH, mergePage, TIRED, WHOLE } from './merge.ts';
import { distinct, type Sides } from './sides.ts';
import type { View } from './view.ts';

const MASTERCHAIN = -1;
const MAX_TIME = 0xffff_ffff;
/** Steps without a masterchain block (imported loose) that are passed over to find one. */
const PASSED_OVER = 200;

export async function blocks(filter: BlockFilter, { view, below, whole, context }: Sides): Promise<Rows<BlockRecord>> {
  const named = namedBlocks(filter, view);
  if (named === 'below') return below.blocks(filter, context);
  if (named) {
    const passes = predicateOf(filter);
    const found = named.filter(passes).sort((a, b) => compareBlocks(a, b, filter.sort));
    const rows = found.slice(filter.page.offset, filter.page.offset + filter.page.limit);
    return { rows, nextCursor: nextBlocks(rows, filter) };
  }
  const found = await mergePage({
    rows: blockRows(view, filter),
    ahead: ({ header }) => view.below === null || header.genUtime > view.below.utime,
    needsTables: reachesBelow(filter, view),
    sort: filter.sort,
    page: filter.page,
    load: (row) => row,
    fetch: async (page) => (await below.blocks({ ...filter, page }, context)).rows,
    compare: (row, other) => compareBlocks(row, other, filter.sort),
  });
  if (found === WHOLE) return whole.blocks(filter, context);
  return { rows: found, nextCursor: nextBlocks(found, filter) };
}

/** The blocks that a filter names by step, hash or id; `below` when they are not here, null when it names none. */
function namedBlocks(filter: BlockFilter, view: View): BlockRecord[] | 'below' | null {
  const { mcSeqno, rootHash, fileHash, workchain, shard, seqno } = filter;
  if (mcSeqno !== undefined) {
    if (mcSeqno < 0) return [];
    return mcSeqno < view.first ? 'below' : view.blocksOf(mcSeqno);
  }
  const hash = rootHash ?? fileHash;
  const byId = workchain !== undefined && shard !== undefined && seqno !== undefined;
  if (!hash && !byId) return null;
  if (byId && seqno < 0) return [];
  const key = hash
    ? view.blockKeysByHash(hash)
    : byId
      ? view.blockKeyById(blockIdKey({ workchain, shard, seqno }))
      : null;
  const block = key && view.block(key);
  return block ? [block] : 'below';
}

function* blockRows(view: View, filter: BlockFilter): Generator<BlockRecord | typeof TIRED> {
  const passes = predicateOf(filter);
  let looked = 0;
  let group: BlockRecord[] = [];
  const sorted = () => group.sort((a, b) => compareBlocks(a, b, filter.sort));
  for (const key of keysByTime(view, filter)) {
    if (++looked > ENOUGH) {
      yield TIRED;
      return;
    }
    if (!mayPass(key, filter)) continue;
    const block = view.block(key.subarray(4));
    if (!block || !passes(block)) continue;
    if (group.length > 0 && group[0].header.genUtime !== block.header.genUtime) {
      yield* sorted();
      group = [];
    }
    group.push(block);
  }
  yield* sorted();
}

/** Time, then the key of the block. */
function* keysByTime(view: View, { utime, sort, ...filter }: BlockFilter): Generator<Buffer> {
  const place = readBlockCursor({ utime, sort, ...filter });
  const at = place && Number(place[0]);
  const start = Math.max(utime.start ?? 0, sort === 'asc' ? (at ?? 0) : 0);
  const end = Math.min(utime.end ?? MAX_TIME, sort === 'desc' ? (at ?? MAX_TIME) : MAX_TIME, MAX_TIME);
  if (start > end) return;
  const bounds = { low: u32Key(start), high: behindPrefix(u32Key(end)), reverse: sort === 'desc' };
  for (const { key, value } of view.range('blocksByTime', bounds)) {
    yield Buffer.concat([key.subarray(0, 4), value, key.subarray(4)]);
  }
}

/** Without a look at the block. */
function mayPass(key: Buffer, { workchain, shard, seqno }: BlockFilter): boolean {
  return (
    (workchain === undefined || key.readInt32BE(8) === workchain) &&
    (shard === undefined || key.toString('hex', 12, 20) === shard) &&
    (seqno === undefined || key.readUInt32BE(20) === seqno)
  );
}

function predicateOf(filter: BlockFilter): (row: BlockRecord) => boolean {
  const { workchain, shard, seqno, rootHash, fileHash, mcSeqno, utime, lt } = filter;
  const place = readBlockCursor(filter);
  const behind = place && {
    header: {
      genUtime: Number(place[0]),
      workchain: Number(place[1]),
      shard: shardOf(place[2]),
      seqno: Number(place[3]),
    },
  };
  return (row) =>
    (workchain === undefined || row.header.workchain === workchain) &&
    (shard === undefined || row.header.shard === shard) &&
    (seqno === undefined || row.header.seqno === seqno) &&
    (!rootHash || row.header.rootHash.equals(rootHash)) &&
    (!fileHash || row.header.fileHash.equals(fileHash)) &&
    (mcSeqno === undefined || row.mcSeqno === mcSeqno) &&
    row.header.genUtime >= (utime.start ?? 0) &&
    row.header.genUtime <= (utime.end ?? Number.POSITIVE_INFINITY) &&
    (lt.start === undefined || compareDecimal(row.header.startLt, lt.start) >= 0) &&
    (lt.end === undefined || compareDecimal(row.header.startLt, lt.end) <= 0) &&
    (!behind || compareBlocks(behind, row, filter.sort) < 0);
}

function reachesBelow({ utime, lt, cursor, sort, ...filter }: BlockFilter, { below }: View): boolean {
  if (below === null) return false;
  if (utime.start !== undefined && utime.start > below.utime) return false;
  if (lt.start !== undefined && BigInt(lt.start) > below.lt) return false;
  const place = readBlockCursor({ utime, lt, cursor, sort, ...filter });
  return place === null || sort === 'desc' || Number(place[0]) <= below.utime;
}

/** The masterchain block and the top block of every shard as of it. */
export async function shardState(mcSeqno: number, { view, below, whole, context }: Sides): Promise<BlockRecord[]> {
  if (mcSeqno < 1 || mcSeqno > view.head) return [];
  if (mcSeqno < view.first) return below.shardState(mcSeqno, context);
  const own = masterchainBlock(view, mcSeqno);
  if (own === null) return [];
  const found = [own];
  for (const id of distinct(view.tops(mcSeqno))) {
    const key = view.blockKeyById(id);
    const block = key && view.block(key);
    // The top of a shard that has stood still since before the window.
    if (!block) return whole.shardState(mcSeqno, context);
    found.push(block);
  }
  return found.sort((a, b) => compareIds(a, b) || a.header.seqno - b.header.seqno);
}

export function masterchainBlock(view: View, mcSeqno: number): BlockRecord | null {
  return view.blocksOf(mcSeqno).find(({ header }) => header.workchain === MASTERCHAIN) ?? null;
}

/** The newest masterchain block of the window, or the oldest; null when there is none near that end. */
export function edge(view: View, end: 'first' | 'last'): BlockRecord | null {
  let passed = 0;
  for (const { key } of view.range('steps', { low: u32Key(0), high: null, reverse: end === 'last' })) {
    const block = masterchainBlock(view, key.readUInt32BE(0));
    if (block) return block;
    if (++passed > PASSED_OVER) return null;
  }
  return null;
}
