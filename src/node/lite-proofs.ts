import { openAccounts } from '../chain/accounts.ts';
import { checkLink, createSignerCache, stateConfig } from '../chain/block-proof.ts';
import { type Boc, openBoc, PROOF_LIMITS } from '../chain/boc.ts';
import { skipCurrencies } from '../chain/currency.ts';
import { Cursor } from '../chain/cursor.ts';
import { DecodeError } from '../chain/errors.ts';
import { cellHash, hashAt, sha256Of } from '../chain/hash.ts';
import { lookupHashmap } from '../chain/hashmap.ts';
import { decodeHeader } from '../chain/header.ts';
import { completeCells } from '../chain/merge.ts';
import { stateHash, virtualRoot } from '../chain/merkle-root.ts';
import type { BlockHeader, BlockIdExt, Decimal, Hash } from '../chain/model.ts';
import { readShardIdent, shardContains } from '../chain/shard-ident.ts';
import { BY_SEQNO, blockIdExtFromTl, type LiteAnswer, type LiteRequest, sameBlock } from './lite-api.ts';
import { LieError } from './lite-faults.ts';

/**
 * Checks of what a server answers against the hashes that were asked for. They throw LieError or ProofError when
 * something well-formed is wrong and DecodeError when it is not well-formed. A block id is believed as far as it comes
 * from a block that is believed.
 */

/** A block as asked for: its bytes have the file hash of the id. Views stay views. */
export function checkBlock(answer: LiteAnswer<'getBlock'>, id: BlockIdExt): Buffer {
  if (!sameBlock(blockIdExtFromTl(answer.id), id)) throw new LieError('another block than asked for');
  if (!sha256Of(answer.data).equals(id.fileHash)) throw new LieError('block whose SHA-256 is not its file hash');
  return answer.data;
}

/**
 * The header of a masterchain block that was looked up, proven from the masterchain block that the caller believes:
 * that block's state remembers it.
 * @throws {ProofError} also for a block of another workchain
 */
export function provenMasterHeader(
  answer: LiteAnswer<'lookupBlockWithProof'>,
  believed: BlockIdExt,
  seqno: number,
): BlockHeader {
  const id = blockIdExtFromTl(answer.id);
  if (id.seqno !== seqno) throw new LieError('another block than asked for');
  checkHeader(answer.header, id);
  const header = decodeHeader(openBoc(answer.header, PROOF_LIMITS));
  if (seqno !== believed.seqno) {
    const { clientMcStateProof: proof, mcBlockProof: stateProof, header: destProof } = answer;
    const ends = { from: believed, to: id, toKeyBlock: header.keyBlock, destProof };
    checkLink({ kind: 'back', ...ends, proof, stateProof }, createSignerCache());
  } else if (!sameBlock(id, believed)) throw new LieError('another block than the one that is believed');
  return { ...header, rootHash: id.rootHash, fileHash: id.fileHash };
}

/** What a header proof shows of the block. */
export interface ProvenHeader {
  genUtime: number;
}

/** Checks that a header proof belongs to the block and that the block is the one its id says. */
export function checkHeader(headerProof: Buffer, id: BlockIdExt): ProvenHeader {
  const boc = openBoc(headerProof, PROOF_LIMITS);
  const block = new Cursor(boc, virtualRoot(boc, boc.roots[0], id.rootHash, 'block header'));
  block.tag(32, 0x11ef55aa, 'Block');
  // block_info#9bc7a987: version, eight flags, flags, seq_no, vert_seq_no, shard, gen_utime
  const info = block.open();
  info.tag(32, 0x9bc7a987, 'BlockInfo');
  info.skip(32 + 8 + 8);
  const seqno = info.u(32);
  info.skip(32);
  const { workchain, shard } = readShardIdent(info);
  if (workchain !== id.workchain || shard !== id.shard || seqno !== id.seqno) {
    throw new LieError('block header of another block');
  }
  return { genUtime: info.u(32) };
}

/** A block that was looked up. */
export interface FoundBlock extends ProvenHeader {
  id: BlockIdExt;
}

/** Checks that a block is of the workchain, and of the seqno where it was asked for by that. */
export function checkLookup(
  answer: LiteAnswer<'lookupBlock'>,
  { id: asked, mode }: Pick<LiteRequest<'lookupBlock'>, 'id' | 'mode'>,
): FoundBlock {
  const id = blockIdExtFromTl(answer.id);
  if (id.workchain !== asked.workchain) throw new LieError('block of another workchain than asked for');
  if (mode === BY_SEQNO && id.seqno !== asked.seqno) throw new LieError('block of another seqno than asked for');
  return { id, ...checkHeader(answer.headerProof, id) };
}

/** An account as of a block. */
export interface ProvenAccount {
  /** Its bag of cells; null when it does not exist. */
  boc: Buffer | null;
  /** Zeros when it does not exist. */
  lastTransactionHash: Hash;
  lastTransactionLt: Decimal;
  /** Unix seconds: when the shard block that shows the state was made. */
  genUtime: number;
}

/** The bag of cells of the account of an answer, null when it does not exist; proven as `provenAccount` says. */
export function checkAccount(
  answer: LiteAnswer<'getAccountState'>,
  id: BlockIdExt,
  workchain: number,
  account: Hash,
): Buffer | null {
  return provenAccount(answer, id, workchain, account).boc;
}

/**
 * The account of an answer, proven from the block asked for: block, shard block (through the shard tops of the
 * masterchain state), shard state, account.
 */
export function provenAccount(
  answer: LiteAnswer<'getAccountState'>,
  id: BlockIdExt,
  workchain: number,
  account: Hash,
): ProvenAccount {
  if (!sameBlock(blockIdExtFromTl(answer.id), id)) throw new LieError('account as of another block');
  const shardBlock = blockIdExtFromTl(answer.shardblk);
  if (shardBlock.workchain !== workchain || !shardContains(shardBlock.shard, account)) {
    throw new LieError('account out of a shard it is not in');
  }
  if (!sameBlock(shardBlock, id)) checkShard(answer.shardProof, id, shardBlock, account);
  const { boc, root } = openState(answer.proof, shardBlock);
  const genUtime = stateUtime(boc, root);
  const leaf = openAccounts(boc, root)(addressOf(workchain, account));
  if (leaf === null || answer.state.length === 0) {
    if (leaf !== null || answer.state.length > 0)
      throw new LieError('account state and its proof contradict each other');
    return { boc: null, lastTransactionHash: Buffer.alloc(32), lastTransactionLt: '0', genUtime };
  }
  // depth_balance$_ split_depth:(#<= 30) balance:CurrencyCollection, then account_descr$_ account:^Account
  leaf.skip(5);
  skipCurrencies(leaf);
  const state = openBoc(Buffer.from(answer.state), PROOF_LIMITS);
  if (!cellHash(state, state.roots[0]).equals(hashAt(boc, leaf.nextRef(), 0))) {
    throw new LieError('account state that its shard state does not have');
  }
  const lastTransactionHash = Buffer.from(leaf.hash());
  return { boc: state.bytes, lastTransactionHash, lastTransactionLt: leaf.dec(64), genUtime };
}

/** `shard_state#9023afe2`: global_id, shard_id, seq_no, vert_seq_no, gen_utime. */
function stateUtime(boc: Boc, root: number): number {
  const state = new Cursor(boc, root);
  state.tag(32, 0x9023afe2, 'ShardStateUnsplit');
  state.skip(32);
  readShardIdent(state);
  state.skip(32 + 32);
  return state.u(32);
}

/**
 * The configuration of an answer: the root of its dictionary (`Hashmap 32 ^Cell`) as a bag of cells, proven from the
 * masterchain block asked for.
 */
export function provenConfig(answer: LiteAnswer<'getConfigAll'>, id: BlockIdExt): Buffer {
  if (!sameBlock(blockIdExtFromTl(answer.id), id)) throw new LieError('configuration as of another block');
  const block = openBoc(answer.stateProof, PROOF_LIMITS);
  const hash = stateHash(block, virtualRoot(block, block.roots[0], id.rootHash, 'block proof'));
  const state = openBoc(answer.configProof, PROOF_LIMITS);
  const config = stateConfig(state, virtualRoot(state, state.roots[0], hash, 'state proof'));
  const whole = completeCells(state, config);
  if (whole === null) throw new LieError('configuration that is not shown as a whole');
  return whole;
}

function addressOf(workchain: number, account: Hash): Buffer {
  const address = Buffer.alloc(36);
  address.writeUInt32BE((workchain ^ 0x80000000) >>> 0, 0);
  account.copy(address, 4);
  return address;
}

/** State of a block out of two proofs: that the block leads to the state's hash, and what is asked of the state. */
export function openState(proof: Buffer, id: BlockIdExt): { boc: Boc; root: number } {
  const boc = openBoc(proof, PROOF_LIMITS);
  // A zero state has no block before it: its id names the state itself.
  if (id.seqno === 0)
    return { boc, root: virtualRoot(boc, boc.roots[boc.roots.length - 1], id.rootHash, 'zero state') };
  if (boc.roots.length !== 2) throw new DecodeError(`${boc.roots.length} roots in a proof of block and state`);
  const block = virtualRoot(boc, boc.roots[0], id.rootHash, 'block proof');
  return { boc, root: virtualRoot(boc, boc.roots[1], stateHash(boc, block), 'state proof') };
}

/** Checks that a masterchain state registers the shard block as the top of the account's shard. */
function checkShard(proof: Buffer, master: BlockIdExt, shardBlock: BlockIdExt, account: Hash): void {
  const { boc, root } = openState(proof, master);
  const top = shardTop(boc, root, shardBlock.workchain, account);
  const { seqno, rootHash, fileHash } = shardBlock;
  if (top.seqno !== seqno || !top.rootHash.equals(rootHash) || !top.fileHash.equals(fileHash)) {
    throw new LieError('shard block that the masterchain block does not commit');
  }
}

/** The shard of an account in a state of the masterchain (`masterchain_state_extra#cc26 shard_hashes:ShardHashes`). */
function shardTop(boc: Boc, state: number, workchain: number, account: Hash) {
  if ((boc.d1[state] & 7) !== 4) throw new DecodeError('state of the masterchain without its extra');
  const extra = new Cursor(boc, boc.refs[boc.refStart[state] + 3]);
  extra.tag(16, 0xcc26, 'McStateExtra');
  return topIn(boc, extra.maybeRef(), workchain, account);
}

/** The top of the shard that begins as `prefix` does, in `ShardHashes`; -1 stands for none at all. */
export function topIn(boc: Boc, shards: number, workchain: number, prefix: Uint8Array) {
  const key = Buffer.alloc(4);
  key.writeInt32BE(workchain);
  const found = shards < 0 ? null : lookupHashmap(boc, shards, 32, key);
  if (found === null) throw new LieError(`workchain ${workchain} is not in the masterchain`);
  // BinTree: bt_leaf$0, bt_fork$1
  let node = found.open();
  for (let depth = 0; node.bit(); depth++) {
    if (prefix[depth >> 3] & (0x80 >> (depth & 7))) node.nextRef();
    node = node.open();
  }
  // shard_descr#b, shard_descr_new#a: seq_no, reg_mc_seqno, start_lt, end_lt, root_hash, file_hash
  node.skip(4);
  const seqno = node.u(32);
  node.skip(32 + 64 + 64);
  return { seqno, rootHash: node.hash(), fileHash: node.hash() };
}

/** Libraries of an answer by hash in hex. Each must have the hash it stands under. */
export function checkLibraries(answer: LiteAnswer<'getLibraries'>, hashes: readonly Hash[]): Map<string, Buffer> {
  if (answer.result.length > hashes.length) throw new LieError('more libraries than were asked for');
  const asked = new Set(hashes.map((hash) => hash.toString('hex')));
  const found = new Map<string, Buffer>();
  for (const { hash, data } of answer.result) {
    const key = hash.toString('hex');
    if (!asked.has(key)) throw new LieError(`library ${key} was not asked for`);
    const boc = openBoc(Buffer.from(data), PROOF_LIMITS);
    if (!cellHash(boc, boc.roots[0]).equals(hash)) throw new LieError(`library ${key} has another hash`);
    found.set(key, boc.bytes);
  }
  return found;
}
