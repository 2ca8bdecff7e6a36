import { blockIdExtToTl, shardFromTl } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import type { Chain } from '../model.ts';

/** Mode bit: one shard's blocks alone. */
const ONE_SHARD = 1;

/**
 * Shard blocks that are signed and that no masterchain block registers yet: per shard the newest one. They, and their
 * states, are found by their whole ids. There are no candidates: a block that is made is signed at once.
 */
export function nonfinalHandlers(chain: Pick<Chain, 'signed'>): LiteHandlers {
  return {
    'nonfinal.getPendingShardBlocks'({ mode, wc, shard }) {
      const wanted = mode & ONE_SHARD && shard !== undefined ? shardFromTl(shard) : null;
      const blocks = chain.signed().map(({ block }) => block);
      const asked = wanted === null ? blocks : blocks.filter((one) => one.workchain === wc && one.shard === wanted);
      return { signedBlocks: asked.map(blockIdExtToTl), candidates: [] };
    },
  };
}
