import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { brokenParts } from '../../clickhouse/broken-parts.ts';
import { type ClickHouse, isTransient } from '../../clickhouse/client.ts';
import { connect, openServer, serverFolder } from '../../clickhouse/open.ts';
import { usersXml } from '../../clickhouse/reader.ts';
import { ServerError, STOP_TIMEOUT_MS } from '../../clickhouse/server.ts';
import { bringUp } from '../../clickhouse/swap.ts';
import { makeViews, ViewsOfOthers } from '../../clickhouse/views/all.ts';
import type { EventLog } from '../../streams/log.ts';
import { openLog } from '../../streams/open.ts';
import { persist } from '../../streams/project/patience.ts';
import { readerLimits, servesSql } from '../api/sql/limits.ts';
import { errorMessage } from '../chain/errors.ts';
import { ConfigError } from '../config.ts';
import { createMetrics, type Metrics } from '../metrics.ts';
import { makeDataFolder } from './data-folder.ts';
import type { Running } from './running.ts';

export interface Parts {
  clickhouse: ClickHouse;
  clickhouseUrl: string;
  log: EventLog;
  metrics: Metrics;
}

/**
 * Opens the log and the tables, the server started and the schema brought up to date; closed by the shutdown.
 * @param views whether those of SQL are made, too, as a service does
 * @param areThere whether the tables must be there already
 * @param beside how it is done while a service has its own server on the data folder; by default that is to be stopped
 * @throws {ConfigError} where they are not there, and with `beside` where such a service is in the way
 */
export async function openParts(
  running: Running,
  { views = false, areThere = false, beside = '' } = {},
): Promise<Parts> {
  const { config, logger, shutdown, print } = running;
  if (areThere && !config.clickhouseUrl && !existsSync(serverFolder(config))) {
    throw new ConfigError(
      `there are no tables in ${config.dataDir}: give the --data-dir of a service, or its --clickhouse-url`,
    );
  }
  makeDataFolder(config);
  const metrics = createMetrics();
  if (!config.clickhouseUrl) print(`starting ClickHouse in ${config.dataDir} …`);
  const users = servesSql(config) ? usersXml(readerLimits(config), config.sqlUser) : undefined;
  const { url, embedded } = await openServer(
    config,
    logger.child({ part: 'clickhouse' }),
    shutdown.signal,
    users,
  ).catch((error: unknown) => {
    const isBusy = error instanceof ServerError && error.code === 'folder_busy';
    throw isBusy && beside !== '' ? new ConfigError(`${error.message}, or ${beside}`, { cause: error }) : error;
  });
  if (embedded) {
    shutdown.onClose('ClickHouse', () => embedded.stop(), STOP_TIMEOUT_MS + KILL_MS);
    embedded.onRestart((restarts) => metrics.clickhouseRestarts(restarts));
    void embedded.failed.then((error) => shutdown.stop('the embedded ClickHouse server cannot be kept running', error));
  }
  const clickhouse = connect(config, url, logger, metrics.clickhouse);
  shutdown.onClose('ClickHouse connections', () => clickhouse.close());
  if (!embedded) await untilAnswers(clickhouse, url, { print, signal: shutdown.signal });
  // On a server of one's own the rights to make them may be missing, or another service has views there; then SQL says
  // that it is not ready.
  const refuseUnlessAsked = (error: unknown): void => {
    const mayGoOn = error instanceof ViewsOfOthers || (embedded === null && !isTransient(error));
    if (config.sql === 'on' || !mayGoOn) throw error;
    logger.warn({ err: error }, 'the views of SQL cannot be made: mend what is said here, or start with --sql off');
  };
  if (areThere) await despiteOutages(running, () => checkAreThere(clickhouse, shutdown.signal));
  await despiteOutages(running, async () => {
    if (await bringUp({ clickhouse, logger, signal: shutdown.signal }))
      logger.info('finished a rebuild that had been interrupted');
    if (views && servesSql(config))
      await makeViews(clickhouse, config.sqlDatabase, shutdown.signal).catch(refuseUnlessAsked);
  });
  await despiteOutages(running, async () => {
    const broken = await brokenParts(clickhouse);
    if (broken !== null) logger.error(broken);
  });
  const log = await openLog(config, logger, shutdown.signal);
  shutdown.onClose('event log', () => log.close());
  return { clickhouse, clickhouseUrl: url, log, metrics };
}

const named = z.object({ database: z.string() });

/** @throws {ConfigError} for a database without tables of ours: a mistyped name would be a new one */
async function checkAreThere(clickhouse: ClickHouse, signal: AbortSignal): Promise<void> {
  // By a connection to one that is always there.
  const system = clickhouse.withDatabase('system');
  try {
    const sql = "SELECT database FROM system.tables WHERE name = 'projection_state' ORDER BY database";
    const databases = (await system.json(sql, named, { label: 'looking for the tables', signal })).map(
      ({ database }) => database,
    );
    if (databases.includes(clickhouse.database)) return;
    const others = databases.length === 0 ? 'none has' : `these have: ${databases.join(', ')}`;
    throw new ConfigError(
      `--clickhouse-database: ${JSON.stringify(clickhouse.database)} has no tables of tonstream (${others})`,
    );
  } finally {
    await system.close();
  }
}

/** Longest wait at the start for a server that is started at the same time, or again. */
const SERVER_WAIT_MS = 30_000;
const ASK_EVERY_MS = 250;
const ASK_MS = 10_000;
/** For a server that did not end by itself to be gone. */
const KILL_MS = 2_000;

/** Does at the start what bears repetition, again when the server goes away or is busy meanwhile. */
export function despiteOutages(
  { logger, shutdown }: Pick<Running, 'logger' | 'shutdown'>,
  work: () => Promise<void>,
): Promise<void> {
  return persist(work, { outageMs: SERVER_WAIT_MS, logger, signal: shutdown.signal });
}

/**
 * Waits for a server that is not ours.
 * @throws {Error} when it answers nothing for so long: where it was looked for, why it could not be had, and what to do
 */
export async function untilAnswers(
  clickhouse: ClickHouse,
  url: string,
  { print, signal, waitMs = SERVER_WAIT_MS }: { print: Running['print']; signal: AbortSignal; waitMs?: number },
): Promise<void> {
  const { origin } = new URL(url);
  const giveUpAt = performance.now() + waitMs;
  for (let tries = 0; !(await clickhouse.ping(signal)); tries++) {
    signal.throwIfAborted();
    if (performance.now() > giveUpAt) return expectAnswer(clickhouse, origin, signal);
    if (tries === 0) print(`waiting for ClickHouse at ${origin} …`);
    await sleep(ASK_EVERY_MS, undefined, { signal });
  }
}

/** What stands between may let statements through alone. */
async function expectAnswer(clickhouse: ClickHouse, origin: string, signal: AbortSignal): Promise<void> {
  // By a connection to a database that is always there.
  const system = clickhouse.withDatabase('system');
  try {
    await system.command('SELECT 1', { label: 'SELECT 1', timeoutMs: ASK_MS, signal });
  } catch (cause) {
    signal.throwIfAborted();
    const why = errorMessage(cause);
    throw new Error(
      `no ClickHouse answers at ${origin} (${why}): start it, or give the address of another as --clickhouse-url`,
      { cause },
    );
  } finally {
    await system.close();
  }
}
