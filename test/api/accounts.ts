import { Address, Cell } from '@ton/core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type ApiClient, spread } from './client.ts';
import { compareAddresses } from './contract.ts';
import { base64, type KnownTransaction } from './network.ts';
import { ADDRESS_FORMS } from './spellings.ts';
import type { Subject } from './subject.ts';

const state = z.looseObject({
  address: z.string(),
  balance: z.string(),
  status: z.string(),
  code_hash: z.string().optional(),
  code_boc: z.string().optional(),
  data_hash: z.string().optional(),
  data_boc: z.string().optional(),
});
const balances = z.array(z.object({ account: z.string(), balance: z.string() }));
const ABSENT = `0:${'AB'.repeat(32)}`;

/** The last transaction of every account. */
function lastTransactions(transactions: readonly KnownTransaction[]): Map<string, KnownTransaction> {
  const last = new Map<string, KnownTransaction>();
  for (const transaction of transactions) {
    const known = last.get(transaction.account);
    if (known && BigInt(known.facts.lt) > BigInt(transaction.facts.lt)) continue;
    last.set(transaction.account, transaction);
  }
  return last;
}

async function allStates({ client, network }: Subject): Promise<z.infer<typeof state>[]> {
  const accounts = [...lastTransactions(network.transactions).keys()];
  const states: z.infer<typeof state>[] = [];
  for (let from = 0; from < accounts.length; from += 1000) {
    const { rows } = await client.page('accountStates', 'accounts', { address: accounts.slice(from, from + 1000) });
    states.push(...rows.map((row) => state.parse(row)));
  }
  return states;
}

async function topBalances(client: ApiClient, limit: number): Promise<z.infer<typeof balances>> {
  const all: z.infer<typeof balances> = [];
  for (;;) {
    const page = balances.parse(await client.get('topAccountsByBalance', { limit, offset: all.length }));
    all.push(...page);
    if (page.length < limit) return all;
  }
}

export function describeAccounts(subject: () => Subject): void {
  describeStates(subject);
  describeBalances(subject);
  describeBook(subject);
}

function describeStates(subject: () => Subject): void {
  let read: ReturnType<typeof allStates> | undefined;
  const statesOnce = (): ReturnType<typeof allStates> => (read ??= allStates(subject()));

  it('has the state after the last transaction of every account, in the order asked for', async () => {
    const expected = lastTransactions(subject().network.transactions);
    const states = await statesOnce();
    expect(states.map(({ address }) => address)).toEqual([...expected.keys()]);
    for (const row of states) {
      const { facts } = expected.get(row.address) ?? {};
      expect(row).toMatchObject({
        account_state_hash: base64(facts?.new_hash ?? ''),
        status: facts?.end_status === 'non_exist' ? 'nonexist' : facts?.end_status,
        last_transaction_hash: base64(facts?.hash ?? ''),
        last_transaction_lt: facts?.lt,
      });
    }
  });

  it('shows code and data that have the hashes they are shown with', async () => {
    for (const row of await statesOnce()) {
      for (const [boc, hash] of [
        [row.code_boc, row.code_hash],
        [row.data_boc, row.data_hash],
      ]) {
        if (boc !== undefined && boc !== '') expect(Cell.fromBase64(boc).hash().toString('base64')).toBe(hash);
      }
      if (row.status !== 'active') expect([row.code_hash, row.data_hash]).toEqual([undefined, undefined]);
    }
  });

  it('leaves the cells out on request, filters by code, passes over unknown accounts', async () => {
    const { client } = subject();
    const states = await statesOnce();
    const [first, second] = spread(states, 2);
    const address = [second.address, ABSENT, first.address, second.address];
    const { rows } = await client.page('accountStates', 'accounts', { address, include_boc: false });
    expect(rows.map((row) => row.address)).toEqual([second.address, first.address]);
    for (const row of rows) expect([row.code_boc, row.data_boc]).toEqual([undefined, undefined]);
    const coded = states.find(({ code_hash }) => code_hash !== undefined);
    if (coded === undefined) throw new Error('no account has code');
    const same = states.filter(({ code_hash }) => code_hash === coded.code_hash).map((row) => row.address);
    const query = { address: states.slice(0, 1000).map((row) => row.address), code_hash: coded.code_hash };
    const found = (await client.page('accountStates', 'accounts', query)).rows.map((row) => row.address);
    expect(found).toEqual(same.filter((account) => query.address.includes(account)));
  });

  it('reads the address in every spelling', async () => {
    const { client, network } = subject();
    const { account } = network.transactions[network.transactions.length - 1];
    for (const spell of ADDRESS_FORMS) {
      const { rows, addressBook } = await client.page('accountStates', 'accounts', { address: spell(account) });
      expect(rows.map((row) => row.address)).toEqual([account]);
      expect(Object.keys(addressBook)).toEqual([account]);
    }
  });
}

function describeBalances(subject: () => Subject): void {
  it('orders accounts by balance, ties by account, in pages without holes or doubles', async () => {
    const states = await allStates(subject());
    const expected = states
      .map(({ address, balance }) => ({ account: address, balance }))
      .sort((a, b) => Number(BigInt(b.balance) - BigInt(a.balance)) || compareAddresses(a.account, b.account));
    expect(await topBalances(subject().client, 1000)).toEqual(expected);
    expect(await topBalances(subject().client, 53)).toEqual(expected);
  });
}

function describeBook(subject: () => Subject): void {
  it('keys the address book by what was sent, and knows what it cannot read', async () => {
    const { client, network } = subject();
    const { account } = network.transactions[0];
    const spellings = ADDRESS_FORMS.map((spell) => spell(account));
    const book = z
      .record(z.string(), z.looseObject({ user_friendly: z.string().nullable() }))
      .parse(await client.get('addressBook', { address: [...spellings, ABSENT, 'xx'] }));
    expect(Object.keys(book).sort()).toEqual([...new Set([...spellings, ABSENT, 'xx'])].sort());
    expect(book.xx).toEqual({ user_friendly: null, domain: null, interfaces: [] });
    for (const spelling of spellings) {
      expect(Address.parse(book[spelling].user_friendly ?? '').equals(Address.parseRaw(account))).toBe(true);
    }
    // Unknown accounts are shown non-bounceable.
    const absent = Address.parseRaw(ABSENT).toString({ bounceable: false });
    expect(book[ABSENT]).toEqual({ user_friendly: absent, domain: null, interfaces: [] });
  });
}
