import { expect, it } from 'vitest';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { encodeState } from '../../clickhouse/states.ts';
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
