import { type Cell, parseBoc } from '../chain/builder.ts';
import { applyMerkleUpdate } from '../chain/proof.ts';
import type { Checkpoint } from './checkpoint.ts';
import { withinShard } from './delivery.ts';
import type { Genesis } from './genesis.ts';
import type { BlockPlace } from './model.ts';
import { writeSplitState } from './resharding.ts';
import type { Tip } from './shard-block.ts';
import { readState } from './state.ts';
import type { Tips } from './step.ts';

/** What bringing states up to date needs of the blocks. */
export interface BlockHistory {
  mcPlace(mcSeqno: number): BlockPlace;
  tops(mcSeqno: number): readonly BlockPlace[];
  bytes(place: BlockPlace): Buffer;
}

/** Where the chain stands at seqno 0. */
export function zeroTips(genesis: Genesis, mc: BlockPlace, shard: BlockPlace): Tips {
  return {
    mc: { place: mc, state: genesis.mc.state, root: genesis.mc.root },
    shards: [{ place: shard, state: genesis.shard.state, root: genesis.shard.root }],
  };
}

/** Where the chain stood at a checkpoint. Throws DecodeError when it is not one of these blocks. */
export function checkpointTips(history: BlockHistory, { mcSeqno, roots }: Checkpoint): Tips {
  const [mc, ...shards] = roots;
  return {
    mc: tip(history.mcPlace(mcSeqno), mc),
    shards: history.tops(mcSeqno).map((place, i) => tip(place, shards[i])),
  };
}

function tip(place: BlockPlace, root: Cell): Tip {
  return { place, root, state: readState(root) };
}

/** Applies the state updates of one step. Throws DecodeError when a block does not follow the states. */
export function replayStep(history: BlockHistory, tips: Tips): Tips {
  const mcSeqno = tips.mc.place.seqno + 1;
  const apply = (place: BlockPlace, older: Cell): Tip => {
    const block = parseBoc(history.bytes(place));
    return tip(place, applyMerkleUpdate(older, block.refs[2]));
  };
  const shards = mcSeqno === 1 ? tips.shards : history.tops(mcSeqno).map((place) => apply(place, oldRoot(tips, place)));
  return { mc: apply(history.mcPlace(mcSeqno), tips.mc.root), shards };
}

/** The state that the update of a shard's next block starts from: its own or its parent's, or both its children's. */
function oldRoot(tips: Tips, { shard }: BlockPlace): Cell {
  const above = tips.shards.find(({ place }) => withinShard(shard, place.shard));
  if (above !== undefined) return above.root;
  const [left, right] = tips.shards.filter(({ place }) => withinShard(place.shard, shard));
  return writeSplitState(left.root, right.root);
}
