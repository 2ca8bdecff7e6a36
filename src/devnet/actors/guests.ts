import { type Address, comment, SendMode, toNano } from '@ton/core';
import type { Cast } from './cast.ts';
import type { Ledger, Moment } from './ledger.ts';
import type { Random } from './random.ts';
import { createSender, type Sender, type SenderEvents } from './sender.ts';
import { createWallet, type OutMessage, WALLET_VERSIONS } from './wallets.ts';

/**
 * Wallets that come and go: funded by a trader (with their state-init or without), they send something, which deploys
 * them when nothing else did, and then send everything they have away, which deletes their account.
 */
export interface Guests {
  /** The message that brings a new guest; null when there are enough. Say `arrived` when it was sent. */
  invite(random: Random): { message: OutMessage; arrived: () => void } | null;
  /** Lets guests do what is next; gives the number of external messages. */
  step(now: Moment, random: Random): Promise<number>;
}

interface Guest {
  sender: Sender;
  stage: 'invited' | 'paying' | 'leaving';
  since: number;
}

const MOST_GUESTS = 32;
/** Blocks after which a guest is left alone: its coins are lost. */
const PATIENCE = 200;
const GIFT = toNano('0.3');

export function createGuests({
  cast,
  ledger,
  now,
  events,
}: {
  cast: Cast;
  ledger: Ledger;
  now: () => Moment;
  events: SenderEvents;
}): Guests {
  const present = new Set<Guest>();

  function invite(random: Random): ReturnType<Guests['invite']> {
    if (present.size >= MOST_GUESTS) return null;
    const { seqno } = now();
    // Seqno and number name a guest, so that after a restart none comes twice.
    const wallet = createWallet(cast.seed, `guest ${seqno} ${random.bits64()}`, random.pick(WALLET_VERSIONS));
    const init = random.integer(2) === 0 ? { init: wallet.init } : {};
    const guest: Guest = { sender: createSender(wallet, ledger, events), stage: 'invited', since: seqno };
    return {
      message: { to: wallet.address, value: GIFT, bounce: false, ...init },
      arrived: () => void present.add(guest),
    };
  }

  function next({ stage }: Guest, receiver: Address): OutMessage {
    const small = { to: receiver, value: toNano('0.05'), bounce: false, body: comment('just passing through') };
    if (stage === 'invited') return small;
    const mode = SendMode.CARRY_ALL_REMAINING_BALANCE | SendMode.DESTROY_ACCOUNT_IF_ZERO | SendMode.IGNORE_ERRORS;
    return { to: cast.treasury.address, value: 0n, bounce: false, mode };
  }

  async function advance(guest: Guest, moment: Moment, random: Random): Promise<boolean> {
    if (!(await guest.sender.ready(moment))) return false;
    if (guest.stage === 'leaving') {
      present.delete(guest);
      return false;
    }
    if ((await ledger.account(guest.sender.wallet.address)) === null) return false;
    const { sent } = await guest.sender.send([next(guest, random.pick(cast.traders).address)], moment);
    if (sent) guest.stage = guest.stage === 'invited' ? 'paying' : 'leaving';
    return sent;
  }

  async function step(moment: Moment, random: Random): Promise<number> {
    let sent = 0;
    for (const guest of present) {
      if (moment.seqno - guest.since > PATIENCE) present.delete(guest);
      else if (await advance(guest, moment, random)) sent++;
    }
    return sent;
  }

  return { invite, step };
}
