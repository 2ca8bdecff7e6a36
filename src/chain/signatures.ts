import { verify } from 'node:crypto';
import { ProofError } from './errors.ts';
import { hashKey, sha256Of } from './hash.ts';
import type { BlockIdExt, Hash } from './model.ts';
import type { ValidatorGroup } from './validators.ts';

export interface Signature {
  nodeIdShort: Hash;
  /** 64 bytes. */
  signature: Buffer;
}

interface SignatureSetBase {
  /** As the wire has it, be it signed or not. */
  validatorSetHash: number;
  catchainSeqno: number;
  signatures: readonly Signature[];
}

/** The signatures of a block. Simplex (mainnet since April 2026) signs a candidate that names the block. */
export type SignatureSet =
  | ({ kind: 'ordinary' } & SignatureSetBase)
  | ({ kind: 'simplex'; sessionId: Hash; slot: number; candidate: Buffer } & SignatureSetBase);

/** TL constructors (ton_api.tl) as they stand in bytes. */
const TL = {
  blockId: Buffer.from('706e0bc5', 'hex'),
  dataToSign: littleEndian(0xa8e33df8),
  finalizeVote: littleEndian(0x40a7e105),
  candidateId: littleEndian(0xb691cd3f),
  candidateOrdinary: littleEndian(0xe8f9bcdc),
  candidateEmpty: littleEndian(0x72b4d933),
  candidateParent: littleEndian(0x1a4b9af1),
};

function littleEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

/** `tonNode.blockIdExt`: 80 bytes. */
function blockIdBytes({ workchain, shard, seqno, rootHash, fileHash }: BlockIdExt): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeInt32LE(workchain, 0);
  bytes.writeBigUInt64LE(BigInt(`0x${shard}`), 4);
  bytes.writeUInt32LE(seqno, 12);
  return Buffer.concat([bytes, rootHash, fileHash]);
}

/** `ton.blockId root_cell_hash:int256 file_hash:int256`: what validators sign of a block. */
export function ordinaryMessage({ rootHash, fileHash }: BlockIdExt): Buffer {
  return Buffer.concat([TL.blockId, rootHash, fileHash]);
}

/** `consensus.dataToSign session_id data:bytes` of the vote that finalises the candidate of a slot. */
export function simplexMessage(sessionId: Hash, slot: number, candidate: Buffer): Buffer {
  const vote = [TL.finalizeVote, TL.candidateId, slotBytes(slot), sha256Of(candidate)];
  // bytes: the length in one byte, padded to a multiple of four.
  return Buffer.concat([TL.dataToSign, sessionId, Buffer.of(44), ...vote, Buffer.alloc(3)]);
}

function slotBytes(slot: number): Buffer {
  return littleEndian(slot);
}

/** `consensus.candidateHashDataOrdinary block:tonNode.blockIdExt collated_file_hash:int256 parent`. */
export function simplexCandidate(id: BlockIdExt, collatedFileHash: Hash, parent: { slot: number; hash: Hash }): Buffer {
  const behind = [TL.candidateParent, TL.candidateId, slotBytes(parent.slot), parent.hash];
  return Buffer.concat([TL.candidateOrdinary, blockIdBytes(id), collatedFileHash, ...behind]);
}

/** The message that a set's signatures are under. @throws {ProofError} for a candidate of another block */
function messageOf(set: SignatureSet, id: BlockIdExt): Buffer {
  if (set.kind === 'ordinary') return ordinaryMessage(id);
  const { candidate } = set;
  const tag = candidate.subarray(0, 4);
  if (!tag.equals(TL.candidateOrdinary) && !tag.equals(TL.candidateEmpty))
    throw new ProofError('no candidate that is known');
  if (!candidate.subarray(4, 84).equals(blockIdBytes(id))) throw new ProofError('signatures of another block');
  return simplexMessage(set.sessionId, set.slot, candidate);
}

/**
 * Checks that validators of a group with more than two thirds of its weight have signed a block. Every signature must
 * be good, also those behind the two thirds. (`ValidatorSet::check_signatures`.)
 * @throws {ProofError}
 */
export function checkSignatures(set: SignatureSet, id: BlockIdExt, group: ValidatorGroup): void {
  if (set.catchainSeqno >>> 0 !== group.catchainSeqno) throw new ProofError('signatures of another session');
  if (set.validatorSetHash >>> 0 !== group.hash) throw new ProofError('signatures of other validators');
  if (set.signatures.length > group.list.length) throw new ProofError('more signatures than validators');
  const message = messageOf(set, id);
  const seen = new Set<string>();
  let signed = 0n;
  for (const { nodeIdShort, signature } of set.signatures) {
    const key = hashKey(nodeIdShort);
    if (seen.has(key)) throw new ProofError('a validator signs twice');
    seen.add(key);
    const member = group.member(nodeIdShort);
    if (member === null) throw new ProofError('signed by no validator of the group');
    if (!verify(null, message, member.key, signature)) throw new ProofError('bad signature');
    signed += member.weight;
  }
  if (3n * signed <= 2n * group.weight) throw new ProofError(`signatures of ${signed} of ${group.weight} weight`);
}
