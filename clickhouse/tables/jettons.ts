/** Jettons (TEP-74): masters, wallets, and what their transactions did (spec v3 semantics 6). */
import { address, addressOrNone, bool, hash, hashOrNone, i8, i256, nullable, text, u32, u64, u128 } from './columns.ts';
import { detected, detectedIndexes } from './detected.ts';
import { type Row, table } from './table.ts';

export const jettonMasters = table({
  ...detected('jetton_masters'),
  columns: {
    ...detected.columns,
    totalSupply: i256,
    mintable: bool,
    adminAddress: addressOrNone,
    /** The attributes that the chain holds (TEP-64), JSON. */
    jettonContent: text,
    jettonWalletCodeHash: hash,
  },
  indexes: [
    ...detectedIndexes('jetton_masters'),
    {
      name: 'jetton_masters_by_admin',
      each: { as: 'adminAddress', of: ['adminAddress'] },
      key: ['adminAddress', 'id'],
      also: ['address'],
      stays: true,
    },
  ],
});

/** Wallets that their master confirms. */
export const jettonWallets = table({
  ...detected('jetton_wallets'),
  columns: {
    ...detected.columns,
    balance: i256,
    owner: address,
    /** The master. */
    jetton: address,
    /** Of a mintless jetton: whether the airdrop was claimed; null for other jettons. */
    mintlessIsClaimed: nullable(bool),
  },
  indexes: [
    ...detectedIndexes('jetton_wallets'),
    { name: 'jetton_wallets_by_owner', key: ['owner', 'id'], also: ['jetton'], stays: true },
    { name: 'jetton_wallets_by_jetton', key: ['jetton', 'id'], also: [], stays: true },
  ],
});

export type JettonWalletRow = Row<typeof jettonWallets>;

/** Codes of the wallets that a master confirms, each since the step that showed the first. */
export const jettonWalletCodes = table({
  name: 'jetton_wallet_codes',
  columns: { jetton: address, codeHash: hash, mcSeqno: u32 },
  kind: 'fact',
  key: ['jetton', 'codeHash'],
  carried: false,
});

/** Wallets of a jetton in order of balance: a row for each state, taken back by the next. */
export const jettonHolders = table({
  name: 'jetton_holders',
  columns: { jetton: address, balance: i256, address, lt: u64, mcSeqno: u32, sign: i8 },
  kind: 'pairs',
  key: ['jetton', 'balance', 'address', 'lt'],
  version: 'lt',
  sign: 'sign',
  carried: false,
});

/** Every balance that a wallet has had at the end of a step in which it changed. */
export const jettonBalances = table({
  name: 'jetton_balances',
  columns: {
    address,
    lt: u64,
    mcSeqno: u32,
    jetton: address,
    balance: i256,
    mintlessIsClaimed: nullable(bool),
    owner: address,
    /** Time of the step. */
    utime: u32,
  },
  kind: 'fact',
  key: ['address', 'lt'],
  carried: false,
});

/**
 * Transfers that a wallet was told to make: the transaction is (`sourceWallet`, `transactionLt`), which has the rest:
 * query id, response destination, payloads, hash, trace.
 */
export const jettonTransfers = table({
  name: 'jetton_transfers',
  columns: {
    transactionLt: u64,
    sourceWallet: address,
    mcSeqno: u32,
    transactionNow: u32,
    transactionAborted: bool,
    /** The owner who sent it. */
    source: addressOrNone,
    destination: addressOrNone,
    jettonMaster: address,
    amount: u128,
    /** Of one of an earlier step, whose contract was confirmed later; null for those of the row's own step. */
    transactionHash: hashOrNone,
  },
  kind: 'fact',
  key: ['transactionLt', 'sourceWallet'],
  indexes: [
    {
      name: 'jetton_transfers_by_source',
      key: ['source', 'transactionLt', 'sourceWallet'],
      also: ['mcSeqno', 'transactionNow', 'transactionAborted', 'jettonMaster'],
    },
    {
      name: 'jetton_transfers_by_destination',
      key: ['destination', 'transactionLt', 'sourceWallet'],
      also: ['mcSeqno', 'transactionNow', 'transactionAborted', 'jettonMaster'],
    },
    {
      name: 'jetton_transfers_by_wallet',
      key: ['sourceWallet', 'transactionLt'],
      also: ['mcSeqno', 'transactionNow', 'transactionAborted'],
    },
    {
      name: 'jetton_transfers_by_jetton',
      key: ['jettonMaster', 'transactionLt', 'sourceWallet'],
      also: ['mcSeqno', 'transactionNow', 'transactionAborted'],
    },
  ],
  inStatus: true,
});

/** Burns that a wallet was told to make: the transaction is (`jettonWallet`, `transactionLt`). */
export const jettonBurns = table({
  name: 'jetton_burns',
  columns: {
    transactionLt: u64,
    jettonWallet: address,
    mcSeqno: u32,
    transactionNow: u32,
    transactionAborted: bool,
    owner: addressOrNone,
    jettonMaster: address,
    amount: u128,
    /** Of one of an earlier step, whose contract was confirmed later; null for those of the row's own step. */
    transactionHash: hashOrNone,
  },
  kind: 'fact',
  key: ['transactionLt', 'jettonWallet'],
  indexes: [
    {
      name: 'jetton_burns_by_owner',
      key: ['owner', 'transactionLt', 'jettonWallet'],
      also: ['mcSeqno', 'transactionNow', 'jettonMaster'],
    },
    { name: 'jetton_burns_by_wallet', key: ['jettonWallet', 'transactionLt'], also: ['mcSeqno', 'transactionNow'] },
    {
      name: 'jetton_burns_by_jetton',
      key: ['jettonMaster', 'transactionLt', 'jettonWallet'],
      also: ['mcSeqno', 'transactionNow'],
    },
  ],
  inStatus: true,
});

export type JettonBurnRow = Row<typeof jettonBurns>;
