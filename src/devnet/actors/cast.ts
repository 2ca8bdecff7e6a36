/** Who is on the devnet. All of it follows from the seed. */
import type { Address, Cell } from '@ton/core';
import { bareText, onChainContent } from '../contracts/content.ts';
import { jettonMasterAddress } from '../contracts/jettons.ts';
import { type NftCollectionState, nftCollectionAddress } from '../contracts/nfts.ts';
import { createWallet, WALLET_VERSIONS, type Wallet } from './wallets.ts';

export interface CastOptions {
  /** Any text; names the chain's keys. */
  seed: string;
  /** Wallets that make the traffic: each sends at most once a block. */
  traders: number;
}

export interface Cast {
  seed: string;
  /** Gives coins to whoever asks. */
  faucet: Wallet;
  /** Keeps the others in coins. */
  treasury: Wallet;
  /** Admin of the jetton. */
  issuer: Wallet;
  /** Owner of the collection. */
  artist: Wallet;
  /** For the people who try the devnet; nobody else uses them. */
  demo: Wallet[];
  traders: Wallet[];
  jetton: { master: Address; content: Cell };
  collection: { address: Address; state: Omit<NftCollectionState, 'nextIndex'> };
}

const JETTON = {
  name: 'Devnet Dust',
  symbol: 'DUST',
  decimals: '9',
  description: 'Jetton of a local tonstream devnet; worth nothing.',
};

const COLLECTION = {
  name: 'Devnet Stones',
  description: 'NFT collection of a local tonstream devnet; worth nothing.',
};

/** Base of the items that keep their content off chain. The domain is reserved and never resolves (RFC 2606). */
const ITEM_URI_BASE = 'https://stones.invalid/';

/** Every this many items one has its content off chain. */
const OFF_CHAIN_EVERY = 4n;

export function createCast({ seed, traders }: CastOptions): Cast {
  const issuer = createWallet(seed, 'issuer', 'v4r2');
  const artist = createWallet(seed, 'artist', 'v5r1');
  const content = onChainContent(JETTON);
  const state = {
    owner: artist.address,
    content: onChainContent(COLLECTION),
    commonContent: bareText(ITEM_URI_BASE),
    royalty: { numerator: 5, denominator: 100, destination: artist.address },
  };
  return {
    seed,
    faucet: createWallet(seed, 'faucet', 'v5r1'),
    treasury: createWallet(seed, 'treasury', 'v5r1'),
    issuer,
    artist,
    demo: WALLET_VERSIONS.map((version) => createWallet(seed, `demo ${version}`, version)),
    traders: Array.from({ length: traders }, (_, n) =>
      createWallet(seed, `trader ${n}`, WALLET_VERSIONS[n % WALLET_VERSIONS.length]),
    ),
    jetton: { master: jettonMasterAddress(issuer.address, content), content },
    collection: { address: nftCollectionAddress(state), state },
  };
}

/** Content of the collection's item `index`. */
export function itemContent(index: bigint): Cell {
  if (index % OFF_CHAIN_EVERY === OFF_CHAIN_EVERY - 1n) return bareText(`${index}.json`);
  return onChainContent({ name: `Stone #${index}`, description: `Stone ${index} of the devnet's collection.` });
}
