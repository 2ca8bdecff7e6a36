import { Address, type Cell, toNano } from '@ton/core';
import { DNS_ROOT_ADDRESS } from '../configuration.ts';
import {
  dnsRootCode,
  dnsRootData,
  domainCollectionCode,
  domainCollectionData,
  domainsAddress,
} from '../contracts/domains.ts';
import {
  exchangePoolCode,
  exchangePoolData,
  exchangeRouterAddress,
  exchangeRouterCode,
  exchangeRouterData,
} from '../contracts/exchange.ts';
import { faultsAddress, faultsCode, faultsData } from '../contracts/faults.ts';
import {
  jettonMasterCode,
  jettonMasterData,
  jettonWalletAddress,
  jettonWalletCode,
  jettonWalletData,
} from '../contracts/jettons.ts';
import { nftCollectionCode, nftCollectionData, nftItemAddress, nftItemCode, nftItemData } from '../contracts/nfts.ts';
import { type Cast, FIRST_ITEMS, itemContent } from './cast.ts';
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
const JETTON_BALANCE = 1_000_000_000_000n;
/** Units that the exchange has of either jetton at the beginning: enough that trades hardly move the price. */
const EXCHANGE_RESERVE = 100n * JETTON_BALANCE;

/** Accounts of the zero state: everyone of the cast deployed and funded, with jettons and NFT items. */
export function initialAccounts(cast: Cast): InitialAccount[] {
  const { faucet, treasury, issuer, artist, demo, traders, players } = cast;
  return [
    wallet(faucet, FAUCET_BALANCE),
    wallet(treasury, TREASURY_BALANCE),
    wallet(issuer, TRADER_BALANCE),
    wallet(artist, TRADER_BALANCE),
    ...demo.map((one) => wallet(one, DEMO_BALANCE)),
    ...[...traders, ...players].map((one) => wallet(one, TRADER_BALANCE)),
    ...jettons(cast),
    ...items(cast),
    ...names(cast),
    { address: faultsAddress, balance: FAULTS_BALANCE, code: faultsCode, data: faultsData },
  ];
}

function wallet({ address, init }: Wallet, balance: bigint): InitialAccount {
  return { address, balance, code: init.code, data: init.data };
}

function jettons(cast: Cast): InitialAccount[] {
  const { demo, traders, jetton, exchange } = cast;
  const { gold, pool } = exchange;
  const owners = [...demo, ...traders].map(({ address }) => ({ owner: address, balance: JETTON_BALANCE }));
  const reserve = { owner: exchangeRouterAddress, balance: EXCHANGE_RESERVE };
  const data = exchangePoolData(jetton.master, gold.master, EXCHANGE_RESERVE);
  return [
    ...issued(cast, jetton, [...owners, reserve]),
    ...issued(cast, gold, [reserve]),
    { address: pool, balance: CONTRACT_BALANCE, code: exchangePoolCode, data },
    {
      address: exchangeRouterAddress,
      balance: CONTRACT_BALANCE,
      code: exchangeRouterCode,
      data: exchangeRouterData,
    },
  ];
}

/** A jetton's master, and its wallets. */
function issued(
  { issuer }: Cast,
  { master, content }: Cast['jetton'],
  holders: readonly { owner: Address; balance: bigint }[],
): InitialAccount[] {
  const totalSupply = holders.reduce((sum, { balance }) => sum + balance, 0n);
  const data = jettonMasterData({ totalSupply, admin: issuer.address, content });
  return [
    { address: master, balance: CONTRACT_BALANCE, code: jettonMasterCode, data },
    ...holders.map(({ owner, balance }) => ({
      address: jettonWalletAddress(owner, master),
      balance: ITEM_BALANCE,
      code: jettonWalletCode,
      data: jettonWalletData({ balance, owner, master }),
    })),
  ];
}

function names({ domains }: Cast): InitialAccount[] {
  const collection = { code: domainCollectionCode, data: domainCollectionData(domains.content) };
  return [
    { address: new Address(-1, DNS_ROOT_ADDRESS), balance: CONTRACT_BALANCE, code: dnsRootCode, data: dnsRootData },
    { address: domainsAddress, balance: CONTRACT_BALANCE, ...collection },
  ];
}

function items({ demo, traders, market, collection }: Cast): InitialAccount[] {
  const holders = [...demo, ...traders];
  const owners = Array.from({ length: FIRST_ITEMS }, (_, n) => holders[n % holders.length]);
  owners.push(market.merchants[0], market.bidders[0]);
  const made = owners.map(({ address: owner }, n) => {
    const index = BigInt(n);
    return {
      address: nftItemAddress(index, collection.address),
      balance: ITEM_BALANCE,
      code: nftItemCode,
      data: nftItemData({ index, collection: collection.address, owner, content: itemContent(index) }),
    };
  });
  const data = nftCollectionData({ ...collection.state, nextIndex: BigInt(made.length) });
  return [{ address: collection.address, balance: CONTRACT_BALANCE, code: nftCollectionCode, data }, ...made];
}
