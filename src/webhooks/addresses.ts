/** Which network addresses may be called on a stranger's word: public ones, and no others (RFC 6890 and its registries). */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const PRIVATE: readonly [string, number, 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  // Multicast, reserved, broadcast.
  ['224.0.0.0', 3, 'ipv4'],
];

/** Of IPv6 only 2000::/3 is routed to the world; these parts of it lead elsewhere: Teredo and others, 6to4, documents. */
const PRIVATE_V6: typeof PRIVATE = [
  ['2001::', 23, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['3fff::', 20, 'ipv6'],
];

const refused = new BlockList();
for (const [net, prefix, family] of [...PRIVATE, ...PRIVATE_V6]) refused.addSubnet(net, prefix, family);
const global6 = new BlockList();
global6.addSubnet('2000::', 3, 'ipv6');

export function isPublic(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !refused.check(address, 'ipv4');
  return family === 6 && global6.check(address, 'ipv6') && !refused.check(address, 'ipv6');
}

/** A host that must not be called. The text is for who asked: it does not tell where a name leads inside of a network. */
export class PrivateAddressError extends Error {
  override name = 'PrivateAddressError';
  constructor(host: string) {
    super(`${host} leads to no public address`);
  }
}

/** The host of a URL when it is an address itself; no name is looked up then. */
export function addressIn(url: URL): string | null {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  return isIP(host) === 0 ? null : host;
}

export type IsAllowed = (address: string) => boolean;

/** Addresses of a name, of the family or of any. */
type Find = (host: string, family: LookupOptions['family']) => Promise<readonly LookupAddress[]>;

const systemNames: Find = (host, family) =>
  new Promise((resolve, reject) => {
    lookup(host, { ...(family === undefined ? {} : { family }), all: true }, (error, found) =>
      error === null ? resolve(found) : reject(error),
    );
  });

/** Milliseconds for the first try; later ones get longer. */
const PATIENCE = { timeout: 2_000, tries: 2 };

/**
 * Asks the name servers themselves. The system's lookup has two threads a process: whoever names hosts whose servers do
 * not answer would keep them from all others, ClickHouse and brokers among these.
 * @param servers default: those of the system
 */
export function publicNames(servers?: readonly string[]): Find {
  const resolver = new Resolver(PATIENCE);
  if (servers) resolver.setServers(servers);
  return async (host, family) => {
    // RFC 6761, 6.3: no name server is to be asked.
    if (host === 'localhost' || host.endsWith('.localhost')) return [{ address: '127.0.0.1', family: 4 }];
    const families = [4, 6].filter((one) => !family || family === one || family === `IPv${one}`);
    const answers = await Promise.allSettled(
      families.map((one) => (one === 4 ? resolver.resolve4(host) : resolver.resolve6(host))),
    );
    const found = answers.flatMap((answer, i) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: families[i] })) : [],
    );
    const failed = answers.find(({ status }) => status === 'rejected');
    if (found.length === 0 && failed?.status === 'rejected') throw failed.reason;
    return found;
  };
}

/** Where strangers may lead. */
export interface Reach {
  /** Whether an address may be called. */
  isAllowed: IsAllowed;
  /** Looks names up. Default: as the system does. */
  find?: Find;
}

/** @param isPrivateAllowed whether an operator lets strangers call addresses of his own network, by its names */
export function reachOf(isPrivateAllowed: boolean): Reach {
  return isPrivateAllowed ? { isAllowed: () => true } : { isAllowed: isPublic, find: publicNames() };
}

/**
 * Looks a name up for a connection, which is then made to one of the addresses found here and to no other: a name that
 * says something else a moment later changes nothing. Refused when any of them is not allowed.
 */
export function lookupOf({ isAllowed, find = systemNames }: Reach): LookupFunction {
  return (host, options, done) => {
    find(host, options.family).then(
      (found) => {
        if (found.length === 0) return done(new Error(`${host} has no address`), '');
        if (!found.every(({ address }) => isAllowed(address))) return done(new PrivateAddressError(host), '');
        if (options.all) return done(null, [...found]);
        done(null, found[0].address, found[0].family);
      },
      (error) => done(error, ''),
    );
  };
}
