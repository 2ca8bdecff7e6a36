import type { LiteHandlers, LiteServerOptions } from '../node/lite-server.ts';
import type { Executor } from '../tvm/executor.ts';
import { accountHandlers } from './liteserver/accounts.ts';
import { blockTransactionHandlers } from './liteserver/block-transactions.ts';
import { createBlocks } from './liteserver/blocks.ts';
import { getMethodHandlers } from './liteserver/get-methods.ts';
import { blockHandlers } from './liteserver/headers.ts';
import { linkHandlers } from './liteserver/links.ts';
import { networkHandlers } from './liteserver/network.ts';
import { nonfinalHandlers } from './liteserver/nonfinal.ts';
import { queueHandlers } from './liteserver/queues.ts';
import { configurationHandlers, libraryHandlers } from './liteserver/settings.ts';
import { shardHandlers } from './liteserver/shards.ts';
import { transactionHandlers } from './liteserver/transactions.ts';
import { createWaiting } from './liteserver/waiting.ts';
import type { Chain } from './model.ts';
import type { SignatureKind } from './validators.ts';

const MAX_WAITERS = 1000;

export interface LiteserverOptions {
  chain: Chain;
  /** Runs the get-methods, under the chain's configuration. */
  executor: Executor;
  /** Unix milliseconds; the process's own clock by default. */
  clock?: () => number;
  /** Calls that wait for a masterchain block at a time. Default 1000. */
  maxWaiters?: number;
  /** Answers of blocks that are signed and not registered, as a node does when it is told to. Default true. */
  nonfinal?: boolean;
  /** Ordinary by default, which all published clients know. */
  signatures?: SignatureKind;
}

/** What `serveLite` takes to serve a chain. */
export interface Liteserver {
  handlers: LiteHandlers;
  options: Pick<LiteServerOptions, 'waitMasterchainSeqno'>;
  /** Calls that wait for a block. */
  waiting(): number;
  /** Lets go of the chain; calls that wait end with a time-out. */
  close(): void;
}

/**
 * The calls of a liteserver over a local chain, every answer with its Merkle proofs, and `getBlockProof` with the
 * signatures of the chain's validators.
 */
export function createLiteserver({
  chain,
  executor,
  clock = Date.now,
  maxWaiters = MAX_WAITERS,
  signatures = 'ordinary',
  nonfinal = true,
}: LiteserverOptions): Liteserver {
  const blocks = createBlocks(chain);
  const waiting = createWaiting(chain, maxWaiters);
  return {
    handlers: {
      ...networkHandlers(chain, blocks, () => Math.floor(clock() / 1000)),
      ...blockHandlers(chain, blocks),
      ...linkHandlers(chain, blocks, signatures),
      ...shardHandlers(blocks),
      ...accountHandlers(blocks),
      ...getMethodHandlers(blocks, executor),
      ...transactionHandlers(chain, blocks),
      ...blockTransactionHandlers(blocks),
      ...configurationHandlers(blocks),
      ...libraryHandlers(chain, blocks),
      ...queueHandlers(chain, blocks),
      ...(nonfinal ? nonfinalHandlers(chain) : {}),
    },
    options: { waitMasterchainSeqno: waiting.wait },
    waiting: waiting.count,
    close: waiting.close,
  };
}
