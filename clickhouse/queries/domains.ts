/**
 * Which account has which name: for address books, which name many accounts in every answer. All names that belong to
 * the account they lead to are held, and follow the head by a small query every two seconds at most, so that no answer
 * waits for them; when the tables are others, all are read anew. A name may be shown so much later than the rest of its
 * step.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { compareDomains } from '../../src/chain/domain-order.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address } from '../../src/chain/model.ts';
import { addressOrNone } from '../tables/columns.ts';
import { collect, type FollowingReading } from './reading.ts';

/** Names that are held, about 300 bytes each; mainnet has some 100,000. What comes beyond is not shown. */
const MAX_NAMES = 1_000_000;
const TIMEOUT_MS = 30_000;
/** From one look to the next: each process looks, and few steps change a name. */
const REST_MS = 2_000;

/** A name and what it is of, by the item that holds it. */
interface Held {
  lt: string;
  domain: string;
  /** As latin1 text; null where the name does not lead to its owner. */
  account: string | null;
}

/** Of a step, its own names alone are looked at; at first all. */
function isNewer(mcSeqno: number): string {
  return mcSeqno === 0
    ? '1'
    : `address IN (SELECT address FROM dns_records_by_step WHERE mc_seqno > ${mcSeqno}) AND mc_seqno > ${mcSeqno}`;
}

export type Domains = ReturnType<typeof createDomains>;

/** What is held of names, for metrics. */
export interface NameFigures {
  /** Names that lead to their owners. */
  held: number;
  /** Names that are not shown because too many are held, since the start. */
  leftOut: number;
  /** Looks for new names that failed, and were taken again with the next step. */
  failed: number;
}

/** @param onFailure told of a look that fails, and not of those after it until one succeeds */
export function createDomains(reading: FollowingReading, onFailure: (error: unknown) => void = () => undefined) {
  const items = new Map<string, Held>();
  const ofAccount = new Map<string, Set<string>>();
  let current = 0;
  /** Which tables what is held was read from. */
  let of = reading.head.tables;
  const figures = {
    leftOut: 0,
    failed: 0,
    get held() {
      return items.size;
    },
  };
  let isFollowing = false;
  let isFailing = false;

  function note(item: string, held: Held): void {
    const before = items.get(item);
    if (before !== undefined && compareDecimal(before.lt, held.lt) > 0) return;
    if (before?.account != null) {
      const left = ofAccount.get(before.account);
      left?.delete(item);
      if (left?.size === 0) ofAccount.delete(before.account);
    }
    if (held.account === null) {
      items.delete(item);
      return;
    }
    if (before === undefined && items.size >= MAX_NAMES) {
      figures.leftOut++;
      return;
    }
    items.set(item, held);
    const names = ofAccount.get(held.account);
    if (names === undefined) ofAccount.set(held.account, new Set([item]));
    else names.add(item);
  }

  async function look(): Promise<void> {
    const { seqno: to, tables } = reading.head;
    const from = of === tables ? current : 0;
    const sql = `SELECT address, last_transaction_lt, domain, nft_item_owner, dns_wallet FROM dns_records
      WHERE ${isNewer(from)} ORDER BY last_transaction_lt`;
    const context = { signal: AbortSignal.timeout(TIMEOUT_MS), timeoutMs: TIMEOUT_MS };
    const rows = await reading.rows(sql, 'names of accounts', context);
    if (from === 0) {
      items.clear();
      ofAccount.clear();
    }
    collect(rows, (row) => {
      const [item, lt, domain] = [hashKey(row.fixed(36)), row.u64(), row.string()];
      const [owner, wallet] = [addressOrNone.read(row), addressOrNone.read(row)];
      const isOwn = owner !== null && wallet !== null && owner.equals(wallet);
      note(item, { lt, domain, account: isOwn ? hashKey(owner) : null });
    });
    [current, of] = [to, tables];
  }

  /** Of other tables, too, if any were looked at. */
  const isBehind = (): boolean => current < reading.head.seqno || (current > 0 && of !== reading.head.tables);

  /** Looks until it has seen the head. A look that fails is taken again with the next step. */
  async function follow(): Promise<void> {
    if (isFollowing) return;
    isFollowing = true;
    try {
      while (isBehind()) {
        await look();
        isFailing = false;
        await sleep(REST_MS, undefined, { ref: false });
      }
    } catch (error) {
      figures.failed++;
      if (!isFailing) onFailure(error);
      isFailing = true;
    } finally {
      isFollowing = false;
    }
  }
  reading.head.onAdvance(() => void follow());
  reading.head.onTables(() => void follow());
  void follow();

  return {
    figures,
    /** The shortest name of an account, of several the first by the alphabet. */
    domainOf(account: Address): string | null {
      if (ofAccount.size === 0) return null;
      const names = ofAccount.get(hashKey(account));
      if (names === undefined) return null;
      let shortest: string | null = null;
      for (const item of names) {
        const domain = items.get(item)?.domain;
        if (domain === undefined) continue;
        if (shortest === null || compareDomains(domain, shortest) < 0) shortest = domain;
      }
      return shortest;
    },
  };
}
