import { updateDictionary } from '../chain/dictionary.ts';
import type { Shard } from '../chain/model.ts';
import type { CellSet } from '../chain/proof.ts';
import { FULL_SHARD, shardChildren, shardContains, shardParent } from '../chain/shard-ident.ts';
import type { Executor } from '../tvm/executor.ts';
import { KEY_BITS, keyMaxLt } from './augmentations.ts';
import { collate } from './collator.ts';
import { derive, withValidators } from './configuration.ts';
import type { EndLtAt, Neighbour } from './delivery.ts';
import { type Genesis, GLOBAL_ID } from './genesis.ts';
import type { TextCache } from './ledger.ts';
import { alignedLt, laterLt } from './lt.ts';
import {
  type McExtra,
  mcBlockLeaf,
  readMcExtra,
  type ShardTop,
  writeMcBlockExtra,
  writeMcExtra,
  writeShardFees,
  writeShardHashes,
} from './masterchain.ts';
import type { ExternalIn } from './messages.ts';
import type { BlockPlace, ChainOptions } from './model.ts';
import { mergeStates, splitState, writeSplitState } from './resharding.ts';
import { type BlockFrame, type MadeBlock, makeBlock, refOf, type Tip } from './shard-block.ts';
import type { ShardState } from './state.ts';
import type { Validators } from './validators.ts';

/** What does not change from step to step. */
export interface StepContext {
  options: Pick<ChainOptions, 'seed' | 'blockTimeMs' | 'splitAt' | 'mergeAt'>;
  /** Masterchain blocks from one key block to the next. */
  keyBlockEvery: number;
  genesis: Genesis;
  validators: Validators;
  executor: Executor;
  cache: TextCache;
  maxTransactions: number;
  /** The shard tops registered by an older masterchain block. */
  topsAt(mcSeqno: number): readonly BlockPlace[];
  mcPlace(seqno: number): BlockPlace;
}

/** Where the whole chain stands between steps. */
export interface Tips {
  mc: Tip;
  /** By shard; the zero state before the second step. */
  shards: readonly Tip[];
}

/** The shard blocks of the next step, before a masterchain block registers them. */
export interface Collated {
  shards: MadeBlock[];
  /** What there was to be taken in, by these blocks and the masterchain's. */
  externals: readonly ExternalIn[];
}

export interface StepResult {
  mc: MadeBlock;
  shards: MadeBlock[];
  left: readonly ExternalIn[];
}

/** A shard about to get its next block. */
interface Start {
  shard: Shard;
  before: ShardState;
  /** What the block follows: two after a merge. */
  prev: readonly Tip[];
  oldRoot: Tip['root'];
  endLt: bigint;
  afterSplit: boolean;
  afterMerge: boolean;
  loaded: CellSet;
}

/** Makes the shard blocks of a step. */
export function makeShards(
  context: StepContext,
  tips: Tips,
  utime: number,
  externals: readonly ExternalIn[],
): Collated {
  const mcSeqno = tips.mc.place.seqno + 1;
  // As on a new network, the first masterchain block registers the zero state of the basechain.
  const starts = mcSeqno === 1 ? [] : shardStarts(context, tips, mcSeqno);
  const shards = starts.map((start) => {
    const others = starts.filter((other) => other !== start).map(neighbourOf);
    return makeShardBlock(context, tips, start, others, utime, externals);
  });
  return { shards, externals };
}

/** Makes the masterchain block that registers the shard blocks of a step. */
export function makeStep(context: StepContext, tips: Tips, utime: number, { shards, externals }: Collated): StepResult {
  const mcSeqno = tips.mc.place.seqno + 1;
  const mc = makeMcBlock(context, tips, shards, utime, externals);
  const unborn = mcSeqno === 1 ? externals.filter(({ destination }) => destination.workchain === 0) : [];
  return { mc, shards, left: [...unborn, ...[...shards, mc].flatMap(({ collation }) => collation.left)] };
}

function shardStarts({ options }: StepContext, { shards }: Tips, mcSeqno: number): Start[] {
  if (mcSeqno === options.mergeAt && shards.length === 2) return [mergedStart(shards[0], shards[1])];
  return shards.flatMap((tip) =>
    tip.state.beforeSplit ? shardChildren(tip.place.shard).map((child) => splitStart(tip, child)) : [plainStart(tip)],
  );
}

function plainStart(tip: Tip): Start {
  const { place, state, root } = tip;
  const common = { prev: [tip], oldRoot: root, endLt: place.endLt, afterSplit: false, afterMerge: false };
  return { ...common, shard: place.shard, before: state, loaded: new Set() };
}

function splitStart(tip: Tip, shard: Shard): Start {
  const loaded: CellSet = new Set();
  const before = splitState(tip.state, shard, (cell) => void loaded.add(cell.key()));
  return { ...plainStart(tip), shard, before, afterSplit: true, loaded };
}

function mergedStart(left: Tip, right: Tip): Start {
  const loaded: CellSet = new Set();
  const shard = shardParent(left.place.shard);
  const before = mergeStates(left.state, right.state, shard, (cell) => void loaded.add(cell.key()));
  const oldRoot = writeSplitState(left.root, right.root);
  const endLt = laterLt(left.place.endLt, right.place.endLt);
  return { shard, before, prev: [left, right], oldRoot, endLt, afterSplit: false, afterMerge: true, loaded };
}

function neighbourOf({ shard, before, endLt }: Start): Neighbour {
  return { workchain: 0, shard, endLt, queue: before.queue, processed: before.processed };
}

function tipNeighbour({ place, state }: Tip): Neighbour {
  const { workchain, shard, endLt } = place;
  return { workchain, shard, endLt, queue: state.queue, processed: state.processed };
}

/**
 * For a masterchain block `current` are the tops of the step in progress, which it already sees; of its own
 * messages it saw those of the block before.
 */
function endLts(context: StepContext, current: { mcSeqno: number; shards: readonly BlockPlace[] } | null): EndLtAt {
  return (mcSeqno, prefix) => {
    if (prefix.readInt32BE(0) === -1) return context.mcPlace(current === null ? mcSeqno : mcSeqno - 1).endLt;
    const tops = mcSeqno === current?.mcSeqno ? current.shards : context.topsAt(mcSeqno);
    const top = tops.find(({ shard }) => shardContains(shard, prefix.subarray(4)));
    return top === undefined ? 0n : top.endLt;
  };
}

/** The rand seed of a block, and whoever of the group has the turn to make it. */
function seeds({ options, validators }: StepContext, { mc }: Tips, workchain: number, shard: Shard, seqno: number) {
  const { list } = validators.group(mcExtraOf(mc).catchainSeqno);
  const createdBy = list[seqno % list.length].publicKey;
  return { randSeed: derive(options.seed, 'rand', workchain, shard, seqno), createdBy };
}

function mcExtraOf({ state }: Tip): McExtra {
  if (state.custom === null) throw new Error('masterchain state without its extra');
  return readMcExtra(state.custom);
}

/** What a masterchain block says of those who sign the blocks of the next step. */
function signedBy(mc: Tip) {
  const { validatorHash, catchainSeqno, afterKeyBlock, lastKeyBlock } = mcExtraOf(mc);
  const prevKeyBlockSeqno = afterKeyBlock ? mc.place.seqno : (lastKeyBlock?.seqno ?? 0);
  return { validatorHash, catchainSeqno, prevKeyBlockSeqno };
}

function makeShardBlock(
  context: StepContext,
  tips: Tips,
  start: Start,
  others: readonly Neighbour[],
  utime: number,
  externals: readonly ExternalIn[],
): MadeBlock {
  const { options } = context;
  const { shard, before, loaded } = start;
  const masterRef = refOf(tips.mc.place);
  const mcSeqno = masterRef.seqno + 1;
  const seqno = before.seqno + 1;
  const startLt = alignedLt(start.endLt, masterRef.endLt);
  const { randSeed, createdBy } = seeds(context, tips, 0, shard, seqno);
  const collation = collate(
    {
      ...context,
      workchain: 0,
      shard,
      now: utime,
      startLt,
      randSeed,
      state: before,
      neighbours: [...others, tipNeighbour(tips.mc)],
      mcSeqno: masterRef.seqno,
      endLtAt: endLts(context, null),
      externals: externals.filter(({ destination }) => isIn(destination, shard)),
      ticks: [],
      tocks: [],
    },
    loaded,
  );
  const whole = shard === FULL_SHARD;
  const info: BlockFrame['info'] = {
    workchain: 0,
    shard,
    seqno,
    afterMerge: start.afterMerge,
    afterSplit: start.afterSplit,
    beforeSplit: whole && mcSeqno + 1 === options.splitAt,
    wantSplit: whole && mcSeqno + 2 === options.splitAt,
    wantMerge: !whole && mcSeqno + 2 === options.mergeAt,
    keyBlock: false,
    genUtime: utime,
    startLt,
    ...signedBy(tips.mc),
    minRefMcSeqno: Math.min(masterRef.seqno, ...collation.processed.map((upto) => upto.mcSeqno)),
    masterRef,
    prev: start.prev.map(({ place }) => refOf(place)),
  };
  const custom = { blockCustom: null, stateCustom: null, feesImported: 0n };
  const frame = { globalId: GLOBAL_ID, oldRoot: start.oldRoot, before, info, collation, randSeed, createdBy, mcSeqno };
  return makeBlock({ ...frame, ...custom, loaded });
}

function isIn(address: ExternalIn['destination'], shard: Shard): boolean {
  return address.workchain === 0 && shardContains(shard, address.hash);
}

function makeMcBlock(
  context: StepContext,
  tips: Tips,
  shards: readonly MadeBlock[],
  utime: number,
  externals: readonly ExternalIn[],
): MadeBlock {
  const { genesis } = context;
  const { place, state: before, root: oldRoot } = tips.mc;
  const seqno = place.seqno + 1;
  const tops =
    shards.length === 0
      ? tips.shards.map(({ place }) => zeroTop(place))
      : shards.map((made) => topOf(context, made, seqno, utime));
  const startLt = alignedLt(place.endLt, ...shards.map(({ block }) => block.endLt));
  const { randSeed, createdBy } = seeds(context, tips, -1, FULL_SHARD, seqno);
  const loaded: CellSet = new Set();
  const run = (which: 'tick' | 'tock') =>
    genesis.special.filter(({ special }) => special?.[which] === true).map(({ hash }) => hash);
  const collation = collate(
    {
      ...context,
      workchain: -1,
      shard: FULL_SHARD,
      now: utime,
      startLt,
      randSeed,
      state: before,
      neighbours: shards.map(({ block, state, root }) => tipNeighbour({ place: block, state, root })),
      mcSeqno: seqno,
      endLtAt: endLts(context, { mcSeqno: seqno, shards: shards.map(({ block }) => block) }),
      externals: externals.filter(({ destination }) => destination.workchain === -1),
      ticks: run('tick'),
      tocks: run('tock'),
    },
    loaded,
  );
  const keyBlock = seqno === 1 || seqno % context.keyBlockEvery === 0;
  const shardHashes = writeShardHashes(tops);
  const fees = writeShardFees(shards.length === 0 ? [] : tops);
  const mcRefs = [seqno, ...tops.map((top) => top.minRefMcSeqno), ...collation.processed.map((upto) => upto.mcSeqno)];
  const info: BlockFrame['info'] = {
    ...{ workchain: -1, shard: FULL_SHARD, seqno, afterMerge: false, afterSplit: false, beforeSplit: false },
    ...{ wantSplit: false, wantMerge: false, keyBlock, genUtime: utime, startLt },
    ...signedBy(tips.mc),
    minRefMcSeqno: Math.min(...mcRefs),
    masterRef: null,
    prev: [refOf(place)],
  };
  const frame = { globalId: GLOBAL_ID, oldRoot, before, info, collation, randSeed, createdBy, mcSeqno: seqno };
  const extra = nextMcExtra(context, tips.mc, { shardHashes, keyBlock, utime }, loaded);
  const blockCustom = writeMcBlockExtra(shardHashes, fees, keyBlock ? extra.config : null);
  const stateCustom = writeMcExtra(extra);
  return makeBlock({ ...frame, feesImported: fees.extra, blockCustom, stateCustom, loaded });
}

/**
 * `McStateExtra` after a block: the one before joins the old blocks, and is the last key block if it was one. Key
 * blocks but the first bring the next session with its validators into office.
 */
function nextMcExtra(
  { validators }: StepContext,
  mc: Tip,
  { shardHashes, keyBlock, utime }: { shardHashes: ShardHashes; keyBlock: boolean; utime: number },
  loaded: CellSet,
): McExtra {
  const extra = mcExtraOf(mc);
  const ref = refOf(mc.place);
  const visit = (cell: { key(): string }): void => void loaded.add(cell.key());
  const leaf = mcBlockLeaf(ref, extra.afterKeyBlock);
  const next: McExtra = {
    ...extra,
    shardHashes,
    catchainUpdated: false,
    mcBlocks: updateDictionary(extra.mcBlocks.root, KEY_BITS.mcBlocks, keyMaxLt, [leaf], visit),
    afterKeyBlock: keyBlock,
    lastKeyBlock: extra.afterKeyBlock ? ref : extra.lastKeyBlock,
  };
  if (!keyBlock || ref.seqno === 0) return next;
  const catchainSeqno = extra.catchainSeqno + 1;
  const { hash: validatorHash } = validators.group(catchainSeqno);
  const config = withValidators(extra.config, validators.writeSet(catchainSeqno, utime), visit);
  return { ...next, config, validatorHash, catchainSeqno, catchainUpdated: true };
}

type ShardHashes = ReturnType<typeof writeShardHashes>;

const plainTop = { beforeSplit: false, beforeMerge: false, wantSplit: false, wantMerge: false, announced: null };

/** The zero state of the basechain as the first masterchain block registers it. */
function zeroTop(place: BlockPlace): ShardTop {
  const { shard, seqno, startLt, endLt, rootHash, fileHash, genUtime } = place;
  const ids = { shard, seqno, regMcSeqno: 1, startLt, endLt, rootHash, fileHash, genUtime };
  return { ...plainTop, ...ids, minRefMcSeqno: 0xffffffff, fees: 0n };
}

function topOf({ options }: StepContext, { block, state, flow }: MadeBlock, mcSeqno: number, utime: number): ShardTop {
  const { shard, seqno, startLt, endLt, rootHash, fileHash, genUtime } = block;
  const whole = shard === FULL_SHARD;
  const wantSplit = whole && mcSeqno + 2 === options.splitAt;
  const wantMerge = !whole && mcSeqno + 2 === options.mergeAt;
  const soon = utime + Math.ceil(options.blockTimeMs / 1000);
  const interval = 100;
  const announced =
    wantSplit || wantMerge ? ({ kind: wantSplit ? 'split' : 'merge', utime: soon, interval } as const) : null;
  return {
    ...{ shard, seqno, regMcSeqno: mcSeqno, startLt, endLt, rootHash, fileHash, genUtime },
    minRefMcSeqno: state.minRefMcSeqno,
    fees: flow.feesCollected,
    beforeSplit: state.beforeSplit,
    beforeMerge: !whole && mcSeqno + 1 === options.mergeAt,
    wantSplit,
    wantMerge,
    announced,
  };
}
