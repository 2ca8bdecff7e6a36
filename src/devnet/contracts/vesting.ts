/** The devnet's vesting wallet: what it is made with, and messages. */
import {
  type Address,
  beginCell,
  type Cell,
  contractAddress,
  type MessageRelaxed,
  storeMessageRelaxed,
} from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const VESTING_OPS = { send: 0xa7733acd, addWhitelist: 0x7258a69b } as const;

export const vestingCode: Cell = codeCell(CODES.vesting);

export interface Vesting {
  publicKey: Buffer;
  /** Unix seconds, and seconds. */
  startTime: number;
  totalDuration: number;
  unlockPeriod: number;
  cliffDuration: number;
  /** Nanotons. */
  totalAmount: bigint;
  /** Gave the coins, and lists addresses. */
  sender: Address;
  /** Spends them. */
  owner: Address;
}

export function vestingData(vesting: Vesting): Cell {
  const parameters = beginCell()
    .storeUint(vesting.startTime, 64)
    .storeUint(vesting.totalDuration, 32)
    .storeUint(vesting.unlockPeriod, 32)
    .storeUint(vesting.cliffDuration, 32)
    .storeCoins(vesting.totalAmount)
    .storeAddress(vesting.sender)
    .storeAddress(vesting.owner);
  // Seqno and subwallet id.
  return beginCell()
    .storeUint(0, 32)
    .storeUint(0, 32)
    .storeBuffer(vesting.publicKey)
    .storeBit(false)
    .storeRef(parameters)
    .endCell();
}

export function vestingAddress(vesting: Vesting): Address {
  return contractAddress(0, { code: vestingCode, data: vestingData(vesting) });
}

/** To be sent by the owner: a message for the vesting wallet to send on, with fees apart and errors ignored. */
export function vestingSend(queryId: bigint, message: MessageRelaxed): Cell {
  return beginCell()
    .storeUint(VESTING_OPS.send, 32)
    .storeUint(queryId, 64)
    .storeUint(3, 8)
    .storeRef(beginCell().store(storeMessageRelaxed(message)))
    .endCell();
}

/** To be sent by the sender: addresses to which coins may go before they are free. At least one. */
export function addWhitelist(queryId: bigint, [first, ...others]: readonly [Address, ...Address[]]): Cell {
  const rest = others.reduceRight<Cell | null>((next, address) => {
    const cell = beginCell().storeAddress(address);
    return (next === null ? cell : cell.storeRef(next)).endCell();
  }, null);
  const body = beginCell().storeUint(VESTING_OPS.addWhitelist, 32).storeUint(queryId, 64).storeAddress(first);
  return (rest === null ? body : body.storeRef(rest)).endCell();
}
