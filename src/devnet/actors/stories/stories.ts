import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Moment } from '../ledger.ts';
import type { Sender } from '../sender.ts';
import type { Wallet } from '../wallets.ts';
import { createAirdrop } from './airdrop.ts';
import { createCouncil } from './council.ts';
import { createDecree } from './decree.ts';
import { createHeritage } from './heritage.ts';
import { createAuctions, createSales } from './market.ts';
import { createNames } from './names.ts';
import { createStake } from './stake.ts';
import type { Act, Story } from './story.ts';
import { createSubscription } from './subscription.ts';

/** Blocks that a story waits after an act: by then its messages are where they go, through other shards, too. */
const PAUSE = 4;

const STORIES = {
  sale: createSales,
  auction: createAuctions,
  council: createCouncil,
  heritage: createHeritage,
  subscription: createSubscription,
  names: createNames,
  stake: createStake,
  decree: createDecree,
  airdrop: createAirdrop,
} as const satisfies Record<string, (cast: Cast) => Story>;

export type StoryName = keyof typeof STORIES;

export function isStory(name: string): name is StoryName {
  return Object.hasOwn(STORIES, name);
}

/** What goes on beside the traders' own deeds, in order: one story takes its next step when it is asked to. */
export interface Stories {
  /** Null when it has nothing to do yet, or whoever does it waits for a message to be executed. */
  next(name: StoryName, scene: Scene, now: Moment): Promise<{ sender: Sender; act: Act } | null>;
  /** The act was sent. */
  told(name: StoryName, now: Moment): void;
}

export function createStories(cast: Cast, senderOf: (wallet: Wallet) => Sender): Stories {
  const senders = new Map(cast.players.map((wallet) => [wallet, senderOf(wallet)]));
  const stories = new Map(Object.entries(STORIES).map(([name, create]) => [name, create(cast)]));
  const busyUntil = new Map<StoryName, number>();
  return {
    async next(name, scene, now) {
      if (now.seqno < (busyUntil.get(name) ?? 0)) return null;
      const act = await stories.get(name)?.next(scene, now);
      if (!act) return null;
      const sender = senders.get(act.by);
      return sender !== undefined && (await sender.ready(now)) ? { sender, act } : null;
    },
    told: (name, { seqno }) => void busyUntil.set(name, seqno + PAUSE),
  };
}
