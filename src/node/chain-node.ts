import type { BlockId, BlockIdExt, Decimal, Hash } from '../chain/model.ts';

/** An account's state as a server has it at a block. */
export interface AccountBoc {
  /** The account cell as a bag of cells; null when the account does not exist. */
  boc: Buffer | null;
  /** Of the account's last transaction; zeros when it does not exist. */
  lastTransactionHash: Hash;
  lastTransactionLt: Decimal;
}

/**
 * What the ingester needs of a chain: blocks by id and by place, the head, and cells that blocks do not show. A pool of
 * liteservers is one; a recorded chain in tests is another. Every call ends by its signal or its own time-out.
 */
export interface ChainNode {
  /** Newest masterchain block that a server in good standing has. */
  head(signal: AbortSignal): Promise<BlockIdExt>;
  /** Root and file hash of the zero state of the masterchain: names the network. */
  zeroState(signal: AbortSignal): Promise<{ rootHash: Hash; fileHash: Hash }>;
  /** Waits for masterchain block `seqno`; null when it has not come after `timeoutMs`. */
  waitMasterchainBlock(seqno: number, timeoutMs: number, signal: AbortSignal): Promise<BlockIdExt | null>;
  /** @throws {NodeError} code `not_found` when no server knows it */
  lookupBlock(id: BlockId, signal: AbortSignal): Promise<BlockIdExt>;
  /** Newest block of the shard generated at or before `utime` (Unix seconds). @throws {NodeError} `not_found` */
  lookupByUtime(shard: Pick<BlockId, 'workchain' | 'shard'>, utime: number, signal: AbortSignal): Promise<BlockIdExt>;
  /** The block's bag of cells; its SHA-256 is the file hash. @throws {NodeError} `not_found` */
  block(id: BlockIdExt, signal: AbortSignal): Promise<Buffer>;
  /** State of an account after a block. @throws {NodeError} `not_found` also when no server keeps the state any more */
  account(block: BlockIdExt, workchain: number, account: Hash, signal: AbortSignal): Promise<AccountBoc>;
  /** Library cells by hash, those that exist. At most 16 hashes. */
  libraries(hashes: readonly Hash[], signal: AbortSignal): Promise<Map<string, Buffer>>;
}

/** A masterchain block that was proven. */
export interface ProvenBlock {
  id: BlockIdExt;
  /** Unix seconds; null for the zero state. */
  genUtime: number | null;
}

/** Holds what servers say to the signatures of validators, from a block that is trusted on. */
export interface BlockProver {
  /**
   * Proves that a masterchain block belongs to the chain of the trusted block. All masterchain blocks before it that
   * its references lead to belong to it, too, and what they commit.
   * @throws {NodeError} `not_found` when no server can prove it, `unavailable` when none answers rightly
   */
  prove(id: BlockIdExt, signal: AbortSignal): Promise<ProvenBlock>;
  /** The newest key block that was proven, or the trusted block: where the next proof begins. */
  readonly keyBlock: BlockIdExt;
  /** The newest block that was proven since the start; null before the first. */
  readonly newest: ProvenBlock | null;
}

export type NodeErrorCode =
  /** No server that was asked knows the block, account or state. */
  | 'not_found'
  /** No server is there, or none answered in time. */
  | 'unavailable'
  /** A server refused the request for good. */
  | 'refused'
  | 'aborted';

/** A request that no server of the pool could answer. The message names the request and the last server's reason. */
export class NodeError extends Error {
  constructor(
    readonly code: NodeErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'NodeError';
  }
}

/** Whether the chain, as the servers know it, has nothing of what was asked for. */
export const isNotFound = (error: unknown): boolean => error instanceof NodeError && error.code === 'not_found';
