/**
 * The decoded forms of what a TON block holds (TL-B: crypto/block/block.tlb of the node).
 *
 * Inside the service a hash is 32 raw bytes and an address 36 (see {@link Address}); amounts and logical
 * times are decimal strings because they exceed 2^53. Text encodings are made at the edges only.
 */

/** 32 bytes. A view into a larger buffer: copy before keeping it longer than the block. */
export type Hash = Buffer;

/**
 * An internal address: workchain as a big-endian int32 with the sign bit flipped, then the 32-byte account id.
 * Compared as bytes, addresses sort by workchain number first, then by account id.
 */
export type Address = Buffer;

/** Sixteen lower-case hex digits of the shard identifier (prefix bits, a 1, zeros). */
export type Shard = string;

/** Unsigned decimal. */
export type Decimal = string;

/** Extra currencies: currency id to amount. Empty when there are none. */
export type ExtraCurrencies = Record<string, Decimal>;

export interface BlockId {
  workchain: number;
  shard: Shard;
  seqno: number;
}

export interface BlockIdExt extends BlockId {
  rootHash: Hash;
  fileHash: Hash;
}

export interface ExtBlockRef {
  endLt: Decimal;
  seqno: number;
  rootHash: Hash;
  fileHash: Hash;
}

export interface BlockHeader extends BlockIdExt {
  globalId: number;
  version: number;
  flags: number;
  notMaster: boolean;
  afterMerge: boolean;
  beforeSplit: boolean;
  afterSplit: boolean;
  wantMerge: boolean;
  wantSplit: boolean;
  keyBlock: boolean;
  vertSeqnoIncr: boolean;
  vertSeqno: number;
  genUtime: number;
  startLt: Decimal;
  endLt: Decimal;
  /** Unsigned 32 bits as in the block. (The v3 API prints it signed.) */
  validatorListHashShort: number;
  catchainSeqno: number;
  minRefMcSeqno: number;
  prevKeyBlockSeqno: number;
  /** `gen_software`: present when flag 1 is set. */
  genSoftware: { version: number; capabilities: Decimal } | null;
  /** The masterchain block this shard block was built on; null in masterchain blocks. */
  masterRef: ExtBlockRef | null;
  /** One previous block, or two after a merge. The shards follow from the split and merge flags. */
  prev: (BlockIdExt & { endLt: Decimal })[];
}

export interface CurrencyCollection {
  grams: Decimal;
  extra: ExtraCurrencies;
}

export interface ValueFlow {
  fromPrevBlk: CurrencyCollection;
  toNextBlk: CurrencyCollection;
  imported: CurrencyCollection;
  exported: CurrencyCollection;
  feesCollected: CurrencyCollection;
  /** Only in the newer layout (tag `3ebf98b7`). */
  burned: CurrencyCollection | null;
  feesImported: CurrencyCollection;
  recovered: CurrencyCollection;
  created: CurrencyCollection;
  minted: CurrencyCollection;
}

/** A shard top as a masterchain block registers it (`ShardDescr`). */
export interface ShardDescr extends BlockIdExt {
  regMcSeqno: number;
  startLt: Decimal;
  endLt: Decimal;
  genUtime: number;
  beforeSplit: boolean;
  beforeMerge: boolean;
  wantSplit: boolean;
  wantMerge: boolean;
  nextValidatorShard: Shard;
}

export type AccountStatus = 'nonexist' | 'uninit' | 'active' | 'frozen';

/** The account as the block's state update shows it after the block. */
export interface AccountState {
  account: Address;
  /** Representation hash of the account cell: the last `HASH_UPDATE` of the account in this block. */
  hash: Hash;
  status: AccountStatus;
  balance: Decimal;
  /** Empty, too, when the block does not show them: a dictionary that did not change is pruned. */
  extraCurrencies: ExtraCurrencies;
  /** Hash of the dictionary of extra currencies where the block does not show all of it. */
  extraPruned: Hash | null;
  /** Extra currencies that a node was asked for, where they are these. */
  learnedExtra?: ExtraCurrencies;
  /** State hash of a frozen account. */
  frozenHash: Hash | null;
  codeHash: Hash | null;
  dataHash: Hash | null;
  /** Cell index in the block's bag of cells, null without code or data. A pruned cell still shows its hash. */
  codeCell: number | null;
  dataCell: number | null;
  /** False when any cell below is pruned. */
  codeComplete: boolean;
  dataComplete: boolean;
  lastTransactionHash: Hash;
  lastTransactionLt: Decimal;
}

export type MessageKind = 'internal' | 'external_in' | 'external_out';

export interface Message {
  /** Cell index in the bag of cells the message was read from. */
  cell: number;
  kind: MessageKind;
  /** Representation hash of the message cell. */
  hash: Hash;
  /** Null for `addr_none` and external addresses. */
  source: Address | null;
  destination: Address | null;
  /** Bits of an external source or destination address, null when there is none. */
  externalBits: number | null;
  value: Decimal | null;
  extraCurrencies: ExtraCurrencies | null;
  ihrDisabled: boolean | null;
  bounce: boolean | null;
  bounced: boolean | null;
  fwdFee: Decimal | null;
  /** The slot that held `ihr_fee` and holds `extra_flags` from global version 12 on. Internal messages only. */
  ihrFeeOrFlags: Decimal | null;
  createdLt: Decimal | null;
  createdAt: number | null;
  importFee: Decimal | null;
  /** First 32 bits of the body; null for shorter bodies. */
  opcode: number | null;
  /** Representation hash of the body as a cell of its own. */
  bodyHash: Hash;
  /** The body re-packed as a cell of its own, serialised. Made on demand. */
  bodyBoc(): Buffer;
  /** Null without a StateInit. */
  init: { hash: Hash; boc(): Buffer } | null;
  /** Normalised hash, external-in messages only (spec v3 semantics 2.3). Made on demand. */
  hashNorm(): Hash | null;
}

export interface StoragePhase {
  collected: Decimal;
  due: Decimal | null;
  statusChange: 'unchanged' | 'frozen' | 'deleted';
}
export interface CreditPhase {
  dueFeesCollected: Decimal | null;
  credit: CurrencyCollection;
}
export type ComputePhase =
  | { skipped: true; reason: 'no_state' | 'bad_state' | 'no_gas' | 'suspended' }
  | {
      skipped: false;
      success: boolean;
      msgStateUsed: boolean;
      accountActivated: boolean;
      gasFees: Decimal;
      gasUsed: Decimal;
      gasLimit: Decimal;
      gasCredit: Decimal | null;
      mode: number;
      exitCode: number;
      exitArg: number | null;
      vmSteps: number;
      vmInitStateHash: Hash;
      vmFinalStateHash: Hash;
    };
export interface ActionPhase {
  success: boolean;
  valid: boolean;
  noFunds: boolean;
  statusChange: 'unchanged' | 'frozen' | 'deleted';
  totalFwdFees: Decimal | null;
  totalActionFees: Decimal | null;
  resultCode: number;
  resultArg: number | null;
  totActions: number;
  specActions: number;
  skippedActions: number;
  msgsCreated: number;
  actionListHash: Hash;
  totMsgCells: Decimal;
  totMsgBits: Decimal;
}
export type BouncePhase =
  | { type: 'negfunds' }
  | { type: 'nofunds'; cells: Decimal; bits: Decimal; reqFwdFees: Decimal }
  | { type: 'ok'; cells: Decimal; bits: Decimal; msgFees: Decimal; fwdFees: Decimal };
export interface SplitInfo {
  curShardPfxLen: number;
  accSplitDepth: number;
  thisAddr: Buffer;
  siblingAddr: Buffer;
}

export type TransactionType =
  | 'ord'
  | 'storage'
  | 'tick_tock'
  | 'split_prepare'
  | 'split_install'
  | 'merge_prepare'
  | 'merge_install';

/** A phase or flag is null where the type of the transaction does not have it or the transaction did not reach it. */
export interface TransactionDescription {
  type: TransactionType;
  aborted: boolean | null;
  destroyed: boolean | null;
  creditFirst: boolean | null;
  isTock: boolean | null;
  installed: boolean | null;
  storage: StoragePhase | null;
  credit: CreditPhase | null;
  compute: ComputePhase | null;
  action: ActionPhase | null;
  bounce: BouncePhase | null;
  splitInfo: SplitInfo | null;
}

export interface Transaction {
  /** Cell index in the bag of cells the transaction was read from. */
  cell: number;
  account: Address;
  hash: Hash;
  lt: Decimal;
  now: number;
  prevHash: Hash;
  prevLt: Decimal;
  origStatus: AccountStatus;
  endStatus: AccountStatus;
  totalFees: Decimal;
  totalFeesExtra: ExtraCurrencies;
  /** `HASH_UPDATE`: the account's state hash before and after. */
  stateBefore: Hash;
  stateAfter: Hash;
  description: TransactionDescription;
  inMsg: Message | null;
  /** In the order of the out-message dictionary, which is the order of `created_lt`. */
  outMsgs: Message[];
}
