/**
 * Who may listen, and to how much: by the headers that a gateway in front sets for each API key (streaming v2), and by
 * what this process takes in all.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type KeyCounts, NO_LIMIT } from './key-counts.ts';
import type { Load } from './load.ts';
import type { FeedMetrics } from './metrics.ts';
import type { Subscription } from './subscription.ts';

/** A connection that was taken. To be released once. */
export interface Admitted {
  /**
   * It counts instead of the former ones. Rejects with RefusedError when the key may not listen to so many addresses, or
   * all connections listen to as much as they may. Of traces, which gateways do not limit, as many may be listened to as
   * of addresses.
   */
  listens(to: Load): Promise<void>;
  release(): void;
  /** Most addresses of one connection that says once what it listens to: of a key that is told none, none. */
  readonly maxAddresses: number;
  /** The same of its gateway's word alone; null where that sets no limit. */
  readonly mostOnce: number | null;
  /** What the gateway lets one who subscribes again and again listen to; null where it sets no limit. */
  readonly most: number | null;
}

/**
 * All accounts are more than any number of addresses.
 * @param most what a gateway allows, see above
 */
export function refusalOfEverything({ filter }: Pick<Subscription, 'filter'>, most: number | null): string | null {
  return filter.everything && most !== null ? `everything is above the limit of addresses: max ${most}` : null;
}

/** `X-Actions-Version`: what clients of a key support that do not say. */
export function actionsVersion(headers: IncomingHttpHeaders): string[] {
  const sent = textOf(headers['x-actions-version']);
  return sent === null ? [] : [sent];
}

export class RefusedError extends Error {
  override name = 'RefusedError';
}

export interface Admission {
  /** Rejects with RefusedError. */
  admit(headers: IncomingHttpHeaders): Promise<Admitted>;
}

export interface AdmissionOptions {
  /** Connections of all keys. */
  maxConnections: number;
  /** Addresses of one connection, and traces, whatever the gateway says. */
  maxAddresses: number;
  /** Bytes that the subscriptions of all connections take in memory. */
  maxSubscribedBytes: number;
  /** Of all processes that answer at this host. */
  keys: KeyCounts;
  metrics: Pick<FeedMetrics, 'refused'>;
  report: (error: unknown) => void;
}

/** What a gateway says where a key may listen to any number of addresses. */
const UNLIMITED = -1;

export function createAdmission(options: AdmissionOptions): Admission {
  const { maxConnections, maxAddresses, maxSubscribedBytes, keys, metrics, report } = options;
  let connections = 0;
  let subscribedBytes = 0;

  function refuse(limit: string, text: string): never {
    metrics.refused(limit);
    throw new RefusedError(text);
  }

  /** Of a key; null when it may have as many as it likes, or there is none. */
  async function takeConnection(key: string | null, headers: IncomingHttpHeaders): Promise<void> {
    if (key === null) return;
    const allowed = numberOf(headers['x-max-parallel-connections']) ?? 0;
    const most = { connections: allowed < 0 ? null : allowed, addresses: null };
    const has = await keys.take(key, { connections: 1, addresses: 0 }, most);
    if (has !== null) refuse('connections of a key', `connection limit reached: ${allowed} active connections`);
  }

  return {
    async admit(headers) {
      const key = textOf(headers['x-limiting-key']);
      if (connections >= maxConnections) refuse('connections', `too many connections: ${maxConnections} are open`);
      connections++;
      await takeConnection(key, headers).catch((error: unknown) => {
        connections--;
        throw error;
      });
      const sent = key === null ? null : numberOf(headers['x-max-subscribed-addr']);
      const ofKey = sent !== null && sent > 0 ? sent : null;
      const mostOnce = key === null || sent === UNLIMITED ? null : (sent ?? 0);
      let own = 0;
      let ownBytes = 0;
      let released = false;

      function hold(bytes: number): void {
        const held = released ? 0 : bytes;
        subscribedBytes += held - ownBytes;
        ownBytes = held;
      }

      async function listens({ addresses: count, traces, bytes }: Load): Promise<void> {
        const max = ofKey ?? maxAddresses;
        const refusal = (current: number): never =>
          refuse('addresses', `address limit exceeded: current ${current} + new ${count} > max ${max}`);
        if (count > maxAddresses) refusal(0);
        if (traces > maxAddresses) refuse('traces', `trace limit exceeded: new ${traces} > max ${maxAddresses}`);
        if (bytes > ownBytes && subscribedBytes + bytes - ownBytes > maxSubscribedBytes) {
          refuse('subscribed bytes', 'all connections together listen to as much as they may: try again later');
        }
        const before = ownBytes;
        // Others that ask meanwhile find it counted.
        hold(bytes);
        try {
          await takeAddresses(count, refusal);
        } catch (error) {
          hold(before);
          throw error;
        }
      }

      async function takeAddresses(count: number, refusal: (current: number) => never): Promise<void> {
        if (key === null || released) return;
        const change = count - own;
        if (change === 0) return;
        const has = await keys.take(key, { connections: 0, addresses: change }, { ...NO_LIMIT, addresses: ofKey });
        if (has !== null) refusal(has.addresses - own);
        own = count;
        // It has left meanwhile, with what it had then.
        if (released) giveBack(0, change);
      }

      function giveBack(ofConnections: number, addresses: number): void {
        if (key === null) return;
        const change = { connections: -ofConnections, addresses: -addresses };
        keys.take(key, change, NO_LIMIT).catch(report);
      }

      return {
        maxAddresses: Math.min(mostOnce ?? maxAddresses, maxAddresses),
        mostOnce,
        most: ofKey,
        listens,
        release() {
          if (released) return;
          released = true;
          connections--;
          hold(0);
          giveBack(1, own);
        },
      };
    },
  };
}

function textOf(header: string | string[] | undefined): string | null {
  const text = Array.isArray(header) ? header.at(-1) : header;
  return text === undefined || text === '' ? null : text;
}

function numberOf(header: string | string[] | undefined): number | null {
  const text = textOf(header);
  return text !== null && /^-?\d{1,9}$/.test(text) ? Number(text) : null;
}
