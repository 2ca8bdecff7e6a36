/** The devnet's governed jetton, whose admin locks wallets and moves what is in them. */
import { type Address, beginCell, type Cell, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const GOVERNED_OPS = { setStatus: 0xeed236d3, callTo: 0x235caf52 } as const;

/** Statuses of a wallet. */
export const OPEN = 0;
/** Nothing leaves it but by the admin's will. */
export const LOCKED = 1;
/** Nothing comes into it but by the admin's will. */
export const CLOSED = 2;

export const governedMasterCode: Cell = codeCell(CODES.governedMaster);
export const governedWalletCode: Cell = codeCell(CODES.governedWallet);

/** Data of a master that has minted nothing yet. */
export function governedMasterData(admin: Address, content: Cell): Cell {
  return beginCell().storeCoins(0).storeAddress(admin).storeRef(content).storeRef(governedWalletCode).endCell();
}

export function governedMasterAddress(admin: Address, content: Cell): Address {
  return contractAddress(0, { code: governedMasterCode, data: governedMasterData(admin, content) });
}

export function governedWalletAddress(owner: Address, master: Address): Address {
  const data = beginCell().storeUint(OPEN, 4).storeCoins(0).storeAddress(owner).storeAddress(master).endCell();
  return contractAddress(0, { code: governedWalletCode, data });
}

export function readGovernedWallet(data: Cell): { status: number; balance: bigint } {
  const slice = data.beginParse();
  return { status: slice.loadUint(4), balance: slice.loadCoins() };
}

/** To be sent to the master by its admin: it passes the message on to the wallet of an owner, with so many nanotons. */
export function callTo(queryId: bigint, owner: Address, tonAmount: bigint, message: Cell): Cell {
  return beginCell()
    .storeUint(GOVERNED_OPS.callTo, 32)
    .storeUint(queryId, 64)
    .storeAddress(owner)
    .storeCoins(tonAmount)
    .storeRef(message)
    .endCell();
}

/** What the master tells a wallet. */
export function setStatus(queryId: bigint, status: number): Cell {
  return beginCell().storeUint(GOVERNED_OPS.setStatus, 32).storeUint(queryId, 64).storeUint(status, 4).endCell();
}
