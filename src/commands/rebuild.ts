import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { identifier } from '../../clickhouse/literal.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { createPositionStore } from '../../streams/project/position.ts';
import { type Progress as BatchProgress, project } from '../../streams/project/projector.ts';
import { lastSealed } from '../../streams/step-search.ts';
import { topicNames } from '../../streams/topics.ts';
import { createProgress } from '../progress.ts';
import { openParts } from './parts.ts';
import type { Running } from './running.ts';

const tableRow = z.object({ name: z.string(), uuid: z.string() });

/**
 * `tonstream rebuild`: makes the tables anew from the log alone, beside the old ones, then puts them in their place.
 * The old ones can be read meanwhile and are no longer written to: a projector that runs stops at its next batch.
 */
export async function runRebuild(running: Running): Promise<void> {
  const { config, logger, shutdown, print } = running;
  const { clickhouse, log } = await openParts(running);
  const topics = topicNames(config.topicPrefix);
  const { signal } = shutdown;
  const store = createPositionStore(clickhouse);
  await store.claim(signal);
  const fresh = clickhouse.withDatabase(rebuildDatabase(clickhouse));
  try {
    await clickhouse.command(`DROP DATABASE IF EXISTS ${identifier(fresh.database)} SYNC`, {
      label: 'dropping a former rebuild',
      signal,
    });
    await migrate({ clickhouse: fresh, logger, signal });
    const { sealed } = await lastSealed(log, topics.blocks);
    const { onProgress, end } = showProgress(sealed?.nextOffset ?? 0);
    const parts = { log, topics, clickhouse: fresh, config, logger, onProgress, stopAtEnd: true };
    await project(parts, signal).finally(end);
    signal.throwIfAborted();
    await store.checkOwner(signal);
    const { done } = await createPositionStore(fresh).read(signal);
    await beginSwap(fresh, signal);
    await finishSwap(clickhouse, signal);
    print(`rebuilt ${clickhouse.database} up to masterchain block ${done?.mcSeqno ?? '(none)'}`);
  } finally {
    await fresh.close();
  }
}

function showProgress(total: number) {
  const progress = createProgress({ out: process.stderr });
  let steps = 0;
  let transactions = 0;
  return {
    onProgress({ batch, counts }: BatchProgress): void {
      steps += batch.mcSeqno - batch.firstMcSeqno + 1;
      transactions += counts.transactions;
      progress.update({
        label: 'rebuilding',
        done: batch.nextOffset,
        total,
        counts: [
          { unit: 'transactions', value: transactions },
          { unit: 'steps', value: steps },
        ],
      });
    },
    end: () => progress.end(),
  };
}

function rebuildDatabase(clickhouse: ClickHouse): string {
  return `${clickhouse.database}_rebuild`;
}

/** Notes which tables are to take the place of the old ones, so that a crash in between is continued, not begun anew. */
async function beginSwap(fresh: ClickHouse, signal: AbortSignal): Promise<void> {
  const label = 'preparing the exchange of tables';
  await fresh.command('CREATE TABLE swap_list (name String, uuid String) ENGINE = MergeTree ORDER BY name', {
    label,
    signal,
  });
  await fresh.command(
    `INSERT INTO swap_list SELECT name, toString(uuid) FROM system.tables
     WHERE database = '${fresh.database}' AND engine LIKE '%MergeTree' AND name NOT IN ('swap_list', 'migrations')`,
    { label, signal },
  );
  // From here on the new tables are the ones that count.
  await fresh.command('RENAME TABLE swap_list TO swap', { label, signal });
}

/**
 * Exchanges the tables noted by a rebuild and drops the old ones. Views stay: they go by name, so they feed the new
 * tables. Run at every start, in case a rebuild was killed half way. True when there was something to do.
 */
export async function finishSwap(clickhouse: ClickHouse, signal: AbortSignal): Promise<boolean> {
  const from = rebuildDatabase(clickhouse);
  const label = 'exchanging tables';
  const noted = await clickhouse.json(
    `SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = '${from}' AND name = 'swap'`,
    tableRow,
    { label, signal },
  );
  if (noted.length === 0) return false;
  const tables = await clickhouse.json(
    `SELECT name, uuid FROM ${identifier(from)}.swap ORDER BY name = 'projection_state', name`,
    tableRow,
    {
      label,
      signal,
    },
  );
  const live = await clickhouse.json(
    `SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = '${clickhouse.database}'`,
    tableRow,
    { label, signal },
  );
  for (const { name, uuid } of tables) {
    if (live.some((table) => table.name === name && table.uuid === uuid)) continue;
    const pair = [clickhouse.database, from].map((database) => `${identifier(database)}.${identifier(name)}`);
    await clickhouse.command(`EXCHANGE TABLES ${pair.join(' AND ')}`, { label, signal });
  }
  await clickhouse.command(`DROP DATABASE ${identifier(from)} SYNC`, { label: 'dropping the former tables', signal });
  return true;
}
