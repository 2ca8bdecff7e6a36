import { masterExtraOf } from './block.ts';
import { type Boc, openBoc, PROOF_LIMITS } from './boc.ts';
import { Cursor } from './cursor.ts';
import { DecodeError, ProofError } from './errors.ts';
import { lookupHashmap } from './hashmap.ts';
import { decodeHeader } from './header.ts';
import { stateHash, virtualRoot } from './merkle-root.ts';
import type { BlockHeader, BlockIdExt } from './model.ts';
import { FULL_SHARD } from './shard-ident.ts';
import { checkSignatures, type SignatureSet } from './signatures.ts';
import { masterchainGroup, readSigners, type SignerConfig, type ValidatorGroup } from './validators.ts';

interface LinkEnds {
  from: BlockIdExt;
  to: BlockIdExt;
  toKeyBlock: boolean;
  /** Header of `to`. */
  destProof: Buffer;
}

/** From a key block, or the zero state, to a later masterchain block, by the signatures of the validators it names. */
export interface ForwardLink extends LinkEnds {
  kind: 'forward';
  /** Configuration of `from`: parameters 28 and 34 (35). */
  configProof: Buffer;
  signatures: SignatureSet;
}

/** From a masterchain block to an older one that its state remembers. */
export interface BackLink extends LinkEnds {
  kind: 'back';
  /** From `from` to its state, and of the state. */
  proof: Buffer;
  stateProof: Buffer;
}

export type BlockLink = ForwardLink | BackLink;

/** The masterchain block that a link has led to. */
export interface LinkedBlock {
  id: BlockIdExt;
  keyBlock: boolean;
  /** Unix seconds; null for the zero state, which has no header. */
  genUtime: number | null;
}

/** Sessions of a key block whose groups are kept: one signs at a time. */
const KEPT_GROUPS = 4;

/**
 * Signers by key block. The configuration of a key block comes with every link from it, some 35 KB on mainnet: where
 * it is the very bytes that were checked before, the group is known. Keeps the last key block only.
 */
export interface SignerCache {
  groupOf(from: BlockIdExt, configProof: Buffer, header: BlockHeader): ValidatorGroup;
}

export function createSignerCache(): SignerCache {
  let kept: { rootHash: Buffer; proof: Buffer; signers: SignerConfig; groups: Map<number, ValidatorGroup> } | null =
    null;
  return {
    groupOf(from, configProof, header) {
      if (kept === null || !kept.rootHash.equals(from.rootHash) || !kept.proof.equals(configProof)) {
        const signers = openSigners(configProof, from);
        kept = { rootHash: Buffer.from(from.rootHash), proof: Buffer.from(configProof), signers, groups: new Map() };
      }
      const { signers, groups } = kept;
      if (header.genUtime < signers.set.utimeSince)
        throw new ProofError('block from before its validators were in office');
      const group = groups.get(header.catchainSeqno) ?? masterchainGroup(signers, header.catchainSeqno);
      groups.set(header.catchainSeqno, group);
      for (const oldest of groups.keys()) {
        if (groups.size <= KEPT_GROUPS) break;
        groups.delete(oldest);
      }
      return group;
    },
  };
}

/**
 * Checks a link from a block that is believed; what it leads to may be believed after that. A forward link must come
 * straight from the key block before its target.
 * @throws {ProofError} when it proves something else or nothing @throws {DecodeError}
 */
export function checkLink(link: BlockLink, signers: SignerCache): LinkedBlock {
  for (const { workchain, shard } of [link.from, link.to]) {
    if (workchain !== -1 || shard !== FULL_SHARD) throw new ProofError('link outside the masterchain');
  }
  return link.kind === 'forward' ? checkForward(link, signers) : checkBack(link);
}

function checkForward(link: ForwardLink, signers: SignerCache): LinkedBlock {
  const { from, to, signatures } = link;
  if (to.seqno <= from.seqno) throw new ProofError('forward link that leads back');
  const header = openHeader(link);
  if (header.prevKeyBlockSeqno !== from.seqno) {
    throw new ProofError(`link from block ${from.seqno} where ${header.prevKeyBlockSeqno} is the key block before`);
  }
  const group = signers.groupOf(from, link.configProof, header);
  if (group.hash !== header.validatorListHashShort) throw new ProofError('block of other validators');
  checkSignatures(signatures, to, group);
  return { id: to, keyBlock: header.keyBlock, genUtime: header.genUtime };
}

/** The header of a link's target, which must be of the block that its id names. */
function openHeader({ destProof, to, toKeyBlock }: LinkEnds): BlockHeader {
  const boc = openBoc(destProof, PROOF_LIMITS);
  virtualRoot(boc, boc.roots[0], to.rootHash, 'header of the target');
  const header = decodeHeader(boc);
  if (header.workchain !== to.workchain || header.shard !== to.shard || header.seqno !== to.seqno) {
    throw new ProofError('header of another block');
  }
  if (header.keyBlock !== toKeyBlock) throw new ProofError('link that is wrong on whether its target is a key block');
  return header;
}

function openSigners(configProof: Buffer, from: BlockIdExt): SignerConfig {
  const boc = openBoc(configProof, PROOF_LIMITS);
  const root = virtualRoot(boc, boc.roots[0], from.rootHash, 'configuration proof');
  return readSigners(boc, from.seqno === 0 ? stateConfig(boc, root) : blockConfig(boc, from));
}

function blockConfig(boc: Boc, { seqno }: BlockIdExt): number {
  const header = decodeHeader(boc);
  if (header.seqno !== seqno || header.workchain !== -1) throw new ProofError('configuration of another block');
  const config = masterExtraOf(boc)?.config ?? null;
  if (config === null) throw new ProofError('configuration proof from a block that is no key block');
  return config;
}

/** `McStateExtra`, the last cell of a masterchain state. */
function stateExtra(boc: Boc, state: number): Cursor {
  if ((boc.d1[state] & 7) !== 4) throw new DecodeError('state of the masterchain without its extra');
  const extra = new Cursor(boc, boc.refs[boc.refStart[state] + 3]);
  extra.tag(16, 0xcc26, 'McStateExtra');
  extra.maybeRef();
  extra.skip(256);
  return extra;
}

/** Root of the dictionary of parameters in a state of the masterchain, full or shown by a proof. Throws DecodeError. */
export function stateConfig(boc: Boc, state: number): number {
  return stateExtra(boc, state).nextRef();
}

function checkBack(link: BackLink): LinkedBlock {
  const { from, to } = link;
  if (to.seqno >= from.seqno) throw new ProofError('back link that does not lead back');
  const genUtime = to.seqno === 0 ? null : openHeader(link).genUtime;
  const block = openBoc(link.proof, PROOF_LIMITS);
  const hash = stateHash(block, virtualRoot(block, block.roots[0], from.rootHash, 'block proof'));
  const state = openBoc(link.stateProof, PROOF_LIMITS);
  const extra = stateExtra(state, virtualRoot(state, state.roots[0], hash, 'state proof'));
  const remembered = oldBlock(extra, to.seqno);
  if (remembered === null || !remembered.rootHash.equals(to.rootHash) || !remembered.fileHash.equals(to.fileHash)) {
    throw new ProofError('block that the state does not remember');
  }
  if (to.seqno > 0 && remembered.key !== link.toKeyBlock) {
    throw new ProofError('link that is wrong on whether its target is a key block');
  }
  return { id: to, keyBlock: remembered.key, genUtime };
}

/** `OldMcBlocksInfo` behind flags and `ValidatorInfo`: `KeyMaxLt`, then `key:Bool blk_ref:ExtBlkRef`. */
function oldBlock(extra: Cursor, seqno: number) {
  extra.nextRef();
  const rest = extra.open();
  rest.skip(16 + 65);
  const blocks = rest.maybeRef();
  const key = Buffer.alloc(4);
  key.writeUInt32BE(seqno);
  const leaf = blocks < 0 ? null : lookupHashmap(rest.boc, blocks, 32, key);
  if (leaf === null) return null;
  leaf.skip(65);
  const isKey = leaf.bit();
  leaf.skip(64);
  if (leaf.u(32) !== seqno) throw new DecodeError('entry of the old blocks under another seqno');
  return { key: isKey, rootHash: leaf.hash(), fileHash: leaf.hash() };
}
