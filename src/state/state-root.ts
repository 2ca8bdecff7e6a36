/** Hash of the masterchain's state after a step: the block names it, its header does not. */
import { LRUCache } from 'lru-cache';
import { openBoc } from '../chain/boc.ts';
import { hashKey } from '../chain/hash.ts';
import { stateHash, virtualRoot } from '../chain/merkle-root.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { blockIdExtToTl } from '../node/lite-api.ts';
import type { Liteservers } from '../node/liteservers.ts';
import { type MasterBlock, masterBlockAtHand } from './master-blocks.ts';
import { forNodes } from './nodes.ts';
import type { Step } from './steps.ts';

const KEPT = 64;
/** Bit of a request for a header: with the state update. */
const WITH_STATE = 1;

/** @throws (asked) {NodeError} {NoNetworkError} where the log does not have the block and nobody can be asked */
export function createStateRoots(masterBlock: MasterBlock, liteservers: Liteservers) {
  const kept = new LRUCache<string, Hash>({ max: KEPT });

  async function ask({ header }: Step, context: QueryContext): Promise<Hash> {
    const id = blockIdExtToTl(header);
    const answer = await liteservers.query(
      { method: 'getBlockHeader', id, mode: WITH_STATE },
      { ...forNodes(context), minMcSeqno: header.seqno },
    );
    const proof = openBoc(answer.headerProof);
    return stateHash(proof, virtualRoot(proof, proof.roots[0], header.rootHash, 'block header'));
  }

  return async (step: Step, context: QueryContext): Promise<Hash> => {
    const key = hashKey(step.header.rootHash);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const boc = await masterBlockAtHand(masterBlock, step.header.seqno);
    const block = boc === null ? null : openBoc(boc);
    const found = Buffer.from(block === null ? await ask(step, context) : stateHash(block, block.roots[0]));
    kept.set(key, found);
    return found;
  };
}
