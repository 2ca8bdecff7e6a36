import type { Address, Cell } from '@ton/core';
import type { SubmitHow } from '../model.ts';

/** An account as its newest block left it. */
export interface LedgerAccount {
  status: 'active' | 'uninit' | 'frozen';
  /** Nanotons. */
  balance: bigint;
  /** Null unless active. */
  data: Cell | null;
}

export type Submitted = { accepted: true } | { accepted: false; reason: string };

/** What the actors need of a chain. */
export interface Ledger {
  /** Null for an account that is not there. */
  account(address: Address): LedgerAccount | null | Promise<LedgerAccount | null>;
  /** Takes an external message in, or says why not. */
  submit(message: Cell, how?: SubmitHow): Submitted | Promise<Submitted>;
}

/** The chain's time, which is all the time the actors know. */
export interface Moment {
  /** Seqno of the newest masterchain block. */
  seqno: number;
  /** Unix milliseconds of that block. */
  nowMs: number;
}
