import { type Cell, toBoc } from '../chain/builder.ts';
import { sha256Of } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import { type CellSet, markChanged, merkleUpdate } from '../chain/proof.ts';
import { type BlockInfo, type Flow, valueFlow, writeBlock } from './block-cells.ts';
import type { Collation } from './collator.ts';
import type { BlockPlace, ProducedBlock } from './model.ts';
import { type BlockRef, type ShardState, writeState } from './state.ts';

/** A block of one chain and the state it leads to. */
export interface MadeBlock {
  block: ProducedBlock;
  state: ShardState;
  root: Cell;
  flow: Flow;
  collation: Collation;
}

/** Where a chain stands: its newest block, and the state after it. */
export interface Tip {
  place: BlockPlace;
  state: ShardState;
  root: Cell;
}

export interface BlockFrame {
  globalId: number;
  /** The state's root the update starts from: of the block before, or of both before a merge. */
  oldRoot: Cell;
  /** The state before the block, already split or merged. */
  before: ShardState;
  info: Omit<BlockInfo, 'endLt'>;
  collation: Collation;
  feesImported: bigint;
  randSeed: Hash;
  createdBy: Hash;
  mcSeqno: number;
  /** `McBlockExtra` and `McStateExtra` of masterchain blocks. */
  blockCustom: Cell | null;
  stateCustom: Cell | null;
  loaded: CellSet;
}

/** Writes the state after a block, the update to it and the block. */
export function makeBlock(frame: BlockFrame): MadeBlock {
  const { collation, before, loaded } = frame;
  const info = { ...frame.info, endLt: collation.endLt };
  const flow = valueFlow(collation, before.accounts.extra.balance, frame.feesImported);
  const state: ShardState = {
    ...before,
    seqno: info.seqno,
    genUtime: info.genUtime,
    genLt: info.endLt,
    minRefMcSeqno: info.minRefMcSeqno,
    beforeSplit: info.beforeSplit,
    queue: collation.queue,
    processed: collation.processed,
    accounts: collation.accounts,
    validatorFees: before.validatorFees + flow.feesCollected,
    masterRef: info.masterRef,
    custom: frame.stateCustom,
  };
  const root = writeState(state);
  markTop(frame.oldRoot, root, loaded);
  const stateUpdate = merkleUpdate(frame.oldRoot, root, loaded);
  const { globalId, randSeed, createdBy, blockCustom } = frame;
  const cell = writeBlock({ globalId, info, flow, stateUpdate, collation, randSeed, createdBy, custom: blockCustom });
  const bytes = toBoc(cell);
  const block: ProducedBlock = {
    workchain: info.workchain,
    shard: info.shard,
    seqno: info.seqno,
    rootHash: cell.hash(),
    fileHash: sha256Of(bytes),
    startLt: info.startLt,
    endLt: info.endLt,
    genUtime: info.genUtime,
    mcSeqno: frame.mcSeqno,
    transactions: collation.transactions,
    bytes,
  };
  return { block, state, root, flow, collation };
}

/**
 * Marks the cells of an old state above its dictionaries; what a dictionary's update read is marked by it. Two
 * states under a `split_state` are marked alike.
 */
function markTop(older: Cell, newer: Cell, loaded: CellSet): void {
  loaded.add(older.key());
  if (older.refs.length === 2) {
    for (const half of older.refs) markTop(half, newer, loaded);
    return;
  }
  const kept = new Set(newer.refs.map((ref) => ref.key()));
  for (const ref of older.refs) if (!kept.has(ref.key())) loaded.add(ref.key());
  const [oldCustom, newCustom] = [older.refs[3], newer.refs[3]];
  if (oldCustom === undefined || newCustom === undefined) return;
  // McStateExtra: shard hashes (small, no dictionary worth the name), configuration, the rest.
  const rest = oldCustom.refs[oldCustom.refs.length - 1];
  loaded.add(rest.key());
  if (oldCustom.refs.length === 3) markChanged(oldCustom.refs[0], newCustom.refs[0], loaded);
}

/** A block as other blocks refer to it. */
export function refOf(place: BlockPlace): BlockRef {
  return { endLt: place.endLt, seqno: place.seqno, rootHash: place.rootHash, fileHash: place.fileHash };
}
