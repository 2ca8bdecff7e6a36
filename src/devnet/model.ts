import type { Cell } from '../chain/builder.ts';
import type { BlockId, BlockIdExt, Hash, Shard } from '../chain/model.ts';
import type { ValidatorNumbers, Validators } from './validators.ts';

/** An account of the zero state, deployed with code and data. */
export interface GenesisAccount {
  /** -1 or 0. */
  workchain: number;
  /** Account id: need not be the hash of code and data. */
  hash: Hash;
  /** Nanotons. */
  balance: bigint;
  code: Cell;
  data: Cell;
  /** Runs at the start (tick) or the end (tock) of every masterchain block. Masterchain accounts only. */
  special?: { tick: boolean; tock: boolean };
}

export interface ChainLimits {
  /** Transactions a block may hold; messages that find no room stay in the out-message queue. */
  maxTransactions: number;
  /** External messages that wait; further ones are refused. */
  maxPending: number;
  /** Steps whose states stay in memory. */
  keepStates: number;
  /** Steps between two checkpoints of the state on disk: what a restart has to apply again at most. */
  checkpointSteps: number;
}

export interface ChainOptions {
  /** Where blocks and states are kept; null keeps them in memory only. */
  folder: string | null;
  /** Decides rand seeds and creators; with equal inputs the blocks are equal. */
  seed: string;
  genesis: readonly GenesisAccount[];
  /** Time between blocks, for the times announced for splits and merges. */
  blockTimeMs: number;
  /** Unix seconds of the zero state. Default: 2025-01-01, so that chains without it are equal. */
  startUtime?: number;
  /** Masterchain seqno of the step with the first blocks of both halves of the basechain. At least 4. */
  splitAt?: number;
  /** Masterchain seqno of the step with the first block of the whole basechain again. At least `splitAt` + 3. */
  mergeAt?: number;
  /** Masterchain blocks from one key block to the next; each but the first changes the validators. Default 1000. */
  keyBlockEvery?: number;
  validators?: ValidatorNumbers;
  limits?: Partial<ChainLimits>;
}

/** A block of the chain and its place in time. */
export interface BlockPlace extends BlockIdExt {
  startLt: bigint;
  endLt: bigint;
  /** Unix seconds. */
  genUtime: number;
  /** The masterchain block that registers it: its own seqno for masterchain blocks. */
  mcSeqno: number;
  transactions: number;
}

export interface ProducedBlock extends BlockPlace {
  bytes: Buffer;
}

/** One masterchain block and the shard blocks that it registers, by shard. */
export interface ProducedStep {
  mc: ProducedBlock;
  shards: ProducedBlock[];
}

export type SubmitResult =
  /** `hash` is the representation hash of the message. */
  | { accepted: true; hash: Hash }
  /** `exitCode` of the contract that refused, null when it was not asked. */
  | { accepted: false; reason: string; exitCode: number | null };

/**
 * How a message is taken in that is not to be checked against those that wait: `rival` may be executed in place of one
 * of them, as a node allows that has not heard of it; `lost` is told of, and then reaches no block.
 */
export type SubmitHow = 'rival' | 'lost';

/** A shard block that is signed, and that no masterchain block registers yet. */
export interface SignedBlock {
  block: ProducedBlock;
  /** The state after it. */
  state: Cell;
}

/** The zero states: seqno 0 of both chains. Their root and file hashes name the network. */
export interface ZeroState {
  mc: BlockIdExt;
  shard: BlockIdExt;
  /** `ShardStateUnsplit` as a bag of cells, whose SHA-256 is the file hash. */
  bytes(workchain: number): Buffer;
}

/** An account as of a state. */
export interface ChainAccount {
  /** `ShardAccount`: `^Account last_trans_hash last_trans_lt`. */
  shardAccount: Cell;
  /** `Account`. */
  account: Cell;
  lastTransactionHash: Hash;
  lastTransactionLt: bigint;
}

export interface ChainTransaction {
  block: BlockPlace;
  lt: bigint;
  hash: Hash;
  prevLt: bigint;
  prevHash: Hash;
  /** The transaction as a bag of cells. */
  boc: Buffer;
}

/** Finds one block of a shard; with `lt` and `utime` the shard may be any that holds the account prefix. */
export type Lookup =
  | { workchain: number; shard: Shard; seqno: number }
  /** The block whose lt range holds `lt`, or the first one after it. */
  | { workchain: number; shard: Shard; lt: bigint }
  /** The last block generated at or before `utime`. */
  | { workchain: number; shard: Shard; utime: number };

/** A chain in a box. Synchronous: a step is complete, and on disk, when `produce` returns. */
export interface Chain {
  readonly zeroState: ZeroState;
  readonly globalId: number;
  /** Who signs the masterchain blocks. */
  readonly validators: Validators;
  /** Newest masterchain block (the zero state before the first step) and the shard tops it registers. */
  head(): { mc: BlockPlace; shards: BlockPlace[] };
  /**
   * Takes an external message that the destination accepts in its current state. A second message to the same
   * account is checked against the state that the waiting ones leave behind.
   */
  submit(boc: Buffer, how?: SubmitHow): SubmitResult;
  /** External messages that wait for the next step. */
  pending(): number;
  /**
   * Makes the shard blocks of the next step: they are signed, and `produce` registers them. Called again it replaces
   * them by others; `hold` of the external messages then wait for the step after.
   */
  collate(now: number, hold?: number): SignedBlock[];
  /** Shard blocks that are signed and not registered, by shard; with `replaced` those, too, that others replaced. */
  signed(replaced?: boolean): readonly SignedBlock[];
  /**
   * Makes one step: a block of every shard and the masterchain block that registers them. `now` is Unix seconds; a
   * time before the head's counts as the head's.
   */
  produce(now: number): ProducedStep;
  /** A block by id (hashes are not looked at), null when there is none. The zero states have no block. */
  block(id: BlockId): Buffer | null;
  lookup(query: Lookup): BlockPlace | null;
  /** The shard tops that a masterchain block registers, by shard; null when there is no such block. */
  shards(mcSeqno: number): BlockPlace[] | null;
  /** The state after a block, null when it is no longer kept. Seqno 0 is the zero state. */
  state(id: BlockId): Cell | null;
  /**
   * An account as of a masterchain seqno (default: head), null when it does not exist. Throws RangeError when the state
   * is no longer kept.
   */
  account(workchain: number, hash: Hash, mcSeqno?: number): ChainAccount | null;
  /**
   * Transactions of an account from one named by lt and hash backwards, newest first; at most `limit`. Empty when there
   * is none.
   */
  transactions(workchain: number, hash: Hash, from: { lt: bigint; hash: Hash }, limit: number): ChainTransaction[];
  /** Called after every step. Returns what ends it. */
  onStep(listener: (step: ProducedStep) => void): () => void;
  /** Called with every external message that is taken in, a bag of cells. Returns what ends it. */
  onExternal(listener: (boc: Buffer) => void): () => void;
  /** Writes a checkpoint and lets go of the folder. */
  close(): void;
}
