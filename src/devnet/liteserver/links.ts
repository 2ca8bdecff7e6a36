import { toBoc } from '../../chain/builder.ts';
import { shardContains } from '../../chain/shard-ident.ts';
import type { SignatureSet } from '../../chain/signatures.ts';
import {
  blockIdExtToTl,
  type LiteRequest,
  shardFromTl,
  type TlBlockLink,
  type TlSignatureSet,
} from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import type { BlockPlace, Chain } from '../model.ts';
import type { SignatureKind } from '../validators.ts';
import type { Blocks } from './blocks.ts';
import { headerBoc } from './headers.ts';
import { createKeyBlocks, type KeyBlocks } from './key-blocks.ts';
import { stateOfUpdate } from './old-states.ts';
import { HEADER, prove, type Show, showBlockConfig } from './proofs.ts';
import { notReady } from './refusals.ts';
import { configurationOf, showOldBlock, showParameters } from './settings.ts';
import { shardLink } from './shards.ts';

const NOTHING = Buffer.alloc(0);

/** A node's limit of the steps in one answer. */
const MAX_STEPS = 16;

/** Parameters that say who signs: catchain, validators, and those that would stand in for them. */
const SIGNERS = [28, 34, 35];

/** Proofs that one block belongs to the chain of another. */
export function linkHandlers(chain: Chain, blocks: Blocks, kind: SignatureKind): LiteHandlers {
  const ancestry = createAncestry(chain, blocks);
  const keyBlocks = createKeyBlocks(chain, blocks);

  function back(from: BlockPlace, to: BlockPlace): TlBlockLink {
    const [proof, stateProof] = ancestry(from, to);
    const ids = { from: blockIdExtToTl(from), to: blockIdExtToTl(to), toKeyBlock: keyBlocks.has(to.seqno) };
    return { kind: 'liteServer.blockLinkBack', ...ids, destProof: headerBoc(blocks, to, 0), proof, stateProof };
  }

  function forward(from: BlockPlace, to: BlockPlace): TlBlockLink {
    const { keyBlock: toKeyBlock, catchainSeqno } = blocks.info(to);
    const signatures = signaturesToTl(chain.validators.sign(to, catchainSeqno, kind));
    const ids = { from: blockIdExtToTl(from), to: blockIdExtToTl(to), toKeyBlock };
    const proofs = { destProof: headerBoc(blocks, to, 0), configProof: signersProof(blocks, from) };
    return { kind: 'liteServer.blockLinkForward', ...ids, ...proofs, signatures };
  }

  return {
    lookupBlockWithProof(request) {
      const place = blocks.lookup(request);
      if (place.seqno === 0) throw notReady('a zero state has no proof');
      const client = blocks.master(request.mcBlockId);
      const master = blocks.masterAt(place.mcSeqno);
      if (master.seqno > client.seqno) throw notReady('the block is newer than the masterchain block given');
      const [clientMcStateProof, mcBlockProof] =
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
      const way = wayOf(keyBlocks, from, to);
      const steps: TlBlockLink[] = [];
      let at = from;
      for (const next of way.slice(0, MAX_STEPS)) {
        steps.push(next.seqno < at.seqno ? back(at, next) : forward(at, next));
        at = next;
      }
      return { complete: at.seqno === to.seqno, from: blockIdExtToTl(from), to: blockIdExtToTl(at), steps };
    },
  };
}

/** As nodes go: straight back, else back to the key block before and forward over key blocks. */
function wayOf(keyBlocks: KeyBlocks, from: BlockPlace, to: BlockPlace): BlockPlace[] {
  if (to.seqno === from.seqno) return [];
  if (to.seqno < from.seqno) return [to];
  const start = keyBlocks.has(from.seqno) ? [] : [keyBlocks.before(from)];
  const between = keyBlocks.between(from.seqno, to.seqno).filter(({ seqno }) => seqno < to.seqno);
  return [...start, ...between, to];
}

/** The proof that an older masterchain block stands in a newer one's state: of the block, and of the state. */
function createAncestry(chain: Chain, blocks: Blocks) {
  return (newer: BlockPlace, older: BlockPlace): Buffer[] => {
    // Readers look for the zero state, too.
    const seqnos = [0, older.seqno];
    const state = chain.state(newer) ?? stateOfUpdate(blocks.root(newer), blocks.state(chain.head().mc), seqnos);
    const show: Show = (visit) => {
      for (const seqno of seqnos) showOldBlock(state, seqno, visit);
    };
    return [headerBoc(blocks, newer, HEADER.stateUpdate), toBoc(prove(state, show))];
  };
}

/** Who signs behind a key block, out of it; behind the zero state, out of that. */
function signersProof(blocks: Blocks, from: BlockPlace): Buffer {
  return blocks.proof(from, 'signers', () => {
    const root = from.seqno === 0 ? blocks.state(from) : blocks.root(from);
    const configOf = from.seqno === 0 ? configurationOf : showBlockConfig;
    return toBoc(prove(root, (visit) => showParameters(configOf(root, visit), SIGNERS, visit)));
  });
}

function signaturesToTl(set: SignatureSet): TlSignatureSet {
  const { validatorSetHash, catchainSeqno } = set;
  const signatures = [...set.signatures];
  if (set.kind === 'ordinary') {
    return { kind: 'liteServer.signatureSet.ordinary', validatorSetHash, catchainSeqno, signatures };
  }
  const { sessionId, slot, candidate } = set;
  const fields = { ccSeqno: catchainSeqno, validatorSetHash, signatures, sessionId, slot, candidate };
  return { kind: 'liteServer.signatureSet.simplex', ...fields };
}

/** In searches by lt and time the block before, which shows that none fits better. */
function previousHeader(blocks: Blocks, place: BlockPlace, request: LiteRequest<'lookupBlockWithProof'>): Buffer {
  if ((request.mode & 7) === 1) return NOTHING;
  const { prev } = blocks.info(place);
  const prefix = Buffer.from(shardFromTl(request.id.shard), 'hex');
  const before = prev.find(({ shard }) => shardContains(shard, prefix)) ?? prev[0];
  return headerBoc(blocks, blocks.find(blockIdExtToTl(before)), 0);
}
