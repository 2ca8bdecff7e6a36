/** What a subscription costs its process while it stands. */
import type { Subscription } from './subscription.ts';

export interface Load {
  addresses: number;
  traces: number;
  /** In memory, with its places among all that is listened to. */
  bytes: number;
}

/** Of an address; of traces, tokens and codes it is a third less (100 subscriptions to 10,000 of each). */
export const KEY_BYTES = 350;
/** Of a text beside its characters, which may take two bytes each. */
const TEXT_BYTES = 32;
const CHARACTER_BYTES = 2;

export function loadOf(subscription: Subscription): Load {
  const { addresses, traceHashes, actionTypes, supportedActionTypes, filter, typesOf } = subscription;
  const { opcodes, codeHashes, jettonMasters, nftCollections } = filter;
  const sets = [traceHashes, opcodes, codeHashes, jettonMasters, nftCollections, typesOf];
  const keys = sets.reduce((sum, set) => sum + (set?.size ?? 0), addresses.length);
  const texts = [...actionTypes, ...supportedActionTypes];
  const textBytes = texts.reduce((sum, { length }) => sum + TEXT_BYTES + CHARACTER_BYTES * length, 0);
  return { addresses: addresses.length, traces: traceHashes.size, bytes: keys * KEY_BYTES + textBytes };
}

/** Of one in place of another: what is heard stays counted until the new one is, for where that fails it goes on. */
export function loadOfBoth(heard: Subscription, wanted: Subscription): Load {
  const [before, after] = [loadOf(heard), loadOf(wanted)];
  return {
    addresses: Math.max(before.addresses, after.addresses),
    traces: after.traces,
    bytes: Math.max(before.bytes, after.bytes),
  };
}
