import { Builder, type Cell, Slice } from '../chain/builder.ts';
import { type Dictionary, eachLeaf, plain, readAugE, updateDictionary, writeAugE } from '../chain/dictionary.ts';
import type { ExtBlockRef, Shard } from '../chain/model.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import { type DepthBalance, depthBalance, KEY_BITS, readCoins, writeCoins } from './augmentations.ts';
import { type OutQueue, readQueue, writeQueue } from './queue.ts';

/** `ExtBlkRef` with the lt as a number to compare. */
export interface BlockRef extends Omit<ExtBlockRef, 'endLt'> {
  endLt: bigint;
}

/** How far a shard has imported the messages meant for it (`processed_upto$_`). */
export interface ProcessedUpto {
  /** The shard it counts for: messages to its accounts. */
  shard: Shard;
  /** Counts for messages that were in a queue as of this masterchain block. */
  mcSeqno: number;
  lt: bigint;
  /** Latin1 characters; messages of the same lt go by hash. */
  hash: string;
}

/** The parts of a `ShardStateUnsplit`. */
export interface ShardState {
  globalId: number;
  workchain: number;
  shard: Shard;
  seqno: number;
  genUtime: number;
  genLt: bigint;
  minRefMcSeqno: number;
  beforeSplit: boolean;
  queue: OutQueue;
  processed: readonly ProcessedUpto[];
  accounts: Dictionary<DepthBalance>;
  validatorFees: bigint;
  masterRef: BlockRef | null;
  /** `McStateExtra`, in the masterchain. */
  custom: Cell | null;
}

const NO_MC_SEQNO = 0xffffffff;

/** Seqno 0 of a chain. */
export function emptyState(globalId: number, workchain: number, genUtime: number): ShardState {
  return {
    globalId,
    workchain,
    shard: FULL_SHARD,
    seqno: 0,
    genUtime,
    genLt: 0n,
    minRefMcSeqno: NO_MC_SEQNO,
    beforeSplit: false,
    queue: { root: null, entries: [] },
    processed: [],
    accounts: { root: null, extra: depthBalance.empty },
    validatorFees: 0n,
    masterRef: null,
    custom: null,
  };
}

/** `shard_ident$00 shard_pfx_bits:(#<= 60) workchain_id:int32 shard_prefix:uint64`. */
export function writeShardIdent(builder: Builder, workchain: number, shard: Shard): Builder {
  const value = BigInt(`0x${shard}`);
  const mark = value & -value;
  const bits = 63 - (mark.toString(2).length - 1);
  return builder
    .u(0, 2)
    .u(bits, 6)
    .i(workchain, 32)
    .big(value ^ mark, 64);
}

function readShardIdent(slice: Slice): { workchain: number; shard: Shard } {
  slice.tag(2, 0, 'ShardIdent');
  const bits = slice.u(6);
  const workchain = slice.i(32);
  const shard = slice.big(64) | (1n << BigInt(63 - bits));
  return { workchain, shard: shard.toString(16).padStart(16, '0') };
}

/** `ext_blk_ref$_ end_lt:uint64 seq_no:uint32 root_hash:bits256 file_hash:bits256`. */
export function writeBlockRef(builder: Builder, ref: BlockRef): Builder {
  return builder.big(ref.endLt, 64).u(ref.seqno, 32).bytes(ref.rootHash).bytes(ref.fileHash);
}

export function readBlockRef(slice: Slice): BlockRef {
  return { endLt: slice.big(64), seqno: slice.u(32), rootHash: slice.bytes(32), fileHash: slice.bytes(32) };
}

/** `shard_state#9023afe2`. */
export function writeState(state: ShardState): Cell {
  const builder = new Builder().u(0x9023afe2, 32).i(state.globalId, 32);
  return writeShardIdent(builder, state.workchain, state.shard)
    .u(state.seqno, 32)
    .u(0, 32)
    .u(state.genUtime, 32)
    .big(state.genLt, 64)
    .u(state.minRefMcSeqno, 32)
    .ref(writeQueueInfo(state))
    .bit(state.beforeSplit)
    .ref(writeAugE(new Builder(), state.accounts, depthBalance).cell())
    .ref(writeTotals(state))
    .maybeRef(state.custom)
    .cell();
}

/** Load histories, balance, fees, libraries, master reference: one cell. */
function writeTotals(state: ShardState): Cell {
  const builder = new Builder().big(0n, 64).big(0xffffffffffffffffn, 64);
  writeCoins(builder, state.accounts.extra.balance);
  writeCoins(builder, state.validatorFees);
  builder.bit(0).bit(state.masterRef !== null);
  if (state.masterRef !== null) writeBlockRef(builder, state.masterRef);
  return builder.cell();
}

/**
 * `OutMsgQueueInfo` with the size of the queue in `out_msg_queue_extra#0 dispatch_queue:DispatchQueue
 * out_queue_size:(Maybe uint48)` (capability 64).
 */
function writeQueueInfo(state: ShardState): Cell {
  const builder = new Builder();
  writeQueue(builder, state.queue);
  const changes = state.processed.map(({ shard, mcSeqno, lt, hash }) => ({
    key: processedKey(shard, mcSeqno),
    leaf: { extra: null, value: new Builder().big(lt, 64).bytes(Buffer.from(hash, 'latin1')).cell() },
  }));
  builder.maybeRef(updateDictionary(null, KEY_BITS.processed, plain, changes).root);
  return builder.bit(1).u(0, 4).bit(0).big(0n, 64).bit(1).u(state.queue.entries.length, 48).cell();
}

function processedKey(shard: Shard, mcSeqno: number): Buffer {
  const key = Buffer.alloc(12);
  key.write(shard, 'hex');
  key.writeUInt32BE(mcSeqno, 8);
  return key;
}

/** Reads a state back, as after a restart. Throws DecodeError. */
export function readState(root: Cell): ShardState {
  const slice = new Slice(root).tag(32, 0x9023afe2, 'ShardStateUnsplit');
  const globalId = slice.i(32);
  const { workchain, shard } = readShardIdent(slice);
  const seqno = slice.u(32);
  slice.skip(32);
  const [genUtime, genLt, minRefMcSeqno] = [slice.u(32), slice.big(64), slice.u(32)];
  const info = slice.open();
  const beforeSplit = slice.bit();
  const accounts = readAugE(slice.open(), depthBalance);
  const totals = slice.open().skip(128);
  readCoins(totals);
  const validatorFees = readCoins(totals);
  totals.maybeRef();
  const masterRef = totals.bit() ? readBlockRef(totals) : null;
  const queue = readQueue(info);
  return {
    globalId,
    workchain,
    shard,
    seqno,
    genUtime,
    genLt,
    minRefMcSeqno,
    beforeSplit,
    queue,
    processed: readProcessed(info.maybeRef()),
    accounts,
    validatorFees,
    masterRef,
    custom: slice.maybeRef(),
  };
}

function readProcessed(root: Cell | null): ProcessedUpto[] {
  const found: ProcessedUpto[] = [];
  eachLeaf(root, KEY_BITS.processed, (slice, key) => {
    found.push({
      shard: key.toString('hex', 0, 8),
      mcSeqno: key.readUInt32BE(8),
      lt: slice.big(64),
      hash: slice.bytes(32).toString('latin1'),
    });
  });
  return found;
}
