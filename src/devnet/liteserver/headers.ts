import { toBoc } from '../../chain/builder.ts';
import { sha256Of } from '../../chain/hash.ts';
import { shardContains } from '../../chain/shard-ident.ts';
import { blockIdExtToTl, type LiteAnswer, type LiteRequest, shardFromTl } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import type { BlockPlace, Chain } from '../model.ts';
import type { Blocks } from './blocks.ts';
import { HEADER, prove } from './proofs.ts';
import { badRequest, notReady } from './refusals.ts';
import { showOldBlock } from './settings.ts';
import { shardLink } from './shards.ts';

/** Whole states are given out up to this seqno, as by nodes. */
const MAX_STATE_SEQNO = 1000;

const NOTHING = Buffer.alloc(0);

function headerBoc(blocks: Blocks, place: BlockPlace, mode: number): Buffer {
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

/** Proofs that one block belongs to the chain of another. */
export function linkHandlers(chain: Chain, blocks: Blocks): LiteHandlers {
  /** That an older masterchain block stands in a newer one's state. */
  const ancestry = (newer: BlockPlace, older: BlockPlace): Buffer[] => {
    const state = blocks.state(newer);
    const shown = prove(state, (visit) => void showOldBlock(state, older.seqno, visit));
    return [headerBoc(blocks, newer, HEADER.stateUpdate), toBoc(shown)];
  };

  return {
    lookupBlockWithProof(request) {
      const place = blocks.lookup(request);
      if (place.seqno === 0) throw notReady('a zero state has no proof');
      const client = blocks.master(request.mcBlockId);
      const master = blocks.masterAt(place.mcSeqno);
      if (master.seqno > client.seqno) throw notReady('the block is newer than the masterchain block given');
      const [mcBlockProof, clientMcStateProof] =
        client.seqno === master.seqno ? [NOTHING, NOTHING] : ancestry(client, master);
      const isMaster = place.workchain === -1;
      return {
        id: blockIdExtToTl(place),
        mode: request.mode,
        mcBlockId: blockIdExtToTl(master),
        clientMcStateProof,
        mcBlockProof,
        shardLinks: isMaster ? [] : [{ id: blockIdExtToTl(place), proof: shardLink(blocks, master, place) }],
        header: headerBoc(blocks, place, 0),
        prevHeader: previousHeader(blocks, place, request),
      };
    },

    getBlockProof({ knownBlock, targetBlock }) {
      const from = blocks.master(knownBlock);
      const to = targetBlock === undefined ? chain.head().mc : blocks.master(targetBlock);
      if (to.seqno > from.seqno) {
        throw badRequest('no proof forward: the blocks of this chain carry no validator signatures');
      }
      const ids = { from: blockIdExtToTl(from), to: blockIdExtToTl(to) };
      if (to.seqno === from.seqno) return { complete: true, ...ids, steps: [] };
      const [proof, stateProof] = ancestry(from, to);
      const destProof = headerBoc(blocks, to, 0);
      // A zero state holds a configuration, as key blocks do.
      const toKeyBlock = to.seqno === 0 || blocks.info(to).keyBlock;
      const link = { kind: 'liteServer.blockLinkBack', ...ids, toKeyBlock, destProof, proof, stateProof } as const;
      return { complete: true, ...ids, steps: [link] };
    },
  };
}

/** In searches by lt and time the block before, which shows that none fits better. */
function previousHeader(blocks: Blocks, place: BlockPlace, request: LiteRequest<'lookupBlockWithProof'>): Buffer {
  if ((request.mode & 7) === 1) return NOTHING;
  const { prev } = blocks.info(place);
  const prefix = Buffer.from(shardFromTl(request.id.shard), 'hex');
  const before = prev.find(({ shard }) => shardContains(shard, prefix)) ?? prev[0];
  return headerBoc(blocks, blocks.find(blockIdExtToTl(before)), 0);
}
