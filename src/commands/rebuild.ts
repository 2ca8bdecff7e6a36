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

/** Records of the log that the last round may have left to do, while the old tables stand still. */
const LAST_RECORDS = 2_000;
/** Rounds that follow a log which grows; then the rest is done with the old tables standing still, however much it is. */
const MOST_ROUNDS = 20;

/**
 * `tonstream rebuild`: makes the tables anew from the log alone, beside the old ones, then puts them in their place.
 * The old ones can be read meanwhile, and a projector goes on writing them; it stops at its next batch when the new ones
 * have all but the newest steps.
 */
export async function runRebuild(running: Running): Promise<void> {
  const { config, logger, shutdown, print } = running;
  const { clickhouse, log } = await openParts(running);
  const topics = topicNames(config.topicPrefix);
  const { signal } = shutdown;
  const store = createPositionStore(clickhouse);
  const fresh = clickhouse.withDatabase(rebuildDatabase(clickhouse));
  try {
    await clickhouse.command(`DROP DATABASE IF EXISTS ${identifier(fresh.database)} SYNC`, {
      label: 'dropping a former rebuild',
      signal,
    });
    await migrate({ clickhouse: fresh, logger, signal });
    const made = createPositionStore(fresh);
    const { onProgress, end, aim } = showProgress();
    const endOfLog = async (): Promise<number> => (await lastSealed(log, topics.blocks)).sealed?.nextOffset ?? 0;
    const parts = { log, topics, clickhouse: fresh, config, logger, onProgress, stopAtEnd: true };
    const toTheEnd = async (): Promise<void> => {
      aim(await endOfLog());
      await project(parts, signal).finally(end);
      signal.throwIfAborted();
    };
    for (let round = 0; round < MOST_ROUNDS; round++) {
      await toTheEnd();
      const { done } = await made.read(signal);
      if ((await endOfLog()) - (done?.nextOffset ?? 0) <= LAST_RECORDS) break;
    }
    // Only now: whoever writes the old tables stops, and what it has written of the log since is made here, too.
    await store.claim(signal);
    await toTheEnd();
    await store.checkOwner(signal);
    const { done } = await made.read(signal);
    await beginSwap(fresh, signal);
    await finishSwap(clickhouse, signal);
    print(`rebuilt ${clickhouse.database} up to masterchain block ${done?.mcSeqno ?? '(none)'}`);
  } finally {
    await fresh.close();
  }
}

function showProgress() {
  const progress = createProgress({ out: process.stderr });
  let total = 0;
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
    /** Offset of the log to which it goes. */
    aim: (offset: number) => {
      total = offset;
    },
    end: () => progress.end(),
  };
}
