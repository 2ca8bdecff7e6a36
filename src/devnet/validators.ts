import { LRUCache } from 'lru-cache';
import { Builder, type Cell } from '../chain/builder.ts';
import { plain, updateDictionary } from '../chain/dictionary.ts';
import { sha256Of } from '../chain/hash.ts';
import type { BlockIdExt } from '../chain/model.ts';
import {
  ordinaryMessage,
  type Signature,
  type SignatureSet,
  simplexCandidate,
  simplexMessage,
} from '../chain/signatures.ts';
import { masterchainGroup, nodeIdShort, type Validator, type ValidatorGroup } from '../chain/validators.ts';
import { deriveKeys, type Keys } from './actors/keys.ts';
import { derive } from './configuration.ts';

/** How many validators there are. */
export interface ValidatorNumbers {
  /** In the set that a configuration names. */
  total: number;
  /** Of these, in the group that signs the masterchain. */
  main: number;
}

const NUMBERS: ValidatorNumbers = { total: 7, main: 5 };

/** Validators that exist besides those of a set: each key block exchanges one. */
const SPARE = 3;

/** Sessions whose validators are kept. */
const KEPT_SESSIONS = 8;

const WEIGHT = 1n << 32n;

/** How the validators sign: as mainnet did up to April 2026, or as it does since. */
export type SignatureKind = SignatureSet['kind'];

/** The validators of a devnet, all of whose keys follow from its seed. Each catchain session has its own set. */
export interface Validators {
  /** The group that signs the masterchain blocks of a session. */
  group(catchainSeqno: number): ValidatorGroup;
  /** `ValidatorSet` of the session, in office from `utimeSince` (Unix seconds) on. */
  writeSet(catchainSeqno: number, utimeSince: number): Cell;
  /** Signatures of a masterchain block by as many of the session's group as it needs. Always the same. */
  sign(id: BlockIdExt, catchainSeqno: number, kind: SignatureKind): SignatureSet;
}

interface Member extends Validator {
  keys: Keys;
}

/** @throws RangeError for a group that is larger than its set */
export function createValidators(seed: string, { total, main }: ValidatorNumbers = NUMBERS): Validators {
  if (main < 1 || main > total || total > 0xffff) throw new RangeError(`${main} of ${total} validators`);
  const all: Member[] = Array.from({ length: total + SPARE }, (_, i) => {
    const keys = deriveKeys(seed, `validator ${i}`);
    // Weights differ, as stakes do.
    const weight = WEIGHT + BigInt(i % 5) * (WEIGHT >> 4n);
    return { keys, publicKey: keys.publicKey, weight, adnl: derive(seed, 'adnl', i) };
  });
  const byKey = new Map(all.map((member) => [member.publicKey.toString('latin1'), member]));
  const groups = new LRUCache<number, ValidatorGroup>({ max: KEPT_SESSIONS });

  const listOf = (catchainSeqno: number): Member[] =>
    Array.from({ length: total }, (_, i) => all[(catchainSeqno + i) % all.length]);

  function group(catchainSeqno: number): ValidatorGroup {
    const known = groups.get(catchainSeqno);
    if (known !== undefined) return known;
    const set = { utimeSince: 0, utimeUntil: 0, main, list: listOf(catchainSeqno) };
    const made = masterchainGroup({ set, shuffled: true }, catchainSeqno);
    groups.set(catchainSeqno, made);
    return made;
  }

  function signatures(catchainSeqno: number, message: Buffer): Signature[] {
    const { list, weight } = group(catchainSeqno);
    const signed: Signature[] = [];
    let sum = 0n;
    for (const { publicKey } of list) {
      if (3n * sum > 2n * weight) break;
      const member = byKey.get(publicKey.toString('latin1'));
      if (member === undefined) throw new Error('a validator without a key');
      sum += member.weight;
      signed.push({ nodeIdShort: nodeIdShort(publicKey), signature: member.keys.sign(message) });
    }
    return signed;
  }

  return {
    group,
    writeSet: (catchainSeqno, utimeSince) => writeValidatorSet(listOf(catchainSeqno), main, utimeSince),
    sign(id, catchainSeqno, kind) {
      const validatorSetHash = group(catchainSeqno).hash | 0;
      const common = { validatorSetHash, catchainSeqno };
      if (kind === 'ordinary') return { kind, ...common, signatures: signatures(catchainSeqno, ordinaryMessage(id)) };
      const sessionId = derive(seed, 'session', catchainSeqno);
      const slot = id.seqno;
      const parent = { slot: slot - 1, hash: derive(seed, 'candidate', slot - 1) };
      const candidate = simplexCandidate(id, sha256Of(Buffer.alloc(0)), parent);
      const signed = signatures(catchainSeqno, simplexMessage(sessionId, slot, candidate));
      return { kind, ...common, signatures: signed, sessionId, slot, candidate };
    },
  };
}

/** `validators_ext#12` of `validator_addr#73` with `ed25519_pubkey#8e81278a`; its end is not planned. */
function writeValidatorSet(list: readonly Validator[], main: number, utimeSince: number): Cell {
  const changes = list.map(({ publicKey, weight, adnl }, i) => {
    const key = Buffer.alloc(2);
    key.writeUInt16BE(i);
    const value = new Builder().u(0x73, 8).u(0x8e81278a, 32).bytes(publicKey).big(weight, 64).bytes(adnl).cell();
    return { key, leaf: { extra: null, value } };
  });
  const builder = new Builder().u(0x12, 8).u(utimeSince, 32).u(0xffffffff, 32).u(list.length, 16).u(main, 16);
  builder.big(
    list.reduce((sum, { weight }) => sum + weight, 0n),
    64,
  );
  return builder.maybeRef(updateDictionary(null, 16, plain, changes).root).cell();
}
