/** Multisig wallets with their orders, vesting, pools (spec v3 semantics 6.2), and what detection still waits for. */
import { address, addressOrNone, arrayOf, bool, bytes, i256, u32, u64, u256 } from './columns.ts';
import { detected, detectedIndexes } from './detected.ts';
import { type Row, table } from './table.ts';

export const multisigWallets = table({
  ...detected('multisig_wallets'),
  columns: {
    ...detected.columns,
    nextOrderSeqno: i256,
    threshold: u32,
    signers: arrayOf(address),
    proposers: arrayOf(address),
  },
  indexes: detectedIndexes('multisig_wallets'),
});

/** Orders that their multisig confirms. */
export const multisigOrders = table({
  ...detected('multisig_orders'),
  columns: {
    ...detected.columns,
    multisigAddress: address,
    orderSeqno: u256,
    threshold: u32,
    sentForExecution: bool,
    approvalsMask: u256,
    approvalsNum: u32,
    expirationDate: u64,
    orderBoc: bytes,
    signers: arrayOf(address),
  },
  indexes: [
    ...detectedIndexes('multisig_orders'),
    { name: 'multisig_orders_by_multisig', key: ['multisigAddress', 'id'], also: ['address'], stays: true },
  ],
});

export const vestingContracts = table({
  ...detected('vesting_contracts'),
  columns: {
    ...detected.columns,
    startTime: u64,
    totalDuration: u32,
    unlockPeriod: u32,
    cliffDuration: u32,
    totalAmount: i256,
    senderAddress: address,
    ownerAddress: address,
    /** Ascending. */
    whitelist: arrayOf(address),
  },
  indexes: detectedIndexes('vesting_contracts'),
});

/** Pools that the factory confirms. An asset that is none is TON. */
export const dedustPools = table({
  ...detected('dedust_pools'),
  columns: {
    ...detected.columns,
    asset0: addressOrNone,
    asset1: addressOrNone,
    isStable: bool,
    reserve0: i256,
    reserve1: i256,
    fee: i256,
  },
  indexes: detectedIndexes('dedust_pools'),
});

/** By code. */
export const nominatorPools = table({
  ...detected('nominator_pools'),
  columns: detected.columns,
  indexes: detectedIndexes('nominator_pools'),
});

/**
 * Contracts that cannot be told yet because the log has not shown something: the code under a hash, or the state of
 * another contract. `missing`: that contract, or the hash behind four bytes that begin no address. Once it is there,
 * `waits` is false.
 */
export const contractWaits = table({
  name: 'contract_waits',
  columns: { missing: address, address, mcSeqno: u32, waits: bool },
  kind: 'newest',
  key: ['missing', 'address'],
  version: 'mcSeqno',
  carried: false,
});

export type ContractWaitRow = Row<typeof contractWaits>;
