import { LRUCache } from 'lru-cache';
import { decodeBlock } from '../../chain/block.ts';
import { openBoc } from '../../chain/boc.ts';
import { type Cell, parseBoc, toBoc } from '../../chain/builder.ts';
import type { BlockHeader, BlockId, BlockIdExt, Shard } from '../../chain/model.ts';
import { FULL_SHARD } from '../../chain/shard-ident.ts';
import { blockIdExtFromTl, sameBlock, shardFromTl, type TlBlockId, type TlBlockIdExt } from '../../node/lite-api.ts';
import type { BlockPlace, Chain, SignedBlock } from '../model.ts';
import { HEADER, prove, type Show, showHeader } from './proofs.ts';
import { badRequest, notReady } from './refusals.ts';

/** Bytes of blocks that are kept as cells, and proofs kept. */
const CACHED_BYTES = 4 << 20;
const CACHED_PROOFS = 1024;

/** Bits of a header's mode that mean something; clients choose the others, and a cache must not grow by them. */
const ALL_PARTS = Object.values(HEADER).reduce((all, bit) => all | bit, 0);

/** Longest prefix of a shard in bits. */
const MAX_PREFIX = 60;

/** In place of a seqno: the newest masterchain block (2^32 - 1). */
const NEWEST = -1;

/** A block as asked for by mode: seqno, lt or time. */
export interface BlockQuery {
  mode: number;
  id: TlBlockId;
  lt?: bigint | undefined;
  utime?: number | undefined;
}

/** The chain's blocks and states as calls name them, with the proofs that belong to a whole block. */
export interface Blocks {
  /** @throws {LiteServerError} 651 when there is no such block, or another one in its place */
  find(id: TlBlockIdExt): BlockPlace;
  /** The same for a masterchain block; the seqno 2^32 - 1 stands for the newest one. */
  master(id: TlBlockIdExt): BlockPlace;
  masterAt(seqno: number): BlockPlace;
  /** `lookupBlock`: the block of a seqno, the first one whose end_lt reaches an lt, the first one at or after a time. */
  lookup(query: BlockQuery): BlockPlace;
  bytes(place: BlockPlace): Buffer;
  root(place: BlockPlace): Cell;
  /** The block's decoded header. */
  info(place: BlockPlace): BlockHeader;
  /** @throws {LiteServerError} 651 when the state is no longer kept */
  state(place: BlockPlace): Cell;
  /** Null for a zero state, which has no block. */
  header(place: BlockPlace, mode: number): Cell | null;
  /**
   * A bag of cells with two roots: from the block to its state's hash, and of the state. Of a zero state, which its id
   * names, the second alone.
   */
  stateProof(place: BlockPlace, show: Show): Buffer;
  /** A Merkle proof of the block, serialised, made once while it is in use. */
  proof(place: BlockPlace, name: string, make: () => Buffer): Buffer;
}

export function createBlocks(chain: Chain): Blocks {
  const roots = new LRUCache<string, Cell>({ maxSize: CACHED_BYTES });
  const headers = new LRUCache<string, Cell>({ max: CACHED_PROOFS });
  const proofs = new LRUCache<string, Buffer>({ max: CACHED_PROOFS });

  /** A block that is signed and not registered is found by its whole id alone. */
  function signed(id: BlockIdExt): SignedBlock | undefined {
    return chain.signed(true).find(({ block }) => sameBlock(block, id));
  }

  function bytes(place: BlockPlace): Buffer {
    const found = signed(place)?.block.bytes ?? chain.block(place);
    if (found === null) throw notReady(`block ${nameOf(place)} is not in db`);
    return found;
  }

  function root(place: BlockPlace): Cell {
    const key = nameOf(place);
    const known = roots.get(key);
    if (known !== undefined) return known;
    const boc = bytes(place);
    const cell = parseBoc(boc);
    roots.set(key, cell, { size: boc.length });
    return cell;
  }

  function header(place: BlockPlace, mode: number): Cell | null {
    if (place.seqno === 0) return null;
    const parts = mode & ALL_PARTS;
    const key = `${nameOf(place)} ${parts}`;
    const known = headers.get(key);
    if (known !== undefined) return known;
    const block = root(place);
    const made = prove(block, (visit) => showHeader(block, parts, visit));
    headers.set(key, made);
    return made;
  }

  function state(place: BlockPlace): Cell {
    const found = signed(place)?.state ?? chain.state(place);
    if (found === null) throw notReady(`state of block ${nameOf(place)} is not in db`);
    return found;
  }

  function find(id: TlBlockIdExt): BlockPlace {
    const wanted = blockIdExtFromTl(id);
    const pending = signed(wanted);
    if (pending !== undefined) return pending.block;
    const place = chain.lookup({ workchain: wanted.workchain, shard: wanted.shard, seqno: wanted.seqno });
    if (place === null || !sameBlock(place, wanted)) throw notReady(`block ${nameOf(wanted)} is not in db`);
    return place;
  }

  function masterAt(seqno: number): BlockPlace {
    const place = chain.lookup({ workchain: -1, shard: FULL_SHARD, seqno });
    if (place === null) throw notReady(`masterchain block ${seqno} is not in db`);
    return place;
  }

  return {
    find,
    masterAt,
    master: (id) => {
      if (id.workchain !== -1) throw badRequest('reference block must belong to the masterchain');
      return id.seqno === NEWEST ? chain.head().mc : find(id);
    },
    lookup: (query) => lookup(chain, query),
    bytes,
    root,
    info: (place) => decodeBlock(openBoc(bytes(place))).header,
    state,
    header,
    stateProof: (place, show) => {
      const stateRoot = state(place);
      const block = header(place, HEADER.stateUpdate);
      const shown = prove(stateRoot, show);
      return toBoc(block === null ? shown : [block, shown]);
    },
    proof: (place, name, make) => {
      const key = `${nameOf(place)} ${name}`;
      const known = proofs.get(key);
      if (known !== undefined) return known;
      const made = make();
      proofs.set(key, made);
      return made;
    },
  };
}

/** As the node writes it. */
export function nameOf({ workchain, shard, seqno }: BlockId): string {
  return `(${workchain},${shard},${seqno})`;
}

function lookup(chain: Chain, { mode, id, lt, utime }: BlockQuery): BlockPlace {
  const by = mode & 7;
  if (by !== 1 && by !== 2 && by !== 4) throw badRequest('exactly one of mode.0, mode.1 and mode.2 bits must be set');
  const { workchain, seqno } = id;
  const shard = shardFromTl(id.shard);
  if (by === 1)
    return found(
      bySeqno(chain, { workchain, shard, seqno }),
      `cannot find block ${nameOf({ workchain, shard, seqno })}`,
    );
  const where = `cannot find block (${workchain},${shard})`;
  const prefix = shardAround(shard, MAX_PREFIX);
  // A node takes the first block whose end_lt is not below the lt: at the end of a block that is the block itself.
  if (by === 2) return found(chain.lookup({ workchain, shard: prefix, lt: (lt ?? 0n) - 1n }), `${where} lt=${lt}`);
  return found(fromTime(chain, workchain, prefix, utime ?? 0), `${where} utime=${utime}`);
}

function found(place: BlockPlace | null, what: string): BlockPlace {
  if (place === null) throw notReady(`${what}: block not found`);
  return place;
}

/** Servers look by prefix: where the shard itself has no such block, one that holds its prefix may have. */
function bySeqno(chain: Chain, { workchain, shard, seqno }: BlockId): BlockPlace | null {
  const exact = chain.lookup({ workchain, shard, seqno });
  if (exact !== null || workchain === -1) return exact;
  for (let bits = 0; bits <= MAX_PREFIX; bits++) {
    const place = chain.lookup({ workchain, shard: shardAround(shard, bits), seqno });
    if (place !== null) return place;
  }
  return null;
}

/** The shard of `bits` bits around the account prefix that a shard's identifier is when read as one. */
function shardAround(prefix: Shard, bits: number): Shard {
  const mark = 1n << BigInt(63 - bits);
  const value = (BigInt(`0x${prefix}`) & -(mark << 1n)) | mark;
  return BigInt.asUintN(64, value).toString(16).padStart(16, '0');
}

/** The first block at or after a time, as servers give it, out of the last one before it, as the chain gives it. */
function fromTime(chain: Chain, workchain: number, shard: Shard, utime: number): BlockPlace | null {
  const before = chain.lookup({ workchain, shard, utime: utime - 1 });
  return chain.lookup({ workchain, shard, lt: before?.endLt ?? 1n });
}
