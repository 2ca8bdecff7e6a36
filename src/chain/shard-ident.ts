import type { Cursor } from './cursor.ts';
import { DecodeError } from './errors.ts';
import type { Shard } from './model.ts';

/** The shard of a whole workchain. */
export const FULL_SHARD: Shard = '8000000000000000';

/** Longest prefix a shard may have (`shard_pfx_bits:(#<= 60)`). */
const MAX_PREFIX = 60;

/** `shard_ident$00 shard_pfx_bits:(#<= 60) workchain_id:int32 shard_prefix:uint64`. */
export function readShardIdent(cursor: Cursor): { workchain: number; shard: Shard } {
  cursor.tag(2, 0, 'ShardIdent');
  const bits = cursor.u(6);
  if (bits > MAX_PREFIX) throw new DecodeError(`shard prefix of ${bits} bits`);
  const workchain = cursor.i(32);
  const high = cursor.u(32);
  const low = cursor.u(32);
  const prefix = (BigInt(high) << 32n) | BigInt(low);
  const mark = 1n << BigInt(63 - bits);
  if ((prefix & ((mark << 1n) - 1n)) !== 0n) throw new DecodeError('bits behind the shard prefix');
  return { workchain, shard: hex(prefix | mark) };
}

/** Reads a shard identifier written whole, marker bit included (`next_validator_shard`). */
export function readShard(cursor: Cursor): Shard {
  return cursor.u(32).toString(16).padStart(8, '0') + cursor.u(32).toString(16).padStart(8, '0');
}

/** Left child, right child. Throws DecodeError when the shard cannot be cut again. */
export function shardChildren(shard: Shard): [Shard, Shard] {
  const { value, mark } = parse(shard);
  if (mark <= 1n << BigInt(63 - MAX_PREFIX)) throw new DecodeError(`shard ${shard} has no children`);
  return [hex(value - mark / 2n), hex(value + mark / 2n)];
}

/** Throws DecodeError for the shard that is the whole workchain. */
export function shardParent(shard: Shard): Shard {
  const { value, mark } = parse(shard);
  if (shard === FULL_SHARD) throw new DecodeError('the whole workchain has no parent shard');
  return hex((value & ~(mark | (mark << 1n))) | (mark << 1n));
}

/** Whether an account id (32 bytes) belongs to a shard. */
export function shardContains(shard: Shard, accountId: Uint8Array): boolean {
  const { value, mark } = parse(shard);
  let prefix = 0n;
  for (let i = 0; i < 8; i++) prefix = (prefix << 8n) | BigInt(accountId[i]);
  const kept = ~((mark << 1n) - 1n);
  return (prefix & kept) === (value & kept);
}

function parse(shard: Shard): { value: bigint; mark: bigint } {
  const value = BigInt(`0x${shard}`);
  return { value, mark: value & -value };
}

function hex(value: bigint): Shard {
  return value.toString(16).padStart(16, '0');
}
