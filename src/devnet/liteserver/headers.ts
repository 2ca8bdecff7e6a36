import { toBoc } from '../../chain/builder.ts';
import { sha256Of } from '../../chain/hash.ts';
import { blockIdExtToTl, type LiteAnswer } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import type { BlockPlace, Chain } from '../model.ts';
import type { Blocks } from './blocks.ts';
import { badRequest, notReady } from './refusals.ts';

/** Whole states are given out up to this seqno, as by nodes. */
const MAX_STATE_SEQNO = 1000;

const NOTHING = Buffer.alloc(0);

export function headerBoc(blocks: Blocks, place: BlockPlace, mode: number): Buffer {
  const header = blocks.header(place, mode);
  return header === null ? NOTHING : toBoc(header);
}

/** Blocks, states, headers. */
export function blockHandlers(chain: Chain, blocks: Blocks): LiteHandlers {
  const answer = (place: BlockPlace, mode: number): LiteAnswer<'getBlockHeader'> => {
    if (place.seqno === 0) throw notReady('a zero state has no header');
    return { id: blockIdExtToTl(place), mode, headerProof: headerBoc(blocks, place, mode) };
  };
  return {
    getBlock: ({ id }) => ({ id, data: blocks.bytes(blocks.find(id)) }),
    getState({ id }) {
      const place = blocks.find(id);
      if (place.seqno > MAX_STATE_SEQNO) throw badRequest('cannot request total state: possibly too large');
      const state = blocks.state(place);
      const data = place.seqno === 0 ? chain.zeroState.bytes(place.workchain) : toBoc(state);
      return { id, rootHash: state.hash(), fileHash: sha256Of(data), data };
    },
    getBlockHeader: ({ id, mode }) => answer(blocks.find(id), mode),
    lookupBlock: (request) => answer(blocks.lookup(request), request.mode),
  };
}
