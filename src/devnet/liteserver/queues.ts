import { type Cell, Slice, type Visit } from '../../chain/builder.ts';
import { blockIdExtToTl, shardFromTl } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import { withinShard } from '../delivery.ts';
import type { BlockPlace, Chain } from '../model.ts';
import type { Blocks } from './blocks.ts';
import { showState } from './proofs.ts';

const WANT_PROOF = 1;
const ONE_SHARD = 1;

/** Length of a queue above which a node's collator takes no more external messages. */
const QUEUE_LIMIT = 8000;

/**
 * Shows `OutMsgQueueInfo`, the first cell of a state: the queue, what was imported, and in `out_msg_queue_extra#0` the
 * dispatch queue, which this chain leaves empty, and the queue's size.
 */
function showQueueSize(state: Cell, visit: Visit): number {
  showState(state, visit);
  const info = new Slice(state.refs[0], visit);
  info.maybeRef();
  info.skip(64);
  info.maybeRef();
  if (!info.bit()) return 0;
  info.tag(4, 0, 'OutMsgQueueExtra');
  info.maybeRef();
  info.skip(64);
  return info.bit() ? info.u(48) : 0;
}

export function queueHandlers(chain: Chain, blocks: Blocks): LiteHandlers {
  const sizeOf = (place: BlockPlace): number => showQueueSize(blocks.state(place), () => undefined);
  const proofOf = (place: BlockPlace): Buffer =>
    blocks.proof(place, 'queue', () =>
      blocks.stateProof(place, (visit) => void showQueueSize(blocks.state(place), visit)),
    );

  return {
    getOutMsgQueueSizes({ mode, wc, shard }) {
      const { mc, shards } = chain.head();
      const wanted = shard === undefined ? null : shardFromTl(shard);
      const isWanted = (place: BlockPlace): boolean =>
        !(mode & ONE_SHARD) ||
        wanted === null ||
        (place.workchain === wc && (withinShard(place.shard, wanted) || withinShard(wanted, place.shard)));
      const sizes = [mc, ...shards]
        .filter(isWanted)
        .map((place) => ({ id: blockIdExtToTl(place), size: sizeOf(place) }));
      return { shards: sizes, extMsgQueueSizeLimit: QUEUE_LIMIT };
    },

    getBlockOutMsgQueueSize({ mode, id }) {
      const place = blocks.find(id);
      const proof = mode & WANT_PROOF ? { proof: proofOf(place) } : {};
      return { mode, id: blockIdExtToTl(place), size: BigInt(sizeOf(place)), ...proof };
    },

    getDispatchQueueInfo({ mode, id }) {
      const place = blocks.find(id);
      const proof = mode & WANT_PROOF ? { proof: proofOf(place) } : {};
      return {
        mode: mode & WANT_PROOF,
        id: blockIdExtToTl(place),
        accountDispatchQueues: [],
        complete: true,
        ...proof,
      };
    },

    getDispatchQueueMessages({ mode, id }) {
      const place = blocks.find(id);
      const proof = mode & WANT_PROOF ? { proof: proofOf(place) } : {};
      return { mode: mode & WANT_PROOF, id: blockIdExtToTl(place), messages: [], complete: true, ...proof };
    },
  };
}
