import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { decodeState } from '../../clickhouse/states.ts';
import { accounts } from '../../clickhouse/tables/accounts.ts';
import { emptyTables } from '../../test/empty-tables.ts';
import { recordedSteps } from '../../test/recorded-steps.ts';
import { shelf } from '../../test/shelf.ts';
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
});
