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

export interface Lease {
  /** Whether this process is the one, at this moment. */
  readonly held: boolean;
  /** Claims or renews it where that is due; to be called about once a second. */
  tend(signal: AbortSignal): Promise<void>;
  /** Lets another one have it. */
  release(signal: AbortSignal): Promise<void>;
}

export interface LeaseOptions {
  /** Of the subscribers' database. */
  clickhouse: ClickHouse;
  name: string;
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
const ROW = z.object({ holder: z.string(), claimed_us: z.string() });

export function createLease({ clickhouse, name, terms: given }: LeaseOptions): Lease {
  const terms = { ...TERMS, ...given };
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
    async tend(signal) {
      const claims = await live(signal);
      const own = claims.find((claim) => claim.holder === holder);
      if (own === undefined) {
        safeUntil = 0;
        if (claims.length > 0) return;
        holder = randomUUID();
        renewedAt = performance.now();
        const took = await write(null, false, signal);
        if (took > terms.settleMs) return release(signal);
        await sleep(terms.settleMs, undefined, { signal });
        return this.tend(signal);
      }
      if (own !== claims[0]) return release(signal);
      const began = performance.now();
      if (began < safeUntil && began - renewedAt < terms.renewMs) return;
      await write(own.claimed_us, false, signal);
      renewedAt = began;
      safeUntil = began + terms.lastsMs * SAFE_SHARE;
    },
    release,
  };
}
