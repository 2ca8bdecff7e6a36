import { type Cast, type CastOptions, createCast } from './cast.ts';
import { createFaucet, type Faucet, type FaucetLimits } from './faucet.ts';
import { createGuests } from './guests.ts';
import type { Ledger, Moment } from './ledger.ts';
import { createRaces } from './races.ts';
import { createSender } from './sender.ts';
import { createStories } from './stories/stories.ts';
import { createTraffic, DEED_NAMES, DEEDS, type Deed, type TrafficOptions } from './traffic.ts';
import { createUpkeep } from './upkeep.ts';
import type { Wallet, WalletVersion } from './wallets.ts';

export interface ActorsOptions extends CastOptions, Pick<TrafficOptions, 'weights'> {
  ledger: Ledger;
  /** The head when the actors begin. */
  now: Moment;
  /** External messages a second of chain time; 0: no traffic, the faucet alone. */
  rate: number;
  faucetLimits?: FaucetLimits;
  /** Let messages race: two for one seqno, and such as never reach a block. */
  races?: boolean;
}

export interface ActorCounts {
  /** External messages of the traffic that the chain took in, by what they do. */
  submitted: Record<Deed, number>;
  refused: number;
  executed: number;
  /** Not executed within their lifetime. */
  expired: number;
  lastRefusal: string | null;
}

export interface Actors {
  readonly cast: Cast;
  readonly faucet: Faucet;
  readonly counts: ActorCounts;
  setRate(messagesPerSecond: number): void;
  /** To be called after each block, with its time. Calls do not overlap. @returns external messages sent */
  step(now: Moment): Promise<number>;
  close(): void;
}

/**
 * The people of the devnet: a faucet, and traders whose traffic depends on the seed and on what the chain shows, so
 * that with the same chain it is the same.
 */
export function createActors(options: ActorsOptions): Actors {
  const { ledger } = options;
  const cast = createCast(options);
  const counts: ActorCounts = { submitted: noDeeds(), refused: 0, executed: 0, expired: 0, lastRefusal: null };
  const events = { executed: () => void counts.executed++, expired: () => void counts.expired++ };
  const sender = (wallet: Wallet) => createSender(wallet, ledger, events);
  let { now, rate } = options;
  let running: Promise<number> | null = null;
  const head = () => now;
  const limits = options.faucetLimits;
  const faucet = createFaucet({ sender: sender(cast.faucet), ledger, now: head, ...(limits ? { limits } : {}) });
  const upkeep = createUpkeep(cast, ledger, sender(cast.treasury));
  const races = options.races ? createRaces(cast, ledger) : null;
  const traffic = createTraffic({
    cast,
    ledger,
    guests: createGuests({ cast, ledger, now: head, events }),
    stories: createStories(cast, sender),
    senders: { traders: cast.traders.map(sender), issuer: sender(cast.issuer), artist: sender(cast.artist) },
    rate: () => rate,
    ...(options.weights ? { weights: options.weights } : {}),
    onSubmitted: (deed) => void counts.submitted[deed]++,
    onRefused(reason) {
      counts.refused++;
      counts.lastRefusal = reason;
    },
  });

  async function step(): Promise<number> {
    await faucet.step(now);
    if (rate === 0) return 0;
    const raced = (await races?.(now)) ?? 0;
    return raced + (await upkeep(now)) + (await traffic(now));
  }

  return {
    cast,
    faucet,
    counts,
    setRate(messagesPerSecond) {
      rate = messagesPerSecond;
    },
    step(moment) {
      if (running !== null) return running;
      now = moment;
      running = step().finally(() => {
        running = null;
      });
      return running;
    },
    close: () => faucet.close(),
  };
}

function noDeeds(): Record<Deed, number> {
  const none: Record<Deed, number> = { ...DEEDS };
  for (const deed of DEED_NAMES) none[deed] = 0;
  return none;
}

export interface DemoWallet {
  version: WalletVersion;
  /** User-friendly and not bounceable. */
  address: string;
  /** Hexadecimal, 32 bytes: what `keyPairFromSeed` of @ton/crypto takes. */
  secretSeed: string;
}

/** Wallets for the people who try the devnet, with their keys. */
export function demoWallets(cast: Cast): DemoWallet[] {
  return cast.demo.map(({ version, address, keys }) => ({
    version,
    address: address.toString({ bounceable: false }),
    secretSeed: keys.secretSeed.toString('hex'),
  }));
}
