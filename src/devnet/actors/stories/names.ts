/** Names under .ton: won at auctions, given records of every category, renewed, passed on, and lost. */
import { type Cell, toNano } from '@ton/core';
import {
  type DnsRecord,
  type Domain,
  deleteRecord,
  domainAddress,
  domainsAddress,
  LEASE_S,
  newDomain,
  readDomain,
  releaseDomain,
  renewDomain,
  setRecord,
} from '../../contracts/domains.ts';
import { nftTransfer } from '../../contracts/nfts.ts';
import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Moment } from '../ledger.ts';
import type { Wallet } from '../wallets.ts';
import { type Act, type Story, secondsOf, walletAt } from './story.ts';

/** The first one is never renewed, and released when its time is over. */
const NAMES = ['flint', 'pebble', 'boulder', 'granite'] as const;

/** What owners do with the others, in turn. */
const CARES = ['record', 'renew', 'record', 'delete', 'record', 'give'] as const;
const FIRST_BID = toNano('0.7');
const GREATEST_BID = toNano('0.75');
const CALL_VALUE = toNano('0.05');
const TRANSFER_VALUE = toNano('0.1');

export function createNames(cast: Cast): Story {
  const { registrants } = cast;
  const places = NAMES.map(domainAddress);
  let turn = 0;
  let changes = 0;
  let cares = 0;

  function call(by: Wallet, at: number, value: bigint, body?: Cell): Act {
    return { by, messages: [{ to: places[at], value, bounce: true, ...(body ? { body } : {}) }] };
  }

  function record({ random, cast }: Scene): DnsRecord {
    const id = Buffer.alloc(32, random.integer(256));
    const address = random.pick(cast.traders).address;
    const records: DnsRecord[] = [
      { category: 'wallet', address },
      { category: 'site', id },
      { category: 'storage', id },
      { category: 'text', text: `a stone, ${random.integer(1000)} years old` },
      { category: 'nextResolver', address: places[0] },
    ];
    return records[changes++ % records.length];
  }

  function keep(scene: Scene, owner: Wallet, at: number): Act {
    const queryId = scene.random.bits64();
    switch (CARES[cares++ % CARES.length]) {
      case 'renew':
        return call(owner, at, CALL_VALUE, renewDomain(queryId));
      case 'delete':
        return call(owner, at, CALL_VALUE, deleteRecord(queryId, 'text'));
      case 'give': {
        const heir = scene.random.pick(registrants.filter((one) => one !== owner));
        const to = { newOwner: heir.address, responseDestination: owner.address };
        const body = nftTransfer({ queryId, ...to, forwardAmount: toNano('0.01'), forwardPayload: null });
        return call(owner, at, TRANSFER_VALUE, body);
      }
      case 'record':
        return call(owner, at, CALL_VALUE, setRecord(queryId, record(scene)));
    }
  }

  function bidFor(scene: Scene, at: number, auction: NonNullable<Domain['auction']>, now: Moment): Act | null {
    const { maxBidder, maxBid, endTime } = auction;
    const winner = walletAt(registrants, maxBidder);
    if (secondsOf(now) > endTime) {
      // Whoever won uses the name, which settles the auction.
      return winner ? call(winner, at, CALL_VALUE, setRecord(scene.random.bits64(), record(scene))) : null;
    }
    const rival = registrants.find((one) => one !== winner);
    if (rival === undefined || maxBid >= GREATEST_BID || secondsOf(now) + 5 > endTime) return null;
    return call(rival, at, (maxBid * 11n) / 10n);
  }

  async function nextOf(scene: Scene, at: number, now: Moment): Promise<Act | null> {
    const account = await scene.ledger.account(places[at]);
    const domain = account?.data ? readDomain(account.data) : null;
    if (domain === null) {
      const body = newDomain(NAMES[at]);
      const by = registrants[at % registrants.length];
      return { by, messages: [{ to: domainsAddress, value: FIRST_BID, bounce: true, body }] };
    }
    if (domain.auction !== null) return bidFor(scene, at, domain.auction, now);
    const owner = domain.owner === null ? undefined : walletAt(registrants, domain.owner);
    if (at > 0) return owner ? keep(scene, owner, at) : null;
    if (secondsOf(now) <= domain.renewedAt + LEASE_S) return null;
    const next = registrants.find((one) => one !== owner) ?? registrants[0];
    return call(next, at, FIRST_BID, releaseDomain(scene.random.bits64()));
  }

  /** The next name that there is something to be done with; one that is bid for keeps its turn. */
  async function next(scene: Scene, now: Moment): Promise<Act | null> {
    for (let tries = 0; tries < NAMES.length; tries++) {
      const at = turn % NAMES.length;
      const act = await nextOf(scene, at, now);
      const isBid = act?.messages.some(({ value }) => value >= FIRST_BID) ?? false;
      if (!isBid) turn++;
      if (act !== null) return act;
    }
    return null;
  }

  return { next };
}
