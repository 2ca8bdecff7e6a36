/** Wallets and items of owners: from windows that move over the steps, against what the tables say of each step. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ClickHouseSource } from '../clickhouse/queries/source.ts';
import { jettonWallets } from '../clickhouse/tables/jettons.ts';
import { nftItems } from '../clickhouse/tables/nfts.ts';
import { transactions } from '../clickhouse/tables/transactions.ts';
import type {
  ContractSource,
  JettonWalletFilter,
  ListedNftItem,
  NftItemFilter,
} from '../src/chain/contract-records.ts';
import { distinct } from '../src/chain/hash.ts';
import type { Address } from '../src/chain/model.ts';
import { createWindowSource } from '../src/window/source.ts';
import { openWindow } from '../src/window/window.ts';
import { random } from './chance.ts';
import { ITEMS, WALLETS } from './token-filters.ts';
import { context, type Projected } from './windowed.ts';

type Given = Pick<Projected, 'tables' | 'steps'>;

const GB = 1024 ** 3;

/** The tables as they were at a step, and how often they were asked. */
function tablesAt({ tables }: Given) {
  const now = { step: 0, asked: 0 };
  const contracts: ContractSource = {
    ...tables.contracts,
    jettonWallets(filter, asking) {
      now.asked++;
      return tables.contracts.jettonWallets({ ...filter, at: now.step }, asking);
    },
    nftItems(filter, asking) {
      now.asked++;
      return tables.contracts.nftItems({ ...filter, at: now.step }, asking);
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

  const owners = (): { wallets: Address[]; items: Address[]; jettons: Address[]; collections: Address[] } => {
    const { steps } = given();
    const wallets = steps.flatMap(({ step }) => step.rows.of(jettonWallets));
    const items = steps.flatMap(({ step }) => step.rows.of(nftItems));
    return {
      wallets: distinct(wallets.map(({ owner }) => owner)),
      jettons: distinct(wallets.map(({ jetton }) => jetton)),
      items: distinct(items.flatMap(({ ownerAddress }) => ownerAddress ?? [])),
      collections: distinct(items.flatMap(({ collectionAddress }) => collectionAddress ?? [])),
    };
  };

  /** Of all steps at once their collections and sales are told as they are at the end. */
  const itemsAlone = (listed: readonly ListedNftItem[]) => listed.map(({ item }) => item);

  it.each([0, 0.6])(
    'of owners are told by a window from %f of the steps on as by the tables',
    async (share) => {
      const { steps } = given();
      const { now, source, contracts } = tablesAt(given());
      const folder = mkdtempSync(join(tmpdir(), 'tonstream-owned-'));
      const window = openWindow({ folder, maxBytes: GB });
      const windowed = createWindowSource(window, source).contracts;
      const all = owners();
      const some = (from: readonly Address[], count: number): Address[] =>
        Array.from({ length: count }, () => from[random(from.length)]);
      const walletFilters = (): JettonWalletFilter[] => [
        ...some(all.wallets, 4).map((owner) => ({ ...WALLETS, owners: [owner] })),
        { ...WALLETS, owners: some(all.wallets, 3), excludeZeroBalance: true },
        { ...WALLETS, owners: some(all.wallets, 2), byBalance: 'desc', page: { limit: 2, offset: 1 } },
        { ...WALLETS, owners: some(all.wallets, 6), jettons: some(all.jettons, 1) },
      ];
      const itemFilters = (): NftItemFilter[] => [
        ...some(all.items, 4).map((owner) => ({ ...ITEMS, owners: [owner] })),
        { ...ITEMS, owners: some(all.items, 3), byLastTransaction: true },
        { ...ITEMS, owners: some(all.items, 6), collections: some(all.collections, 1) },
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
        }
      } finally {
        await window.close();
        rmSync(folder, { recursive: true, force: true });
      }
    },
    600_000,
  );
}
