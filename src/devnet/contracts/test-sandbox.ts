/** Runs contracts in @ton/sandbox, for tests. */
import type { Address, Cell, Message, Transaction } from '@ton/core';
import { Blockchain, createShardAccount } from '@ton/sandbox';

export interface TestAccount {
  address: Address;
  balance: bigint;
  code: Cell;
  data: Cell;
}

/** Unix seconds at which the tests' chains stand. */
export const TEST_TIME = 1_760_000_000;

/** A chain with these accounts deployed. */
export async function sandboxWith(accounts: readonly TestAccount[]): Promise<Blockchain> {
  const blockchain = await Blockchain.create();
  blockchain.now = TEST_TIME;
  for (const { address, balance, code, data } of accounts) {
    await blockchain.setShardAccount(address, createShardAccount({ address, code, data, balance }));
  }
  return blockchain;
}

/** Data of an active account. @throws {Error} for others */
export async function dataOf(blockchain: Blockchain, address: Address): Promise<Cell> {
  const { account } = await blockchain.getContract(address);
  const state = account.account?.storage.state;
  if (state?.type !== 'active' || !state.state.data) throw new Error(`${address.toString()} is not active`);
  return state.state.data;
}

/** First 32 bits of a message's body, null when there are fewer. */
export function opcodeOf(message: Message): number | null {
  const body = message.body.beginParse();
  return body.remainingBits >= 32 ? body.loadUint(32) : null;
}

/** How a transaction ended. */
export interface Outcome {
  opcode: number | null;
  to: Address | null;
  aborted: boolean;
  /** Null when the computation was skipped. */
  exitCode: number | null;
  /** Null when there was no action phase. */
  actionCode: number | null;
  gas: bigint;
}

export function outcomeOf(transaction: Transaction): Outcome {
  const { inMessage, description } = transaction;
  if (description.type !== 'generic' || !inMessage) throw new Error('not a transaction of a message');
  const { computePhase, actionPhase, aborted } = description;
  const to = inMessage.info.dest;
  return {
    opcode: opcodeOf(inMessage),
    to: inMessage.info.type === 'external-out' || !to ? null : inMessage.info.dest,
    aborted,
    exitCode: computePhase.type === 'vm' ? computePhase.exitCode : null,
    actionCode: actionPhase?.resultCode ?? null,
    gas: computePhase.type === 'vm' ? computePhase.gasUsed : 0n,
  };
}
