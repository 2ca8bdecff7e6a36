import { type Boc, cellType, MERKLE_UPDATE } from './boc.ts';
import { readCurrencies, skipCurrencies } from './currency.ts';
import { Cursor } from './cursor.ts';
import { DecodeError, section } from './errors.ts';
import { walkAllowance, walkHashmap } from './hashmap.ts';
import { blockRoot, decodeHeader } from './header.ts';
import type { BlockHeader, Hash, ShardDescr, ValueFlow } from './model.ts';
import { readShardHashes } from './shards.ts';

/** A block opened for reading. What takes work is read when asked for; each such call may throw DecodeError. */
export interface Block {
  readonly boc: Boc;
  readonly header: BlockHeader;
  readonly randSeed: Hash;
  readonly createdBy: Hash;
  /** `MERKLE_UPDATE` cell from the old to the new state. */
  readonly stateUpdate: number;
  /** Root of the dictionary of account blocks, null when the block has no transactions. */
  readonly accountBlocks: number | null;
  /** Null in shard blocks. */
  readonly master: MasterExtra | null;
  valueFlow(): ValueFlow;
  inMsgCount(): number;
  outMsgCount(): number;
  /** Tops of all shards as of this masterchain block; empty in shard blocks. */
  shardHashes(): ShardDescr[];
}

export interface MasterExtra {
  /** Root of the dictionary of shard tops, null when there are no other workchains. */
  readonly shardHashes: number | null;
  /** Root of the configuration dictionary (32-bit keys, `^Cell` values), in key blocks only. */
  readonly config: number | null;
  /** Account id of the configuration contract, in key blocks only. */
  readonly configAddress: Hash | null;
}

/** Opens the block of a bag: header and extra are read, the rest is left for later. Throws DecodeError. */
export function decodeBlock(boc: Boc): Block {
  const header = decodeHeader(boc);
  return section('block', () => {
    const root = new Cursor(boc, blockRoot(boc));
    root.nextRef();
    const valueFlow = root.nextRef();
    const stateUpdate = root.nextRef();
    if (cellType(boc, stateUpdate) !== MERKLE_UPDATE) throw new DecodeError('no Merkle update', 'state_update');
    const extra = section('extra', () => readExtra(root.open()));
    const { master } = extra;
    return {
      boc,
      header,
      stateUpdate,
      randSeed: extra.randSeed,
      createdBy: extra.createdBy,
      accountBlocks: extra.accountBlocks,
      master,
      valueFlow: () => section('block/value_flow', () => readValueFlow(new Cursor(boc, valueFlow))),
      inMsgCount: () => section('block/extra/in_msg_descr', () => countLeaves(boc, extra.inMsgDescr)),
      outMsgCount: () => section('block/extra/out_msg_descr', () => countLeaves(boc, extra.outMsgDescr)),
      shardHashes: () => {
        const shards = master?.shardHashes ?? null;
        return shards === null ? [] : section('block/extra/custom/shard_hashes', () => readShardHashes(boc, shards));
      },
    };
  });
}

interface Extra {
  inMsgDescr: number;
  outMsgDescr: number;
  accountBlocks: number | null;
  randSeed: Hash;
  createdBy: Hash;
  master: MasterExtra | null;
}

/** `block_extra#4a33f6fd`. */
function readExtra(cursor: Cursor): Extra {
  cursor.tag(32, 0x4a33f6fd, 'BlockExtra');
  const inMsgDescr = cursor.nextRef();
  const outMsgDescr = cursor.nextRef();
  const accountBlocks = section('account_blocks', () => orNull(cursor.open().maybeRef()));
  const randSeed = cursor.hash();
  const createdBy = cursor.hash();
  const custom = cursor.maybeRef();
  const master = custom < 0 ? null : section('custom', () => readMasterExtra(new Cursor(cursor.boc, custom)));
  return { inMsgDescr, outMsgDescr, accountBlocks, randSeed, createdBy, master };
}

/**
 * What a block of the masterchain has besides, read from a proof that may show nothing else of it; null in shard blocks.
 * Throws DecodeError.
 */
export function masterExtraOf(boc: Boc): MasterExtra | null {
  const block = new Cursor(boc, blockRoot(boc));
  // Behind info, value_flow and state_update.
  for (let i = 0; i < 3; i++) block.nextRef();
  const extra = block.open();
  extra.tag(32, 0x4a33f6fd, 'BlockExtra');
  // Behind in_msg_descr, out_msg_descr and account_blocks, which may be pruned, then rand_seed and created_by.
  for (let i = 0; i < 3; i++) extra.nextRef();
  for (let i = 0; i < 2; i++) extra.hash();
  const custom = extra.maybeRef();
  return custom < 0 ? null : readMasterExtra(new Cursor(boc, custom));
}

/** `masterchain_block_extra#cca5`: the configuration stands behind the shard fees and the signatures. */
function readMasterExtra(cursor: Cursor): MasterExtra {
  cursor.tag(16, 0xcca5, 'McBlockExtra');
  const keyBlock = cursor.bit();
  const shardHashes = orNull(cursor.maybeRef());
  if (!keyBlock) return { shardHashes, config: null, configAddress: null };
  cursor.maybeRef();
  // ShardFeeCreated, the extra of the dictionary of fees: fees and created.
  skipCurrencies(cursor);
  skipCurrencies(cursor);
  cursor.nextRef();
  const configAddress = cursor.hash();
  return { shardHashes, config: cursor.nextRef(), configAddress };
}

function orNull(cell: number): number | null {
  return cell < 0 ? null : cell;
}

/** Entries of a `HashmapAugE 256`, whose root stands in the cell. */
function countLeaves(boc: Boc, cell: number): number {
  const root = new Cursor(boc, cell).maybeRef();
  if (root < 0) return 0;
  let count = 0;
  const leaf = (): void => {
    count++;
  };
  walkHashmap(boc, root, { keyBits: 256, leaf }, walkAllowance(boc));
  return count;
}

/** `value_flow#b8e48dfb` and `value_flow_v2#3ebf98b7`, which added what was burned. */
function readValueFlow(cursor: Cursor): ValueFlow {
  const tag = cursor.u(32);
  if (tag !== 0xb8e48dfb && tag !== 0x3ebf98b7) throw new DecodeError(`tag ${tag.toString(16)} is not ValueFlow`);
  const first = cursor.open();
  const feesCollected = readCurrencies(cursor);
  const burned = tag === 0x3ebf98b7 ? readCurrencies(cursor) : null;
  const second = cursor.open();
  return {
    fromPrevBlk: readCurrencies(first),
    toNextBlk: readCurrencies(first),
    imported: readCurrencies(first),
    exported: readCurrencies(first),
    feesCollected,
    burned,
    feesImported: readCurrencies(second),
    recovered: readCurrencies(second),
    created: readCurrencies(second),
    minted: readCurrencies(second),
  };
}
