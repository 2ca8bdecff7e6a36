import type { Address, BlockId, Decimal, Hash, Shard } from '../chain/model.ts';

/** In keys and entries of what has none. */
export const NO_HASH: Hash = Buffer.alloc(32);
export const NO_ADDRESS: Address = Buffer.alloc(36);

/** Numbers in keys are big-endian, so that keys sort by them. */
export function u32Key(value: number): Buffer {
  const key = Buffer.allocUnsafe(4);
  key.writeUInt32BE(value);
  return key;
}

/** Numbers of transactions: 48 bits last for good. */
export function numberKey(value: number): Buffer {
  const key = Buffer.allocUnsafe(6);
  key.writeUIntBE(value, 0, 6);
  return key;
}

export function ltKey(lt: Decimal | bigint): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeBigUInt64BE(BigInt(lt));
  return key;
}

/** Hash, address or lt with an lt behind it. */
export function withLt(head: Buffer, lt: Decimal | bigint): Buffer {
  const key = Buffer.allocUnsafe(head.length + 8);
  head.copy(key);
  key.writeBigUInt64BE(BigInt(lt), head.length);
  return key;
}

export function lt(key: Buffer, at: number): Decimal {
  return key.readBigUInt64BE(at).toString();
}

/** The key right behind all keys with this prefix; null when there is none. */
export function behindPrefix(prefix: Buffer): Buffer | null {
  const key = Buffer.from(prefix);
  for (let i = key.length - 1; i >= 0; i--) {
    if (key[i] < 0xff) {
      key[i]++;
      return key.subarray(0, i + 1);
    }
  }
  return null;
}

export function blockIdKey({ workchain, shard, seqno }: BlockId): Buffer {
  const key = Buffer.allocUnsafe(16);
  key.writeInt32BE(workchain);
  writeShard(key, 4, shard);
  key.writeUInt32BE(seqno, 12);
  return key;
}

export function blockKey(mcSeqno: number, id: BlockId): Buffer {
  return Buffer.concat([u32Key(mcSeqno), blockIdKey(id)]);
}

export function writeShard(bytes: Buffer, at: number, shard: Shard): void {
  bytes.write(shard, at, 8, 'hex');
}

export function accountLtKey(account: Address, time: Decimal): Buffer {
  return withLt(account, time);
}

export function ltAccountKey(time: Decimal, account: Address): Buffer {
  return Buffer.concat([ltKey(time), account]);
}

export function timeKey(now: number, time: Decimal, account: Address): Buffer {
  return Buffer.concat([u32Key(now), ltKey(time), account]);
}

/** Of a message: created lt (the greatest value for none), then hash. */
export function messageKey(createdLt: Decimal, hash: Hash): Buffer {
  return Buffer.concat([ltKey(createdLt), hash]);
}
