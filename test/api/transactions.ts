import { expect, it } from 'vitest';
import { z } from 'zod';
import { rounds } from '../chance.ts';
import { descriptionAnswer, transactionAnswer } from './answers.ts';
import { type ApiClient, hashesOf, type Query, someRows, someSorts, spread, walk } from './client.ts';
import {
  adjacentWanted,
  compareAddresses,
  transactionsByMessageWanted,
  transactionsWanted,
  type Wanted,
} from './contract.ts';
import { base64, groupBy, type KnownTransaction } from './network.ts';
import { ADDRESS_FORMS, HASH_FORMS, inBase64 } from './spellings.ts';
import { ofEachKind, type Subject } from './subject.ts';

const hashes = (transactions: readonly KnownTransaction[]): string[] =>
  transactions.map(({ facts }) => base64(facts.hash));

async function expectListed(client: ApiClient, endpoint: string, query: Query, expected: readonly KnownTransaction[]) {
  const asked = { limit: someRows(), ...query };
  const { rows } = await client.page(endpoint, 'transactions', asked);
  expect(hashesOf(rows), `${endpoint} ${JSON.stringify(asked)}`).toEqual(hashes(expected).slice(0, asked.limit));
}

/** Asks `/transactions` and compares with the contract over the facts. */
async function expectWanted({ client, network }: Subject, wanted: Wanted): Promise<void> {
  for (const sort of someSorts()) {
    const both = { ...wanted, sort };
    await expectListed(client, 'transactions', inBase64(both), transactionsWanted(network, both));
  }
}

export function describeTransactions(subject: () => Subject): void {
  describeRows(subject);
  describeFilters(subject);
  describeWindows(subject);
  describeByMessage(subject);
}

function describeRows(subject: () => Subject): void {
  it('has every transaction with every field of the facts, in order, paged by offset', async () => {
    const { client, network } = subject();
    const expected = transactionsWanted(network, { sort: 'asc' });
    const rows = await walk(client, 'transactions', 'transactions', { sort: 'asc' }, 173, 'offset');
    expect(rows.length).toBe(network.transactions.length);
    for (const [index, row] of rows.entries()) {
      expect(row, expected[index].facts.hash).toMatchObject(transactionAnswer(expected[index]));
      expect(row.description, expected[index].facts.hash).toEqual(descriptionAnswer(expected[index]));
    }
  });

  it('gives the same rows by cursor, both ways, with limits that cut rows of one lt', async () => {
    const { client, network } = subject();
    for (const [sort, limit] of [
      ['asc', 7],
      ['desc', 64],
    ] as const) {
      const window = limit === 7 ? { end_lt: transactionsWanted(network, { sort })[rounds(150, 300)]?.facts.lt } : {};
      const expected = transactionsWanted(network, { sort, ...window });
      const rows = await walk(client, 'transactions', 'transactions', { sort, ...window }, limit, 'cursor');
      expect(hashesOf(rows)).toEqual(hashes(expected));
    }
  });

  it('pages one account and a time window by cursor', async () => {
    const { client, network } = subject();
    const { account } = busiest(network.transactions);
    const { facts: middle } = spread(network.transactions, 3)[1];
    const newest = transactionsWanted(network, { start_utime: middle.now });
    const { facts: late } = newest[Math.min(rounds(150, 1_000), newest.length - 1)];
    for (const wanted of [
      { account: [account] },
      { start_utime: late.now },
      { account: [account], end_utime: middle.now },
    ]) {
      const rows = await walk(client, 'transactions', 'transactions', wanted, rounds(19, 11), 'cursor');
      expect(hashesOf(rows)).toEqual(hashes(transactionsWanted(network, wanted)));
    }
  });

  it('breaks ties of lt by account', async () => {
    const { client, network } = subject();
    const groups = groupBy(network.transactions, ({ facts }) => facts.lt);
    const tied = [...groups.values()].filter((group) => group.length > 1).sort((a, b) => b.length - a.length);
    expect(tied.length, 'the blocks have several transactions of one lt').toBeGreaterThan(0);
    for (const group of tied.slice(0, 5)) {
      const { lt } = group[0].facts;
      const sorted = [...group].sort((a, b) => compareAddresses(a.account, b.account));
      await expectListed(client, 'transactions', { lt, sort: 'asc' }, sorted);
      await expectListed(client, 'transactions', { lt, sort: 'desc' }, [...sorted].reverse());
      await expectListed(client, 'transactions', { start_lt: lt, end_lt: lt, sort: 'desc' }, sorted);
    }
  });

  it('names every account of a page in its address book', async () => {
    const { client, network } = subject();
    const { rows, addressBook } = await client.page('transactions', 'transactions', { limit: 200 });
    const accounts = new Set(transactionsWanted(network, {}).slice(0, rows.length).flatMap(bookAccounts));
    expect(Object.keys(addressBook).sort()).toEqual([...accounts].sort());
  });
}

/** The account, the in-message's source, the out-messages' destinations (endpoints 1.8). */
function bookAccounts(transaction: KnownTransaction): string[] {
  const row = transactionAnswer(transaction);
  const message = z.object({ source: z.string().nullable(), destination: z.string().nullable() });
  const source = message.nullable().parse(row.in_msg)?.source;
  const destinations = z
    .array(message)
    .parse(row.out_msgs)
    .map(({ destination }) => destination);
  return [transaction.account, source, ...destinations].filter((address) => typeof address === 'string');
}

function busiest(transactions: readonly KnownTransaction[]): KnownTransaction {
  const groups = [...groupBy(transactions, ({ account }) => account).values()];
  return groups.reduce((most, group) => (group.length > most.length ? group : most))[0];
}

function describeFilters(subject: () => Subject): void {
  it('finds every transaction by its hash, and in any spelling of it', async () => {
    const { client, network } = subject();
    const all = network.transactions.map(({ facts }) => facts.hash);
    for (let from = 0; from < all.length; from += 100)
      await expectWanted(subject(), { hash: all.slice(from, from + 100) });
    for (const { facts } of spread(network.transactions, rounds(2, 5))) {
      for (const spell of HASH_FORMS) {
        const { rows } = await client.page('transactions', 'transactions', { hash: spell(facts.hash) });
        expect(hashesOf(rows)).toEqual([base64(facts.hash)]);
      }
    }
  });

  it('pages a list of hashes by cursor, both ways', async () => {
    const { client, network } = subject();
    const hash = spread(network.transactions, 40).map(({ facts }) => facts.hash);
    for (const sort of ['asc', 'desc'] as const) {
      const rows = await walk(client, 'transactions', 'transactions', { hash, sort }, 7, 'cursor');
      expect(hashesOf(rows)).toEqual(hashes(transactionsWanted(network, { hash, sort })));
    }
  });

  it('lists the transactions of accounts, and finds by account and lt', async () => {
    const { client, network } = subject();
    const accounts = [...groupBy(network.transactions, ({ account }) => account).keys()];
    for (const account of spread(accounts, rounds(30, 120))) {
      const wanted: Wanted = { account: [account] };
      await expectListed(client, 'transactions', { ...wanted }, transactionsWanted(network, wanted));
    }
    for (const { account, facts } of spread(network.transactions, rounds(8, 20))) {
      const { rows } = await client.page('transactions', 'transactions', { account, lt: facts.lt });
      expect(hashesOf(rows)).toEqual([base64(facts.hash)]);
    }
  });

  it('reads an account in every spelling, and lists of them', async () => {
    const { client, network } = subject();
    const accounts = [...new Set(spread(network.transactions, 40).map(({ account }) => account))].slice(0, 4);
    const expected = transactionsWanted(network, { account: accounts });
    for (const spell of ADDRESS_FORMS) {
      const [first, ...others] = accounts.map(spell);
      await expectListed(client, 'transactions', { account: [first, ...others] }, expected);
      await expectListed(client, 'transactions', { 'account[]': [first], account: others }, expected);
      await expectListed(client, 'transactions', { account: [first, ...others].join(',') }, expected);
    }
  });

  it('leaves out excluded accounts, also from a list and with other filters', async () => {
    const { network } = subject();
    const { account, facts } = busiest(network.transactions);
    const others = [...new Set(spread(network.transactions, 30).map((transaction) => transaction.account))];
    await expectWanted(subject(), { exclude_account: [account] });
    await expectWanted(subject(), { exclude_account: others });
    await expectWanted(subject(), { account: others, exclude_account: others.slice(0, 2) });
    await expectWanted(subject(), { account: [account], exclude_account: [account] });
    await expectWanted(subject(), { start_lt: facts.lt, exclude_account: [account] });
  });

  it('lists the transactions of a block, and of a masterchain step', async () => {
    const { client, network } = subject();
    for (const { facts } of spread(network.blocks, rounds(6, 15))) {
      const { workchain, shard, seqno } = facts;
      await expectWanted(subject(), { workchain, shard, seqno });
    }
    await expectWanted(subject(), { workchain: 0 });
    await expectWanted(subject(), { workchain: -1, shard: '8000000000000000' });
    const masterchain = network.blocks.filter(({ facts }) => facts.workchain === -1);
    for (const { mcSeqno: seqno } of spread(masterchain, rounds(12, 40))) {
      const expected = transactionsWanted(network, { mc_seqno: seqno });
      await expectListed(client, 'transactionsByMasterchainBlock', { seqno }, expected);
    }
    for (const { mcSeqno } of spread(masterchain, rounds(5, 10))) await expectWanted(subject(), { mc_seqno: mcSeqno });
  });
}

function describeWindows(subject: () => Subject): void {
  it('takes both ends of lt and time windows in', async () => {
    const { network } = subject();
    for (const { facts, account } of spread(network.transactions, rounds(2, 3))) {
      const after = (BigInt(facts.lt) + 1n).toString();
      await expectWanted(subject(), { start_lt: facts.lt });
      await expectWanted(subject(), { end_lt: facts.lt });
      await expectWanted(subject(), { start_lt: after });
      await expectWanted(subject(), { start_lt: facts.lt, end_lt: after });
      await expectWanted(subject(), { start_utime: facts.now });
      await expectWanted(subject(), { end_utime: facts.now });
      await expectWanted(subject(), { start_utime: facts.now, end_utime: facts.now });
      await expectWanted(subject(), { start_utime: facts.now, account: [account] });
      await expectWanted(subject(), { start_utime: facts.now + 1, end_lt: facts.lt });
      await expectWanted(subject(), { start_lt: facts.lt, end_utime: facts.now, workchain: -1 });
    }
  });
}

function describeByMessage(subject: () => Subject): void {
  const expectByMessage = async (wanted: Wanted): Promise<void> => {
    const { client, network, opcodes } = subject();
    for (const sort of someSorts()) {
      const both = { ...wanted, sort };
      const expected = transactionsByMessageWanted(network, both, opcodes);
      await expectListed(client, 'transactionsByMessage', inBase64(both), expected);
    }
  };

  it('finds senders and receivers of messages', async () => {
    const { opcodes } = subject();
    const messages = ofEachKind(subject(), rounds(1, 3));
    for (const { facts, source, destination } of messages) {
      const opcode = opcodes.get(facts.body_hash) ?? undefined;
      for (const direction of [undefined, 'in', 'out'] as const) {
        const side = direction === undefined ? {} : { direction };
        await expectByMessage({ msg_hash: [facts.hash], ...side });
        await expectByMessage({ body_hash: facts.body_hash, ...side });
        if (facts.hash_norm) await expectByMessage({ msg_hash: [facts.hash_norm], ...side });
        if (opcode) await expectByMessage({ opcode, ...side });
      }
      if (source) await expectByMessage({ body_hash: facts.body_hash, source });
      if (destination) await expectByMessage({ body_hash: facts.body_hash, destination });
    }
    await expectByMessage({ msg_hash: messages.map(({ facts }) => facts.hash) });
  });

  it('finds parent and children', async () => {
    const { client, network } = subject();
    const talking = network.transactions.filter(({ facts }) => facts.in_msg || facts.out_msgs.length > 0);
    for (const transaction of spread(talking, rounds(12, 40))) {
      const hash = base64(transaction.facts.hash);
      for (const direction of [undefined, 'in', 'out'] as const) {
        const expected = adjacentWanted(network, transaction, direction);
        const query = direction === undefined ? { hash } : { hash, direction };
        if (expected.length > 0) {
          const { rows } = await client.page('adjacentTransactions', 'transactions', query);
          expect(hashesOf(rows), JSON.stringify(query)).toEqual(hashes(expected));
        } else {
          const refusal = await client.refused('adjacentTransactions', query);
          expect(refusal).toEqual({ status: 404, error: 'adjacent transactions not found' });
        }
      }
    }
  });
}
