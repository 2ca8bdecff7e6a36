/** Tops of the shards as a masterchain block registers them. */
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import type { BlockIdExt, Shard } from '../chain/model.ts';
import type { MasterBlock } from './master-blocks.ts';
import { blockNotFound, type Step } from './steps.ts';

export interface Shards {
  /**
   * In the order of their workchains and prefixes. Of a workchain without blocks it is the zero state, which no index
   * has: the masterchain block itself names it. @throws {NodeError} `not_found` for a step that is not indexed
   */
  shards(step: Step): Promise<BlockIdExt[]>;
}

export function createShards(masterBlock: MasterBlock): Shards {
  return {
    async shards({ header, tops }) {
      const known = (tops ?? []).filter(({ workchain }) => workchain !== -1);
      if (isWhole(known)) {
        return known.sort((a, b) => a.workchain - b.workchain || (a.shard < b.shard ? -1 : 1));
      }
      const boc = await masterBlock(header.seqno);
      if (boc === null) throw blockNotFound();
      return decodeBlock(openBoc(boc)).shardHashes();
    },
  };
}

const WORKCHAIN = 2n ** 64n;

/** Whether there are shards, and those of each workchain make all of it. */
function isWhole(tops: readonly { workchain: number; shard: Shard }[]): boolean {
  const shares = new Map<number, bigint>();
  for (const { workchain, shard } of tops) {
    const value = BigInt(`0x${shard}`);
    shares.set(workchain, (shares.get(workchain) ?? 0n) + (value & -value) * 2n);
  }
  return shares.size > 0 && [...shares.values()].every((share) => share === WORKCHAIN);
}
