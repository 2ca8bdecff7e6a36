/** Tokens over an archive: what lies below the window is told as the tables tell it, and these are not asked. */
import { expect, it } from 'vitest';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { ClickHouseSource } from '../clickhouse/queries/source.ts';
import { jettonBurns, jettonMasters, jettonTransfers, jettonWallets } from '../clickhouse/tables/jettons.ts';
import { dnsRecords, nftCollections, nftItems, nftTransfers } from '../clickhouse/tables/nfts.ts';
import { nftAuctions, nftSales } from '../clickhouse/tables/sales.ts';
import type { TableWith } from '../clickhouse/tables/table.ts';
import { beneathArchive } from '../src/archive/source.ts';
import type { ChainSource } from '../src/chain/chain-source.ts';
import type { ContractSource, EventFilter } from '../src/chain/contract-records.ts';
import { distinct } from '../src/chain/hash.ts';
import type { Address } from '../src/chain/model.ts';
import { createWindowSource } from '../src/window/source.ts';
import type { PublishedStep } from '../streams/steps-topic.ts';
import { PATIENT_LIMITS, serveApi } from './api-server.ts';
import { type Archived, archiveOf, archiveProblems, LARGE_SLAB } from './archived.ts';
import { drawn, rounds, seed } from './chance.ts';
import { ITEMS, WALLETS } from './token-filters.ts';
import { sampledRequests } from './window-agreement.ts';
import { type Answered, pages } from './window-answers.ts';
import { context, type Windowed, windowFrom } from './windowed.ts';

interface Given {
  clickhouse: ClickHouse;
  tables: ClickHouseSource;
  steps: PublishedStep[];
}

const REQUESTS = rounds(300, 6_000);
/** Several in each part of the steps. */
const SLAB_TRANSACTIONS = rounds(500, 120);
/** Of the archive, with the tables, row by row. */
const COMPARED_STEPS = rounds(8, 200);
const ABOUT_TOKENS = /\/(jetton|nft|metadata|addressBook)/;
const ALL = { limit: 1_000, offset: 0 };
const EVERY_EVENT: EventFilter = { owners: [], contracts: [], utime: {}, ltWindow: {}, sort: 'desc', page: ALL };
/** What the archive answers; sales are the tables' to tell. */
const ANSWERED =
  /\.(tokens|jettonWallets|jettonMasters|nftItems|nftCollections|dnsRecords|jettonTransfers|jettonBurns|nftTransfers|transactionsAt)$/;

async function each<T, U>(all: readonly T[], ask: (one: T) => Promise<U>): Promise<U[]> {
  const answers: U[] = [];
  for (const one of all) answers.push(await ask(one));
  return answers;
}

export function describeArchivedTokens(given: () => Given): void {
  const windowAt = (share: number, { archive }: Archived) => {
    const { steps } = given();
    return windowFrom(given(), Math.floor(steps.length * share), undefined, archive);
  };

  /** What this source answers to each of these paths. */
  async function answersOf(source: ChainSource, paths: readonly string[]): Promise<Map<string, Answered[]>> {
    const server = await serveApi(source, { limits: PATIENT_LIMITS });
    try {
      const told = new Map<string, Answered[]>();
      for (const path of paths) told.set(path, await pages(server.url, path));
      expect(server.reported).toEqual([]);
      return told;
    } finally {
      await server.close();
    }
  }

  it('are told over an archive of any part of the steps as by the tables', async () => {
    const paths = sampledRequests(given().steps, REQUESTS, seed).filter((path) => ABOUT_TOKENS.test(path));
    expect(paths.length).toBeGreaterThan(20);
    const expected = await answersOf(given().tables, paths);
    const archived = archiveOf(given(), SLAB_TRANSACTIONS);
    const windows: Windowed[] = [];
    try {
      for (const [share, downTo] of [
        [0.8, given().steps[Math.floor(given().steps.length * 0.4)].step.mcSeqno],
        [0.6, 0],
      ]) {
        const windowed = await windowAt(share, archived);
        windows.push(windowed);
        await archived.fill(windowed.window, { downTo });
        expect(await archiveProblems(archived.archive, given(), COMPARED_STEPS)).toEqual([]);
        // Before anything is remembered.
        if (downTo === 0) await expectAlone(windowed);
        const told = await answersOf(windowed.source, paths);
        for (const [path, answers] of told) expect(answers, path).toEqual(expected.get(path));
      }
    } finally {
      for (const { remove } of windows) await remove();
      await archived.remove();
    }
  }, 600_000);

  it('are told as they are now when the window moves on over an archive', async () => {
    const { tables, steps } = given();
    const archived = archiveOf(given(), LARGE_SLAB);
    const windows: Windowed[] = [];
    try {
      const view = () => windows[windows.length - 1].window.view();
      const { contracts } = createWindowSource({ view }, tables, beneathArchive(archived.archive, tables));
      const owners = distinct(steps.flatMap(({ step }) => step.rows.of(jettonWallets).map(({ owner }) => owner)));
      const holders = distinct(
        steps.flatMap(({ step }) => step.rows.of(nftItems).flatMap(({ ownerAddress }) => ownerAddress ?? [])),
      );
      const wallets = distinct(steps.flatMap(({ step }) => step.rows.of(jettonWallets).map(({ address }) => address)));
      const names = [...new Set(steps.flatMap(({ step }) => step.rows.of(dnsRecords).map(({ domain }) => domain)))];
      const sellers = distinct(
        steps.flatMap(({ step: { rows } }) =>
          [...rows.of(nftSales), ...rows.of(nftAuctions)].map((row) => row.address),
        ),
      );
      // Each wallet with its master.
      const alone = (wallet: Address) => ({ items: [], collections: [], masters: [], wallets: [wallet] });
      const everything = async (asked: ContractSource) => ({
        tokens: await each(wallets, (wallet) => asked.tokens(alone(wallet), context())),
        wallets: await each(owners, (owner) => asked.jettonWallets({ ...WALLETS, owners: [owner] }, context())),
        items: await each(holders, (owner) => asked.nftItems({ ...ITEMS, owners: [owner] }, context())),
        sellers: await each(sellers, (seller) => asked.sellers([seller], context())),
        names: await each(names, (domain) => asked.dnsRecords({ domain, page: ALL }, context())),
      });
      const expected = await everything(tables.contracts);
      for (const share of [0.3, 0.6, 0.95]) {
        const windowed = await windowAt(share, archived);
        windows.push(windowed);
        await archived.fill(windowed.window);
        const told = await everything(contracts);
        for (const name of ['tokens', 'wallets', 'items', 'sellers', 'names'] as const) {
          for (const [at, answer] of told[name].entries()) {
            expect(answer, `${name} ${at} at ${share}`).toEqual(expected[name][at]);
          }
        }
      }
    } finally {
      for (const { remove } of windows) await remove();
      await archived.remove();
    }
  }, 600_000);

  /** Over an archive that reaches down to the first step. */
  async function expectAlone({ source, asked }: Windowed): Promise<void> {
    const { tables, steps } = given();
    const rowsOf = <R extends object>(table: TableWith<R>): R[] => steps.flatMap(({ step }) => step.rows.of(table));
    const before = asked().length;
    const owners = distinct([
      ...rowsOf(jettonWallets).map(({ owner }) => owner),
      ...rowsOf(nftItems).flatMap(({ ownerAddress }) => ownerAddress ?? []),
    ]);
    expect(owners.length).toBeGreaterThan(10);
    for (const owner of drawn(owners, rounds(10, owners.length))) {
      for (const question of ['jettonTransfers', 'jettonBurns', 'nftTransfers'] as const) {
        const filter = { ...EVERY_EVENT, owners: [owner] };
        const events = await source.contracts[question](filter, context());
        // The tables have no forms.
        const told = events.map(({ transaction: { form: _, ...transaction }, ...event }) => ({
          transaction,
          ...event,
        }));
        expect(told).toEqual(await tables.contracts[question](filter, context()));
      }
      const wallets = { ...WALLETS, owners: [owner] };
      expect(await source.contracts.jettonWallets(wallets, context())).toEqual(
        await tables.contracts.jettonWallets(wallets, context()),
      );
      const items = { ...ITEMS, owners: [owner] };
      expect(await source.contracts.nftItems(items, context())).toEqual(
        await tables.contracts.nftItems(items, context()),
      );
    }
    const addresses = (rows: readonly { address: Address }[]) => distinct(rows.map(({ address }) => address));
    const candidates = {
      items: addresses(rowsOf(nftItems)),
      collections: addresses(rowsOf(nftCollections)),
      masters: addresses(rowsOf(jettonMasters)),
      wallets: addresses(rowsOf(jettonWallets)),
    };
    const told = await source.contracts.tokens(candidates, context());
    const expected = await tables.contracts.tokens(candidates, context());
    for (const name of ['items', 'collections', 'masters', 'wallets'] as const) {
      expect(told[name].length).toBeGreaterThan(0);
      const sorted = (rows: readonly { address: Address }[]) => [...rows].sort((a, b) => a.address.compare(b.address));
      expect(sorted(told[name])).toEqual(sorted(expected[name]));
    }
    const listed = async ({ contracts }: Pick<ChainSource, 'contracts'>) => ({
      items: await contracts.nftItems({ ...ITEMS, addresses: candidates.items }, context()),
      collections: await contracts.nftCollections(
        { addresses: candidates.collections, owners: [], page: ALL },
        context(),
      ),
      masters: await contracts.jettonMasters({ addresses: candidates.masters, admins: [], page: ALL }, context()),
      wallets: await contracts.jettonWallets({ ...WALLETS, addresses: candidates.wallets }, context()),
      names: await each(rowsOf(dnsRecords), ({ domain }) => contracts.dnsRecords({ domain, page: ALL }, context())),
    });
    const lists = await listed(source);
    expect(lists.names.length).toBeGreaterThan(3);
    expect(lists).toEqual(await listed(tables));
    expect(
      asked()
        .slice(before)
        .filter((one) => ANSWERED.test(one)),
    ).toEqual([]);
    const events = [rowsOf(jettonTransfers), rowsOf(jettonBurns), rowsOf(nftTransfers)];
    for (const rows of events) expect(rows.length).toBeGreaterThan(3);
  }
}
