import { decodeState } from '../../clickhouse/states.ts';
import {
  accountCodes,
  accountData,
  accountRow,
  accounts as accountRows,
  balances,
  learnedAccounts,
} from '../../clickhouse/tables/accounts.ts';
import { hashOfExtra } from '../../src/chain/currency.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import type { AccountState, Address, Decimal, Hash } from '../../src/chain/model.ts';
import type { StoredCell } from '../cell-record.ts';
import { findData } from './account-data.ts';
import type { BatchAccounts } from './accounts.ts';
import type { createCodes } from './codes.ts';
import type { AssemblyMetrics } from './counters.ts';
import type { DecodedBlock } from './decode.ts';
import { readLearned } from './learned.ts';
import type { GrowingRows } from './step-rows.ts';

export interface BatchStatesOptions {
  accounts: BatchAccounts;
  codes: ReturnType<typeof createCodes>;
  maxDataBytes: number;
  metrics: AssemblyMetrics;
  signal: AbortSignal;
}

/** Account states of one batch, with balances, codes and data as they change. */
export function createBatchStates({ accounts, codes, maxDataBytes, metrics, signal }: BatchStatesOptions) {
  const limits = { maxBytes: maxDataBytes, metrics, signal };

  /** Data that is newer than what is stored becomes what later states are completed from. */
  function learnData({ account, lt, hash, boc }: LearnedData, rows: GrowingRows): void {
    const known = accounts.get(account);
    // Only in steps that could not be decoded: the tables know nothing of such an account.
    if (known === null) return;
    const { storedData } = known;
    if (storedData && (storedData.hash.equals(hash) || compareDecimal(storedData.lt, lt) >= 0)) return;
    if (boc.length > maxDataBytes) {
      metrics.oversized('data');
      return;
    }
    rows.add(accountData, { account, lt, mcSeqno: rows.mcSeqno, dataHash: hash, boc });
    accounts.putData(account, boc);
    accounts.put(account, { ...known, storedData: { hash, lt } });
  }

  /**
   * The state of an account that no block has shown; of one that a block has, its extra currencies, where that is still
   * its state and shows none, the code and the data.
   */
  function learnAccount(cell: StoredCell, rows: GrowingRows): void {
    const { mcSeqno } = rows;
    const learned = readLearned(cell);
    if (learned === null) return;
    const { state, code, data } = learned;
    const { account, lastTransactionLt: lt } = state;
    const known = accounts.get(account);
    const hasExtra = Object.keys(state.extraCurrencies).length > 0;
    const row = accountRow(hasExtra ? { ...state, learnedExtra: state.extraCurrencies } : state, mcSeqno);
    const isMore = known?.lt === lt && known.hash.equals(row.hash) && hasExtra && showsNoExtra(known.state);
    // Without code it is nothing that others wait for.
    if (isMore || (known === null && code !== null)) {
      rows.add(accountRows, row);
      const { hash, state: packed, lastTransactionHash } = row;
      rows.add(learnedAccounts, { account, lt, mcSeqno, hash, state: packed, lastTransactionHash });
      accounts.put(account, { lt, hash, state: packed, storedData: known?.storedData ?? null });
    }
    if (known === null && code !== null) {
      rows.add(accountCodes, { account, lt, mcSeqno, codeHash: code.hash });
      writeBalance(rows, null, state);
    }
    if (code !== null) codes.learn(rows, code.hash, code.boc);
    if (data !== null) learnData({ account, lt, ...data }, rows);
  }

  return {
    /**
     * A state with the extra currencies that its block does not show, where a node was asked for them before. What is
     * shown in an earlier state is not carried forward: the recorded answers of the reference show none then.
     */
    filled(state: AccountState): AccountState {
      if (state.extraPruned === null) return state;
      const known = accounts.get(state.account);
      const learnedExtra = known && decodeState(known.state).learnedExtra;
      if (!learnedExtra || !hashOfExtra(learnedExtra)?.equals(state.extraPruned)) return state;
      return { ...state, extraCurrencies: learnedExtra, learnedExtra };
    },
    /** What a node was asked for, as it counts from this step on. */
    learn(cell: StoredCell, rows: GrowingRows): void {
      metrics.learnedCells();
      const { kind, account, lt, hash, boc, offset } = cell;
      if (kind === 'account') learnAccount(cell, rows);
      else if (kind !== 'data') codes.learn(rows, hash, boc);
      else if (account !== null && lt !== null) learnData({ account, lt, hash, boc }, rows);
      else throw new Error(`cell record ${offset} has data of no account`);
    },
    async write(state: AccountState, block: DecodedBlock, rows: GrowingRows): Promise<void> {
      const { mcSeqno } = rows;
      if (state.extraPruned !== null && state.learnedExtra === undefined) metrics.missingCells('extra');
      const previous = accounts.get(state.account);
      // Loose imports may bring an older state after a newer one: the newest by lt stays, whatever the order.
      if (previous && compareDecimal(previous.lt, state.lastTransactionLt) >= 0) return;
      const known = previous && decodeState(previous.state);
      writeBalance(rows, previous && { lt: previous.lt, balance: known?.balance ?? '0' }, state);
      codes.write(rows, known?.codeHash ?? null, state, block);
      const data = await findData(accounts, previous, state, block.boc, limits);
      if (data) {
        const { account, lastTransactionLt: lt } = state;
        rows.add(accountData, { account, lt, mcSeqno, dataHash: data.hash, boc: data.boc });
        accounts.putData(state.account, data.boc);
      }
      const row = accountRow(state, mcSeqno);
      rows.add(accountRows, row);
      accounts.put(state.account, {
        lt: state.lastTransactionLt,
        hash: Buffer.from(state.hash),
        state: row.state,
        storedData: data ? { hash: data.hash, lt: state.lastTransactionLt } : (previous?.storedData ?? null),
      });
    },
  };
}

function showsNoExtra(packed: Buffer): boolean {
  return Object.keys(decodeState(packed).extraCurrencies).length === 0;
}

interface LearnedData {
  account: Address;
  lt: Decimal;
  hash: Hash;
  boc: Buffer;
}

/** Takes back the row of the former state and writes the new one. */
function writeBalance(rows: GrowingRows, previous: { balance: string; lt: string } | null, state: AccountState): void {
  const { account } = state;
  const { mcSeqno } = rows;
  if (previous) rows.add(balances, { ...previous, account, mcSeqno, sign: -1 });
  rows.add(balances, { balance: state.balance, account, lt: state.lastTransactionLt, mcSeqno, sign: 1 });
}
