import { Builder, type Cell, type Visit } from '../chain/builder.ts';
import { dictionaryHalf, joinHalves } from '../chain/dictionary.ts';
import type { Shard } from '../chain/model.ts';
import { shardChildren } from '../chain/shard-ident.ts';
import { depthBalance, KEY_BITS } from './augmentations.ts';
import { withinShard } from './delivery.ts';
import { laterLt } from './lt.ts';
import { mergeQueues, queueHalf } from './queue.ts';
import type { ProcessedUpto, ShardState } from './state.ts';

/** Number of prefix bits of a shard: where its children differ. */
function prefixBits(shard: Shard): number {
  const value = BigInt(`0x${shard}`);
  return 64 - (value & -value).toString(2).length;
}

/**
 * The half of a state that a child shard begins with: its accounts, the queued messages that its accounts sent,
 * what was imported for it, half of the fees. `visit` is called with the cells of the parent that were read.
 */
export function splitState(parent: ShardState, child: Shard, visit: Visit): ShardState {
  const [left] = shardChildren(parent.shard);
  const bit = child === left ? 0 : 1;
  return {
    ...parent,
    shard: child,
    beforeSplit: false,
    queue: queueHalf(parent.queue, child, visit),
    processed: parent.processed.flatMap((upto) => restrict(upto, child)),
    accounts: dictionaryHalf(
      parent.accounts.root,
      KEY_BITS.account,
      depthBalance,
      prefixBits(parent.shard),
      bit,
      visit,
    ),
    validatorFees: (parent.validatorFees + BigInt(bit)) / 2n,
  };
}

function restrict(upto: ProcessedUpto, child: Shard): ProcessedUpto[] {
  if (withinShard(child, upto.shard)) return [{ ...upto, shard: child }];
  return withinShard(upto.shard, child) ? [upto] : [];
}

/** The state a parent shard begins with after a merge. */
export function mergeStates(left: ShardState, right: ShardState, parent: Shard, visit: Visit): ShardState {
  const place = prefixBits(parent);
  return {
    ...left,
    shard: parent,
    seqno: Math.max(left.seqno, right.seqno),
    genUtime: Math.max(left.genUtime, right.genUtime),
    genLt: laterLt(left.genLt, right.genLt),
    minRefMcSeqno: Math.min(left.minRefMcSeqno, right.minRefMcSeqno),
    queue: mergeQueues(left.queue, right.queue, visit),
    processed: [...left.processed, ...right.processed],
    accounts: joinHalves(left.accounts.root, right.accounts.root, KEY_BITS.account, depthBalance, place, visit),
    validatorFees: left.validatorFees + right.validatorFees,
  };
}

/** `split_state#5f327da5 left:^ShardStateUnsplit right:^ShardStateUnsplit`: what a merging block's update starts from. */
export function writeSplitState(left: Cell, right: Cell): Cell {
  return new Builder().u(0x5f327da5, 32).ref(left).ref(right).cell();
}
