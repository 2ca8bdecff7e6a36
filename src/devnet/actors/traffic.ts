import { beginCell, type Cell, external, storeMessage } from '@ton/core';
import { faultsAddress } from '../contracts/faults.ts';
import type { Cast } from './cast.ts';
import * as deeds from './deeds.ts';
import type { Guests } from './guests.ts';
import type { Ledger, Moment } from './ledger.ts';
import { createRandom, type Random } from './random.ts';
import type { Sender } from './sender.ts';
import { isStory, type Stories, type StoryName } from './stories/stories.ts';
import type { OutMessage, Wallet } from './wallets.ts';

/** Everything the traffic does, and how often beside the others. */
export const DEEDS = {
  transfer: 28,
  commentedTransfer: 18,
  batch: 6,
  jettonPayment: 16,
  jettonOverdraft: 1,
  burn: 3,
  trade: 5,
  mint: 2,
  giveItem: 6,
  mintItem: 2,
  discovery: 1,
  bounce: 3,
  lost: 2,
  computeFailure: 2,
  outOfGas: 1,
  actionFailure: 2,
  log: 2,
  guest: 3,
  externalFailure: 1,
  sale: 2,
  auction: 3,
  council: 3,
  heritage: 2,
  subscription: 2,
  names: 4,
  stake: 3,
  decree: 2,
  airdrop: 2,
} as const;
export type Deed = keyof typeof DEEDS;

export const DEED_NAMES: readonly Deed[] = Object.keys(DEEDS).filter((name): name is Deed => name in DEEDS);
/** Deeds of any one trader. */
const PLAIN: Partial<
  Record<Deed, (scene: deeds.Scene, self: Wallet) => OutMessage[] | null | Promise<OutMessage[] | null>>
> = {
  transfer: deeds.transfer,
  commentedTransfer: deeds.commentedTransfer,
  batch: deeds.batch,
  jettonPayment: deeds.jettonPayment,
  jettonOverdraft: deeds.jettonOverdraft,
  burn: deeds.burn,
  trade: deeds.trade,
  discovery: deeds.discovery,
  bounce: deeds.bounce,
  lost: deeds.lost,
  computeFailure: deeds.computeFailure,
  outOfGas: deeds.outOfGas,
  actionFailure: deeds.actionFailure,
  log: deeds.log,
};

export interface TrafficOptions {
  cast: Cast;
  ledger: Ledger;
  guests: Guests;
  stories: Stories;
  senders: { traders: Sender[]; issuer: Sender; artist: Sender };
  /** External messages a second of chain time. */
  rate: () => number;
  /** How often each deed is done beside the others; those left out never. Default: DEEDS. */
  weights?: Partial<Record<Deed, number>>;
  onSubmitted: (deed: Deed) => void;
  onRefused: (reason: string) => void;
}

/** Longest time that is caught up with after a stall, in milliseconds. */
const MOST_CAUGHT_UP_MS = 2_000;
/** Refusals in one step after which the rest of it is let go. */
const PATIENCE = 5;
/** Blocks that a mint may take to reach the collection. */
const MINT_PATIENCE = 50;

type Outcome = 'sent' | 'refused' | 'impossible';

/**
 * Sends external messages at a rate, as far as wallets are free: a wallet whose message was not executed waits, so a
 * chain that stalls gets one message of each wallet and no more.
 * @returns what is done after each block; the number of messages
 */
export function createTraffic(options: TrafficOptions): (now: Moment) => Promise<number> {
  const { cast, ledger, guests, stories, senders, onRefused, onSubmitted } = options;
  const byAddress = new Map(senders.traders.map((sender) => [sender.wallet.address.toRawString(), sender]));
  const weights = options.weights ?? DEEDS;
  const names = DEED_NAMES.filter((name) => (weights[name] ?? 0) > 0);
  const total = names.reduce((sum, name) => sum + (weights[name] ?? 0), 0);
  let owed = 0;
  let before: number | null = null;
  let shown = 0;
  let minted: { index: bigint; seqno: number } | null = null;

  async function submit(sender: Sender, messages: readonly OutMessage[], now: Moment, plugin?: Cell): Promise<Outcome> {
    const result = await sender.send(messages, now, plugin);
    if (!result.sent) onRefused(result.reason);
    return result.sent ? 'sent' : 'refused';
  }

  /** Whoever sends is no longer free. */
  async function act(deed: Deed, scene: deeds.Scene, free: Map<string, Sender>, now: Moment): Promise<Outcome> {
    if (deed === 'externalFailure') return submitExternalFailure(scene);
    if (deed === 'mintItem') return mintItem(scene, now);
    if (deed === 'mint') {
      return (await senders.issuer.ready(now)) ? submit(senders.issuer, deeds.mint(scene), now) : 'impossible';
    }
    if (isStory(deed)) return tell(deed, scene, now);
    if (deed === 'giveItem') return giveItem(scene, free, now);
    const sender = takeAny(free, scene.random);
    if (sender === null) return 'impossible';
    if (deed === 'guest') return inviteGuest(sender, scene, now);
    const messages = (await PLAIN[deed]?.(scene, sender.wallet)) ?? deeds.transfer(scene, sender.wallet);
    return submit(sender, messages, now);
  }

  async function tell(name: StoryName, scene: deeds.Scene, now: Moment): Promise<Outcome> {
    const next = await stories.next(name, scene, now);
    if (next === null) return 'impossible';
    const outcome = await submit(next.sender, next.act.messages, now, next.act.plugin);
    if (outcome === 'sent') stories.told(name, now);
    return outcome;
  }

  async function submitExternalFailure(scene: deeds.Scene): Promise<Outcome> {
    const message = external({ to: faultsAddress, body: deeds.externalFailureBody(scene) });
    const result = await ledger.submit(beginCell().store(storeMessage(message)).endCell());
    if (!result.accepted) onRefused(result.reason);
    return result.accepted ? 'sent' : 'refused';
  }

  async function mintItem(scene: deeds.Scene, now: Moment): Promise<Outcome> {
    if (!(await senders.artist.ready(now))) return 'impossible';
    const waits = minted !== null && now.seqno - minted.seqno < MINT_PATIENCE;
    const item = await deeds.mintItem(scene, waits ? (minted?.index ?? null) : null);
    if (item === null) return 'impossible';
    const outcome = await submit(senders.artist, item.messages, now);
    if (outcome === 'sent') minted = { index: item.index, seqno: now.seqno };
    return outcome;
  }

  async function giveItem(scene: deeds.Scene, free: Map<string, Sender>, now: Moment): Promise<Outcome> {
    // Items of demo wallets, and of traders that wait, stay where they are.
    for (let tries = 0; tries < 8; tries++) {
      const found = await deeds.findItem(scene);
      const owner = found?.owner.toRawString() ?? '';
      const sender = free.get(owner);
      if (found === null || sender === undefined) continue;
      free.delete(owner);
      return submit(sender, deeds.giveItem(scene, sender.wallet, found.item), now);
    }
    return 'impossible';
  }

  async function inviteGuest(sender: Sender, scene: deeds.Scene, now: Moment): Promise<Outcome> {
    const invitation = guests.invite(scene.random);
    if (invitation === null) return submit(sender, deeds.transfer(scene, sender.wallet), now);
    const outcome = await submit(sender, [invitation.message], now);
    if (outcome === 'sent') invitation.arrived();
    return outcome;
  }

  /** First everything once, so that a new chain soon shows it all; then by weight. */
  function choose(random: Random): Deed {
    if (shown < names.length) return names[shown++];
    let at = random.integer(total);
    for (const name of names) {
      at -= weights[name] ?? 0;
      if (at < 0) return name;
    }
    return 'transfer';
  }

  async function freeTraders(now: Moment): Promise<Map<string, Sender>> {
    const free = new Map<string, Sender>();
    for (const [address, sender] of byAddress) if (await sender.ready(now)) free.set(address, sender);
    return free;
  }

  function accrue(now: Moment): void {
    const elapsed = before === null ? 0 : Math.min(Math.max(now.nowMs - before, 0), MOST_CAUGHT_UP_MS);
    before = now.nowMs;
    const most = (options.rate() * MOST_CAUGHT_UP_MS) / 1000;
    owed = Math.min(owed + (options.rate() * elapsed) / 1000, Math.max(most, 1));
  }

  return async (now) => {
    accrue(now);
    const random = createRandom(cast.seed, 'traffic', now.seqno);
    const scene: deeds.Scene = { cast, ledger, random };
    let sent = await guests.step(now, random);
    owed -= sent;
    if (owed < 1) return sent;
    const free = await freeTraders(now);
    let refused = 0;
    for (let left = Math.floor(owed); left > 0 && refused < PATIENCE && free.size > 0; left--) {
      let deed = choose(random);
      let outcome = await act(deed, scene, free, now);
      if (outcome === 'impossible') {
        deed = 'transfer';
        outcome = await act(deed, scene, free, now);
      }
      if (outcome === 'refused') refused++;
      if (outcome !== 'sent') continue;
      onSubmitted(deed);
      sent++;
      owed--;
    }
    return sent;
  };
}

function takeAny(free: Map<string, Sender>, random: Random): Sender | null {
  let skip = random.integer(free.size);
  for (const [address, sender] of free) {
    if (skip-- > 0) continue;
    free.delete(address);
    return sender;
  }
  return null;
}
