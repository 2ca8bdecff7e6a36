import { toNano } from '@ton/core';
import type { Cast } from './cast.ts';
import { FAUCET_BALANCE, TRADER_BALANCE } from './initial-accounts.ts';
import type { Ledger, Moment } from './ledger.ts';
import type { Sender } from './sender.ts';
import type { OutMessage, Wallet } from './wallets.ts';

/** Balances looked at in one step. */
const LOOKS = 32;
/** Wallets filled up by one message of the treasury. */
const MOST_FILLED = 100;
/** Below this part of its first balance a wallet is filled up. */
const LOW_PART = 4n;
const SMALLEST_TREASURY = toNano('1000');

/** The treasury keeps the others in coins, a few looks in every step; the number of messages it sent. */
export function createUpkeep(cast: Cast, ledger: Ledger, treasury: Sender): (now: Moment) => Promise<number> {
  const wards: { wallet: Wallet; full: bigint }[] = [
    { wallet: cast.faucet, full: FAUCET_BALANCE },
    ...[cast.issuer, cast.artist, ...cast.traders, ...cast.players].map((wallet) => ({ wallet, full: TRADER_BALANCE })),
  ];
  let next = 0;
  let wanted: OutMessage[] = [];

  async function look(): Promise<void> {
    for (let looks = 0; looks < Math.min(LOOKS, wards.length) && wanted.length < MOST_FILLED; looks++) {
      const { wallet, full } = wards[next++ % wards.length];
      const balance = (await ledger.account(wallet.address))?.balance ?? 0n;
      if (balance > full / LOW_PART) continue;
      if (wanted.some(({ to }) => to.equals(wallet.address))) continue;
      wanted.push({ to: wallet.address, value: full - balance, bounce: false });
    }
  }

  return async (now) => {
    // While a message is under way the balances do not show it yet.
    if (!(await treasury.ready(now))) return 0;
    await look();
    if (wanted.length === 0) return 0;
    const rich = ((await ledger.account(cast.treasury.address))?.balance ?? 0n) > SMALLEST_TREASURY;
    const batch = wanted;
    wanted = [];
    return rich && (await treasury.send(batch, now)).sent ? 1 : 0;
  };
}
