/**
 * Who may listen, and to how much: by the headers that a gateway in front sets for each API key (streaming v2), and by
 * what this process takes in all.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FeedMetrics } from './metrics.ts';

/** A connection that was taken. To be released once. */
export interface Admitted {
  /** Throws RefusedError when the key may not listen to so many addresses; else they count instead of the former ones. */
  addresses(count: number): void;
  release(): void;
  /** Most addresses of one connection. */
  readonly maxAddresses: number;
}

export class RefusedError extends Error {
  override name = 'RefusedError';
}

export interface Admission {
  /** @throws {RefusedError} */
  admit(headers: IncomingHttpHeaders): Admitted;
}

export interface AdmissionOptions {
  /** Connections of all keys. */
  maxConnections: number;
  /** Addresses of one connection, whatever the gateway says. */
  maxAddresses: number;
  metrics: Pick<FeedMetrics, 'refused'>;
}

interface Taken {
  connections: number;
  addresses: number;
}

export function createAdmission({ maxConnections, maxAddresses, metrics }: AdmissionOptions): Admission {
  const byKey = new Map<string, Taken>();
  let connections = 0;

  function refuse(limit: string, text: string): never {
    metrics.refused(limit);
    throw new RefusedError(text);
  }

  return {
    admit(headers) {
      const key = textOf(headers['x-limiting-key']);
      const taken = (key !== null && byKey.get(key)) || { connections: 0, addresses: 0 };
      if (connections >= maxConnections) refuse('connections', `too many connections: ${maxConnections} are open`);
      if (key !== null) {
        const allowed = numberOf(headers['x-max-parallel-connections']) ?? 0;
        if (allowed >= 0 && taken.connections >= allowed) {
          refuse('connections of a key', `connection limit exceeded: max ${allowed}`);
        }
        byKey.set(key, taken);
      }
      const ofKey = key === null ? null : numberOf(headers['x-max-subscribed-addr']);
      connections++;
      taken.connections++;
      let own = 0;
      let released = false;
      return {
        maxAddresses: ofKey !== null && ofKey > 0 ? Math.min(ofKey, maxAddresses) : maxAddresses,
        addresses(count) {
          const current = key === null ? 0 : taken.addresses - own;
          const max = ofKey !== null && ofKey > 0 ? ofKey : maxAddresses;
          const tooMany = count > maxAddresses || (ofKey !== null && ofKey > 0 && current + count > ofKey);
          if (tooMany) refuse('addresses', `address limit exceeded: current ${current} + new ${count} > max ${max}`);
          taken.addresses += count - own;
          own = count;
        },
        release() {
          if (released) return;
          released = true;
          connections--;
          taken.connections--;
          taken.addresses -= own;
          if (key !== null && taken.connections === 0) byKey.delete(key);
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
