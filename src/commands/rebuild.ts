import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { identifier } from '../../clickhouse/literal.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { beginSwap, borrowTables, finishSwap, rebuildDatabase } from '../../clickhouse/swap.ts';
import { TABLES } from '../../clickhouse/tables/all.ts';
import { messages } from '../../clickhouse/tables/messages.ts';
import type { Table } from '../../clickhouse/tables/table.ts';
import { logFolder } from '../../streams/open.ts';
import type { Progress as BatchProgress, ProjectorOptions } from '../../streams/project/options.ts';
import { createPositionStore, OWNER_MS, PositionError } from '../../streams/project/position.ts';
import type { Projection } from '../../streams/project/projection.ts';
import { PROJECTIONS } from '../../streams/project/projections.ts';
import { project } from '../../streams/project/projector.ts';
import { holdVersions } from '../../streams/project/versions.ts';
import { lastSealed } from '../../streams/step-search.ts';
import { topicsOf } from '../../streams/topics.ts';
import { ConfigError } from '../config.ts';
import { createProgress } from '../progress.ts';
import { openParts } from './parts.ts';
import type { Running } from './running.ts';

/** Records of the log that the last round may have left to do, while the old tables stand still. */
const LAST_RECORDS = 2_000;
/** Rounds that follow a log which grows; then the rest is done with the old tables standing still, however much it is. */
const MOST_ROUNDS = 20;
/** Milliseconds from the claim until nobody else begins an insert: one that was allowed may wait for a connection. */
const SETTLED_MS = 2 * OWNER_MS;

/**
 * `tonstream rebuild [NAME…]`: makes the tables anew from the log alone, beside the old ones, then puts them in their
 * place; with names, those of these projections and of what reads from them, and no others. The old ones can be read
 * meanwhile, and a projector goes on writing them; it stops when the new ones have all but the newest steps.
 *
 * @param settledMs as `RebuildOptions` has it
 * @throws {ConfigError} where there is no log, and with names, where there are no tables
 */
export async function runRebuild(
  running: Running,
  names: readonly string[] = [],
  settledMs = SETTLED_MS,
): Promise<void> {
  const { config, logger, shutdown, print } = running;
  const remade = withReaders(names, PROJECTIONS);
  // Of a mistyped folder an empty service would be made.
  if (!config.kafkaBrokers && !existsSync(logFolder(config))) {
    throw new ConfigError(
      `there is no log in ${config.dataDir}: give the --data-dir of a service, or its --kafka-brokers`,
    );
  }
  // Some alone are made beside the others; all of them from the log alone.
  const { clickhouse, log } = await openParts(running, { areThere: remade.length > 0 });
  const { onProgress, end, aim } = showProgress();
  const parts = { log, topics: topicsOf(config), clickhouse, config, logger, onProgress };
  const what = remade.length > 0 ? `${remade.map(({ name }) => name).join(', ')} of ` : '';
  const upTo = await rebuild({ ...parts, projections: PROJECTIONS, aim, settledMs }, remade, shutdown.signal).finally(
    end,
  );
  print(`rebuilt ${what}${clickhouse.database} up to masterchain block ${upTo ?? '(none)'}`);
}

export interface RebuildOptions extends Omit<ProjectorOptions, 'projections'> {
  projections: readonly Projection[];
  /** Folder of the migrations. Default: those of this package. */
  migrations?: string;
  /** Told of the offset of the log to which it goes, whenever that has changed. */
  aim?: (offset: number) => void;
  /** Milliseconds from the claim to the exchange, at least; 0 where nobody else writes. */
  settledMs: number;
}

/**
 * The projections of these names, and those that read their rows.
 * @throws {ConfigError} for a name that is none
 */
function withReaders(names: readonly string[], projections: readonly Projection[]): Projection[] {
  const unknown = names.filter((name) => !projections.some((one) => one.name === name));
  if (unknown.length > 0) {
    const known = projections.map(({ name }) => name).join(', ');
    throw new ConfigError(
      `there is no projection ${JSON.stringify(unknown[0])}; rebuild takes ${known}, or nothing for all`,
    );
  }
  const chosen = new Set(names);
  for (const { name, reads = [] } of projections) if (reads.some((one) => chosen.has(one))) chosen.add(name);
  return projections.filter(({ name }) => chosen.has(name));
}

/**
 * @param remade projections whose tables are made anew; none: all tables
 * @returns the masterchain seqno up to which; null for an empty log
 * @throws {PositionError} when the other tables are not those that go with the new ones, and for tables of a log that is empty
 */
export async function rebuild(
  options: RebuildOptions,
  remade: readonly Projection[],
  signal: AbortSignal,
): Promise<number | null> {
  const { clickhouse, log, topics, logger, projections, migrations, aim, settledMs } = options;
  const store = createPositionStore(clickhouse);
  const fresh = clickhouse.withDatabase(rebuildDatabase(clickhouse));
  const isPart = remade.length > 0;
  const { borrowed, unwritten } = tablesThatStay(remade);
  const names = new Set(remade.map(({ name }) => name));
  if (isPart) {
    const position = await store.read(signal);
    if (position.done === null) throw new PositionError('nothing is projected yet, so there is nothing to rebuild');
    await holdVersions(clickhouse, projections, position, signal, names);
  } else await refuseEmptyLog(options, signal);
  /** Where what can be made anew ends: a part goes no farther than the tables that stay. */
  const endOffset = async (): Promise<number> => {
    const done = isPart ? (await store.read(signal)).done : (await lastSealed(log, topics.blocks)).sealed;
    return done?.nextOffset ?? 0;
  };
  try {
    const dropping = `DROP DATABASE IF EXISTS ${identifier(fresh.database)} SYNC`;
    await clickhouse.command(dropping, { label: 'dropping a former rebuild', signal });
    await migrate({ clickhouse: fresh, logger, signal, ...(migrations ? { folder: migrations } : {}) });
    if (isPart) await borrowTables(fresh, clickhouse, borrowed, signal);
    const made = createPositionStore(fresh);
    const toTheEnd = async (): Promise<void> => {
      const end = await endOffset();
      aim?.(end);
      const part = isPart ? { endOffset: end, unwritten } : {};
      await project({ ...options, ...part, clickhouse: fresh, stopAtEnd: true }, signal);
      signal.throwIfAborted();
    };
    for (let round = 0; round < MOST_ROUNDS; round++) {
      await toTheEnd();
      const { done } = await made.read(signal);
      if ((await endOffset()) - (done?.nextOffset ?? 0) <= LAST_RECORDS) break;
    }
    // Only now: whoever writes the old tables stops, and what it has written of the log since is made here, too.
    await store.claim(signal);
    const settledAt = performance.now() + settledMs;
    // What it had announced may be there in part: the tables that stay get the whole, and the new ones after them.
    const finishing = { claimed: store, names: true, remade: names, endOffset: 0, stopAtEnd: true };
    if (isPart) await project({ ...options, ...finishing }, signal);
    await toTheEnd();
    // An insert that began before the exchange goes to the old tables, whenever it ends.
    await sleep(Math.max(0, settledAt - performance.now()), undefined, { signal });
    await store.checkOwner(signal);
    // Steps as the old tables had them are not for those who begin to follow the new ones.
    await log.ensureTopic(topics.steps);
    await log.trim(topics.steps, await log.end(topics.steps));
    const { done } = await made.read(signal);
    const tables = isPart ? remade.flatMap((one) => one.tables) : undefined;
    await beginSwap(fresh, signal, { tables, mayBegin: () => store.checkOwner(signal) });
    await finishSwap(clickhouse, signal);
    return done?.mcSeqno ?? null;
  } finally {
    await fresh.close();
  }
}

const newestRow = z.object({ newest: z.number() });

/**
 * Tables would be exchanged for empty ones where the log is not the one that was meant: its folder is gone, or other topics
 * are named than those it is in.
 * @throws {PositionError}
 */
async function refuseEmptyLog(
  { clickhouse, log, topics: { blocks } }: Pick<RebuildOptions, 'clickhouse' | 'log' | 'topics'>,
  signal: AbortSignal,
): Promise<void> {
  if ((await lastSealed(log, blocks)).sealed !== null) return;
  const sql = 'SELECT max(mc_seqno) AS newest FROM projection_state WHERE done';
  const label = 'reading how far the tables are';
  const [{ newest }] = await clickhouse.json(sql, newestRow, { label, signal });
  if (newest === 0) return;
  throw new PositionError(
    `the log has no step in ${blocks}, and the tables go up to step ${newest}: nothing could be made anew. ` +
      'Give the log that they were made from, or have another one begun first',
  );
}

/**
 * Of the tables that stay those that a projector reads by key or up to a step, so that rows of later steps do no harm:
 * it reads them in their place. Signed pairs it does not read at all. What keeps the newest alone is made once more,
 * for it must be as it was.
 */
function tablesThatStay(remade: readonly Projection[]): { borrowed: Table[]; unwritten: Set<Table> } {
  const staying = TABLES.filter((table) => !remade.some(({ tables }) => tables.includes(table)));
  const borrowed = staying.filter((table) => table === messages || (table.kind === 'fact' && table.steps.length > 0));
  return { borrowed, unwritten: new Set([...borrowed, ...staying.filter(({ kind }) => kind === 'pairs')]) };
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
