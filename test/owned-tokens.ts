/**
 * Tokens by address and by owner, and records of names: from windows that move over the steps, against what the tables
 * say of each step.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ClickHouseSource } from '../clickhouse/queries/source.ts';
import { jettonMasters, jettonWallets } from '../clickhouse/tables/jettons.ts';
import { dnsRecords, nftCollections, nftItems } from '../clickhouse/tables/nfts.ts';
import { nftAuctions, nftSales } from '../clickhouse/tables/sales.ts';
import type { StepRows, TableWith } from '../clickhouse/tables/table.ts';
import { transactions } from '../clickhouse/tables/transactions.ts';
import type {
  ContractSource,
  DnsFilter,
  DnsRecord,
  JettonWalletFilter,
  ListedNftItem,
  NftItemFilter,
  Sellers,
  TokenCandidates,
  Tokens,
} from '../src/chain/contract-records.ts';
import { distinct, hashKey } from '../src/chain/hash.ts';
import type { Address } from '../src/chain/model.ts';
import { createWindowSource } from '../src/window/source.ts';
import { openWindow } from '../src/window/window.ts';
import { random } from './chance.ts';
import { ITEMS, WALLETS } from './token-filters.ts';
import { context, type Projected } from './windowed.ts';

type Given = Pick<Projected, 'tables' | 'steps'>;

const GB = 1024 ** 3;
const LED_TO = [Buffer.alloc(36, 1), Buffer.alloc(36, 2)];
const NO_TOKENS: TokenCandidates = { items: [], collections: [], masters: [], wallets: [] };
/** Stands in rows for none. */
const NOBODY = Buffer.alloc(36);

/** The newest rows of the steps up to this one. */
function newestAt<R extends { address: Address }>({ steps }: Given, table: TableWith<R>, last: number): R[] {
  const newest = new Map<string, R>();
  for (const { step } of steps) {
    if (step.mcSeqno > last) continue;
    for (const row of step.rows.of(table)) newest.set(hashKey(row.address), row);
  }
  return [...newest.values()];
}

/** What steps up to this one say of a name or of whom names lead to: the tables have the newest alone. */
function recordsAt(given: Given, last: number, { wallet, domain, page: { limit, offset } }: DnsFilter): DnsRecord[] {
  return newestAt(given, dnsRecords, last)
    .filter((row) => (wallet === undefined ? row.domain === domain : row.dnsWallet?.equals(wallet)))
    .sort((a, b) => a.domain.length - b.domain.length || (a.domain < b.domain ? -1 : 1) || a.address.compare(b.address))
    .slice(offset, offset + limit);
}

/** The same of tokens by their addresses. */
function tokensAt(given: Given, last: number, candidates: TokenCandidates): Tokens {
  const among = <R extends { address: Address }>(table: TableWith<R>, some: readonly Address[]): R[] =>
    newestAt(given, table, last).filter(({ address }) => some.some((one) => one.equals(address)));
  const wallets = among(jettonWallets, candidates.wallets);
  return {
    items: among(nftItems, candidates.items),
    collections: among(nftCollections, candidates.collections),
    masters: among(jettonMasters, [...candidates.masters, ...wallets.map(({ jetton }) => jetton)]),
    wallets,
  };
}

function sellersAt(given: Given, last: number, addresses: readonly Address[]): Sellers {
  const isAsked = ({ address }: { address: Address }): boolean => addresses.some((one) => one.equals(address));
  return {
    sales: newestAt(given, nftSales, last).filter(isAsked),
    auctions: newestAt(given, nftAuctions, last).filter(isAsked),
  };
}

/** Names of the devnet lead nowhere: these lead to the one or the other account, by the step. */
function leading(steps: Given['steps']): Given['steps'] {
  return steps.map((one) => {
    const { rows } = one.step;
    const to = LED_TO[Math.floor(one.step.mcSeqno / 8) % LED_TO.length];
    const records = rows.of(dnsRecords).map((row) => ({ ...row, dnsWallet: to }));
    const led: StepRows = {
      ...rows,
      of: <R extends object>(table: TableWith<R>) =>
        table.name === dnsRecords.name ? (records as readonly object[] as readonly R[]) : rows.of(table),
    };
    return { ...one, step: { ...one.step, rows: led } };
  });
}

/** The tables as they were at a step, and how often they were asked. */
function tablesAt({ tables, steps }: Given) {
  const now = { step: 0, asked: 0 };
  const contracts: ContractSource = {
    ...tables.contracts,
    jettonWallets(filter, asking) {
      now.asked++;
      return tables.contracts.jettonWallets({ ...filter, at: now.step }, asking);
    },
    jettonHolders(jetton, limit, asking) {
      now.asked++;
      const filter = { addresses: [], owners: [], jettons: [jetton], excludeZeroBalance: false, at: now.step };
      return tables.contracts.jettonWallets({ ...filter, byBalance: 'desc', page: { limit, offset: 0 } }, asking);
    },
    nftItems(filter, asking) {
      now.asked++;
      return tables.contracts.nftItems({ ...filter, at: now.step }, asking);
    },
    async dnsRecords(filter) {
      now.asked++;
      return recordsAt({ tables, steps }, now.step, filter);
    },
    async tokens(candidates) {
      now.asked++;
      return tokensAt({ tables, steps }, now.step, candidates);
    },
    async sellers(addresses) {
      now.asked++;
      return sellersAt({ tables, steps }, now.step, addresses);
    },
    walletsAt(places, asking) {
      now.asked += places.length;
      return tables.contracts.walletsAt(places, asking);
    },
  };
  const source: ClickHouseSource = {
    ...tables,
    contracts,
    below: (mcSeqno) => ({ ...tables.below(mcSeqno), contracts }),
  };
  return { now, source, contracts };
}

export function describeOwned(given: () => Given): void {
  it('are told by a window as each of its steps has left them, and nothing that another step knows', async () => {
    const { steps } = given();
    const { now, source, contracts } = tablesAt(given());
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-owned-'));
    const window = openWindow({ folder, maxBytes: GB });
    const windowed = createWindowSource(window, source).contracts;
    try {
      const half = Math.floor(steps.length / 2);
      await window.apply(steps.slice(half), async () => ({ lt: 0n, utime: 0 }));
      const placesIn = (some: typeof steps) =>
        some.flatMap(({ step }) =>
          step.rows.of(transactions).map(({ account, lt, mcSeqno }) => ({ account, lt, mcSeqno })),
        );
      const [below, within] = [placesIn(steps.slice(0, half)), placesIn(steps.slice(half))];
      const told = async ({ walletsAt }: Pick<ContractSource, 'walletsAt'>, places: typeof below) =>
        (await walletsAt(places, context())).map((one) => JSON.stringify(one)).sort();
      for (const places of [below, within, [...below, ...within]]) {
        const expected = await told(contracts, places);
        expect(expected.length).toBeGreaterThan(3);
        now.asked = 0;
        expect(await told(windowed, places)).toEqual(expected);
        expect(now.asked).toBe(places === within ? 0 : below.length);
      }
      const elsewhere = within.map((place) => ({ ...place, mcSeqno: place.mcSeqno + 1 }));
      expect(await told(contracts, elsewhere)).toEqual([]);
      expect(await told(windowed, elsewhere)).toEqual([]);
    } finally {
      await window.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  const owners = () => {
    const { steps } = given();
    const wallets = steps.flatMap(({ step }) => step.rows.of(jettonWallets));
    const items = steps.flatMap(({ step }) => step.rows.of(nftItems));
    const records = steps.flatMap(({ step }) => step.rows.of(dnsRecords));
    return {
      wallets: distinct(wallets.map(({ owner }) => owner)),
      jettons: distinct(wallets.map(({ jetton }) => jetton)),
      items: distinct(items.flatMap(({ ownerAddress }) => ownerAddress ?? [])),
      collections: distinct(items.flatMap(({ collectionAddress }) => collectionAddress ?? [])),
      walletAddresses: distinct(wallets.map(({ address }) => address)),
      itemAddresses: distinct(items.map(({ address }) => address)),
      names: [...new Set(records.map(({ domain }) => domain))],
    };
  };

  /** Of all steps at once their collections and sales are told as they are at the end. */
  const itemsAlone = (listed: readonly ListedNftItem[]) => listed.map(({ item }) => item);

  it.each([0, 0.6])(
    'of owners are told by a window from %f of the steps on as by the tables',
    async (share) => {
      const steps = leading(given().steps);
      const { now, source, contracts } = tablesAt({ ...given(), steps });
      const folder = mkdtempSync(join(tmpdir(), 'tonstream-owned-'));
      const window = openWindow({ folder, maxBytes: GB });
      const windowed = createWindowSource(window, source).contracts;
      const all = owners();
      const some = <T>(from: readonly T[], count: number): T[] =>
        Array.from({ length: count }, () => from[random(from.length)]);
      const walletFilters = (): JettonWalletFilter[] => [
        ...some(all.wallets, 4).map((owner) => ({ ...WALLETS, owners: [owner] })),
        { ...WALLETS, owners: some(all.wallets, 3), excludeZeroBalance: true },
        { ...WALLETS, owners: some(all.wallets, 2), byBalance: 'desc', page: { limit: 2, offset: 1 } },
        { ...WALLETS, owners: some(all.wallets, 6), jettons: some(all.jettons, 1) },
        { ...WALLETS, addresses: some(all.walletAddresses, 3) },
        { ...WALLETS, addresses: some(all.walletAddresses, 6), owners: some(all.wallets, 20), byBalance: 'asc' },
        { ...WALLETS, addresses: some(all.walletAddresses, 9), jettons: some(all.jettons, 1), byBalance: 'desc' },
      ];
      const itemFilters = (): NftItemFilter[] => [
        ...some(all.items, 4).map((owner) => ({ ...ITEMS, owners: [owner] })),
        { ...ITEMS, owners: some(all.items, 3), byLastTransaction: true },
        { ...ITEMS, owners: some(all.items, 6), collections: some(all.collections, 1) },
        { ...ITEMS, addresses: some(all.itemAddresses, 4) },
        { ...ITEMS, addresses: some(all.itemAddresses, 6), owners: some(all.items, 9), page: { limit: 2, offset: 1 } },
        { ...ITEMS, addresses: some(all.itemAddresses, 9), collections: some(all.collections, 1) },
      ];
      const page = { limit: 10, offset: 0 };
      const nameFilters = (): DnsFilter[] => [
        ...some(all.names, 3).map((domain) => ({ domain, page })),
        ...LED_TO.map((wallet) => ({ wallet, page })),
        { wallet: some(LED_TO, 1)[0], page: { limit: 1, offset: 1 } },
        { domain: 'nobody.ton', page },
        { wallet: NOBODY, page },
      ];
      try {
        const first = Math.floor(steps.length * share);
        const places = [first, ...[0.5, 1].map((part) => first + Math.floor((steps.length - 1 - first) * part))];
        let from = first;
        for (const place of places) {
          await window.apply(steps.slice(from, place + 1), async () => (first === 0 ? null : { lt: 0n, utime: 0 }));
          from = place + 1;
          now.step = steps[place].step.mcSeqno;
          for (const filter of walletFilters()) {
            const expected = await contracts.jettonWallets(filter, context());
            expect(await windowed.jettonWallets(filter, context())).toEqual(expected);
            now.asked = 0;
            expect(await windowed.jettonWallets(filter, context())).toEqual(expected);
            expect(now.asked).toBe(0);
          }
          for (const filter of itemFilters()) {
            const expected = await contracts.nftItems(filter, context());
            expect(itemsAlone(await windowed.nftItems(filter, context()))).toEqual(itemsAlone(expected));
            now.asked = 0;
            const again = await windowed.nftItems(filter, context());
            expect(now.asked).toBe(0);
            // At the end all is as it is now.
            if (place === steps.length - 1) expect(again).toEqual(expected);
          }
          const byId = (a: { id: string }, b: { id: string }): number => Number(BigInt(a.id) - BigInt(b.id));
          const [masters, collections] = [some(all.jettons, 2), some(all.collections, 2)];
          const told = tokensAt({ ...given(), steps }, now.step, { ...NO_TOKENS, masters, collections });
          const [ofMasters, ofCollections] = [
            { addresses: masters, admins: [], page },
            { addresses: collections, owners: [], page },
          ];
          await windowed.jettonMasters(ofMasters, context());
          await windowed.nftCollections(ofCollections, context());
          now.asked = 0;
          expect(await windowed.jettonMasters(ofMasters, context())).toEqual(told.masters.sort(byId));
          expect(await windowed.nftCollections(ofCollections, context())).toEqual(told.collections.sort(byId));
          expect(now.asked).toBe(0);
          if (place === steps.length - 1) {
            const { contracts: tables } = given().tables;
            expect(await tables.jettonMasters(ofMasters, context())).toEqual(told.masters);
            expect(await tables.nftCollections(ofCollections, context())).toEqual(told.collections);
          }
          for (const filter of nameFilters()) {
            const expected = await contracts.dnsRecords(filter, context());
            expect(await windowed.dnsRecords(filter, context())).toEqual(expected);
            now.asked = 0;
            expect(await windowed.dnsRecords(filter, context())).toEqual(expected);
            expect(now.asked).toBe(0);
            if (place !== steps.length - 1 || filter.domain === undefined) continue;
            const listed = await given().tables.contracts.dnsRecords(filter, context());
            expect(listed.map(({ address }) => address)).toEqual(expected.map(({ address }) => address));
          }
        }
      } finally {
        await window.close();
        rmSync(folder, { recursive: true, force: true });
      }
    },
    600_000,
  );
}
