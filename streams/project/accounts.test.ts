import { describe, expect, it } from 'vitest';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { decodeState, encodeState, encodeStates } from '../../clickhouse/states.ts';
import { addressOf } from '../../src/chain/address.ts';
import type { Address } from '../../src/chain/model.ts';
import { madeHash } from '../../test/made-chain.ts';
import { createAccountStore } from './accounts.ts';

const { signal } = new AbortController();
const account = (name: string): Address => addressOf(0, madeHash(name));
const state = encodeState({
  status: 'uninit',
  balance: '1',
  extraCurrencies: {},
  frozenHash: null,
  codeHash: null,
  dataHash: null,
});

/** Over tables that have some account, or none, and never one that is asked for. */
function storeOver({ hasAccounts }: { hasAccounts: boolean }) {
  const asked: string[] = [];
  const clickhouse: Partial<ClickHouse> = {
    async query(_sql, { label = '' } = {}) {
      asked.push(label);
      const out = new RowWriter(16);
      if (label === 'asking for any account' && hasAccounts) {
        out.u8(1);
        out.endRow();
      }
      return Buffer.concat(out.take());
    },
  };
  const store = createAccountStore({ clickhouse: clickhouse as ClickHouse, cachedAccounts: 2, cachedDataBytes: 1_000 });
  const batch = async (number: number, names: string[]) => {
    const accounts = await store.begin({ number, firstMcSeqno: number }, names.map(account), signal);
    const known = names.map((name) => accounts.get(account(name))?.lt);
    for (const name of names)
      accounts.put(account(name), { lt: String(number), hash: madeHash(name), state, storedData: null });
    store.written(number);
    return known;
  };
  return { batch, asked };
}

const READINGS = ['reading account states', 'reading the hashes of stored account data'];

it('tables that had no accounts are asked for none, for as long as all that came are remembered', async () => {
  const { batch, asked } = storeOver({ hasAccounts: false });
  expect(await batch(1, ['a'])).toEqual([undefined]);
  expect(await batch(2, ['a', 'b'])).toEqual(['1', undefined]);
  expect(asked).toEqual(['asking for any account']);
  // There is room for two.
  await batch(3, ['c']);
  await batch(4, ['d']);
  expect(asked).toEqual(['asking for any account', ...READINGS]);
});

it('tables that had accounts are asked for all that come', async () => {
  const { batch, asked } = storeOver({ hasAccounts: true });
  await batch(1, ['a']);
  await batch(2, ['a', 'b']);
  expect(asked).toEqual(['asking for any account', ...READINGS, ...READINGS]);
});

describe('a state of which a later step has told more', () => {
  const known = (extra: string, step: number) => {
    const packed = encodeState({
      status: 'uninit',
      balance: '1',
      extraCurrencies: extra === '' ? {} : { 100: extra },
      frozenHash: null,
      codeHash: null,
      dataHash: null,
    });
    return { packed, step };
  };
  const shown = known('', 3);
  const learned = known('5', 5);

  /** What is known of the account before a batch, over tables with these rows of it. */
  async function foundBefore(firstMcSeqno: number, rows: Record<string, (out: RowWriter) => void>) {
    const clickhouse: Partial<ClickHouse> = {
      async query(_sql, { label = '' } = {}) {
        const out = new RowWriter(16);
        rows[label]?.(out);
        return Buffer.concat(out.take());
      },
    };
    const store = createAccountStore({
      clickhouse: clickhouse as ClickHouse,
      cachedAccounts: 2,
      cachedDataBytes: 1_000,
    });
    const accounts = await store.begin({ number: 1, firstMcSeqno }, [account('a')], signal);
    const found = accounts.get(account('a'));
    return found && { lt: found.lt, extra: decodeState(found.state).extraCurrencies };
  }

  const any = (out: RowWriter): void => {
    out.u8(1);
    out.endRow();
  };
  const states =
    (...all: (typeof shown)[]) =>
    (out: RowWriter): void => {
      for (const { packed, step } of all) {
        out.fixed(account('a'));
        out.u64('90');
        out.u32(step);
        out.fixed(madeHash('a'));
        out.string(packed);
        out.endRow();
      }
    };

  it('is the one of the later step, in whatever order the rows come', async () => {
    for (const order of [
      [shown, learned],
      [learned, shown],
    ]) {
      const rows = { 'asking for any account': any, 'reading account states': states(...order) };
      expect(await foundBefore(6, rows)).toEqual({ lt: '90', extra: { 100: '5' } });
    }
  });

  it('is known from what was learned, where the tables have a later state of an unfinished batch', async () => {
    let read = 0;
    const history = (out: RowWriter): void => {
      out.fixed(account('a'));
      out.u64('90');
      out.fixed(madeHash('a'));
      // First what was learned, then what the transaction has left.
      out.string(read++ === 0 ? learned.packed : encodeStates(null, decodeState(shown.packed)));
      out.endRow();
    };
    const rows = {
      'asking for any account': any,
      'reading account states': states({ ...shown, step: 7 }),
      'reading account states before an unfinished batch': history,
    };
    expect(await foundBefore(6, rows)).toEqual({ lt: '90', extra: { 100: '5' } });
  });
});
