import type { Logger } from 'pino';
import { type Actors, createActors, type DemoWallet, demoWallets } from './actors/actors.ts';
import { createCast } from './actors/cast.ts';
import type { Faucet, FaucetLimits } from './actors/faucet.ts';
import { initialAccounts } from './actors/initial-accounts.ts';
import { createChain } from './chain.ts';
import { chainLedger, genesisOf } from './chain-ledger.ts';
import { pause, runClockwork } from './clockwork.ts';
import { claimIdentity } from './identity.ts';
import type { Chain, ChainLimits } from './model.ts';

export interface DevnetOptions {
  /** Where the chain is kept; null keeps it in memory only. */
  folder: string | null;
  /** Decides keys, blocks and traffic. */
  seed: string;
  blockTimeMs: number;
  /** External messages a second; 0: no traffic. */
  rate: number;
  /**
   * Wallets that make the traffic, each once a block at most. Fixed by the first start in a folder. By default as many
   * as the rate needs.
   */
  traders?: number;
  /** Let messages race, and shard blocks be replaced after they were signed. */
  races?: boolean;
  /** Masterchain seqnos of the scripted split and merge. */
  splitAt?: number;
  mergeAt?: number;
  limits?: Partial<ChainLimits>;
  faucetLimits?: FaucetLimits;
  logger?: Logger;
  /** Unix milliseconds; the process's own clock by default. */
  clock?: () => number;
  /** Opens what serves the chain to others. Called when the first key block is there, closed behind the last block. */
  serve?: (chain: Chain) => Promise<{ close(): Promise<void> | void }>;
}

export interface Devnet {
  readonly chain: Chain;
  readonly actors: Actors;
  readonly faucet: Faucet;
  readonly demo: readonly DemoWallet[];
  /** Ends when the signal has aborted and all is closed. @throws what ended the chain otherwise */
  readonly done: Promise<void>;
}

const FEWEST_TRADERS = 24;

/** Wallets that keep a rate up with some to spare: one that has sent waits until a block shows it. */
function tradersFor(rate: number, blockTimeMs: number): number {
  const perBlock = (rate * blockTimeMs) / 1000;
  return Math.max(FEWEST_TRADERS, Math.ceil(perBlock * 2));
}

/**
 * Opens or begins the chain of the folder and makes a block each block time until the signal aborts. Blocks are made
 * in this thread: it is busy meanwhile.
 * @throws {IdentityError} when the folder holds another devnet
 */
export async function startDevnet(options: DevnetOptions, signal: AbortSignal): Promise<Devnet> {
  const { blockTimeMs, rate, clock = Date.now } = options;
  const identity = claimIdentity(options.folder, {
    seed: options.seed,
    startUtime: Math.floor(clock() / 1000),
    traders: options.traders ?? tradersFor(rate, blockTimeMs),
  });
  if (rate * blockTimeMs > identity.traders * 1000) {
    options.logger?.warn({ rate, traders: identity.traders }, 'too few wallets for the rate: each sends once a block');
  }
  const cast = createCast(identity);
  const chain = await createChain({
    ...given(options, ['folder', 'seed', 'blockTimeMs', 'splitAt', 'mergeAt', 'limits']),
    startUtime: identity.startUtime,
    genesis: genesisOf(initialAccounts(cast)),
  });
  // The first key block is what clients begin to trust at: it is there before anybody can ask.
  if (chain.head().mc.seqno === 0) chain.produce(Math.floor(clock() / 1000));
  const { seqno, genUtime } = chain.head().mc;
  const actors = createActors({
    ...identity,
    rate,
    ledger: chainLedger(chain),
    // A chain that was away for long: what is signed before its next block must be valid in that.
    now: { seqno, nowMs: Math.max(genUtime * 1000, clock()) },
    ...given(options, ['faucetLimits', 'races']),
  });
  const service = await openService(options, chain);
  const done = run({ chain, actors, options, signal }).finally(async () => {
    actors.close();
    await service.close();
    chain.close();
  });
  // Whoever started it asks for `done` later; until then a failure is not unhandled.
  done.catch(() => undefined);
  return { chain, actors, faucet: actors.faucet, demo: demoWallets(cast), done };
}

async function openService(options: DevnetOptions, chain: Chain): ReturnType<Required<DevnetOptions>['serve']> {
  try {
    return (await options.serve?.(chain)) ?? { close: () => undefined };
  } catch (error) {
    chain.close();
    throw error;
  }
}

async function run({
  chain,
  actors,
  options,
  signal,
}: {
  chain: Chain;
  actors: Actors;
  options: DevnetOptions;
  signal: AbortSignal;
}): Promise<void> {
  const { blockTimeMs, logger, clock = Date.now } = options;
  let nowMs = chain.head().mc.genUtime * 1000;

  const seconds = (): number => {
    nowMs = Math.max(nowMs, clock());
    return Math.floor(nowMs / 1000);
  };

  async function beat(): Promise<void> {
    chain.collate(seconds());
    if (options.races && (chain.head().mc.seqno + 1) % REPLACED_EVERY === 0) {
      await pause((blockTimeMs * SIGNED_PART) / 2, signal);
      if (!signal.aborted) chain.collate(seconds(), 1);
    }
    await pause(blockTimeMs * SIGNED_PART, signal);
    if (signal.aborted) return;
    const { mc, shards } = chain.produce(seconds());
    const transactions = shards.reduce((sum, shard) => sum + shard.transactions, mc.transactions);
    const sent = await actors.step({ seqno: mc.seqno, nowMs });
    logger?.debug({ seqno: mc.seqno, transactions, sent, pending: chain.pending() }, 'made a block');
  }

  await runClockwork({ blockTimeMs, beat, onMissed: createMissedReport(() => nowMs, logger) }, signal);
}

/** Part of the block time from a shard block's signatures to the masterchain block that registers it. */
const SIGNED_PART = 0.4;

/** Where there are races, of so many steps one whose shard blocks are replaced after they were signed. */
const REPLACED_EVERY = 7;

const REPORT_EVERY_MS = 60_000;

/** Warns once a minute at most: a machine that is too slow misses blocks all the time. */
function createMissedReport(now: () => number, logger: Logger | undefined): (count: number) => void {
  let missed = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (count) => {
    missed += count;
    if (now() - reportedAt < REPORT_EVERY_MS) return;
    logger?.warn({ missed }, 'blocks were left out: the process was held up, or the traffic is too much for it');
    reportedAt = now();
    missed = 0;
  };
}

/** Those of the fields that are there: a field that is absent is not the same as undefined. */
function given<T, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  const entries = keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]]);
  return Object.fromEntries(entries);
}
