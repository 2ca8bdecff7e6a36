/** Who is on the devnet. All of it follows from the seed. */
import type { Address, Cell } from '@ton/core';
import { bareText, onChainContent } from '../contracts/content.ts';
import { exchangePoolAddress } from '../contracts/exchange.ts';
import { jettonMasterAddress } from '../contracts/jettons.ts';
import { type Airdrop, airdropOf } from '../contracts/mintless.ts';
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
  /** Admin of the jettons. */
  issuer: Wallet;
  /** Owner of the collection. */
  artist: Wallet;
  /** For the people who try the devnet; nobody else uses them. */
  demo: Wallet[];
  traders: Wallet[];
  /** Whose items go over the marketplace: those of the collection from `firstItem` on. */
  market: { merchants: Wallet[]; bidders: Wallet[]; firstItem: bigint };
  council: { signers: Wallet[]; proposer: Wallet };
  heritage: { benefactor: Wallet; heir: Wallet };
  /** The subscriber's wallet is one that takes plugins. */
  subscription: { subscriber: Wallet; shop: Wallet };
  /** Hold names under .ton. */
  registrants: Wallet[];
  domains: { content: Cell };
  /** The first of them founds the pool. */
  stakers: Wallet[];
  stake: { content: Cell };
  /** Admin of the governed jetton, and who holds it. */
  governed: { ruler: Wallet; subjects: Wallet[]; content: Cell };
  /** Who the airdrop of the mintless jetton lists; the first of them founds it. */
  mintless: { listed: Wallet[]; items: Airdrop; content: Cell };
  /** Send messages that race with each other, when they are let. */
  racers: Wallet[];
  /** Everyone who is in a story and in nothing else. */
  players: Wallet[];
  jetton: Jetton;
  /** The jetton that is traded for the other one, and where. */
  exchange: { gold: Jetton; pool: Address };
  collection: { address: Address; state: Omit<NftCollectionState, 'nextIndex'> };
}

interface Jetton {
  master: Address;
  content: Cell;
}

const JETTON = {
  name: 'Devnet Dust',
  symbol: 'DUST',
  decimals: '9',
  description: 'Jetton of a local tonstream devnet; worth nothing.',
};

const GOLD = {
  name: 'Devnet Gold',
  symbol: 'GOLD',
  decimals: '9',
  description: 'Jetton that is traded on the exchange of a local tonstream devnet; worth nothing.',
};

const COLLECTION = {
  name: 'Devnet Stones',
  description: 'NFT collection of a local tonstream devnet; worth nothing.',
};

const STAKE = {
  name: 'Devnet Staked Dust',
  symbol: 'STDUST',
  decimals: '9',
  description: 'What is staked in the pool of a local tonstream devnet; worth nothing.',
};

const GOVERNED = {
  name: 'Devnet Scrip',
  symbol: 'SCRIP',
  decimals: '6',
  description: 'Governed jetton of a local tonstream devnet; worth nothing.',
};

const MINTLESS = {
  name: 'Devnet Rain',
  symbol: 'RAIN',
  decimals: '6',
  description: 'Mintless jetton of a local tonstream devnet; worth nothing.',
};
/** Units of it for each who is listed. */
const RAIN = 5_000_000_000n;

const DOMAINS = {
  name: 'Devnet Names',
  description: 'Names under .ton of a local tonstream devnet; they lead nowhere else.',
};

/** Items of the zero state that demo wallets and traders have; the first of them belong to the demo wallets. */
export const FIRST_ITEMS = 24;

/** Base of the items that keep their content off chain. The domain is reserved and never resolves (RFC 2606). */
const ITEM_URI_BASE = 'https://stones.invalid/';

/** Every this many items one has its content off chain. */
const OFF_CHAIN_EVERY = 4n;

export function createCast({ seed, traders }: CastOptions): Cast {
  const issuer = createWallet(seed, 'issuer', 'v4r2');
  const artist = createWallet(seed, 'artist', 'v5r1');
  const jettonOf = (about: typeof JETTON): Jetton => {
    const content = onChainContent(about);
    return { master: jettonMasterAddress(issuer.address, content), content };
  };
  const jetton = jettonOf(JETTON);
  const gold = jettonOf(GOLD);
  const state = {
    owner: artist.address,
    content: onChainContent(COLLECTION),
    commonContent: bareText(ITEM_URI_BASE),
    royalty: { numerator: 5, denominator: 100, destination: artist.address },
  };
  const people = (name: string, count: number): Wallet[] =>
    Array.from({ length: count }, (_, n) =>
      createWallet(seed, `${name} ${n}`, WALLET_VERSIONS[n % WALLET_VERSIONS.length]),
    );
  const market = { merchants: people('merchant', 2), bidders: people('bidder', 3), firstItem: BigInt(FIRST_ITEMS) };
  const council = { signers: people('signer', 3), proposer: createWallet(seed, 'proposer', 'v5r1') };
  const heritage = { benefactor: createWallet(seed, 'benefactor', 'v5r1'), heir: createWallet(seed, 'heir', 'v4r2') };
  const subscription = {
    subscriber: createWallet(seed, 'subscriber', 'v4r2'),
    shop: createWallet(seed, 'shop', 'v3r2'),
  };
  const registrants = people('registrant', 3);
  const racers = people('racer', 3);
  const stakers = people('staker', 2);
  const ruler = createWallet(seed, 'ruler', 'v5r1');
  const subjects = people('subject', 2);
  const listed = people('listed', 3);
  return {
    seed,
    registrants,
    racers,
    stakers,
    stake: { content: onChainContent(STAKE) },
    governed: { ruler, subjects, content: onChainContent(GOVERNED) },
    mintless: {
      listed,
      items: airdropOf(listed.map(({ address }) => [address, RAIN])),
      content: onChainContent(MINTLESS),
    },
    domains: { content: onChainContent(DOMAINS) },
    market,
    council,
    heritage,
    subscription,
    players: [
      ...market.merchants,
      ...market.bidders,
      ...council.signers,
      council.proposer,
      ...Object.values(heritage),
      ...Object.values(subscription),
      ...registrants,
      ...racers,
      ...stakers,
      ruler,
      ...subjects,
      ...listed,
    ],
    faucet: createWallet(seed, 'faucet', 'v5r1'),
    treasury: createWallet(seed, 'treasury', 'v5r1'),
    issuer,
    artist,
    demo: WALLET_VERSIONS.map((version) => createWallet(seed, `demo ${version}`, version)),
    traders: Array.from({ length: traders }, (_, n) =>
      createWallet(seed, `trader ${n}`, WALLET_VERSIONS[n % WALLET_VERSIONS.length]),
    ),
    jetton,
    exchange: { gold, pool: exchangePoolAddress(jetton.master, gold.master) },
    collection: { address: nftCollectionAddress(state), state },
  };
}

/** Content of the collection's item `index`. */
export function itemContent(index: bigint): Cell {
  if (index % OFF_CHAIN_EVERY === OFF_CHAIN_EVERY - 1n) return bareText(`${index}.json`);
  return onChainContent({ name: `Stone #${index}`, description: `Stone ${index} of the devnet's collection.` });
}
