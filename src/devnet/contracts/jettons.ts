/** The devnet's jetton: state, messages (TEP-74, TEP-89) and what its data holds. Amounts are in the jetton's units. */
import { type Address, beginCell, type Cell, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const JETTON_OPS = {
  transfer: 0x0f8a7ea5,
  internalTransfer: 0x178d4519,
  transferNotification: 0x7362d09c,
  burn: 0x595f07bc,
  burnNotification: 0x7bdd97de,
  excesses: 0xd53276db,
  provideWalletAddress: 0x2c76b973,
  takeWalletAddress: 0xd1735400,
  mint: 0x642b7d07,
} as const;

export const jettonMasterCode: Cell = codeCell(CODES.jettonMaster);
export const jettonWalletCode: Cell = codeCell(CODES.jettonWallet);

export interface JettonMasterState {
  totalSupply: bigint;
  admin: Address;
  content: Cell;
}

export interface JettonWalletState {
  balance: bigint;
  owner: Address;
  master: Address;
}

export function jettonMasterData({ totalSupply, admin, content }: JettonMasterState): Cell {
  return beginCell().storeCoins(totalSupply).storeAddress(admin).storeRef(content).storeRef(jettonWalletCode).endCell();
}

export function readJettonMaster(data: Cell): JettonMasterState {
  const slice = data.beginParse();
  return { totalSupply: slice.loadCoins(), admin: slice.loadAddress(), content: slice.loadRef() };
}

export function jettonWalletData({ balance, owner, master }: JettonWalletState): Cell {
  return beginCell().storeCoins(balance).storeAddress(owner).storeAddress(master).endCell();
}

export function readJettonWallet(data: Cell): JettonWalletState {
  const slice = data.beginParse();
  return { balance: slice.loadCoins(), owner: slice.loadAddress(), master: slice.loadAddress() };
}

/** Where a master with these first data is. */
export function jettonMasterAddress(admin: Address, content: Cell): Address {
  return contractAddress(0, { code: jettonMasterCode, data: jettonMasterData({ totalSupply: 0n, admin, content }) });
}

/** The same as the master's get_wallet_address. */
export function jettonWalletAddress(owner: Address, master: Address): Address {
  return contractAddress(0, { code: jettonWalletCode, data: jettonWalletData({ balance: 0n, owner, master }) });
}

export interface JettonTransfer {
  queryId: bigint;
  amount: bigint;
  destination: Address;
  /** Gets the coins that are left over. */
  responseDestination: Address | null;
  /** Nanotons that reach the receiver with the notification; 0 sends none. */
  forwardTonAmount: bigint;
  forwardPayload: Cell | null;
  /** For the wallet itself. Default: none. */
  customPayload?: Cell;
}

/** To be sent to the owner's jetton wallet by the owner. */
export function jettonTransfer(transfer: JettonTransfer): Cell {
  return beginCell()
    .storeUint(JETTON_OPS.transfer, 32)
    .storeUint(transfer.queryId, 64)
    .storeCoins(transfer.amount)
    .storeAddress(transfer.destination)
    .storeAddress(transfer.responseDestination)
    .storeMaybeRef(transfer.customPayload ?? null)
    .storeCoins(transfer.forwardTonAmount)
    .storeMaybeRef(transfer.forwardPayload)
    .endCell();
}

/** To be sent to the owner's jetton wallet by the owner. */
export function jettonBurn(burn: { queryId: bigint; amount: bigint; responseDestination: Address | null }): Cell {
  return beginCell()
    .storeUint(JETTON_OPS.burn, 32)
    .storeUint(burn.queryId, 64)
    .storeCoins(burn.amount)
    .storeAddress(burn.responseDestination)
    .storeMaybeRef(null)
    .endCell();
}

export interface JettonMint {
  queryId: bigint;
  to: Address;
  amount: bigint;
  /** Nanotons for the new owner's jetton wallet; the message to the master carries more than that. */
  tonAmount: bigint;
  forwardTonAmount: bigint;
  responseDestination: Address | null;
}

/** To be sent to the master by its admin. */
export function jettonMint(mint: JettonMint): Cell {
  const order = beginCell()
    .storeUint(JETTON_OPS.internalTransfer, 32)
    .storeUint(mint.queryId, 64)
    .storeCoins(mint.amount)
    .storeAddress(null)
    .storeAddress(mint.responseDestination)
    .storeCoins(mint.forwardTonAmount)
    .storeMaybeRef(null)
    .endCell();
  return beginCell()
    .storeUint(JETTON_OPS.mint, 32)
    .storeUint(mint.queryId, 64)
    .storeAddress(mint.to)
    .storeCoins(mint.tonAmount)
    .storeRef(order)
    .endCell();
}

/** To be sent to the master by anyone (TEP-89). */
export function provideWalletAddress(queryId: bigint, owner: Address, includeAddress: boolean): Cell {
  return beginCell()
    .storeUint(JETTON_OPS.provideWalletAddress, 32)
    .storeUint(queryId, 64)
    .storeAddress(owner)
    .storeBit(includeAddress)
    .endCell();
}
