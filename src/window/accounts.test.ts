import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BoundedSource } from '../../clickhouse/queries/source.ts';
import { encodeState } from '../../clickhouse/states.ts';
import { type AccountRow, accounts as accountTable } from '../../clickhouse/tables/accounts.ts';
import { createStepRows } from '../../streams/project/step-rows.ts';
import { emptyTables } from '../../test/empty-tables.ts';
import type { Address } from '../chain/model.ts';
import type { AccountRecord } from '../chain/records.ts';
import { createWindowSource } from './source.ts';
import { openWindow, type Window } from './window.ts';

const CONTEXT = { signal: new AbortController().signal, timeoutMs: 1_000 };
const hash = (byte: number): Buffer => Buffer.alloc(32, byte);
const account = (byte: number): Address => Buffer.concat([Buffer.from('80000000', 'hex'), hash(byte)]);

let home: string;
let window: Window;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-accounts-'));
  window = openWindow({ folder: join(home, 'window'), maxBytes: 1024 ** 2 });
});
afterEach(async () => {
  await window.close();
  rmSync(home, { recursive: true, force: true });
});

/** An account whose code and data no step of the window has shown. */
function changed(byte: number, codeHash: Buffer, dataHash: Buffer): AccountRow {
  const known = { status: 'active', balance: '5', extraCurrencies: {}, frozenHash: null, codeHash, dataHash } as const;
  const { status, balance } = known;
  const row = { account: account(byte), lt: '9', mcSeqno: 5, hash: hash(byte), lastTransactionHash: hash(byte) };
  return { ...row, status, balance, codeHash, state: encodeState(known) };
}

/** As the tables tell an account. */
const RECORD: Omit<AccountRecord, 'account'> = {
  status: 'active',
  balance: '5',
  extraCurrencies: {},
  frozenHash: null,
  codeHash: hash(0xc0),
  dataHash: null,
  hash: hash(1),
  lastTransactionHash: hash(1),
  lastTransactionLt: '9',
  codeBoc: null,
  dataBoc: null,
  methods: null,
};

async function apply(accounts: AccountRow[], mcSeqno = 5): Promise<void> {
  const rows = createStepRows(mcSeqno);
  for (const row of accounts) rows.add(accountTable, row);
  const step = { mcSeqno, previous: mcSeqno - 1, globalId: -217, rootHash: hash(mcSeqno), rows };
  await window.apply([{ step, nextOffset: 1 }], async () => ({ lt: 1n, utime: 1 }));
}

function sourceWith(tables: Partial<BoundedSource>) {
  const empty = emptyTables();
  return createWindowSource(window, { ...empty, ...tables, below: () => ({ ...empty, ...tables }) });
}

const textOf = (bytes: Buffer): string => bytes.toString('latin1');

describe('accounts of the window', () => {
  it('have the data that the tables know, whatever they do not know of others', async () => {
    const [code, data] = [hash(0xc0), hash(0xda)];
    // The same data in both, and in the third what is the code of all.
    await apply([changed(1, code, data), changed(2, code, data), changed(3, code, code)]);
    const boc = Buffer.from('boc');
    const source = sourceWith({
      cells: async (accounts, codes) => ({
        codeOf: new Map(codes.map((asked) => [textOf(asked), boc])),
        dataOf: new Map(
          accounts.flatMap((asked) =>
            asked.equals(account(2)) ? [[textOf(asked), { lt: '9', hash: data, boc }]] : [],
          ),
        ),
      }),
      methodsOf: async (codes) => new Map(codes.map((asked) => [textOf(asked), [7]])),
    });
    const states = (byte: number) => source.accountStates([account(byte)], [], 'all', CONTEXT);
    expect(await states(1)).toMatchObject([{ codeBoc: boc, dataBoc: null, methods: [7] }]);
    expect(await states(3)).toMatchObject([{ codeBoc: boc, dataBoc: null, methods: [7] }]);
    expect(await states(2)).toMatchObject([{ codeBoc: boc, dataBoc: boc, methods: [7] }]);
  });

  it('are read with the data of wallets alone where no more is wanted', async () => {
    const wallet = Buffer.from('IINLe3KxEhR+Gy+0V7hOdNGjDwT3N9T2KmaOlVLSty8=', 'base64');
    const data = hash(0xda);
    await apply([changed(1, wallet, data), changed(2, hash(0xc0), data)]);
    const asked: { accounts: Address[]; codes: Buffer[] }[] = [];
    const source = sourceWith({
      cells: async (accounts, codes) => {
        asked.push({ accounts: [...accounts], codes: [...codes] });
        const dataOf = new Map(accounts.map((one) => [textOf(one), { lt: '9', hash: data, boc: Buffer.from('boc') }]));
        return { codeOf: new Map(), dataOf };
      },
    });
    expect(await source.accountStates([account(1), account(2)], [], 'wallets', CONTEXT)).toMatchObject([
      { codeBoc: null, dataBoc: Buffer.from('boc') },
      { codeBoc: null, dataBoc: null },
    ]);
    expect(asked).toEqual([{ accounts: [account(1)], codes: [] }]);
  });

  it('are told as the tables have them when these know only what a later step has left', async () => {
    const [code, data, later] = [hash(0xc0), hash(0xda), hash(0xdb)];
    await apply([changed(1, code, data), changed(2, code, data), changed(3, code, data)]);
    const boc = Buffer.from('boc');
    const asked: Address[][] = [];
    const source = sourceWith({
      cells: async (accounts) => ({
        codeOf: new Map(),
        dataOf: new Map(
          accounts.map((one) => {
            const isChanged = one.equals(account(2));
            return [textOf(one), isChanged ? { lt: '10', hash: later, boc } : { lt: '9', hash: data, boc }];
          }),
        ),
      }),
      async accountStates(accounts) {
        asked.push([...accounts]);
        return accounts.map((one) => ({
          ...RECORD,
          account: one,
          dataHash: later,
          dataBoc: boc,
          lastTransactionLt: '10',
        }));
      },
    });
    const wanted = [account(3), account(2), account(1)];
    expect(await source.accountStates(wanted, [], 'all', CONTEXT)).toMatchObject([
      { account: account(3), lastTransactionLt: '9', dataHash: data, dataBoc: boc },
      { account: account(2), lastTransactionLt: '10', dataHash: later, dataBoc: boc },
      { account: account(1), lastTransactionLt: '9', dataHash: data, dataBoc: boc },
    ]);
    // Not taken for data that nobody has.
    expect(await source.accountStates([account(2)], [], 'all', CONTEXT)).toMatchObject([{ dataBoc: boc }]);
    expect(asked).toEqual([[account(2)], [account(2)]]);
  });

  it('are told anew, with their codes, as soon as a step changes them, however often they were asked for', async () => {
    const source = sourceWith({
      methodsOf: async (codes) => new Map(codes.map((asked) => [textOf(asked), [asked[0]]])),
    });
    const wanted = [account(1), account(2)];
    const codes = [0xc1, 0xc2];
    for (let step = 5; step < 30; step++) {
      const at = step % 2;
      codes[at] = step;
      await apply([{ ...changed(at + 1, hash(step), hash(0xda)), lt: String(step), mcSeqno: step }], step);
      if (step === 5) continue;
      for (let i = 0; i < (step % 5) + 1; i++) {
        const methods = codes.map((code) => ({ codeHash: hash(code), methods: [code] }));
        expect(await source.accountStates(wanted, [], 'none', CONTEXT)).toMatchObject(methods);
        expect(await source.book(wanted, CONTEXT)).toMatchObject(methods);
      }
    }
    // Nothing has changed since: they are kept.
    const [first] = await source.book(wanted, CONTEXT);
    expect((await source.book(wanted, CONTEXT))[0]).toBe(first);
  });

  it('are not asked for again at once when the tables do not know their code and data', async () => {
    await apply([changed(1, hash(0xc0), hash(0xda))]);
    const asked: number[] = [];
    const source = sourceWith({
      cells: async (accounts, codes) => {
        asked.push(accounts.length + codes.length);
        return { codeOf: new Map(), dataOf: new Map() };
      },
    });
    for (let i = 0; i < 3; i++) await source.accountStates([account(1)], [], 'all', CONTEXT);
    expect(asked).toEqual([2]);
  });

  it('that are below it are kept as the tables tell them, until a step changes them', async () => {
    await apply([changed(2, hash(0xc0), hash(0xda))]);
    const asked: Address[][] = [];
    const source = sourceWith({
      async accountStates(accounts) {
        asked.push([...accounts]);
        return accounts.map((one) => ({ ...RECORD, account: one, balance: '7', methods: [7] }));
      },
      methodsOf: async (codes) => new Map(codes.map((code) => [textOf(code), [8]])),
    });
    const states = () => source.accountStates([account(1)], [], 'none', CONTEXT);
    for (let i = 0; i < 4; i++) expect(await states()).toMatchObject([{ balance: '7', methods: [7] }]);
    // What is asked for once is not kept.
    expect(asked).toHaveLength(2);
    // Those of another choice of cells are others.
    expect(await source.accountStates([account(1)], [], 'all', CONTEXT)).toMatchObject([{ balance: '7' }]);
    expect(asked).toHaveLength(3);
    await apply([{ ...changed(2, hash(0xc1), hash(0xda)), lt: '10', mcSeqno: 6 }], 6);
    expect(await states()).toMatchObject([{ balance: '7', methods: [7] }]);
    expect(asked).toHaveLength(3);
    await apply([{ ...changed(1, hash(0xc1), hash(0xda)), lt: '11', mcSeqno: 7 }], 7);
    for (let i = 0; i < 3; i++) expect(await states()).toMatchObject([{ balance: '5', methods: [8] }]);
    expect(asked).toHaveLength(3);
  });

  it('that are below it are told anew where code or data are not known yet', async () => {
    await apply([changed(2, hash(0xc0), hash(0xda))]);
    const [codeBoc, dataBoc] = [Buffer.from('code'), Buffer.from('data')];
    const learned: Partial<AccountRecord> = {};
    const source = sourceWith({
      accountStates: async (accounts) =>
        accounts.map((one) => ({ ...RECORD, account: one, methods: [7], dataHash: hash(0xda), ...learned })),
    });
    const state = async () => (await source.accountStates([account(1)], [], 'all', CONTEXT))[0];
    for (let i = 0; i < 3; i++) await state();
    Object.assign(learned, { codeBoc, dataBoc });
    expect(await state()).toMatchObject({ codeBoc: null, dataBoc: null });
    await expect.poll(state).toMatchObject({ codeBoc, dataBoc });
  });
});
