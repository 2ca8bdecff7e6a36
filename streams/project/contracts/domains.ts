/** Names that items hold: domains (TEP-81) and the names of Telegram. */
import { rawAddress } from '../../../src/chain/address.ts';
import { Slice } from '../../../src/chain/builder.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import type { Address } from '../../../src/chain/model.ts';
import { TESTNET } from '../../../src/chain/networks.ts';
import type { Asking } from './kinds.ts';
import { OtherKind } from './stack.ts';
import type { Subject } from './subject.ts';

/** Testnet's collection whose items are domains: `.ton`. */
const OF_TESTNET = '0:E33ED33A42EB2032059F97D90C706F8400BB256D32139CA707F1564AD699C7DD';
/** Those of mainnet, and of networks that are told by nothing else: `.ton`, `t.me`. */
const OF_MAINNET = [
  '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF',
  '0:80D78A35F955A14B679FAA887FF4CD5BFC0F43B4A4EEA2A7E6927F3701B273C2',
];

/** Whether the items of a collection are domains on the network with this global id, null where that is not known. */
export type IsDnsCollection = (collection: Address, globalId: number | null) => boolean;

const MAX_DOMAIN_BYTES = 1_000;

/** The name of an item; null when it tells none. Throws NotShown. */
export async function readDomain(subject: Subject, ask: Asking): Promise<string | null> {
  const own = await bytesOf(subject, 'get_domain', ask);
  if (own !== null) return `${own.toString('utf8')}.ton`;
  const full = await bytesOf(subject, 'get_full_domain', ask);
  if (full === null) return null;
  const labels = full
    .toString('utf8')
    .split('\0')
    .filter((label) => label !== '');
  return labels.length === 0 ? null : labels.reverse().join('.');
}

/** Whole bytes of the slice that a method returns; null when it does not. */
async function bytesOf(subject: Subject, method: string, ask: Asking): Promise<Buffer | null> {
  try {
    const cell = (await ask.call(subject, method)).slice(0);
    if ((cell.bits & 7) !== 0 || cell.bits === 0 || cell.bits > MAX_DOMAIN_BYTES * 8) return null;
    return new Slice(cell).bytes(cell.bits >> 3);
  } catch (error) {
    if (error instanceof OtherKind || error instanceof DecodeError) return null;
    throw error;
  }
}

/**
 * A collection counts on its own network alone: on another one anyone can deploy it at the same address, and sell the
 * same names.
 *
 * @param more raw addresses of collections that a setting names besides
 */
export function dnsCollections(more: readonly string[]): IsDnsCollection {
  const ofTestnet = new Set([OF_TESTNET, ...more]);
  const ofOthers = new Set([...OF_MAINNET, ...more]);
  return (collection, globalId) => (globalId === TESTNET ? ofTestnet : ofOthers).has(rawAddress(collection));
}
