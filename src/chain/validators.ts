import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { Boc } from './boc.ts';
import { crc32c } from './crc.ts';
import type { Cursor } from './cursor.ts';
import { DecodeError } from './errors.ts';
import { hashKey, sha256Of } from './hash.ts';
import { lookupHashmap, walkAllowance, walkHashmap, walkInline } from './hashmap.ts';
import type { Hash } from './model.ts';

/** A validator as a set of the configuration names it. */
export interface Validator {
  /** Ed25519. */
  publicKey: Hash;
  weight: bigint;
  /** Zeros in the older form (`validator#53`). */
  adnl: Hash;
}

/** `ValidatorSet`. */
export interface ValidatorSet {
  /** Unix seconds. */
  utimeSince: number;
  utimeUntil: number;
  /** How many of the list may be in the group of the masterchain. */
  main: number;
  list: Validator[];
}

/** What of a configuration decides who signs masterchain blocks. */
export interface SignerConfig {
  set: ValidatorSet;
  /** `shuffle_mc_validators` of parameter 28. */
  shuffled: boolean;
}

/** The validators that sign the masterchain blocks of one catchain session. */
export interface ValidatorGroup {
  catchainSeqno: number;
  /** `validator_list_hash_short`, unsigned. */
  hash: number;
  /** Of the whole group. */
  weight: bigint;
  list: readonly Validator[];
  /** Keys by the short id of their node (latin1), imported when first asked for. */
  member(nodeIdShort: Hash): { weight: bigint; key: KeyObject } | null;
}

/** `cur_validators`, and `cur_temp_validators`, which stands in for it where it is there. */
const CURRENT = 34;
const CURRENT_TEMPORARY = 35;
const CATCHAIN = 28;
const ED25519_KEY = 0x8e81278a;
const HASH_MAGIC = 0x901660ed;

/** Constructor of TL `pub.ed25519` as it stands in bytes. */
const TL_ED25519 = Buffer.from('c6b41348', 'hex');

/**
 * Who signs masterchain blocks under a configuration (root of the dictionary of parameters): parameter 35, else 34,
 * and whether parameter 28 has them shuffled. Throws DecodeError, also where a proof does not show them.
 */
export function readSigners(boc: Boc, config: number): SignerConfig {
  const current = parameter(boc, config, CURRENT_TEMPORARY) ?? parameter(boc, config, CURRENT);
  if (current === null) throw new DecodeError('configuration without validators');
  const catchain = parameter(boc, config, CATCHAIN);
  return { set: readValidatorSet(current), shuffled: catchain !== null && readShuffled(catchain) };
}

function parameter(boc: Boc, config: number, id: number): Cursor | null {
  const key = Buffer.alloc(4);
  key.writeInt32BE(id);
  return lookupHashmap(boc, config, 32, key)?.open() ?? null;
}

/** `catchain_config_new#c2 flags:(## 7) shuffle_mc_validators:Bool`; the older `#c1` shuffles nothing. */
function readShuffled(cursor: Cursor): boolean {
  const tag = cursor.u(8);
  if (tag === 0xc1) return false;
  if (tag !== 0xc2) throw new DecodeError(`tag ${tag.toString(16)} is not CatchainConfig`);
  cursor.skip(7);
  return cursor.bit();
}

/** `validators#11` with a bare dictionary, `validators_ext#12` with the sum of weights. */
function readValidatorSet(cursor: Cursor): ValidatorSet {
  const tag = cursor.u(8);
  if (tag !== 0x11 && tag !== 0x12) throw new DecodeError(`tag ${tag.toString(16)} is not ValidatorSet`);
  const [utimeSince, utimeUntil, total, main] = [cursor.u(32), cursor.u(32), cursor.u(16), cursor.u(16)];
  const stated = tag === 0x12 ? BigInt(cursor.dec(64)) : null;
  const list: Validator[] = [];
  const leaf = (value: Cursor, key: Buffer): void => {
    if (key.readUInt16BE() !== list.length) throw new DecodeError('validators are not numbered from 0 on');
    list.push(readValidator(value));
  };
  const walk = { keyBits: 16, leaf };
  if (tag === 0x11) walkInline(cursor, walk, walkAllowance(cursor.boc));
  else {
    const root = cursor.maybeRef();
    if (root >= 0) walkHashmap(cursor.boc, root, walk);
  }
  const weight = list.reduce((sum, each) => sum + each.weight, 0n);
  if (list.length !== total || main < 1 || main > total) throw new DecodeError(`${list.length} of ${total} validators`);
  if (stated !== null && stated !== weight) throw new DecodeError('sum of weights of the validators');
  return { utimeSince, utimeUntil, main, list };
}

/** `validator#53 public_key:SigPubKey weight:uint64`, `validator_addr#73` with an ADNL address behind it. */
function readValidator(cursor: Cursor): Validator {
  const tag = cursor.u(8);
  if (tag !== 0x53 && tag !== 0x73) throw new DecodeError(`tag ${tag.toString(16)} is not ValidatorDescr`);
  cursor.tag(32, ED25519_KEY, 'SigPubKey');
  const publicKey = Buffer.from(cursor.hash());
  const weight = BigInt(cursor.dec(64));
  return { publicKey, weight, adnl: tag === 0x73 ? Buffer.from(cursor.hash()) : Buffer.alloc(32) };
}

/** The group that signs the masterchain in one catchain session. (`ValidatorSet::compute_validator_set`.) */
export function masterchainGroup({ set, shuffled }: SignerConfig, catchainSeqno: number): ValidatorGroup {
  const first = set.list.slice(0, set.main);
  const list = shuffled ? shuffledOrder(first.length, catchainSeqno).map((at) => first[at]) : first;
  const byId = new Map(list.map((validator) => [hashKey(nodeIdShort(validator.publicKey)), validator]));
  const keys = new Map<Validator, KeyObject>();
  return {
    catchainSeqno,
    hash: groupHash(list, catchainSeqno),
    weight: list.reduce((sum, { weight }) => sum + weight, 0n),
    list,
    member(id) {
      const validator = byId.get(hashKey(id));
      if (validator === undefined) return null;
      const key = keys.get(validator) ?? importKey(validator.publicKey);
      keys.set(validator, key);
      return { weight: validator.weight, key };
    },
  };
}

/** SHA-256 of TL `pub.ed25519`. */
export function nodeIdShort(publicKey: Hash): Hash {
  return sha256Of(Buffer.concat([TL_ED25519, publicKey]));
}

/** From a JWK it takes a tenth of the time that it takes from DER. */
function importKey(publicKey: Hash): KeyObject {
  const key = { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') };
  return createPublicKey({ key, format: 'jwk' });
}

/** `validator_list_hash_short`: CRC-32C over TL in little-endian order. */
function groupHash(list: readonly Validator[], catchainSeqno: number): number {
  const bytes = Buffer.alloc(12 + 72 * list.length);
  let at = bytes.writeUInt32LE(HASH_MAGIC, 0);
  at = bytes.writeUInt32LE(catchainSeqno, at);
  at = bytes.writeUInt32LE(list.length, at);
  for (const { publicKey, weight, adnl } of list) {
    at += publicKey.copy(bytes, at);
    at = bytes.writeBigUInt64LE(weight, at);
    at += adnl.copy(bytes, at);
  }
  return crc32c(bytes);
}

/** Places in the list of the members in order, for the masterchain. */
function shuffledOrder(count: number, catchainSeqno: number): number[] {
  const random = createRandom(catchainSeqno);
  const order: number[] = [];
  for (let i = 0; i < count; i++) {
    const j = Number((random() * BigInt(i + 1)) >> 64n);
    // For j = i this writes i itself.
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

/** Numbers of 64 bits out of SHA-512 of a counter of 32 bytes, the shard and the session. (`ValidatorSetPRNG`.) */
function createRandom(catchainSeqno: number): () => bigint {
  const seed = Buffer.alloc(48);
  seed.writeUInt32BE(0x80000000, 32);
  seed.writeInt32BE(-1, 40);
  seed.writeUInt32BE(catchainSeqno, 44);
  let round = 0;
  let block = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === block.length) {
      seed.writeUInt32BE(round++, 28);
      block = createHash('sha512').update(seed).digest();
      at = 0;
    }
    at += 8;
    return block.readBigUInt64BE(at - 8);
  };
}
