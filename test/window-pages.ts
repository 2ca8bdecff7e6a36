/** A window over the steps of some block files, and pages of its transactions, for benchmarks. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transactions as transactionTable } from '../clickhouse/tables/transactions.ts';
import { createBook } from '../src/api/v3/render/book.ts';
import type { BookRows } from '../src/api/v3/render/book-rows.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { createRenderings } from '../src/api/v3/render/renderings.ts';
import { transactionsJson } from '../src/api/v3/transactions.ts';
import type { QueryContext, TransactionFilter } from '../src/chain/records.ts';
import { createWindowSource } from '../src/window/source.ts';
import { openWindow } from '../src/window/window.ts';
import { emptyTables } from './empty-tables.ts';
import { stepsOfFiles } from './recorded-steps.ts';

const GB = 1024 ** 3;
/** Keeps neighbouring pages apart. */
const STRIDE = 389;

export interface WindowPages {
  transactions: number;
  /** Estimated, on disk. */
  bytes: number;
  /** A page from the question to its bytes; `i` picks one. */
  page(i: number, size: number, bookRows: BookRows): Promise<Buffer>;
  close(): Promise<void>;
}

/** Of consecutive transactions, oldest first. */
function listing(limit: number, start?: string): TransactionFilter {
  const page = { limit, offset: 0 };
  return { accounts: [], excludeAccounts: [], hashes: [], utime: {}, ltWindow: { start }, sort: 'asc', page };
}

export async function openWindowPages(files: readonly string[]): Promise<WindowPages> {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-pages-'));
  const window = openWindow({ folder, maxBytes: GB, form: transactionForm });
  const steps = await stepsOfFiles(files, { loose: true });
  await window.apply(steps, async () => null);
  const source = createWindowSource(window, emptyTables());
  const renderings = createRenderings({ maxBytes: 0 });
  const context: QueryContext = { signal: new AbortController().signal, timeoutMs: 1_000, formsSuffice: true };
  const transactions = steps.flatMap(({ step }) => step.rows.of(transactionTable)).length;
  const { bytes = 0 } = window.state ?? {};
  const { rows } = await source.transactions(listing(transactions), context);
  const starts = rows.map(({ transaction }) => transaction.lt);
  return {
    transactions,
    bytes,
    async page(i, size, bookRows) {
      const found = await source.transactions(listing(size, starts[(i * STRIDE) % (starts.length - size)]), context);
      const book = createBook(false, bookRows);
      const addressBook = async () => book.json(await source.book(book.addresses(), context));
      return transactionsJson(found.rows, { book, renderings, addressBook });
    },
    async close() {
      await window.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
