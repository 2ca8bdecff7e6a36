import { expect, it } from 'vitest';
import { addressOf, parseAddress } from '../../../src/chain/address.ts';
import type { Address } from '../../../src/chain/model.ts';
import { dnsCollections } from './domains.ts';

const [MAINNET, TESTNET, DEVNET] = [-239, -3, -217];
const OWN = addressOf(0, Buffer.alloc(32, 1));
const parsed = (raw: string): Address => parseAddress(raw) ?? OWN;
const TON = parsed('0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF');
const TON_OF_TESTNET = parsed('0:E33ED33A42EB2032059F97D90C706F8400BB256D32139CA707F1564AD699C7DD');
const TELEGRAM = parsed('0:80D78A35F955A14B679FAA887FF4CD5BFC0F43B4A4EEA2A7E6927F3701B273C2');

// Anyone may deploy the collection of one network on another one, and sell its names there again.
it('collections of domains are those of their own network, and those of a setting', () => {
  const isDnsCollection = dnsCollections(['0:0101010101010101010101010101010101010101010101010101010101010101']);
  const of = (globalId: number | null) =>
    [TON, TELEGRAM, TON_OF_TESTNET, OWN].map((collection) => isDnsCollection(collection, globalId));
  for (const globalId of [MAINNET, DEVNET, null]) expect(of(globalId)).toEqual([true, true, false, true]);
  expect(of(TESTNET)).toEqual([false, false, true, true]);
});
