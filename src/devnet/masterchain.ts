import { Builder, type Cell, Slice } from '../chain/builder.ts';
import { type Dictionary, plain, readAugE, updateDictionary, writeAugE } from '../chain/dictionary.ts';
import type { Hash, Shard } from '../chain/model.ts';
import { FULL_SHARD, shardChildren } from '../chain/shard-ident.ts';
import { KEY_BITS, type KeyMaxLt, keyMaxLt, shardFees, writeCoins } from './augmentations.ts';
import { CONFIG_ADDRESS } from './configuration.ts';
import { type BlockRef, readBlockRef, writeBlockRef } from './state.ts';

/** A shard top as the masterchain registers it (`ShardDescr`). */
export interface ShardTop {
  shard: Shard;
  seqno: number;
  regMcSeqno: number;
  startLt: bigint;
  endLt: bigint;
  rootHash: Hash;
  fileHash: Hash;
  genUtime: number;
  minRefMcSeqno: number;
  fees: bigint;
  beforeSplit: boolean;
  beforeMerge: boolean;
  wantSplit: boolean;
  wantMerge: boolean;
  /** What the masterchain announces for the shard, and when (Unix seconds). */
  announced: { kind: 'split' | 'merge'; utime: number; interval: number } | null;
}

/** `ShardHashes`: the tree of the basechain's shards. */
export function writeShardHashes(tops: readonly ShardTop[]): Cell | null {
  if (tops.length === 0) return null;
  const tree = writeShardTree(FULL_SHARD, tops);
  const changes = [{ key: Buffer.alloc(4), leaf: { extra: null, value: new Builder().ref(tree).cell() } }];
  return updateDictionary(null, KEY_BITS.workchain, plain, changes).root;
}

/** `bt_leaf$0`, `bt_fork$1 left:^ right:^`. */
function writeShardTree(shard: Shard, tops: readonly ShardTop[]): Cell {
  const top = tops.find((each) => each.shard === shard);
  if (top !== undefined) return writeShardDescr(top);
  const [left, right] = shardChildren(shard);
  return new Builder().bit(1).ref(writeShardTree(left, tops)).ref(writeShardTree(right, tops)).cell();
}

/** `bt_leaf$0` with `shard_descr_new#a`. */
function writeShardDescr(top: ShardTop): Cell {
  const fees = writeCoins(writeCoins(new Builder(), top.fees), 0n).cell();
  const builder = new Builder().bit(0).u(0xa, 4).u(top.seqno, 32).u(top.regMcSeqno, 32);
  builder.big(top.startLt, 64).big(top.endLt, 64).bytes(top.rootHash).bytes(top.fileHash);
  builder.bit(top.beforeSplit).bit(top.beforeMerge).bit(top.wantSplit).bit(top.wantMerge);
  // nx_cc_updated, flags, next_catchain_seqno
  builder.bit(0).u(0, 3).u(0, 32);
  builder
    .big(BigInt(`0x${top.shard}`), 64)
    .u(top.minRefMcSeqno, 32)
    .u(top.genUtime, 32);
  if (top.announced === null) builder.bit(0);
  else {
    builder.u(top.announced.kind === 'split' ? 2 : 3, 2);
    builder.u(top.announced.utime, 32).u(top.announced.interval, 32);
  }
  return builder.ref(fees).cell();
}

/** `ShardFees`: what each newly registered block collected. */
export function writeShardFees(tops: readonly ShardTop[]): Dictionary<bigint> {
  const changes = tops.map((top) => {
    const key = Buffer.alloc(12);
    key.write(top.shard, 4, 'hex');
    const value = writeCoins(writeCoins(new Builder(), top.fees), 0n).cell();
    return { key, leaf: { extra: top.fees, value } };
  });
  return updateDictionary(null, KEY_BITS.shardFees, shardFees, changes);
}

/** `masterchain_block_extra#cca5`; `config` in key blocks only. */
export function writeMcBlockExtra(shardHashes: Cell | null, fees: Dictionary<bigint>, config: Cell | null): Cell {
  const builder = new Builder()
    .u(0xcca5, 16)
    .bit(config !== null)
    .maybeRef(shardHashes);
  writeAugE(builder, fees, shardFees);
  // prev_blk_signatures, recover_create_msg, mint_msg: none
  builder.ref(new Builder().u(0, 3).cell());
  if (config !== null) builder.bytes(CONFIG_ADDRESS).ref(config);
  return builder.cell();
}

/** The parts of a `McStateExtra`. */
export interface McExtra {
  shardHashes: Cell | null;
  config: Cell;
  /** `validator_info`: who signs the next block, and whether that changes with it. */
  validatorHash: number;
  catchainSeqno: number;
  catchainUpdated: boolean;
  /** `OldMcBlocksInfo`: the masterchain blocks before this one. */
  mcBlocks: Dictionary<KeyMaxLt>;
  afterKeyBlock: boolean;
  lastKeyBlock: BlockRef | null;
  globalBalance: bigint;
}

/** `masterchain_state_extra#cc26`. */
export function writeMcExtra(extra: McExtra): Cell {
  const rest = new Builder().u(0, 16).u(extra.validatorHash, 32).u(extra.catchainSeqno, 32).bit(extra.catchainUpdated);
  writeAugE(rest, extra.mcBlocks, keyMaxLt);
  rest.bit(extra.afterKeyBlock).bit(extra.lastKeyBlock !== null);
  if (extra.lastKeyBlock !== null) writeBlockRef(rest, extra.lastKeyBlock);
  const builder = new Builder().u(0xcc26, 16).maybeRef(extra.shardHashes).bytes(CONFIG_ADDRESS).ref(extra.config);
  return writeCoins(builder.ref(rest.cell()), extra.globalBalance).cell();
}

/** Throws DecodeError. */
export function readMcExtra(cell: Cell): McExtra {
  const slice = new Slice(cell).tag(16, 0xcc26, 'McStateExtra');
  const shardHashes = slice.maybeRef();
  slice.skip(256);
  const config = slice.ref();
  const rest = slice.open().skip(16);
  const [validatorHash, catchainSeqno] = [rest.u(32), rest.u(32)];
  const catchainUpdated = rest.bit();
  const mcBlocks = readAugE(rest, keyMaxLt);
  const afterKeyBlock = rest.bit();
  const lastKeyBlock = rest.bit() ? readBlockRef(rest) : null;
  const globalBalance = slice.grams();
  const validatorInfo = { validatorHash, catchainSeqno, catchainUpdated };
  return { shardHashes, config, ...validatorInfo, mcBlocks, afterKeyBlock, lastKeyBlock, globalBalance };
}

/** A masterchain block among the old ones: `key:Bool blk_ref:ExtBlkRef`. */
export function mcBlockLeaf(block: BlockRef, key: boolean) {
  const index = Buffer.alloc(4);
  index.writeUInt32BE(block.seqno);
  const value = writeBlockRef(new Builder().bit(key), block).cell();
  return { key: index, leaf: { extra: { key, endLt: block.endLt }, value } };
}
