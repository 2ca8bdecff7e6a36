import type { Shard } from '../chain/model.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import { withinShard } from './delivery.ts';
import type { BlockPlace, Lookup } from './model.ts';

/** Bytes of a place in the block file and in memory. */
export const PLACE_BYTES = 116;

/** Where a block's bytes are. */
export interface Extent {
  offset: number;
  length: number;
}

export function writePlace(place: BlockPlace, extent: Extent, out: Buffer, at: number): void {
  out.writeInt32BE(place.workchain, at);
  out.write(place.shard, at + 4, 'hex');
  out.writeUInt32BE(place.seqno, at + 12);
  out.set(place.rootHash, at + 16);
  out.set(place.fileHash, at + 48);
  out.writeBigUInt64BE(place.startLt, at + 80);
  out.writeBigUInt64BE(place.endLt, at + 88);
  out.writeUInt32BE(place.genUtime, at + 96);
  out.writeUInt32BE(place.mcSeqno, at + 100);
  out.writeUInt32BE(place.transactions, at + 104);
  out.writeUInt32BE(extent.length, at + 108);
}

export function readPlace(from: Buffer, at: number): BlockPlace {
  return {
    workchain: from.readInt32BE(at),
    shard: from.toString('hex', at + 4, at + 12),
    seqno: from.readUInt32BE(at + 12),
    rootHash: Buffer.from(from.subarray(at + 16, at + 48)),
    fileHash: Buffer.from(from.subarray(at + 48, at + 80)),
    startLt: from.readBigUInt64BE(at + 80),
    endLt: from.readBigUInt64BE(at + 88),
    genUtime: from.readUInt32BE(at + 96),
    mcSeqno: from.readUInt32BE(at + 100),
    transactions: from.readUInt32BE(at + 104),
  };
}

export function readLength(from: Buffer, at: number): number {
  return from.readUInt32BE(at + 108);
}

/** Finds blocks by id and by place: 116 bytes and a few numbers a block. */
export interface BlockIndex {
  add(place: BlockPlace, extent: Extent): void;
  /** The zero states count as seqno 0 of the whole shards. */
  find(query: Lookup): { place: BlockPlace; extent: Extent } | null;
  /** The shard tops registered by a masterchain block, by shard. */
  tops(mcSeqno: number): BlockPlace[] | null;
  mcSeqno(): number;
}

/** @param zero the zero states, which have no bytes here */
export function createBlockIndex(zero: { mc: BlockPlace; shard: BlockPlace }): BlockIndex {
  let table = Buffer.alloc(1024 * PLACE_BYTES);
  const offsets: number[] = [];
  /** Ordinals of the blocks of each chain by seqno, which rises with time. */
  const chains = new Map<string, number[]>();
  /** For each masterchain seqno the ordinal of its first shard block, and its own. */
  const steps: { first: number; mc: number }[] = [];
  let first = 0;

  const placeAt = (ordinal: number): BlockPlace => readPlace(table, ordinal * PLACE_BYTES);
  const add = (place: BlockPlace, extent: Extent): void => {
    const ordinal = offsets.length;
    if ((ordinal + 1) * PLACE_BYTES > table.length) table = Buffer.concat([table, Buffer.alloc(table.length)]);
    writePlace(place, extent, table, ordinal * PLACE_BYTES);
    offsets.push(extent.offset);
    const key = `${place.workchain}:${place.shard}`;
    const chain = chains.get(key);
    if (chain === undefined) chains.set(key, [ordinal]);
    else chain.push(ordinal);
    if (place.workchain !== -1) return;
    steps.push({ first, mc: ordinal });
    first = ordinal + 1;
  };
  const found = (ordinal: number) => ({
    place: placeAt(ordinal),
    extent: { offset: offsets[ordinal], length: readLength(table, ordinal * PLACE_BYTES) },
  });
  /** Chains of the shard itself, of those around it and of its parts: all that may hold an account of it. */
  const related = (workchain: number, shard: Shard): number[][] =>
    [...chains].flatMap(([key, chain]) => {
      const [wc, own] = key.split(':');
      const touches = withinShard(own, shard) || withinShard(shard, own);
      return wc === String(workchain) && touches ? [chain] : [];
    });

  const none = { offset: 0, length: 0 };
  add(zero.shard, none);
  add(zero.mc, none);
  return {
    add,
    find: (query) => {
      if ('seqno' in query) {
        const chain = chains.get(`${query.workchain}:${query.shard}`) ?? [];
        const at = chain[firstWhere(chain, (ordinal) => placeAt(ordinal).seqno >= query.seqno)];
        return at !== undefined && placeAt(at).seqno === query.seqno ? found(at) : null;
      }
      const lists = related(query.workchain, query.shard);
      if ('lt' in query)
        return best(
          lists.map((chain) => firstFrom(chain, query.lt)),
          (a, b) => a < b,
        );
      return best(
        lists.map((chain) => lastUntil(chain, query.utime)),
        (a, b) => a > b,
      );
    },
    tops: (mcSeqno) => {
      const step = steps[mcSeqno];
      if (step === undefined) return null;
      if (mcSeqno === 1) return [zero.shard];
      const list: BlockPlace[] = [];
      for (let ordinal = step.first; ordinal < step.mc; ordinal++) list.push(placeAt(ordinal));
      return list;
    },
    mcSeqno: () => steps.length - 1,
  };

  function firstFrom(chain: number[], lt: bigint): number | undefined {
    return chain[firstWhere(chain, (ordinal) => placeAt(ordinal).endLt > lt)];
  }

  function lastUntil(chain: number[], utime: number): number | undefined {
    return chain[firstWhere(chain, (ordinal) => placeAt(ordinal).genUtime > utime) - 1];
  }

  /** Blocks are numbered in the order they were made, so of several chains the nearest block wins. */
  function best(ordinals: (number | undefined)[], better: (a: number, b: number) => boolean) {
    let chosen: number | null = null;
    for (const ordinal of ordinals) {
      if (ordinal !== undefined && (chosen === null || better(ordinal, chosen))) chosen = ordinal;
    }
    return chosen === null ? null : found(chosen);
  }
}

/** Index of the first element for which the rising condition holds; the length when none. */
function firstWhere(list: readonly number[], holds: (element: number) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(list[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The whole masterchain. */
export const MASTERCHAIN = { workchain: -1, shard: FULL_SHARD } as const;
