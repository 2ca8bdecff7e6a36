import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { decodeState } from '../../clickhouse/states.ts';
import { accounts } from '../../clickhouse/tables/accounts.ts';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import type { TableWith } from '../../clickhouse/tables/table.ts';
import { emptyTables } from '../../test/empty-tables.ts';
import { recordedSteps } from '../../test/recorded-steps.ts';
import { shelf } from '../../test/shelf.ts';
import type { BehindBalance, JettonWalletFilter, JettonWalletRecord } from '../chain/contract-records.ts';
import type { BalanceRecord, Page } from '../chain/records.ts';
import { createWindowSource } from './source.ts';
import { type Arrival, openWindow, type Window } from './window.ts';

const MB = 1024 ** 2;
const context = { signal: new AbortController().signal, timeoutMs: 10_000 };
const folder = mkdtempSync(join(tmpdir(), 'tonstream-top-'));
const windows: Window[] = [];

afterEach(async () => {
  for (const window of windows.splice(0)) await window.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** By a sort of all that the steps have left. */
function balancesAt(steps: readonly Arrival[], { offset, limit }: Page): BalanceRecord[] {
  const rows = steps.flatMap(({ step }) => step.rows.of(accounts));
  const newest = new Map(
    rows.map(({ account, state }) => [account.toString('hex'), { account, balance: decodeState(state).balance }]),
  );
  const sorted = [...newest.values()].sort((a, b) => {
    const more = BigInt(b.balance) - BigInt(a.balance);
    return more === 0n ? a.account.compare(b.account) : more > 0n ? 1 : -1;
  });
  return sorted.slice(offset, offset + limit);
}

describe.skipIf(shelf === null)('the accounts with most', () => {
  it('are those of the tables, moved by every step since, and the tables are asked once', async () => {
    const steps = await recordedSteps('mainnet-genesis_a');
    const window = openWindow({ folder: join(folder, 'balances'), maxBytes: 64 * MB });
    windows.push(window);
    let written = 40;
    let asked = 0;
    const tables = emptyTables();
    const bounded = {
      ...tables.below(0),
      topBalances: async (page: Page) => {
        asked++;
        return balancesAt(steps.slice(0, written), page);
      },
    };
    const source = createWindowSource(window, { ...tables, below: () => bounded });
    await window.apply(steps.slice(20, written), async () => ({ lt: 1n, utime: 1 }));
    const first = await source.topBalances({ offset: 0, limit: 20 }, context);
    expect(first.length).toBeGreaterThan(3);
    for (; written < steps.length; written += 3) {
      await window.apply(steps.slice(written, written + 3), async () => null);
      for (const page of [
        { offset: 0, limit: 20 },
        { offset: 7, limit: 1_000 },
      ]) {
        const shown = await source.topBalances(page, context);
        expect(shown).toEqual(balancesAt(steps.slice(0, written + 3), page));
      }
    }
    expect(await source.topBalances({ offset: 0, limit: 20 }, context)).not.toEqual(first);
    expect(asked).toBe(1);
  });

  it('are kept of a jetton, too, once its holders are asked for often', async () => {
    const steps = (await recordedSteps('mainnet-genesis_a')).slice(0, 30).map(withWallets);
    const window = openWindow({ folder: join(folder, 'holders'), maxBytes: 64 * MB });
    windows.push(window);
    let written = 10;
    let asked = 0;
    const tables = emptyTables();
    const contracts = {
      ...tables.contracts,
      jettonWallets: async ({ page, excludeZeroBalance, behind }: JettonWalletFilter) => {
        asked++;
        expect(behind).toBeUndefined();
        return holdersAt(steps.slice(0, written), page).filter(({ balance }) => !excludeZeroBalance || balance !== '0');
      },
    };
    const bounded = { ...tables.below(0), contracts };
    const source = createWindowSource(window, { ...tables, below: () => bounded });
    const holders = (page: Page, excludeZeroBalance: boolean, behind?: BehindBalance) =>
      source.contracts.jettonWallets(
        { addresses: [], owners: [], jettons: [JETTON], excludeZeroBalance, byBalance: 'desc', behind, page },
        context,
      );
    await window.apply(steps.slice(5, written), async () => ({ lt: 1n, utime: 1 }));
    for (let i = 0; i < 5; i++) await holders({ offset: 0, limit: 3 }, false);
    expect(asked).toBe(3);
    for (; written < steps.length; written += 2) {
      await window.apply(steps.slice(written, written + 2), async () => null);
      const all = holdersAt(steps.slice(0, written + 2), { offset: 0, limit: 1_000 });
      expect(await holders({ offset: 3, limit: 5 }, false)).toEqual(all.slice(3, 8));
      for (const at of [0, 2, all.length - 2, all.length - 1]) {
        const { balance, address } = all[at];
        const page = { offset: at === 2 ? 1 : 0, limit: 4 };
        const told = await holders(page, false, { balance, address });
        expect(told).toEqual(all.slice(at + 1 + page.offset).slice(0, 4));
      }
      // A place that no wallet has.
      const [{ balance }] = all;
      expect(await holders({ offset: 0, limit: 2 }, false, { balance, address: Buffer.alloc(36, 255) })).toEqual(
        all.slice(0, 2),
      );
      const positive = all.filter(({ balance }) => balance !== '0');
      expect(positive.length).toBeLessThan(all.length);
      expect(await holders({ offset: 0, limit: 1_000 }, true)).toEqual(positive);
    }
    expect(asked).toBe(3);
  });
});

const JETTON = Buffer.alloc(36, 7);
const WALLETS = 12;

/** A step that leaves some wallets with other balances: some equal, some nothing, one of another jetton. */
function withWallets({ step, ...arrival }: Arrival, at: number): Arrival {
  const wallets = [0, 1, 2].map((i): JettonWalletRecord => {
    const n = (at * 5 + i * 3) % WALLETS;
    return {
      address: Buffer.alloc(36, n + 1),
      id: String(n),
      mcSeqno: step.mcSeqno,
      lastTransactionLt: String(at + 1),
      codeHash: Buffer.alloc(32, 1),
      dataHash: Buffer.alloc(32, 2),
      balance: String((at * 7 + i) % 5),
      owner: Buffer.alloc(36, 9),
      jetton: n === WALLETS - 1 ? Buffer.alloc(36, 8) : JETTON,
      mintlessIsClaimed: null,
    };
  });
  const { rows } = step;
  const of = <R extends object>(table: TableWith<R>): readonly R[] =>
    table.name === jettonWallets.name ? (wallets as readonly object[] as readonly R[]) : rows.of(table);
  return { ...arrival, step: { ...step, rows: { mcSeqno: rows.mcSeqno, tables: rows.tables, of } } };
}

function holdersAt(steps: readonly Arrival[], { offset, limit }: Page): JettonWalletRecord[] {
  const rows = steps.flatMap(({ step }) => step.rows.of(jettonWallets));
  const newest = new Map(rows.map((row) => [row.address.toString('hex'), row]));
  const held = [...newest.values()].filter(({ jetton }) => jetton.equals(JETTON));
  held.sort((a, b) => Number(b.balance) - Number(a.balance) || b.address.compare(a.address));
  return held.slice(offset, offset + limit);
}
