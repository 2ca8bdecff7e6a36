import { join } from 'node:path';
import type { Head } from '../../clickhouse/queries/head.ts';
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { transactionForm } from '../api/v3/render/forms.ts';
import type { ChainSource } from '../chain/records.ts';
import type { Config } from '../config.ts';
import { createWindowSource } from '../window/source.ts';
import type { View } from '../window/view.ts';
import { readWindow } from '../window/window.ts';

export interface WindowReader {
  /** The window with the tables behind it, or the tables alone where the window is switched off. */
  source(tables: ClickHouseSource): ChainSource;
  /** The newest step of the window; 0 while there is none. */
  head(): number;
  close(): Promise<void>;
}

/** Reads the window that the main process of this host writes, while its files say that it answers. */
export function openWindowReader(config: Config, head: Pick<Head, 'advance'>): WindowReader {
  if (config.windowBytes === 0) return { source: (tables) => tables, head: () => 0, close: async () => undefined };
  const window = readWindow(join(config.dataDir, 'window'), transactionForm);

  function view(): View | null {
    const found = window.view();
    if (found?.state.speaks) {
      // The main process may not have told of it yet.
      head.advance(found.head, found.globalId);
      return found;
    }
    found?.done();
    return null;
  }

  return {
    source: (clickhouse) => createWindowSource({ view }, clickhouse),
    head() {
      const found = view();
      found?.done();
      return found?.head ?? 0;
    },
    close: () => window.close(),
  };
}
