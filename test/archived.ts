/** An archive under a window, filled from the tables of a test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent } from '../clickhouse/test-server.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { type Archive, openArchive } from '../src/archive/archive.ts';
import { compareArchive } from '../src/archive/compare.ts';
import { createFilling } from '../src/archive/fill.ts';
import type { Window } from '../src/window/window.ts';
import { context, type Projected } from './windowed.ts';

export interface Archived {
  archive: Archive;
  /** Works until there is nothing to do, or until it has steps down to this one. */
  fill(window: Pick<Window, 'state'>, options?: { downTo?: number; maxBytes?: number }): Promise<void>;
  remove(): Promise<void>;
}

/** What an archive has otherwise than the tables, of so many steps. */
export async function archiveProblems(
  archive: Pick<Archive, 'view'>,
  { clickhouse }: Pick<Projected, 'clickhouse'>,
  sampled: number,
): Promise<string[]> {
  const view = archive.view();
  if (view === null) return ['the archive is empty'];
  const comparing = compareArchive(view, clickhouse, context().signal, { sampled, form: transactionForm });
  return (await comparing.finally(() => view.done())).problems;
}

/** Small, so that there are many of them. */
const SLAB_TRANSACTIONS = 120;

/** Large, for tests of something else. */
export const LARGE_SLAB = 2_000;

export function archiveOf(
  { clickhouse }: Pick<Projected, 'clickhouse'>,
  slabTransactions: number = SLAB_TRANSACTIONS,
): Archived {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-archive-'));
  const archive = openArchive(folder, transactionForm);
  return {
    archive,
    async fill(window, { downTo = 0, maxBytes = Number.POSITIVE_INFINITY } = {}) {
      const speaking = {
        get state() {
          return window.state && { ...window.state, speaks: true };
        },
      };
      const parts = { archive, folder, maxBytes, window: speaking, clickhouse, logger: silent };
      const { work } = createFilling({ ...parts, slabTransactions, rest: 0 });
      const { signal } = context();
      while (await work(signal)) {
        const { state } = archive;
        if (state && state.head >= (window.state?.first ?? 0) && state.first <= downTo) return;
      }
    },
    async remove() {
      await archive.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
