import { describe, expect, it } from 'vitest';
import type { KnownState, QueryContext } from '../../src/chain/records.ts';
import { createQueryGate } from '../gate.ts';
import { RowReader, RowWriter } from '../rowbinary.ts';
import { encodeState } from '../states.ts';
import { accounts as accountTable } from '../tables/accounts.ts';
import { arrayOf, hashOrNone, u32 } from '../tables/columns.ts';
import { accountQueries } from './accounts.ts';
import { createHead, type Head, HeadBehind } from './head.ts';
import { createReading, type NewestReading, type Reading } from './reading.ts';
import { openContracts } from './test-contracts.ts';

const methodIds = arrayOf(u32);
const ACCOUNT = Buffer.alloc(36, 7);
const BALANCE = '1000000000';
const STATE: KnownState = {
  status: 'uninit',
  balance: BALANCE,
  extraCurrencies: {},
  codeHash: null,
  dataHash: null,
  frozenHash: null,
};
const TIMEOUT_MS = 60_000;

/** Rows as the tables give them once the step's are in. */
const ROWS: Record<string, (row: RowWriter, step: number) => void> = {
  'account states': (row, step) => {
    row.fixed(ACCOUNT);
    row.u64('1000');
    row.u32(step);
    row.fixed(Buffer.alloc(32, 1));
    row.fixed(Buffer.alloc(32, 2));
    row.string(encodeState(STATE));
  },
  'top balances': (row, step) => {
    row.u128(BALANCE);
    row.fixed(ACCOUNT);
    row.u64('1');
    row.i64('0');
    row.u32(step);
  },
};

function rowsOf(step: () => number): Reading['rows'] {
  return async (_sql, label) => {
    const row = new RowWriter();
    ROWS[label](row, step());
    return new RowReader(Buffer.concat(row.take()));
  };
}

function contextOf(timeoutMs = TIMEOUT_MS, signal = new AbortController().signal): QueryContext {
  return { signal, timeoutMs };
}

type Accounts = ReturnType<typeof accountQueries>;
const ASKED: [string, (accounts: Accounts, context: QueryContext) => Promise<{ balance: string }[]>][] = [
  ['accountStates', (accounts, context) => accounts.accountStates([ACCOUNT], [], 'none', context)],
  ['topBalances', (accounts, context) => accounts.topBalances({ offset: 0, limit: 10 }, context)],
];

describe.each(ASKED)('%s beside a step that is being written', (_, ask) => {
  it('waits for it as long as the request may take, in all', async () => {
    const waits: number[] = [];
    const written = { head: 1, table: 2 };
    const head: NewestReading['head'] = {
      // Not told yet.
      seqno: 1,
      tables: '',
      get inTables() {
        return written.head;
      },
      // The next step begins as soon as one is there, two times.
      async reach(seqno, timeoutMs) {
        waits.push(timeoutMs);
        written.head = seqno;
        if (waits.length < 3) written.table++;
      },
    };
    const accounts = accountQueries({ head, rows: rowsOf(() => written.table) });
    expect(await ask(accounts, contextOf())).toMatchObject([{ balance: BALANCE }]);
    expect(waits).toHaveLength(3);
    expect(waits[0]).toBeGreaterThan(TIMEOUT_MS / 2);
    expect(waits[0]).toBeLessThanOrEqual(TIMEOUT_MS);
    expect(waits).toEqual(waits.toSorted((a, b) => b - a));
  });

  it('gives up when it does not come, naming the step', async () => {
    const accounts = accountQueries({ head: standingAt(1), rows: rowsOf(() => 2) });
    const failure = ask(accounts, contextOf(30));
    await expect(failure).rejects.toThrow(HeadBehind);
    await expect(failure).rejects.toThrow('step 2 is being written');
  });

  it('stops waiting when the caller has left', async () => {
    const caller = new AbortController();
    const accounts = accountQueries({ head: standingAt(1), rows: rowsOf(() => 2) });
    const failure = ask(accounts, contextOf(TIMEOUT_MS, caller.signal));
    caller.abort();
    await expect(failure).rejects.toThrow('abort');
  });
});

it('of two rows of one state the one of the later step is told, in whatever order they come', async () => {
  for (const order of [
    [1, 2],
    [2, 1],
  ]) {
    const rows: Reading['rows'] = async () => {
      const row = new RowWriter();
      for (const step of order) {
        row.fixed(ACCOUNT);
        row.u64('1000');
        row.u32(step);
        row.fixed(Buffer.alloc(32, 1));
        row.fixed(Buffer.alloc(32, 2));
        row.string(encodeState({ ...STATE, extraCurrencies: step === 2 ? { 100: '5' } : {} }));
      }
      return new RowReader(Buffer.concat(row.take()));
    };
    const accounts = accountQueries({ head: standingAt(2), rows });
    expect(await accounts.accountStates([ACCOUNT], [], 'none', contextOf())).toMatchObject([
      { extraCurrencies: { 100: '5' } },
    ]);
  }
});

it('by its code only the state that an account has is found, though the one before still stands beside it', async () => {
  const { clickhouse, head, insert, close } = await openContracts();
  try {
    const [old, upgraded] = [Buffer.alloc(32, 3), Buffer.alloc(32, 4)];
    await clickhouse.command('SYSTEM STOP MERGES accounts');
    for (const [lt, codeHash] of [
      ['10', old],
      ['20', upgraded],
    ] as const) {
      const known: KnownState = { ...STATE, status: 'active', codeHash };
      const last = { hash: Buffer.alloc(32, 1), lastTransactionHash: Buffer.alloc(32, 2) };
      await insert(accountTable, [{ account: ACCOUNT, lt, mcSeqno: 1, ...last, ...known, state: encodeState(known) }]);
    }
    const gate = createQueryGate({ maxConcurrent: 1, maxQueued: 1 });
    const states = accountQueries(createReading(clickhouse, gate, head));
    expect(await states.accountStates([ACCOUNT], [old], 'none', contextOf())).toEqual([]);
    expect(await states.accountStates([ACCOUNT], [upgraded, old], 'none', contextOf())).toMatchObject([
      { lastTransactionLt: '20' },
    ]);
  } finally {
    await close();
  }
});

describe('data that changes between two statements', () => {
  const [before, after] = [Buffer.alloc(32, 5), Buffer.alloc(32, 6)];
  /** States as `states` gives them one after another, and the data of the last. */
  const changing = (
    states: { lt: string; dataHash: Buffer }[] | ((read: number) => { lt: string; dataHash: Buffer }),
    data: { lt: string; dataHash: Buffer },
  ) => {
    let read = 0;
    const stateAt = (n: number) => (typeof states === 'function' ? states(n) : states[Math.min(n, states.length - 1)]);
    const answers: Record<string, (row: RowWriter) => void> = {
      'account states': (row) => {
        const { lt, dataHash } = stateAt(read++);
        row.fixed(ACCOUNT);
        row.u64(lt);
        row.u32(1);
        row.fixed(Buffer.alloc(32, 1));
        row.fixed(Buffer.alloc(32, 2));
        row.string(encodeState({ ...STATE, status: 'active', dataHash }));
      },
      'account data': (row) => {
        row.fixed(ACCOUNT);
        row.u64(data.lt);
        row.fixed(data.dataHash);
        row.string(Buffer.from('boc'));
      },
    };
    const rows: Reading['rows'] = async (_sql, label) => {
      const row = new RowWriter();
      answers[label](row);
      return new RowReader(Buffer.concat(row.take()));
    };
    return accountQueries({ head: standingAt(1), rows });
  };

  it('is answered with the state that it belongs to', async () => {
    const accounts = changing(
      [
        { lt: '9', dataHash: before },
        { lt: '10', dataHash: after },
      ],
      { lt: '10', dataHash: after },
    );
    expect(await accounts.accountStates([ACCOUNT], [], 'all', contextOf())).toMatchObject([
      { lastTransactionLt: '10', dataHash: after, dataBoc: Buffer.from('boc') },
    ]);
  });

  it('is no answer when it never agrees, and says of which account', async () => {
    const accounts = changing((read) => ({ lt: `${9 + read}`, dataHash: before }), { lt: '1000000', dataHash: after });
    const failure = accounts.accountStates([ACCOUNT], [], 'all', contextOf(30));
    await expect(failure).rejects.toThrow(HeadBehind);
    await expect(failure).rejects.toThrow(/^account -?\d+:[0-9A-F]{64} changes faster/i);
  });

  it('is null where no later state comes: the log has not shown it', async () => {
    const accounts = changing([{ lt: '9', dataHash: before }], { lt: '10', dataHash: after });
    expect(await accounts.accountStates([ACCOUNT], [], 'all', contextOf())).toMatchObject([
      { lastTransactionLt: '9', dataBoc: null },
    ]);
  });

  it('is null where the tables never had it: what they have is older', async () => {
    const accounts = changing([{ lt: '9', dataHash: after }], { lt: '8', dataHash: before });
    expect(await accounts.accountStates([ACCOUNT], [], 'all', contextOf())).toMatchObject([
      { lastTransactionLt: '9', dataBoc: null },
    ]);
  });
});

it('keeps one code hash for all accounts that have it, in no more memory than its bytes', async () => {
  const [code, other] = [Buffer.alloc(32, 3), Buffer.alloc(32, 4)];
  const accounts = [1, 2, 3].map((n) => Buffer.alloc(36, n));
  const answers: Record<string, (row: RowWriter) => void> = {
    'codes of accounts': (row) => {
      [code, code, other].forEach((hash, i) => {
        row.fixed(accounts[i]);
        row.fixed(hash);
      });
    },
    'methods of codes': () => undefined,
  };
  const rows: Reading['rows'] = async (_sql, label) => {
    const row = new RowWriter();
    answers[label](row);
    return new RowReader(Buffer.concat(row.take()));
  };
  const records = await accountQueries({ head: standingAt(1), rows }).book(accounts, contextOf());
  const found = records.map(({ codeHash }) => codeHash);
  expect(found).toEqual([code, code, other]);
  expect(found[0]).toBe(found[1]);
  expect(found.map((hash) => hash?.buffer.byteLength)).toEqual([32, 32, 32]);
});

it('asks once a head for a code that the tables do not have, and takes what a later one brings', async () => {
  const [account, code] = [Buffer.alloc(36, 1), Buffer.alloc(32, 3)];
  const head = standingAt(1);
  let asked = 0;
  const rows: Reading['rows'] = async (_sql, label) => {
    const row = new RowWriter();
    if (label === 'codes of accounts') {
      row.fixed(account);
      row.fixed(code);
    }
    if (label === 'methods of codes' && ++asked > 1) {
      row.fixed(code);
      methodIds.write(row, [85_143]);
    }
    return new RowReader(Buffer.concat(row.take()));
  };
  const { book } = accountQueries({ head, rows });
  const methods = async () => (await book([account], contextOf()))[0].methods;
  expect([await methods(), await methods(), asked]).toEqual([null, null, 1]);
  head.advance(2);
  expect([await methods(), await methods(), asked]).toEqual([[85_143], [85_143], 2]);
});

/** A head whose tables stay where they are. */
function standingAt(seqno: number): Head {
  const head = createHead({
    json: async (_sql, row) => [row.parse({ number: seqno, seqno, global_id: -3 })],
  });
  head.advance(seqno);
  return head;
}

it('forgets the codes of accounts and their methods when the tables are others, at the same step', async () => {
  const code = Buffer.alloc(32, 5);
  let methods = [1];
  const head = createHead({ json: async () => [] });
  head.advance(1);
  const { book } = accountQueries({
    head,
    async rows(_sql, label) {
      const row = new RowWriter();
      if (label === 'codes of accounts') {
        row.fixed(ACCOUNT);
        hashOrNone.write(row, code);
      } else {
        row.fixed(code);
        methodIds.write(row, methods);
      }
      return new RowReader(Buffer.concat(row.take()));
    },
  });
  const ask = async () => (await book([ACCOUNT], contextOf()))[0].methods;
  expect(await ask()).toEqual([1]);
  methods = [2];
  expect(await ask()).toEqual([1]);
  head.belongTo('others');
  expect(await ask()).toEqual([2]);
});
