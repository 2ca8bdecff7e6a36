import { type Boc, cellType, MERKLE_PROOF, MERKLE_UPDATE } from './boc.ts';
import { DecodeError, ProofError } from './errors.ts';
import { hashAt, verifyMerkle } from './hash.ts';
import type { Hash } from './model.ts';

/**
 * The tree below a Merkle proof whose hash is the one expected.
 * @param what names the proof in errors
 * @throws {ProofError} when it is a proof of something else @throws {DecodeError}
 */
export function virtualRoot(boc: Boc, proof: number, hash: Hash, what: string): number {
  if (cellType(boc, proof) !== MERKLE_PROOF) throw new DecodeError(`${what} is no Merkle proof`);
  verifyMerkle(boc, proof);
  const root = boc.refs[boc.refStart[proof]];
  if (!hashAt(boc, root, 0).equals(hash)) throw new ProofError(`${what} is of something else`);
  return root;
}

/** Hash of the state after a block, out of a proof that shows the block's state update. Throws DecodeError. */
export function stateHash(boc: Boc, block: number): Hash {
  const update = boc.refs[boc.refStart[block] + 2];
  if ((boc.d1[block] & 7) < 3 || cellType(boc, update) !== MERKLE_UPDATE) {
    throw new DecodeError('block proof does not show the state update');
  }
  // merkle_update: type byte, old hash, new hash, depths
  const at = boc.pos[update] + 33;
  return boc.bytes.subarray(at, at + 32);
}
