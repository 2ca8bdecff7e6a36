import { type Cell, Slice } from '../chain/builder.ts';
import type { BlockId, BlockIdExt, Hash } from '../chain/model.ts';
import { FULL_SHARD, shardContains } from '../chain/shard-ident.ts';
import { cellText, createExecutor } from '../tvm/executor.ts';
import { walkTransactions } from './account-history.ts';
import { type BlockFile, createBlockMemory, openBlockFile } from './block-file.ts';
import { type BlockIndex, createBlockIndex, MASTERCHAIN } from './block-index.ts';
import { readCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { derive } from './configuration.ts';
import { createGenesis, DEFAULT_START_UTIME, type Genesis, GLOBAL_ID, type ZeroBlock } from './genesis.ts';
import { accountText, createTextCache, findShardAccount, NO_ACCOUNT } from './ledger.ts';
import { alignedLt } from './lt.ts';
import { createMempool } from './mempool.ts';
import type {
  BlockPlace,
  Chain,
  ChainAccount,
  ChainLimits,
  ChainOptions,
  ProducedBlock,
  ProducedStep,
  SignedBlock,
  SubmitHow,
  SubmitResult,
  ZeroState,
} from './model.ts';
import { createRecentStates, type RecentStates } from './recent-states.ts';
import type { Tip } from './shard-block.ts';
import { type Collated, makeShards, makeStep, type StepContext, type Tips } from './step.ts';
import { type BlockHistory, checkpointTips, replayStep, zeroTips } from './tips.ts';
import { createValidators } from './validators.ts';

const defaultLimits: ChainLimits = {
  maxTransactions: 400,
  maxPending: 2000,
  keepStates: 64,
  checkpointSteps: 100,
};

/** At a block a second, about a quarter of an hour. */
const KEY_BLOCK_EVERY = 1000;

/** Accounts whose form for the executor is kept. */
const CACHED_ACCOUNTS = 10_000;

/**
 * Opens or starts a chain. The blocks depend on nothing but the options, the submitted messages and the times given
 * to `produce`.
 *
 * @throws {ChainFolderError} when the folder holds a chain of another genesis
 * @throws RangeError for options that contradict each other
 */
export async function createChain(options: ChainOptions): Promise<Chain> {
  checkOptions(options);
  const limits = { ...defaultLimits, ...options.limits };
  const validators = createValidators(options.seed, options.validators);
  const startUtime = options.startUtime ?? DEFAULT_START_UTIME;
  const genesis = createGenesis(options.seed, options.genesis, startUtime, validators);
  const executor = await createExecutor(cellText(genesis.config));
  const zero = { mc: zeroPlace(genesis.mc, 0), shard: zeroPlace(genesis.shard, 1) };
  const index = createBlockIndex(zero);
  const file =
    options.folder === null ? createBlockMemory() : openBlockFile(options.folder, genesis.mc.rootHash, index.add);
  const history = createHistory(index, file);
  const states = createRecentStates(limits.keepStates);
  const tips = restoreTips(options.folder, genesis, zero, index, history, states);
  const context: StepContext = {
    options,
    keyBlockEvery: options.keyBlockEvery ?? KEY_BLOCK_EVERY,
    genesis,
    validators,
    executor,
    cache: createTextCache(CACHED_ACCOUNTS),
    maxTransactions: limits.maxTransactions,
    topsAt: history.tops,
    mcPlace: history.mcPlace,
  };
  return openChain({ options, limits, genesis, index, file, history, states, context, tips });
}

function checkOptions({ splitAt, mergeAt, keyBlockEvery }: ChainOptions): void {
  if (keyBlockEvery !== undefined && keyBlockEvery < 2) throw new RangeError('keyBlockEvery must be at least 2');
  if (splitAt !== undefined && splitAt < 4) throw new RangeError('splitAt must be at least 4');
  if (mergeAt === undefined) return;
  if (splitAt === undefined || mergeAt < splitAt + 3) throw new RangeError('mergeAt must be at least splitAt + 3');
}

function zeroPlace({ state, rootHash, fileHash }: ZeroBlock, mcSeqno: number): BlockPlace {
  const { workchain, shard, genUtime } = state;
  return { workchain, shard, seqno: 0, rootHash, fileHash, startLt: 0n, endLt: 0n, genUtime, mcSeqno, transactions: 0 };
}

function createHistory(index: BlockIndex, file: BlockFile): BlockHistory {
  const find = (id: BlockId) => {
    const found = index.find(id);
    if (found === null) throw new RangeError(`no block ${id.workchain}:${id.shard}:${id.seqno}`);
    return found;
  };
  return {
    mcPlace: (seqno) => find({ ...MASTERCHAIN, seqno }).place,
    tops: (mcSeqno) => index.tops(mcSeqno) ?? [],
    bytes: (place) => file.read(find(place).extent),
  };
}

/** The newest checkpoint, or the zero state, and all steps since. */
function restoreTips(
  folder: string | null,
  genesis: Genesis,
  zero: { mc: BlockPlace; shard: BlockPlace },
  index: BlockIndex,
  history: BlockHistory,
  states: RecentStates,
): Tips {
  const head = index.mcSeqno();
  const checkpoint = folder === null ? null : readCheckpoint(folder, head);
  let tips = checkpoint === null ? zeroTips(genesis, zero.mc, zero.shard) : checkpointTips(history, checkpoint);
  states.add(tips);
  while (tips.mc.place.seqno < head) {
    tips = replayStep(history, tips);
    states.add(tips);
  }
  return tips;
}

interface OpenChain {
  options: ChainOptions;
  limits: ChainLimits;
  genesis: Genesis;
  index: BlockIndex;
  file: BlockFile;
  history: BlockHistory;
  states: RecentStates;
  context: StepContext;
  tips: Tips;
}

function openChain(parts: OpenChain): Chain {
  const { options, limits, genesis, index, file, states, context } = parts;
  const mempool = createMempool(limits.maxPending);
  const listeners = new Set<(step: ProducedStep) => void>();
  const externalListeners = new Set<(boc: Buffer) => void>();
  let collated: Collated | null = null;
  let replaced: SignedBlock[] = [];
  let { tips } = parts;
  let checkpointAt = tips.mc.place.seqno;

  const checkpoint = (): void => {
    const mcSeqno = tips.mc.place.seqno;
    if (options.folder === null || mcSeqno === checkpointAt) return;
    writeCheckpoint(options.folder, { mcSeqno, roots: [tips.mc, ...tips.shards].map(({ root }) => root) });
    checkpointAt = mcSeqno;
  };

  const signedBlocks = (): SignedBlock[] => collated?.shards.map(({ block, root }) => ({ block, state: root })) ?? [];

  const collate = (now: number, hold = 0): SignedBlock[] => {
    replaced.push(...signedBlocks());
    mempool.restore(collated?.externals ?? []);
    const externals = mempool.drain();
    const held = externals.splice(externals.length - Math.min(hold, externals.length));
    mempool.restore(held);
    collated = makeShards(context, tips, timeOf(now), externals);
    return signedBlocks();
  };

  /** No block is older than one it stands on: accounts have paid their storage up to the time of that one. */
  const timeOf = (now: number): number => {
    const below = [tips.mc.place, ...signedBlocks().map(({ block }) => block)];
    return Math.max(now, ...below.map(({ genUtime }) => genUtime));
  };

  const submit = (boc: Buffer, how?: SubmitHow): SubmitResult => {
    const result = mempool.submit(boc, checkContext(context, tips), how);
    if (result.accepted) for (const listener of externalListeners) listener(boc);
    return result;
  };

  const produce = (now: number): ProducedStep => {
    const utime = timeOf(now);
    const shardsMade = collated ?? makeShards(context, tips, utime, mempool.drain());
    const made = makeStep(context, tips, utime, shardsMade);
    collated = null;
    replaced = [];
    const step = { mc: made.mc.block, shards: made.shards.map(({ block }) => block) };
    const blocks = [...step.shards, step.mc];
    file.append(blocks).forEach((extent, i) => void index.add(blocks[i], extent));
    const shards =
      made.shards.length === 0
        ? tips.shards
        : made.shards.map(({ block, ...rest }) => ({ place: placeOf(block), ...rest }));
    tips = { mc: { place: placeOf(step.mc), state: made.mc.state, root: made.mc.root }, shards };
    states.add(tips);
    mempool.restore(made.left);
    mempool.settle();
    if (step.mc.seqno - checkpointAt >= limits.checkpointSteps) checkpoint();
    for (const listener of listeners) listener(step);
    return step;
  };

  const account = (workchain: number, hash: Hash, mcSeqno = tips.mc.place.seqno): ChainAccount | null => {
    const place = accountTop(index, workchain, hash, mcSeqno);
    const root = place === null ? null : (zeroRoot(genesis, place) ?? states.get(place));
    if (root === null) throw new RangeError(`the state at masterchain block ${mcSeqno} is not kept`);
    return readAccount(root, hash);
  };

  return {
    zeroState: zeroStateOf(genesis),
    globalId: GLOBAL_ID,
    validators: context.validators,
    head: () => ({ mc: tips.mc.place, shards: tips.shards.map(({ place }) => place) }),
    submit,
    pending: mempool.size,
    collate,
    signed: (withReplaced = false) => (withReplaced ? [...replaced, ...signedBlocks()] : signedBlocks()),
    produce,
    block: (id) => {
      const found = id.seqno === 0 ? null : index.find({ ...id });
      return found === null ? null : file.read(found.extent);
    },
    lookup: (query) => index.find(query)?.place ?? null,
    shards: index.tops,
    state: (id) => zeroRoot(genesis, id) ?? states.get(id),
    account,
    transactions: (workchain, hash, from, limit) =>
      walkTransactions(
        (wc, shard, lt) => {
          const found = index.find({ workchain: wc, shard, lt });
          return found === null || found.place.seqno === 0
            ? null
            : { place: found.place, bytes: file.read(found.extent) };
        },
        workchain,
        hash,
        from,
        limit,
      ),
    onStep: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onExternal: (listener) => {
      externalListeners.add(listener);
      return () => void externalListeners.delete(listener);
    },
    close: () => {
      checkpoint();
      context.executor.close();
      file.close();
    },
  };
}

function placeOf({ bytes: _, ...place }: ProducedBlock): BlockPlace {
  return place;
}

function zeroStateOf({ mc, shard }: Genesis): ZeroState {
  const id = ({ state, rootHash, fileHash }: ZeroBlock): BlockIdExt => {
    const { workchain, shard, seqno } = state;
    return { workchain, shard, seqno, rootHash, fileHash };
  };
  return { mc: id(mc), shard: id(shard), bytes: (workchain) => (workchain === -1 ? mc.bytes : shard.bytes) };
}

function zeroRoot(genesis: Genesis, { workchain, shard, seqno }: BlockId): Cell | null {
  if (seqno !== 0 || shard !== FULL_SHARD) return null;
  return workchain === -1 ? genesis.mc.root : genesis.shard.root;
}

function accountTop(index: BlockIndex, workchain: number, hash: Hash, mcSeqno: number): BlockPlace | null {
  if (workchain === -1) return index.find({ ...MASTERCHAIN, seqno: mcSeqno })?.place ?? null;
  return index.tops(mcSeqno)?.find(({ shard }) => shardContains(shard, hash)) ?? null;
}

function readAccount(state: Cell, hash: Hash): ChainAccount | null {
  const shardAccount = findShardAccount(new Slice(state.refs[1]).maybeRef(), hash);
  if (shardAccount === null) return null;
  const slice = new Slice(shardAccount);
  const account = slice.ref();
  return { shardAccount, account, lastTransactionHash: slice.bytes(32), lastTransactionLt: slice.big(64) };
}

/** Messages are checked as the next block would run them, at the time of the head. */
function checkContext({ executor, cache, options }: StepContext, tips: Tips) {
  const { place } = tips.mc;
  const tipOf = (workchain: number, hash: Hash): Tip | undefined =>
    workchain === -1 ? tips.mc : tips.shards.find((each) => shardContains(each.place.shard, hash));
  return {
    executor,
    account: ({ workchain, hash }: { workchain: number; hash: Hash }) => {
      const shardAccount = findShardAccount(tipOf(workchain, hash)?.state.accounts.root ?? null, hash);
      return accountText(cache, workchain, hash, shardAccount ?? NO_ACCOUNT);
    },
    now: place.genUtime,
    lt: alignedLt(place.endLt, ...tips.shards.map((tip) => tip.place.endLt)),
    randSeed: derive(options.seed, 'check', place.seqno),
  };
}
