/** The devnet's liquid stake: a pool and the master of its jetton, whose wallets are those of {@link jettonWalletCode}. */
import { type Address, beginCell, type Cell, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';
import { jettonWalletCode } from './jettons.ts';

export const STAKING_OPS = { deposit: 0x47d54391, setMaster: 0x66000301 } as const;

export const stakingPoolCode: Cell = codeCell(CODES.stakingPool);
export const stakingMasterCode: Cell = codeCell(CODES.stakingMaster);

/** Nanotons beside what is staked: for the work, and what is not used comes back. */
export const DEPOSIT_FEE = 1_000_000_000n;

/** Data of a pool whose jetton the founder has not named yet. */
export function stakingPoolData(founder: Address): Cell {
  return beginCell().storeAddress(founder).storeAddress(null).storeCoins(0).endCell();
}

export function stakingPoolAddress(founder: Address): Address {
  return contractAddress(0, { code: stakingPoolCode, data: stakingPoolData(founder) });
}

/** The pool's jetton; null before the founder has named it. */
export function readStakingPool(data: Cell): { master: Address | null; total: bigint } {
  const slice = data.beginParse();
  slice.loadAddress();
  return { master: slice.loadMaybeAddress(), total: slice.loadCoins() };
}

export function stakingMasterData(pool: Address, content: Cell): Cell {
  return beginCell().storeCoins(0).storeAddress(pool).storeRef(content).storeRef(jettonWalletCode).endCell();
}

export function stakingMasterAddress(pool: Address, content: Cell): Address {
  return contractAddress(0, { code: stakingMasterCode, data: stakingMasterData(pool, content) });
}

/** To be sent to the pool by its founder, once. */
export function setStakingMaster(queryId: bigint, master: Address): Cell {
  return beginCell().storeUint(STAKING_OPS.setMaster, 32).storeUint(queryId, 64).storeAddress(master).endCell();
}

/** To be sent to the pool with what is staked and {@link DEPOSIT_FEE}. What is staked comes back when jettons are burnt. */
export function stakeDeposit(queryId: bigint): Cell {
  return beginCell().storeUint(STAKING_OPS.deposit, 32).storeUint(queryId, 64).endCell();
}
