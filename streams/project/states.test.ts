import { beginCell } from '@ton/core';
import { describe, expect, it } from 'vitest';
import { bytes } from '../../clickhouse/literal.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { decodeState, encodeState } from '../../clickhouse/states.ts';
import {
  accountData,
  accounts as accountTable,
  balances,
  codes as codeTable,
  learnedAccounts,
} from '../../clickhouse/tables/accounts.ts';
import { addressOf } from '../../src/chain/address.ts';
import { canonicalBoc } from '../../src/chain/canonical.ts';
import { hashOfExtra } from '../../src/chain/currency.ts';
import type { AccountState } from '../../src/chain/model.ts';
import { extraAccount } from '../../test/extra-account.ts';
import type { CellKind, StoredCell } from '../cell-record.ts';
import type { BatchAccounts } from './accounts.ts';
import { createCodes } from './codes.ts';
import type { StoredAccount } from './packed.ts';
import { createBatchRows, type Insert } from './rows.ts';
import { createBatchStates } from './states.ts';
import { createStepRows, type GrowingRows } from './step-rows.ts';

const ACCOUNT = addressOf(0, Buffer.alloc(32, 1));
const MAX_BYTES = 100;

function cell(kind: CellKind, number: number, lt: string | null, bits = 64): StoredCell {
  const root = beginCell().storeUint(number, 64);
  for (let stored = 64; stored < bits; stored += 64) root.storeUint(number, 64);
  const account = kind === 'library' ? null : ACCOUNT;
  const boc = canonicalBoc(root.endCell().toBoc());
  const hash = root.endCell().hash();
  return {
    kind,
    hash,
    account,
    lt,
    transaction: null,
    mcSeqno: 1,
    after: 0,
    globalId: -3,
    receivedAtMs: 0,
    boc,
    offset: 7,
  };
}

const UNKNOWN = {
  status: 'active',
  balance: '1',
  extraCurrencies: {},
  frozenHash: null,
  codeHash: null,
  dataHash: null,
} as const;

/** States of a batch around an account whose newest transaction has lt 90. */
function open(storedData: StoredAccount['storedData'] = null, known = true, state: Partial<StoredAccount> = {}) {
  const stored = { lt: '90', hash: Buffer.alloc(32), state: encodeState(UNKNOWN), storedData, ...state };
  const held = new Map<string, StoredAccount>(known ? [[ACCOUNT.toString('hex'), stored]] : []);
  const put: Buffer[] = [];
  const accounts: BatchAccounts = {
    get: (account) => held.get(account.toString('hex')) ?? null,
    put: (account, value) => void held.set(account.toString('hex'), value),
    dataOf: async () => put.at(-1) ?? null,
    putData: (_, boc) => void put.push(boc),
  };
  const oversized: string[] = [];
  const metrics = {
    brokenTrace: () => undefined,
    missingCells: () => undefined,
    oversized: (kind: string) => void oversized.push(kind),
    learnedCells: () => undefined,
  };
  const steps: GrowingRows[] = [];
  const { signal } = new AbortController();
  const codes = createCodes(MAX_BYTES, metrics);
  const states = createBatchStates({ accounts, codes, maxDataBytes: MAX_BYTES, metrics, signal });
  const written = () => {
    const rows = createBatchRows();
    for (const step of steps) rows.add(step);
    return rows.inserts(() => undefined);
  };
  const learn = (one: StoredCell, mcSeqno: number) => {
    steps.push(createStepRows(mcSeqno));
    states.learn(one, steps[steps.length - 1]);
  };
  return { learn, accounts, written, put, oversized, steps, filled: states.filled };
}

/** Lt, step and data hash of the rows of `account_data`. */
async function dataRows(written: Promise<Insert[]>): Promise<[string, number, string][]> {
  const chunks = (await written).find(({ table }) => table === accountData)?.chunks ?? [];
  const reader = new RowReader(Buffer.concat(chunks));
  const found: [string, number, string][] = [];
  while (!reader.done) {
    reader.fixed(36);
    found.push([reader.u64(), reader.u32(), Buffer.from(reader.fixed(32)).toString('hex')]);
    reader.bytes();
  }
  return found;
}

const hex = ({ hash }: StoredCell): string => hash.toString('hex');

describe('data that a node was asked for', () => {
  it('is stored under its own lt at the step it counts from, and later states are completed from it', async () => {
    const { learn, accounts, written, put } = open();
    const data = cell('data', 1, '80');
    learn(data, 5);
    expect(accounts.get(ACCOUNT)).toMatchObject({ lt: '90', storedData: { lt: '80', hash: data.hash } });
    expect(put).toEqual([data.boc]);
    expect(await dataRows(written())).toEqual([['80', 5, hex(data)]]);
  });

  it('changes nothing a second time, nor when it is older than what is stored or the same', async () => {
    const { learn, written, put } = open();
    const newer = cell('data', 2, '80');
    learn(newer, 5);
    for (const again of [newer, cell('data', 1, '70'), cell('data', 3, '80'), { ...newer, lt: '85' }]) {
      learn(again, 6);
    }
    expect(put).toEqual([newer.boc]);
    expect(await dataRows(written())).toEqual([['80', 5, hex(newer)]]);
    // Lts are numbers, not text.
    const stored = open({ lt: '9', hash: Buffer.alloc(32) });
    stored.learn(newer, 5);
    expect(await dataRows(stored.written())).toEqual([['80', 5, hex(newer)]]);
    const later = open({ lt: '100', hash: Buffer.alloc(32) });
    later.learn(newer, 5);
    expect(await dataRows(later.written())).toEqual([]);
  });

  it('is left out when it is large, counted, or of an account that the tables do not know', async () => {
    const large = open();
    large.learn(cell('data', 1, '80', 960), 5);
    expect({ rows: await dataRows(large.written()), oversized: large.oversized }).toEqual({
      rows: [],
      oversized: ['data'],
    });
    const unknown = open(null, false);
    unknown.learn(cell('data', 1, '80'), 5);
    expect(await dataRows(unknown.written())).toEqual([]);
    expect(() => open().learn({ ...cell('data', 1, '80'), account: null }, 5)).toThrow(
      'cell record 7 has data of no account',
    );
  });
});

describe('code and libraries that a node was asked for', () => {
  it('are stored once under their hash, and left out when large', async () => {
    const { learn, written, oversized } = open();
    const code = cell('code', 1, '80');
    const library = cell('library', 2, null);
    for (const one of [code, library, code, cell('library', 1, null), cell('code', 3, '80', 960)]) learn(one, 5);
    expect(oversized).toEqual(['code']);
    const [insert] = (await written()).filter(({ table }) => table === codeTable);
    expect(insert.keys).toEqual([code.hash, library.hash].map(bytes));
    expect(insert.rows).toBe(2);
  });
});

describe('extra currencies that a node was asked for', () => {
  const EXTRA = { 7: '1', 100: '12345' };
  const whole = extraAccount(ACCOUNT, '90', EXTRA);
  const record: StoredCell = { ...cell('data', 1, '90'), kind: 'account', transaction: Buffer.alloc(32, 9), ...whole };
  const shown = { ...UNKNOWN, status: 'uninit', balance: '5' } as const;
  const rowsOf = ({ steps }: ReturnType<typeof open>) =>
    [accountTable, learnedAccounts].map((table) =>
      steps.flatMap((rows) =>
        [...rows.of(table)].map(({ account, lt, mcSeqno, hash, state, lastTransactionHash }) => {
          expect([account, hash, lastTransactionHash]).toEqual([ACCOUNT, whole.hash, Buffer.alloc(32, 9)]);
          return [lt, mcSeqno, decodeState(state).extraCurrencies];
        }),
      ),
    );

  it('are those of the state from the step on that they count from, once, and nothing else of it changes', () => {
    const opened = open(null, true, { hash: whole.hash, state: encodeState(shown) });
    for (const step of [5, 6]) opened.learn(record, step);
    expect(rowsOf(opened)).toEqual([[['90', 5, EXTRA]], [['90', 5, EXTRA]]]);
    expect(opened.steps.flatMap((rows) => [...rows.of(balances)])).toEqual([]);
    const { state, ...stored } = opened.accounts.get(ACCOUNT) ?? {};
    expect(stored).toEqual({ lt: '90', hash: whole.hash, storedData: null });
    expect(state && decodeState(state)).toEqual({ ...shown, extraCurrencies: EXTRA, learnedExtra: EXTRA });
  });

  it('are those of later states whose blocks name the same dictionary', () => {
    const opened = open(null, true, { hash: whole.hash, state: encodeState(shown) });
    const later = (extra: Record<string, string>): AccountState => ({
      ...shown,
      account: ACCOUNT,
      hash: Buffer.alloc(32, 4),
      extraPruned: hashOfExtra(extra),
      codeCell: null,
      dataCell: null,
      codeComplete: false,
      dataComplete: false,
      lastTransactionHash: Buffer.alloc(32, 5),
      lastTransactionLt: '95',
    });
    // What blocks have shown alone is not carried forward.
    const state = later(EXTRA);
    expect(opened.filled(state)).toBe(state);
    opened.learn(record, 5);
    expect(opened.filled(state)).toEqual({ ...state, extraCurrencies: EXTRA, learnedExtra: EXTRA });
    const other = later({ 7: '2', 100: '12345' });
    expect(opened.filled(other)).toBe(other);
    const complete = { ...state, extraPruned: null };
    expect(opened.filled(complete)).toBe(complete);
  });

  it('of a state that is not the newest any more, or of an account that no block has shown, change nothing', () => {
    const later = open(null, true, { lt: '91', hash: Buffer.alloc(32, 3), state: encodeState(shown) });
    const other = open(null, true, { hash: Buffer.alloc(32, 3), state: encodeState(shown) });
    for (const opened of [later, other, open(null, false)]) {
      opened.learn(record, 5);
      expect(rowsOf(opened)).toEqual([[], []]);
    }
  });
});
