/**
 * The one way to ask for state: of an account, the configuration, libraries, all as of a masterchain step that the
 * API shows. What the window and the tables know is answered from them, the rest by liteservers, held to proofs.
 */

import type { ChainSource } from '../chain/chain-source.ts';
import type { BlockIdExt, Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import type { Liteservers } from '../node/liteservers.ts';
import { type Accounts, createAccounts } from './accounts.ts';
import { type BlockProofs, createBlockProofs } from './block-proofs.ts';
import { type Configs, createConfigs } from './config.ts';
import { createLibraries, type Libraries } from './libraries.ts';
import type { MasterBlock } from './master-blocks.ts';
import type { StateMetrics } from './metrics.ts';
import { forNodes } from './nodes.ts';
import { createPreviousBlocks, type PreviousBlocks } from './previous-blocks.ts';
import { createShards, type Shards } from './shards.ts';
import { createStateRoots } from './state-root.ts';
import { createSteps, type Step, type Steps } from './steps.ts';

export interface StateSource extends Steps, Shards, Accounts, Configs, Libraries, BlockProofs {
  /** What contracts may ask for of older blocks. @throws {NodeError} @throws {NoNetworkError} */
  previousBlocks(step: Step, context: QueryContext): Promise<PreviousBlocks>;
  /** Hash of the masterchain's state after a step. @throws {NodeError} @throws {NoNetworkError} */
  stateRootHash(step: Step, context: QueryContext): Promise<Hash>;
  /** The zero state of the masterchain, which names the network. @throws {NodeError} @throws {NoNetworkError} */
  zeroState(context: QueryContext): Promise<BlockIdExt>;
}

export interface StateSourceOptions {
  source: ChainSource;
  liteservers: Liteservers;
  masterBlock: MasterBlock;
  metrics: StateMetrics;
}

export function createStateSource({ source, liteservers, masterBlock, metrics }: StateSourceOptions): StateSource {
  const steps = createSteps(source, liteservers);
  const shards = createShards(masterBlock);
  const zeroState = createZeroState(source, liteservers);
  return {
    ...steps,
    ...shards,
    ...createAccounts(source, liteservers, metrics),
    ...createConfigs(masterBlock, liteservers, metrics),
    ...createLibraries(liteservers, metrics),
    ...createBlockProofs(source, liteservers, { ...steps, ...shards }, zeroState),
    previousBlocks: createPreviousBlocks(source, steps, zeroState),
    stateRootHash: createStateRoots(masterBlock, liteservers),
    zeroState,
  };
}

/** Block 1 names it; where that is not indexed a liteserver does, and the pool asks only those of its network. */
function createZeroState(source: ChainSource, liteservers: Liteservers) {
  let known: BlockIdExt | null = null;
  return async (context: QueryContext): Promise<BlockIdExt> => {
    if (known !== null) return known;
    const page = { limit: 1, offset: 0 };
    const filter = { workchain: -1, shard: FULL_SHARD, seqno: 1, utime: {}, lt: {}, page };
    const [first] = (await source.blocks({ ...filter, sort: 'asc' }, context)).rows;
    const { rootHash, fileHash } = first?.header.prev[0] ?? (await askZeroState(liteservers, context));
    known = { workchain: -1, shard: FULL_SHARD, seqno: 0, rootHash, fileHash };
    return known;
  };
}

async function askZeroState(liteservers: Liteservers, context: QueryContext) {
  const { init } = await liteservers.query({ method: 'getMasterchainInfo' }, forNodes(context));
  const copy = (hash: Hash): Hash => Buffer.from(hash);
  return { rootHash: copy(init.rootHash), fileHash: copy(init.fileHash) };
}
