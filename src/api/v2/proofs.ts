/** What makes blocks true, and the lengths of queues. */
import { z } from 'zod';
import type { SignatureSet } from '../../chain/signatures.ts';
import { NodeError } from '../../node/chain-node.ts';
import type { BackProof } from '../../state/block-proofs.ts';
import { Refusal } from '../errors.ts';
import { check, int32, required, shard } from './parameters.ts';
import { base64, blockId } from './render/values.ts';
import { type Route, route } from './route.ts';
import * as schemas from './schemas.ts';

const TAG = 'blocks';

export function getMasterchainBlockSignaturesRoute(): Route {
  return route({
    path: '/getMasterchainBlockSignatures',
    tag: TAG,
    summary: 'Who signed a masterchain block',
    parameters: z.object({ seqno: int32('Seqno of the block.') }),
    response: schemas.signatures,
    async answer(parameters, { states, context }) {
      const seqno = required(parameters.seqno, 'seqno');
      check(seqno > 0, 'seqno should be positive');
      const step = await states.step(seqno, context);
      return JSON.stringify(signaturesJson(blockId(step.header), await states.signatures(step, context)));
    },
  });
}

function signaturesJson(id: object, set: SignatureSet) {
  const signatures = set.signatures.map(({ nodeIdShort, signature }) => ({
    '@type': 'blocks.signature',
    node_id_short: base64(nodeIdShort),
    signature: base64(signature),
  }));
  if (set.kind === 'ordinary') return { '@type': 'blocks.blockSignatures', id, signatures };
  const { sessionId, slot, candidate } = set;
  return {
    '@type': 'blocks.blockSignatures.simplex',
    id,
    signatures,
    session_id: base64(sessionId),
    slot,
    candidate: base64(candidate),
  };
}

export function getShardBlockProofRoute(): Route {
  return route({
    path: '/getShardBlockProof',
    tag: TAG,
    summary: 'That a block is of the chain of a masterchain block',
    parameters: z.object({
      workchain: int32('Workchain of the block.'),
      shard: shard(),
      seqno: int32('Seqno of the block.'),
      from_seqno: int32('Masterchain block that is trusted; the newest when absent.'),
    }),
    response: schemas.shardBlockProof,
    async answer(parameters, { states, context }) {
      const workchain = required(parameters.workchain, 'workchain');
      const of = required(parameters.shard, 'shard');
      const seqno = required(parameters.seqno, 'seqno');
      const from = parameters.from_seqno;
      check(seqno > 0, 'seqno should be positive');
      check(from === undefined || from >= 0, 'from_seqno should be non-negative');
      // As if absent: the zero state shows nothing of later blocks.
      const step = await states.step(from === 0 ? undefined : from, context);
      const proof = await states.shardBlockProof({ workchain, shard: of, seqno }, step, context).catch(tooOld);
      return JSON.stringify({
        '@type': 'blocks.shardBlockProof',
        from: blockId(proof.from),
        mc_id: blockId(proof.master),
        links: proof.links.map((link) => ({
          '@type': 'blocks.shardBlockLink',
          id: blockId(link.id),
          proof: base64(link.proof),
        })),
        mc_proof: proof.back === null ? [] : [backJson(proof.back)],
      });
    },
  });
}

/** This refusal is known by its words alone. */
function tooOld(error: unknown): never {
  if (!(error instanceof NodeError) || error.code !== 'refused' || error.cause !== undefined) throw error;
  throw new Refusal(500, error.message, { cause: error });
}

function backJson({ toKeyBlock, from, to, destProof, proof, stateProof }: BackProof) {
  return {
    '@type': 'blocks.blockLinkBack',
    to_key_block: toKeyBlock,
    from: blockId(from),
    to: blockId(to),
    dest_proof: base64(destProof),
    proof: base64(proof),
    state_proof: base64(stateProof),
  };
}

/** `getOutMsgQueueSize` and its other name. */
export function outMsgQueueSizesRoute(path: string): Route {
  return route({
    path,
    tag: TAG,
    summary: 'Messages in the queues of the newest blocks',
    parameters: z.object({}),
    response: schemas.queueSizes,
    async answer(_parameters, { states, context }) {
      const { shards, limit } = await states.queueSizes(await states.step(undefined, context), context);
      return JSON.stringify({
        '@type': 'blocks.outMsgQueueSizes',
        shards: shards.map(({ id, size }) => ({ '@type': 'blocks.outMsgQueueSize', id: blockId(id), size })),
        ext_msg_queue_size_limit: limit,
      });
    },
  });
}
