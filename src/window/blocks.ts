import {
  blockConditions,
  blockOrder,
  compareBlocks,
  compareIds,
  nextBlocks,
  readBlockCursor,
} from '../../clickhouse/queries/blocks.ts';
import { shardOf } from '../../clickhouse/queries/keys.ts';
import type { Hash } from '../chain/model.ts';
import type { BlockFilter, BlockRecord, Rows } from '../chain/records.ts';
import { Candidate } from './candidate.ts';
import { columnOf, layoutOf } from './kind.ts';
import { blockKind, topKind } from './kinds.ts';
import { listPage, WHOLE } from './listing.ts';
import { blockOf } from './rows.ts';
import { Selected, type Selection } from './select.ts';
import type { Sides } from './sides.ts';
import type { Found, View } from './view.ts';

const MASTERCHAIN = -1;
/** Steps without a masterchain block (imported loose) that are passed over to find one. */
const PASSED_OVER = 200;
const CLOCKS = { startLt: 'lt', genUtime: 'utime' } as const;
const NO_BLOCKS: Rows<BlockRecord> = { rows: [], nextCursor: null };
const BY_ID = layoutOf(blockKind, 'id');
const BY_HASH = layoutOf(blockKind, 'hash');

export async function blocks(filter: BlockFilter, { view, below, whole, context }: Sides): Promise<Rows<BlockRecord>> {
  const named = namedBlocks(filter, view);
  if (named === 'below') return view.below === null ? NO_BLOCKS : below.blocks(filter, context);
  const selection = selectionOf(filter);
  if (named) {
    const selected = new Selected(blockKind, selection);
    const passes = ({ id, row }: Found): boolean => selected.passes(Candidate.of(view, blockKind, id, row));
    const found = named.filter(passes).map(({ id, row }) => blockOf(id, row));
    found.sort((a, b) => compareBlocks(a, b, filter.sort));
    const rows = found.slice(filter.page.offset, filter.page.offset + filter.page.limit);
    return { rows, nextCursor: nextBlocks(rows, filter) };
  }
  const found = await listPage(view, {
    kind: blockKind,
    selection,
    clocks: CLOCKS,
    page: filter.page,
    load: ({ id, row }) => blockOf(id, row),
    valuesOf: ({ header: { genUtime, workchain, shard, seqno } }) => [genUtime, workchain, shard, seqno],
    fetch: async (page) => (await below.blocks({ ...filter, page }, context)).rows,
  });
  if (found === WHOLE) return whole.blocks(filter, context);
  return { rows: found, nextCursor: nextBlocks(found, filter) };
}

function selectionOf(filter: BlockFilter): Selection {
  const place = readBlockCursor(filter);
  return {
    where: blockConditions(filter),
    order: blockOrder(filter),
    after: place && [Number(place[0]), Number(place[1]), shardOf(place[2]), Number(place[3])],
  };
}

/** The blocks that a filter names by step, hash or id; `below` when they are not here, null when it names none. */
function namedBlocks(filter: BlockFilter, view: View): Found[] | 'below' | null {
  const { mcSeqno, rootHash, fileHash, workchain, shard, seqno } = filter;
  // Neither a step nor a block has such a number, and no key.
  if ((mcSeqno ?? 0) < 0 || (seqno ?? 0) < 0) return 'below';
  if (mcSeqno !== undefined) return mcSeqno < view.first ? 'below' : view.rowsOf(blockKind, mcSeqno);
  const hash = rootHash ?? fileHash;
  const byId = workchain !== undefined && shard !== undefined && seqno !== undefined;
  if (!hash && !byId) return null;
  const found = hash ? byHash(view, hash) : view.find(blockKind, BY_ID, [workchain, shard, seqno]);
  return found ? [found] : 'below';
}

/** The block with this root or file hash. */
function byHash(view: View, hash: Hash): Found | null {
  const found = view.find(blockKind, BY_HASH, [hash]);
  if (!found) return null;
  const { rootHash, fileHash } = blockOf(found.id, found.row).header;
  return rootHash.equals(hash) || fileHash.equals(hash) ? found : null;
}

/** The masterchain block and the top block of every shard as of it. */
export async function shardState(mcSeqno: number, { view, below, whole, context }: Sides): Promise<BlockRecord[]> {
  if (mcSeqno < 1 || mcSeqno > view.head) return [];
  if (mcSeqno < view.first) return below.shardState(mcSeqno, context);
  const own = masterchainBlock(view, mcSeqno);
  if (own === null) return [];
  const found = [own];
  for (const top of view.rowsOf(topKind, mcSeqno)) {
    const block = view.findByKey(blockKind, BY_ID, top.row);
    // The top of a shard that has stood still since before the window.
    if (!block) return whole.shardState(mcSeqno, context);
    found.push(blockOf(block.id, block.row));
  }
  return found.sort((a, b) => compareIds(a, b) || a.header.seqno - b.header.seqno);
}

export function masterchainBlock(view: View, mcSeqno: number): BlockRecord | null {
  const found = view
    .rowsOf(blockKind, mcSeqno)
    .find(({ row }) => columnOf(blockKind, row, 'workchain') === MASTERCHAIN);
  return found ? blockOf(found.id, found.row) : null;
}

/** The newest masterchain block of the window, or the oldest; null when there is none near that end. */
export function edge(view: View, end: 'first' | 'last'): BlockRecord | null {
  let passed = 0;
  for (const mcSeqno of view.steps(0, end === 'last')) {
    const block = masterchainBlock(view, mcSeqno);
    if (block) return block;
    if (++passed > PASSED_OVER) return null;
  }
  return null;
}
