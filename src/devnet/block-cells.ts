import { Builder, type Cell } from '../chain/builder.ts';
import { writeAugE } from '../chain/dictionary.ts';
import type { Hash, Shard } from '../chain/model.ts';
import { coinSum, importFees, writeCoins } from './augmentations.ts';
import type { Collation } from './collator.ts';
import { CAPABILITIES, GLOBAL_VERSION } from './configuration.ts';
import { type BlockRef, writeBlockRef, writeShardIdent } from './state.ts';

/** The parts of a `BlockInfo`. */
export interface BlockInfo {
  workchain: number;
  shard: Shard;
  seqno: number;
  afterMerge: boolean;
  beforeSplit: boolean;
  afterSplit: boolean;
  wantSplit: boolean;
  wantMerge: boolean;
  keyBlock: boolean;
  genUtime: number;
  startLt: bigint;
  endLt: bigint;
  validatorHash: number;
  catchainSeqno: number;
  minRefMcSeqno: number;
  prevKeyBlockSeqno: number;
  /** Null in masterchain blocks. */
  masterRef: BlockRef | null;
  /** Two after a merge. */
  prev: readonly BlockRef[];
}

/** `block_info#9bc7a987` with the software version (flag 1). */
function writeInfo(info: BlockInfo): Cell {
  const builder = new Builder().u(0x9bc7a987, 32).u(0, 32);
  const flags = [
    info.masterRef !== null,
    info.afterMerge,
    info.beforeSplit,
    info.afterSplit,
    info.wantSplit,
    info.wantMerge,
    info.keyBlock,
    // vert_seqno_incr
    false,
  ];
  for (const flag of flags) builder.bit(flag);
  builder.u(1, 8).u(info.seqno, 32).u(0, 32);
  writeShardIdent(builder, info.workchain, info.shard);
  builder.u(info.genUtime, 32).big(info.startLt, 64).big(info.endLt, 64);
  builder.u(info.validatorHash, 32).u(info.catchainSeqno, 32).u(info.minRefMcSeqno, 32).u(info.prevKeyBlockSeqno, 32);
  builder.u(0xc4, 8).u(GLOBAL_VERSION, 32).big(CAPABILITIES, 64);
  if (info.masterRef !== null) builder.ref(refCell(info.masterRef));
  const [first, second] = info.prev.map(refCell);
  // prev_blks_info$_ holds both in references of their own
  return builder.ref(second === undefined ? first : new Builder().ref(first).ref(second).cell()).cell();
}

function refCell(ref: BlockRef): Cell {
  return writeBlockRef(new Builder(), ref).cell();
}

/** Nanotons. What came in is what went out: `fromPrev + imported + feesImported = toNext + exported + feesCollected`. */
export interface Flow {
  fromPrev: bigint;
  toNext: bigint;
  imported: bigint;
  exported: bigint;
  feesCollected: bigint;
  feesImported: bigint;
}

/** Adds up a block. Throws RangeError when its figures do not. */
export function valueFlow(collation: Collation, fromPrev: bigint, feesImported: bigint): Flow {
  const { inMsgs, outMsgs, accountBlocks, accounts } = collation;
  const flow: Flow = {
    fromPrev,
    toNext: accounts.extra.balance,
    imported: inMsgs.extra.value,
    exported: outMsgs.extra,
    feesCollected: accountBlocks.extra + inMsgs.extra.fees + feesImported,
    feesImported,
  };
  const came = flow.fromPrev + flow.imported + flow.feesImported;
  const went = flow.toNext + flow.exported + flow.feesCollected;
  if (came !== went) throw new RangeError(`value flow of a block: ${came} came, ${went} went`);
  return flow;
}

/** `value_flow#b8e48dfb`; nothing is recovered, created or minted. */
function writeFlow(flow: Flow): Cell {
  const list = (values: readonly bigint[]): Cell => values.reduce(writeCoins, new Builder()).cell();
  const builder = new Builder().u(0xb8e48dfb, 32);
  builder.ref(list([flow.fromPrev, flow.toNext, flow.imported, flow.exported]));
  return writeCoins(builder, flow.feesCollected)
    .ref(list([flow.feesImported, 0n, 0n, 0n]))
    .cell();
}

export interface BlockParts {
  globalId: number;
  info: BlockInfo;
  flow: Flow;
  stateUpdate: Cell;
  collation: Collation;
  randSeed: Hash;
  createdBy: Hash;
  /** `McBlockExtra`, in masterchain blocks. */
  custom: Cell | null;
}

/** `block#11ef55aa`. */
export function writeBlock(parts: BlockParts): Cell {
  const { collation } = parts;
  const extra = new Builder()
    .u(0x4a33f6fd, 32)
    .ref(writeAugE(new Builder(), collation.inMsgs, importFees).cell())
    .ref(writeAugE(new Builder(), collation.outMsgs, coinSum).cell())
    .ref(writeAugE(new Builder(), collation.accountBlocks, coinSum).cell())
    .bytes(parts.randSeed)
    .bytes(parts.createdBy)
    .maybeRef(parts.custom)
    .cell();
  return new Builder()
    .u(0x11ef55aa, 32)
    .i(parts.globalId, 32)
    .ref(writeInfo(parts.info))
    .ref(writeFlow(parts.flow))
    .ref(parts.stateUpdate)
    .ref(extra)
    .cell();
}
