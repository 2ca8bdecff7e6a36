/** A ledger over @ton/sandbox, for tests: every message is executed to its end when it is submitted. */
import type { Address, Cell, Transaction } from '@ton/core';
import { type Blockchain, EmulationError } from '@ton/sandbox';
import { sandboxWith, TEST_TIME } from '../contracts/test-sandbox.ts';
import type { InitialAccount } from './initial-accounts.ts';
import type { Ledger, LedgerAccount, Moment } from './ledger.ts';

export interface TestLedger extends Ledger {
  blockchain: Blockchain;
  transactions: Transaction[];
  submitted: Cell[];
  externalsOut: number;
  /** The moment after the next block. */
  tick(ms?: number): Moment;
  readonly now: Moment;
}

export async function sandboxLedger(accounts: readonly InitialAccount[]): Promise<TestLedger> {
  const blockchain = await sandboxWith(accounts);
  const now: Moment = { seqno: 1, nowMs: TEST_TIME * 1000 };

  async function account(address: Address): Promise<LedgerAccount | null> {
    const contract = await blockchain.getContract(address);
    const state = contract.account.account?.storage.state;
    if (state === undefined) return null;
    const data = state.type === 'active' ? (state.state.data ?? null) : null;
    return { status: state.type, balance: contract.balance, data };
  }

  const ledger: TestLedger = {
    blockchain,
    transactions: [],
    submitted: [],
    externalsOut: 0,
    now,
    account,
    async submit(message) {
      try {
        const result = await blockchain.sendMessage(message);
        ledger.submitted.push(message);
        ledger.transactions.push(...result.transactions);
        ledger.externalsOut += result.externals.length;
        return { accepted: true };
      } catch (error) {
        if (!(error instanceof EmulationError)) throw error;
        return { accepted: false, reason: error.message };
      }
    },
    tick(ms = 1000) {
      now.seqno++;
      now.nowMs += ms;
      blockchain.now = Math.floor(now.nowMs / 1000);
      return { ...now };
    },
  };
  return ledger;
}
