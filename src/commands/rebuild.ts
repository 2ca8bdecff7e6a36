import { identifier } from '../../clickhouse/literal.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { beginSwap, finishSwap, rebuildDatabase } from '../../clickhouse/swap.ts';
import type { Progress as BatchProgress } from '../../streams/project/options.ts';
import { createPositionStore } from '../../streams/project/position.ts';
import { project } from '../../streams/project/projector.ts';
import { lastSealed } from '../../streams/step-search.ts';
import { topicNames } from '../../streams/topics.ts';
import { createProgress } from '../progress.ts';
import { openParts } from './parts.ts';
import type { Running } from './running.ts';

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
