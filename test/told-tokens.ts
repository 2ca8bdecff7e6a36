/** What the feed tells of tokens, actions and traces, held against what the API answers about the same chain. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { supportedTypes } from '../src/chain/actions/supported.ts';
import type { ChainSource } from '../src/chain/chain-source.ts';
import { createKeptPositions, type FeedServer, openEvents, openSocket, serveFeed } from './feed-server.ts';
import { specSchemas } from './spec-schemas.ts';

export interface Served {
  source: ChainSource;
  /** Of the API over the same source. */
  url: string;
  /** The newest step. */
  seqno: number;
  /** Ids of traces that were told again later: who followed has heard what was known at their end. */
  retold: ReadonlySet<string>;
  /** Hashes of transfers whose contract was confirmed later: nobody hears of them. */
  late: ReadonlySet<string>;
}

const object = z.record(z.string(), z.any());
type Json = z.output<typeof object>;

const TOKEN_TYPES = ['jettons_change', 'jetton_transfer', 'nft_transfer', 'actions'];
const all = { everything: true, from_mc_seqno: 0, with_cursor: true };

/** A head that a test moves. */
function createMovedHead() {
  const listeners: ((from: number, to: number) => void)[] = [];
  let seqno = 0;
  return {
    get seqno() {
      return seqno;
    },
    onAdvance: (listener: (from: number, to: number) => void) => listeners.push(listener),
    moveTo(to: number): void {
      const from = seqno;
      seqno = to;
      for (const listener of listeners) listener(from, to);
    },
  };
}

const idsOf = (events: readonly Json[]): string[] => events.flatMap(({ event_id }) => event_id ?? []);
const ofType = (events: readonly Json[], type: string): Json[] => events.filter((event) => event.type === type);
const by = (key: string) => (a: Json, b: Json) => (String(a[key]) < String(b[key]) ? -1 : 1);

export function describeTold(served: () => Served): void {
  let feed: FeedServer;
  let history: Json[];

  beforeAll(async () => {
    const head = createMovedHead();
    head.moveTo(served().seqno);
    feed = await serveFeed({ source: served().source, head }, {}, createKeptPositions());
    history = await told({ types: TOKEN_TYPES, include_address_book: true, include_metadata: true });
  }, 120_000);

  afterAll(async () => {
    await feed?.close();
    expect(feed?.failures).toEqual([]);
  });

  /** All that there is, up to the head. */
  async function told(subscription: Json): Promise<Json[]> {
    const stream = await openEvents(feed.port, { ...all, ...subscription });
    await vi.waitFor(() => expect(stream.events.at(-1)?.type).toBe('caught_up'), { timeout: 60_000 });
    stream.close();
    return stream.events.slice(0, -1);
  }

  /** All rows of a listing, oldest first. */
  async function listed(path: string, name: string): Promise<Json[]> {
    const rows: Json[] = [];
    for (let offset = 0; ; offset += 1000) {
      const more = path.includes('?') ? '&' : '?';
      const response = await fetch(`${served().url}/api/v3${path}${more}limit=1000&offset=${offset}`);
      const page = object.parse(await response.json())[name];
      rows.push(...page);
      if (page.length < 1000) return rows;
    }
  }

  it('tells every transfer that is listed, once, but for those of contracts that were confirmed later', async () => {
    expect(served().late.size).toBeGreaterThan(0);
    for (const [type, path, name] of [
      ['jetton_transfer', '/jetton/transfers', 'jetton_transfers'],
      ['nft_transfer', '/nft/transfers', 'nft_transfers'],
    ]) {
      const all = await listed(path, name);
      const rows = all.filter(({ transaction_hash: hash }) => !served().late.has(hash));
      expect(rows.length).toBeGreaterThan(0);
      const transfers = ofType(history, type).map(({ transfer }) => transfer);
      expect(transfers.toSorted(by('transaction_hash'))).toEqual(rows.toSorted(by('transaction_hash')));
    }
  });

  /** Actions, by their ids, of traces that are listed as they were told at their end. */
  const settled = (actions: readonly Json[]): Json[] =>
    actions.filter((one) => !served().retold.has(one.trace_id)).sort(by('action_id'));

  it('tells every action that is listed, with the trace that it is of', async () => {
    const rows = await listed('/actions?include_accounts=true', 'actions');
    const events = ofType(history, 'actions');
    const actions = events.flatMap((event) => event.actions);
    expect(settled(actions)).toEqual(settled(rows));
    const traces = (some: readonly Json[]): string[] => [...new Set(some.map((one) => one.trace_id))].sort();
    expect(traces(actions)).toEqual(traces(rows));
    const books = events.map((event) => event.address_book);
    const metadata = Object.assign({}, ...events.map((event) => event.metadata));
    specSchemas('v3')('ActionsResponse', { actions, address_book: Object.assign({}, ...books), metadata });
    for (const { actions: own, trace_external_hash_norm: hash } of events) {
      expect(own.map((one: Json) => one.trace_external_hash_norm ?? hash)).toEqual(own.map(() => hash));
      const ends = own.map((one: Json) => BigInt(one.end_lt));
      expect(ends).toEqual(ends.toSorted((a: bigint, b: bigint) => (a < b ? 1 : a > b ? -1 : 0)));
    }
  });

  it('tells states of jetton wallets, the last one as it is listed', async () => {
    const rows = await listed('/jetton/wallets', 'jetton_wallets');
    const states = new Map(ofType(history, 'jettons_change').map(({ jetton }) => [jetton.address, jetton]));
    const shown = rows.filter(({ address }) => states.has(address));
    expect([...states.values()].sort(by('address'))).toEqual(shown.toSorted(by('address')));
    // The others were last seen before what their master is was: that is learned from the step on that shows it first.
    const stepOf = async (query: string): Promise<number> => {
      const response = await fetch(`${served().url}/api/v3/transactions?limit=1&${query}`);
      return object.parse(await response.json()).transactions[0].mc_block_seqno;
    };
    for (const { address, jetton } of rows) {
      if (states.has(address)) continue;
      const shownFirst = await stepOf(`account=${jetton}&sort=asc`);
      expect(await stepOf(`account=${address}`), address).toBeLessThanOrEqual(shownFirst);
    }
  });

  it('puts book and metadata beside what it tells, as the API does', async () => {
    const [event] = ofType(history, 'jettons_change');
    const { address, owner, jetton } = event.jetton;
    const response = await fetch(`${served().url}/api/v3/jetton/wallets?address=${address}`);
    const { address_book, metadata } = object.parse(await response.json());
    expect(event.address_book).toEqual(address_book);
    expect(event.metadata).toEqual(metadata);
    expect(Object.keys(address_book).sort()).toEqual([address, owner, jetton].sort());
    expect(metadata[jetton].token_info[0].type).toBe('jetton_masters');
  });

  it('tells live, step by step, what it tells of the past', async () => {
    const head = createMovedHead();
    head.moveTo(1);
    const live = await serveFeed({ source: served().source, head }, {}, createKeptPositions());
    const socket = await openSocket(live.port);
    socket.send({ operation: 'subscribe', types: TOKEN_TYPES, ...all, include_metadata: true });
    await expect.poll(() => socket.events.at(-1)?.type).toBe('caught_up');
    for (let seqno = 2; seqno <= served().seqno; seqno++) {
      head.moveTo(seqno);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const ids = idsOf(history);
    expect(new Set(ids).size).toBe(ids.length);
    await expect.poll(() => idsOf(socket.events).length).toBe(ids.length);
    expect(idsOf(socket.events)).toEqual(ids);
    const cursors = socket.events.filter(({ type }) => type !== 'caught_up').map(({ cursor }) => cursor);
    expect(cursors).toEqual(history.map(({ cursor }) => cursor));
    socket.close();
    await live.close();
    expect(live.failures).toEqual([]);
  });

  it('tells a trace to whoever names the message that began it, once it has ended', async () => {
    const traces = (await listed('/traces?include_actions=true', 'traces')).filter(
      ({ external_hash }) => external_hash,
    );
    const hashes = [...new Set(ofType(history, 'actions').map((event) => event.trace_external_hash_norm))];
    const named = hashes.filter((hash) => hash !== '').slice(0, 50);
    const events = await told({
      types: ['trace'],
      trace_external_hash_norms: named,
      supported_action_types: ['latest'],
    });
    // A message that was received several times began as many of them.
    expect([...new Set(events.map((event) => event.trace_external_hash_norm))].sort()).toEqual(named.toSorted());
    expect(new Set(events.map(({ trace }) => trace.tx_hash)).size).toBe(events.length);
    for (const { trace, transactions, actions } of events) {
      const row = traces.find((one) => one.trace.tx_hash === trace.tx_hash);
      expect({ trace, transactions }).toEqual({ trace: row?.trace, transactions: row?.transactions });
      if (served().retold.has(trace.tx_hash)) continue;
      // Of traces accounts are not listed with their actions.
      const listedForm = actions.map(({ accounts: _, ...action }: Json) => action);
      expect(listedForm.toSorted(by('action_id'))).toEqual(row?.actions.toSorted(by('action_id')));
    }
    expect(await told({ types: ['trace'], trace_external_hash_norms: ['bm8gc3VjaCB0cmFjZQ=='] })).toEqual([]);
  });

  it('tells the transactions of a trace together where that is asked for', async () => {
    const groups = await told({ types: ['transactions'], finality_scope: 'trace' });
    const rows = await listed('/traces', 'traces');
    const ended = rows.flatMap(({ transactions }) => Object.keys(transactions));
    const hashes = groups.flatMap(({ transactions }) => transactions.map((one: Json) => one.hash));
    expect(hashes.toSorted()).toEqual(ended.toSorted());
    for (const { transactions } of groups) {
      const lts = transactions.map((one: Json) => BigInt(one.lt));
      expect(lts).toEqual(lts.toSorted((a: bigint, b: bigint) => (a < b ? 1 : a > b ? -1 : 0)));
      expect(new Set(transactions.map((one: Json) => one.trace_id)).size).toBe(1);
    }
    const single = idsOf(await told({ types: ['transactions'] }));
    expect(idsOf(groups).filter((id) => single.includes(id))).toEqual([]);
    const [{ account }] = groups.flatMap(({ transactions }) => transactions);
    const own = await told({
      everything: false,
      addresses: [account],
      types: ['transactions'],
      finality_scope: 'trace',
    });
    const expected = groups.map(({ transactions }) => transactions.filter((one: Json) => one.account === account));
    expect(own.map(({ transactions }) => transactions)).toEqual(expected.filter(({ length }) => length > 0));
  });

  it('tells of an address what is found by it', async () => {
    const [{ jetton }] = ofType(history, 'jettons_change');
    const addresses = [jetton.owner];
    const events = await told({ everything: false, addresses, types: TOKEN_TYPES });
    const changes = ofType(history, 'jettons_change').filter((event) => event.jetton.owner === jetton.owner);
    expect(idsOf(ofType(events, 'jettons_change'))).toEqual(idsOf(changes));
    const actions = await listed(`/actions?include_accounts=true&account=${jetton.owner}`, 'actions');
    expect(settled(ofType(events, 'actions').flatMap((event) => event.actions))).toEqual(settled(actions));
    const transfers = ofType(history, 'jetton_transfer').filter(({ transfer }) =>
      [transfer.source, transfer.destination].includes(jetton.owner),
    );
    expect(transfers.length).toBeGreaterThan(0);
    expect(idsOf(ofType(events, 'jetton_transfer'))).toEqual(idsOf(transfers));
    const sent = await told({ everything: false, addresses, types: ['jetton_transfer'], direction: 'out' });
    expect(idsOf(sent)).toEqual(idsOf(transfers.filter(({ transfer }) => transfer.source === jetton.owner)));
  });

  it('lets pass by token, type and amount what these are of', async () => {
    const transfers = ofType(history, 'jetton_transfer');
    const { jetton_master: master, amount } = transfers[0].transfer;
    const ofMaster = await told({ types: ['jetton_transfer', 'jettons_change'], jetton_masters: [master] });
    expect(idsOf(ofType(ofMaster, 'jetton_transfer'))).toEqual(
      idsOf(transfers.filter(({ transfer }) => transfer.jetton_master === master)),
    );
    expect(idsOf(ofType(ofMaster, 'jettons_change'))).toEqual(
      idsOf(ofType(history, 'jettons_change').filter(({ jetton }) => jetton.jetton === master)),
    );
    const large = await told({ types: ['jetton_transfer'], min_value: amount });
    expect(idsOf(large)).toEqual(idsOf(transfers.filter(({ transfer }) => BigInt(transfer.amount) >= BigInt(amount))));
    const items = ofType(history, 'nft_transfer');
    const collection = items[0].transfer.nft_collection;
    const ofCollection = await told({ types: ['nft_transfer', 'transactions'], nft_collections: [collection] });
    expect(idsOf(ofCollection)).toEqual(idsOf(items.filter(({ transfer }) => transfer.nft_collection === collection)));
    const types = await told({ types: ['actions'], action_types: ['jetton_transfer'] });
    const rows = await listed('/actions?include_accounts=true&action_type=jetton_transfer', 'actions');
    expect(settled(types.flatMap(({ actions }) => actions))).toEqual(settled(rows));
    expect(rows.length).toBeGreaterThan(0);
    const about = await told({ types: ['actions'], action_types: ['jetton_transfer'], jetton_masters: [master] });
    expect(settled(about.flatMap(({ actions }) => actions))).toEqual(
      settled(rows.filter(({ details }) => details.asset === master)),
    );
  });

  it('leaves out what the client does not know, and tells of its parts', async () => {
    const known = supportedTypes(['v1']);
    const rows = await listed('/actions?include_accounts=true&supported_action_types=v1', 'actions');
    const events = await told({ types: ['actions'], supported_action_types: ['v1'] });
    expect(settled(events.flatMap(({ actions }) => actions))).toEqual(settled(rows));
    expect(known.size).toBeGreaterThan(0);
  });
}
