/**
 * One of many processes at a time does something: the one whose claim is the oldest of those that were renewed lately,
 * by the clock of the server that keeps them. A claim that was slow to arrive is taken back, and each waits for a while
 * before it counts on its own: by then all see the same ones. Who cannot renew stops by himself before the others begin.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ClickHouse } from './client.ts';
import { textLiteral } from './literal.ts';
import { RowWriter } from './rowbinary.ts';

/** As the first migration of the subscribers' database has it, which finds it there. */
export const LEASES_TABLE = `CREATE TABLE IF NOT EXISTS leases (
  name String,
  holder String,
  claimed_us Int64 DEFAULT toUnixTimestamp64Micro(now64(6)),
  released Bool,
  renewed_at DateTime64(6) DEFAULT now64(6)
) ENGINE = ReplacingMergeTree(renewed_at) ORDER BY (name, holder)
TTL toDateTime(renewed_at) + INTERVAL 1 DAY`;

export interface Lease {
  /** Whether this process is the one, at this moment. */
  readonly held: boolean;
  /** Which of its claims that is: as long as it is the same, nobody else was the one meanwhile. */
  readonly claim: string;
  /** Claims or renews it where that is due; to be called about once a second. */
  tend(signal: AbortSignal): Promise<void>;
  /** Lets another one have it. */
  release(signal: AbortSignal): Promise<void>;
}

export interface LeaseOptions {
  /** Of a database with a table of leases. */
  clickhouse: ClickHouse;
  name: string;
  /** Of the process that has made the database: its first claim, if it is quick, comes before all others and counts at once. */
  isMaker?: boolean;
  terms?: Partial<Terms>;
}

/** Milliseconds. */
export interface Terms {
  /** After which a claim that was not renewed is void. */
  lastsMs: number;
  renewMs: number;
  /** Longest time that a claim may take to arrive, and what is waited before it counts. */
  settleMs: number;
}

const TERMS: Terms = { lastsMs: 6_000, renewMs: 2_000, settleMs: 1_000 };
/** Of its time, in which the holder still acts: the rest is for what he has begun. */
const SAFE_SHARE = 0.7;
const BEFORE_ALL = '0';
const TEND_MS = 1_000;
const ROW = z.object({ holder: z.string(), claimed_us: z.string() });

export function createLease({ clickhouse, name, isMaker, terms: given }: LeaseOptions): Lease {
  const terms = { ...TERMS, ...given };
  let comesFirst = isMaker === true;
  /** Anew with each claim: a server whose clock was set back keeps the older word of a holder. */
  let holder = randomUUID();
  let safeUntil = 0;
  let renewedAt = 0;

  async function live(signal: AbortSignal): Promise<z.output<typeof ROW>[]> {
    const sql = `SELECT holder, toString(claimed_us) AS claimed_us FROM leases FINAL
      WHERE name = ${textLiteral(name)} AND NOT released
        AND abs(dateDiff('microsecond', now64(6), renewed_at)) < ${terms.lastsMs * 1_000}
      ORDER BY leases.claimed_us, holder`;
    return clickhouse.json(sql, ROW, { label: 'reading who holds a lease', signal, timeoutMs: terms.settleMs });
  }

  /** @returns milliseconds until the server had it */
  async function write(claimedUs: string | null, released: boolean, signal: AbortSignal): Promise<number> {
    const began = performance.now();
    const writer = new RowWriter();
    writer.string(name);
    writer.string(holder);
    if (claimedUs !== null) writer.i64(claimedUs);
    writer.bool(released);
    writer.endRow();
    const columns = ['name', 'holder', ...(claimedUs === null ? [] : ['claimed_us']), 'released'];
    const options = { label: 'claiming a lease', signal, timeoutMs: terms.settleMs };
    await clickhouse.insert('leases', columns, writer.take(), options);
    return performance.now() - began;
  }

  async function release(signal: AbortSignal): Promise<void> {
    safeUntil = 0;
    if (renewedAt === 0) return;
    await write(null, true, signal);
    renewedAt = 0;
  }

  return {
    get held() {
      return performance.now() < safeUntil;
    },
    get claim() {
      return holder;
    },
    async tend(signal) {
      const began = performance.now();
      const claims = await live(signal);
      const own = claims.find((claim) => claim.holder === holder);
      if (own === undefined) {
        safeUntil = 0;
        if (claims.length > 0) return;
        holder = randomUUID();
        renewedAt = performance.now();
        const isFirst = comesFirst;
        comesFirst = false;
        const took = await write(isFirst ? BEFORE_ALL : null, false, signal);
        // What comes before all others has to be there before one counts that was claimed since the look.
        if ((isFirst ? performance.now() - began : took) > terms.settleMs) return release(signal);
        if (!isFirst) await sleep(terms.settleMs, undefined, { signal });
        return this.tend(signal);
      }
      if (own !== claims[0]) return release(signal);
      if (began < safeUntil && began - renewedAt < terms.renewMs) return;
      await write(own.claimed_us, false, signal);
      renewedAt = began;
      safeUntil = began + terms.lastsMs * SAFE_SHARE;
    },
    release,
  };
}

export interface Turn {
  /** Whether nobody else can have had the lease since the turn began. */
  readonly lasts: boolean;
  /** The lease is kept, but tended no longer. */
  end(): Promise<void>;
}

/** Renews a lease that is held for as long as something takes that its holder waits for. */
export function keepLease(lease: Lease, signal: AbortSignal): Turn {
  const { claim } = lease;
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const tending = (async () => {
    while (!until.aborted) {
      // One that cannot be renewed lapses, and says so.
      await sleep(TEND_MS, undefined, { signal: until })
        // To its end: a claim whose wait was cut short would count too soon.
        .then(() => lease.tend(signal))
        .catch(() => undefined);
    }
  })();
  return {
    get lasts() {
      return lease.held && lease.claim === claim;
    },
    async end() {
      over.abort();
      await tending;
    },
  };
}
