import type { BlockLink } from '../chain/block-proof.ts';
import type { SignatureSet } from '../chain/signatures.ts';
import { blockIdExtFromTl, type TlBlockLink, type TlSignatureSet } from './lite-api.ts';

/** A step of `getBlockProof` as the checks take it. */
export function linkFromTl(link: TlBlockLink): BlockLink {
  const { toKeyBlock, destProof } = link;
  const ends = { from: blockIdExtFromTl(link.from), to: blockIdExtFromTl(link.to), toKeyBlock, destProof };
  if (link.kind === 'liteServer.blockLinkBack') {
    return { kind: 'back', ...ends, proof: link.proof, stateProof: link.stateProof };
  }
  return { kind: 'forward', ...ends, configProof: link.configProof, signatures: signaturesFromTl(link.signatures) };
}

function signaturesFromTl(set: TlSignatureSet): SignatureSet {
  const { validatorSetHash, signatures } = set;
  if (set.kind === 'liteServer.signatureSet.ordinary') {
    return { kind: 'ordinary', validatorSetHash, catchainSeqno: set.catchainSeqno, signatures };
  }
  const { sessionId, slot, candidate } = set;
  return { kind: 'simplex', validatorSetHash, catchainSeqno: set.ccSeqno, signatures, sessionId, slot, candidate };
}
