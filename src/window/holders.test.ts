import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { TooMuch } from '../../clickhouse/queries/reading.ts';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import type { TableWith } from '../../clickhouse/tables/table.ts';
import { emptyTables } from '../../test/empty-tables.ts';
import { recordedSteps } from '../../test/recorded-steps.ts';
import { shelf } from '../../test/shelf.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type {
  BehindBalance,
  JettonWalletFilter,
  JettonWalletRecord,
  TokenCandidates,
} from '../chain/contract-records.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import type { Page } from '../chain/records.ts';
import { createWindowSource } from './source.ts';
import { type Arrival, openWindow, type Window } from './window.ts';

const MB = 1024 ** 2;
const context = { signal: new AbortController().signal, timeoutMs: 10_000 };
const folder = mkdtempSync(join(tmpdir(), 'tonstream-holders-'));
const windows: Window[] = [];

afterEach(async () => {
  for (const window of windows.splice(0)) await window.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Tables that hold wallets as they stand when they are asked, and how often they were, by what.
 * @param room the longest order that a request has memory for
 */
function tablesOf(standing: () => JettonWalletRecord[], room = Number.POSITIVE_INFINITY) {
  const asked = { pages: 0, orders: [] as number[], wallets: 0 };
  const tables = emptyTables();
  const contracts = {
    ...tables.contracts,
    jettonWallets: async ({ page, excludeZeroBalance, behind }: JettonWalletFilter) => {
      asked.pages++;
      const all = standing();
      const from = 1 + all.findIndex(({ address }) => behind && 'balance' in behind && address.equals(behind.address));
      const rows = all.slice(from).filter(({ balance }) => !excludeZeroBalance || balance !== '0');
      return rows.slice(page.offset, page.offset + page.limit);
    },
    jettonHolders: async (jetton: Address, most: number) => {
      expect(jetton).toEqual(JETTON);
      asked.orders.push(most);
      if (most > room) throw new TooMuch('too much');
      return standing().slice(0, most);
    },
    tokens: async ({ wallets }: TokenCandidates) => {
      asked.wallets += wallets.length;
      const wanted = new Set(wallets.map(hashKey));
      const found = standing().filter(({ address }) => wanted.has(hashKey(address)));
      return { items: [], collections: [], masters: [], wallets: found };
    },
  };
  const bounded = { ...tables.below(0), contracts };
  return { asked, tables: { ...tables, below: () => bounded } };
}

function ask({ contracts }: ChainSource, page: Page, excludeZeroBalance = false, behind?: BehindBalance) {
  const filter = { addresses: [], owners: [], jettons: [JETTON], excludeZeroBalance, behind, page };
  return contracts.jettonWallets({ ...filter, byBalance: 'desc' }, context);
}

describe.skipIf(shelf === null)('the holders of a jetton', () => {
  it('are those of the tables, moved by every step since, once they are asked for often', async () => {
    const steps = (await recordedSteps('mainnet-genesis_a')).slice(0, 30).map(withWallets);
    const window = openWindow({ folder: join(folder, 'moved'), maxBytes: 64 * MB });
    windows.push(window);
    let written = 10;
    const { asked, tables } = tablesOf(() => holdersAt(steps.slice(0, written)));
    const source = createWindowSource(window, tables);
    await window.apply(steps.slice(5, written), async () => ({ lt: 1n, utime: 1 }));
    for (let i = 0; i < 5; i++) await ask(source, { offset: 0, limit: 3 });
    expect(asked).toMatchObject({ pages: 2, orders: [12_000] });
    for (; written < steps.length; written += 2) {
      await window.apply(steps.slice(written, written + 2), async () => null);
      const all = holdersAt(steps.slice(0, written + 2));
      expect(await ask(source, { offset: 3, limit: 5 })).toEqual(all.slice(3, 8));
      for (const at of [0, 2, all.length - 2, all.length - 1]) {
        const { balance, address } = all[at];
        const page = { offset: at === 2 ? 1 : 0, limit: 4 };
        const told = await ask(source, page, false, { balance, address });
        expect(told).toEqual(all.slice(at + 1 + page.offset).slice(0, 4));
      }
      // A place that no wallet has.
      const [{ balance }] = all;
      const place = { balance, address: Buffer.alloc(36, 255) };
      expect(await ask(source, { offset: 0, limit: 2 }, false, place)).toEqual(all.slice(0, 2));
      const positive = all.filter(({ balance }) => balance !== '0');
      expect(positive.length).toBeLessThan(all.length);
      expect(await ask(source, { offset: 0, limit: 1_000 }, true)).toEqual(positive);
    }
    expect(asked).toMatchObject({ pages: 2, orders: [12_000] });
  });

  it('are kept far down, too, once pages there are asked for often, and each wallet is looked for once', async () => {
    const steps = (await recordedSteps('mainnet-genesis_a')).slice(0, 12).map(withWallets);
    const window = openWindow({ folder: join(folder, 'deep'), maxBytes: 64 * MB });
    windows.push(window);
    let written = 10;
    const { asked, tables } = tablesOf(() => [...RICH, ...holdersAt(steps.slice(0, written))]);
    const source = createWindowSource(window, tables);
    await window.apply(steps.slice(0, written), async () => ({ lt: 1n, utime: 1 }));
    const far = { offset: RICH.length - 2, limit: 5 };
    const all = () => [...RICH, ...holdersAt(steps.slice(0, written))];
    for (let i = 0; i < 3; i++) expect(await ask(source, far)).toEqual(all().slice(far.offset, far.offset + 5));
    expect(asked).toMatchObject({ pages: 2, orders: [128_000] });
    // Those in steps of the window are there.
    expect(asked.wallets).toBe(2);
    await ask(source, far);
    expect(asked.wallets).toBe(2);
    await window.apply(steps.slice(written), async () => null);
    written = steps.length;
    expect(await ask(source, { ...far, limit: 50 })).toEqual(all().slice(far.offset));
    // Behind a place it is known once the first rows are that it lies below them.
    const { balance, address } = RICH[RICH.length - 3];
    for (let i = 0; i < 4; i++) {
      const behind = await ask(source, { offset: 1, limit: 50 }, false, { balance, address });
      expect(behind).toEqual(all().slice(far.offset + 1));
    }
    expect(asked).toEqual({ pages: 4, orders: [128_000, 12_000], wallets: 2 });
    // Deeper than any order that is kept.
    expect(await ask(source, { offset: 127_999, limit: 5 })).toEqual([]);
    expect(asked.pages).toBe(5);
  });

  it('are asked of the tables where an order takes more memory than a request may', async () => {
    const steps = (await recordedSteps('mainnet-genesis_a')).slice(0, 2).map(withWallets);
    const window = openWindow({ folder: join(folder, 'much'), maxBytes: 64 * MB });
    windows.push(window);
    await window.apply(steps.slice(1), async () => ({ lt: 1n, utime: 1 }));
    const { asked, tables } = tablesOf(() => RICH, 12_000);
    const source = createWindowSource(window, tables);
    const page = { offset: 12_500, limit: 3 };
    for (let i = 0; i < 5; i++) expect(await ask(source, page)).toEqual(RICH.slice(12_500, 12_503));
    expect(asked).toMatchObject({ pages: 5, orders: [128_000] });
  });
});

const JETTON = Buffer.alloc(36, 7);
const WALLETS = 12;

function wallet(address: Address, balance: string): JettonWalletRecord {
  return {
    address,
    id: '1000',
    mcSeqno: 1,
    lastTransactionLt: '1',
    codeHash: Buffer.alloc(32, 1),
    dataHash: Buffer.alloc(32, 2),
    balance,
    owner: Buffer.alloc(36, 9),
    jetton: JETTON,
    mintlessIsClaimed: null,
  };
}

/** More than the first pages, in order, that no step changes. */
const RICH = Array.from({ length: 13_000 }, (_, i) => {
  const address = Buffer.alloc(36, 200);
  address.writeUInt32BE(i);
  return wallet(address, String(100_000 - i));
});

/** A step that leaves some wallets with other balances: some equal, some nothing, one of another jetton. */
function withWallets({ step, ...arrival }: Arrival, at: number): Arrival {
  const wallets = [0, 1, 2].map((i): JettonWalletRecord => {
    const n = (at * 5 + i * 3) % WALLETS;
    return {
      ...wallet(Buffer.alloc(36, n + 1), String((at * 7 + i) % 5)),
      id: String(n),
      mcSeqno: step.mcSeqno,
      lastTransactionLt: String(at + 1),
      jetton: n === WALLETS - 1 ? Buffer.alloc(36, 8) : JETTON,
    };
  });
  const { rows } = step;
  const of = <R extends object>(table: TableWith<R>): readonly R[] =>
    table.name === jettonWallets.name ? (wallets as readonly object[] as readonly R[]) : rows.of(table);
  return { ...arrival, step: { ...step, rows: { mcSeqno: rows.mcSeqno, tables: rows.tables, of } } };
}

/** By a sort of all that the steps have left. */
function holdersAt(steps: readonly Arrival[]): JettonWalletRecord[] {
  const rows = steps.flatMap(({ step }) => step.rows.of(jettonWallets));
  const newest = new Map(rows.map((row) => [row.address.toString('hex'), row]));
  const held = [...newest.values()].filter(({ jetton }) => jetton.equals(JETTON));
  held.sort((a, b) => Number(b.balance) - Number(a.balance) || b.address.compare(a.address));
  return held;
}
