import { join } from 'node:path';
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { transactionForm } from '../api/v3/render/forms.ts';
import { readArchive } from '../archive/archive.ts';
import { beneathArchive } from '../archive/source.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Config } from '../config.ts';
import { createWindowSource } from '../window/source.ts';
import type { WindowView } from '../window/view.ts';
import { readWindow } from '../window/window.ts';

/** What a worker answers from. */
export interface Answers {
  /** The window with the tables behind it, or the tables alone where the window is switched off. */
  source: ChainSource;
  /** The newest step of a window that answers; 0 while there is none. */
  windowHead(): number;
  close(): Promise<void>;
}

type AnswersConfig = Pick<Config, 'windowBytes' | 'archiveBytes' | 'archiveForms' | 'dataDir'>;

/**
 * Opens the window that the main process of this host writes, to be read while its files say that it answers, before
 * the tables, and the archive between them where there is one. The head of the tables is told of steps that the window
 * shows.
 */
export function openAnswers(
  { windowBytes, archiveBytes, archiveForms, dataDir }: AnswersConfig,
  tables: ClickHouseSource,
): Answers {
  if (windowBytes === 0) return { source: tables, windowHead: () => 0, close: async () => undefined };
  const window = readWindow(join(dataDir, 'window'), transactionForm);
  const archive =
    archiveBytes === 0 ? null : readArchive(join(dataDir, 'archive'), archiveForms ? transactionForm : null);

  function view(): WindowView | null {
    const found = window.view();
    if (found?.state.speaks) {
      // The main process may not have told of it yet.
      tables.head.advance(found.head, found.globalId);
      return found;
    }
    found?.done();
    return null;
  }

  return {
    source: createWindowSource({ view }, tables, archive ? beneathArchive(archive, tables) : undefined),
    windowHead() {
      const found = view();
      found?.done();
      return found?.head ?? 0;
    },
    async close() {
      await window.close();
      await archive?.close();
    },
  };
}
