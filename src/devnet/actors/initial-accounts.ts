import { type Address, type Cell, toNano } from '@ton/core';
import { faultsAddress, faultsCode, faultsData } from '../contracts/faults.ts';
import {
  jettonMasterCode,
  jettonMasterData,
  jettonWalletAddress,
  jettonWalletCode,
  jettonWalletData,
} from '../contracts/jettons.ts';
import { nftCollectionCode, nftCollectionData, nftItemAddress, nftItemCode, nftItemData } from '../contracts/nfts.ts';
import { type Cast, itemContent } from './cast.ts';
import type { Wallet } from './wallets.ts';

/** A deployed account of the zero state. */
export interface InitialAccount {
  address: Address;
  /** Nanotons. */
  balance: bigint;
  code: Cell;
  data: Cell;
}

export const FAUCET_BALANCE = toNano('1000000');
const TREASURY_BALANCE = toNano('100000000');
const DEMO_BALANCE = toNano('1000');
const CONTRACT_BALANCE = toNano('1');
/** Faults pays for external messages that fail. */
const FAULTS_BALANCE = toNano('1000');
const ITEM_BALANCE = toNano('0.05');

/** Nanotons of every trader at the beginning, and what the treasury fills them up with. */
export const TRADER_BALANCE = toNano('100');
/** Jetton units of every trader and demo wallet at the beginning: 1,000 with 9 decimals. */
export const JETTON_BALANCE = 1_000_000_000_000n;
/** Items of the zero state; the first of them belong to the demo wallets. */
const ITEMS = 24;

/** Accounts of the zero state: everyone of the cast deployed and funded, with jettons and NFT items. */
export function initialAccounts(cast: Cast): InitialAccount[] {
  const { faucet, treasury, issuer, artist, demo, traders } = cast;
  return [
    wallet(faucet, FAUCET_BALANCE),
    wallet(treasury, TREASURY_BALANCE),
    wallet(issuer, TRADER_BALANCE),
    wallet(artist, TRADER_BALANCE),
    ...demo.map((one) => wallet(one, DEMO_BALANCE)),
    ...traders.map((one) => wallet(one, TRADER_BALANCE)),
    ...jettons(cast),
    ...items(cast),
    { address: faultsAddress, balance: FAULTS_BALANCE, code: faultsCode, data: faultsData },
  ];
}

function wallet({ address, init }: Wallet, balance: bigint): InitialAccount {
  return { address, balance, code: init.code, data: init.data };
}

function jettons({ issuer, demo, traders, jetton }: Cast): InitialAccount[] {
  const holders = [...demo, ...traders];
  const totalSupply = JETTON_BALANCE * BigInt(holders.length);
  const data = jettonMasterData({ totalSupply, admin: issuer.address, content: jetton.content });
  return [
    { address: jetton.master, balance: CONTRACT_BALANCE, code: jettonMasterCode, data },
    ...holders.map(({ address: owner }) => ({
      address: jettonWalletAddress(owner, jetton.master),
      balance: ITEM_BALANCE,
      code: jettonWalletCode,
      data: jettonWalletData({ balance: JETTON_BALANCE, owner, master: jetton.master }),
    })),
  ];
}

function items({ demo, traders, collection }: Cast): InitialAccount[] {
  const owners = [...demo, ...traders];
  const made = Array.from({ length: ITEMS }, (_, n) => {
    const index = BigInt(n);
    const owner = owners[n % owners.length].address;
    return {
      address: nftItemAddress(index, collection.address),
      balance: ITEM_BALANCE,
      code: nftItemCode,
      data: nftItemData({ index, collection: collection.address, owner, content: itemContent(index) }),
    };
  });
  const data = nftCollectionData({ ...collection.state, nextIndex: BigInt(ITEMS) });
  return [{ address: collection.address, balance: CONTRACT_BALANCE, code: nftCollectionCode, data }, ...made];
}
