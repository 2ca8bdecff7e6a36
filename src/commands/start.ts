import type { Logger } from 'pino';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { createQueryGate } from '../../clickhouse/gate.ts';
import { createHead, type Head, TablesBehind } from '../../clickhouse/queries/head.ts';
import { createClickHouseSource } from '../../clickhouse/queries/source.ts';
import { migrateSubscribers } from '../../clickhouse/subscribers.ts';
import { followTables } from '../../clickhouse/tables-id.ts';
import { startPoint } from '../../streams/ingest/follow-start.ts';
import { project } from '../../streams/project/projector.ts';
import { publishSettings } from '../../streams/project/publish.ts';
import { startProjectorThread } from '../../streams/project/thread.ts';
import { createSeldom } from '../../streams/seldom.ts';
import { topicsOf } from '../../streams/topics.ts';
import { FAUCET_PATH } from '../api/faucet.ts';
import { type Config, settings } from '../config.ts';
import type { DevnetThread } from '../devnet/thread.ts';
import { expectFree } from '../listen.ts';
import { findGlobalConfig } from '../node/network.ts';
import type { Shutdown } from '../shutdown.ts';
import { devnetLines, openDevnet } from './chain.ts';
import { openHttp } from './http.ts';
import { networkToAsk, openLiteservers } from './liteservers.ts';
import { openMentions } from './mentions.ts';
import { answerMetrics } from './metrics.ts';
import { despiteOutages, openParts } from './parts.ts';
import { openPending } from './pending.ts';
import type { Running } from './running.ts';
import { openSends } from './sends.ts';
import { openWindowWriter } from './window.ts';

const HEAD_POLL_MS = 250;

/** `tonstream start`: chain, ingester, log, ClickHouse, projector and API, with processes of their own for requests. */
export async function runStart(running: Running): Promise<void> {
  const { config, logger, shutdown } = running;
  const { network } = config;
  // A start that cannot be read is refused now, not by the ingester's thread when all else is up.
  startPoint(config);
  await expectFree(config.host, config.port);
  const devnet = network === 'devnet' ? openDevnet(running) : null;
  // Its failure is told where it is waited for; until then it is not unhandled.
  devnet?.catch(() => undefined);
  const followed = network !== 'devnet' && network !== 'none';
  const { signal } = shutdown;
  // Before anything else is started: without it there is nothing to follow.
  const globalConfig = followed
    ? await findGlobalConfig({ ...config, source: config.globalConfig, logger, signal })
    : null;
  await runRoles(running, { projects: true, devnet, globalConfig });
}

/** `tonstream api`: answers only; another process projects. */
export async function runApi(running: Running): Promise<void> {
  await expectFree(running.config.host, running.config.port);
  await runRoles(running, { projects: false, devnet: null, globalConfig: await networkToAsk(running) });
}

/** `tonstream project`: projects only, in this thread. */
export async function runProject(running: Running): Promise<void> {
  const { config, logger, shutdown, print } = running;
  const { clickhouse, log, metrics } = await openParts(running, { views: true });
  await answerMetrics(running, metrics.registry);
  print(`projecting into ${clickhouse.database}; stop with Ctrl-C`);
  const topics = topicsOf(config);
  const options = { log, topics, clickhouse, config, logger, publish: publishSettings(config), names: true };
  await project({ ...options, onProgress: metrics.projected }, shutdown.signal);
}

interface Roles {
  projects: boolean;
  /** The chain of the process's own; null when it has none or follows another. */
  devnet: Promise<DevnetThread> | null;
  /** Text of the global config of another chain to ask, and to follow where this process projects; null for none. */
  globalConfig: string | null;
}

/**
 * Opens all that the roles need, one after the other, and resolves when HTTP is answered. What is open is closed by the
 * shutdown, also when a later part cannot be opened; a part that fails afterwards ends the process through it.
 * @throws {ConfigError} for a setting that cannot be kept to, and what a part fails with that is not waited for
 */
async function runRoles(running: Running, roles: Roles): Promise<void> {
  const { config, logger, shutdown, print } = running;
  const { clickhouse, clickhouseUrl, log, metrics } = await openParts(running, { views: true });
  const head = createHead(clickhouse);
  await despiteOutages(running, () => migrateSubscribers(clickhouse, logger, shutdown.signal));
  await despiteOutages(running, () => head.refresh(shutdown.signal));
  // A projector of its own tells of each step; when another one takes over, this process ends.
  if (!roles.projects) {
    metrics.completeTo(head.seqno);
    head.onAdvance((_, seqno) => metrics.completeTo(seqno));
    followHead(head, clickhouse, logger, shutdown);
  }
  const gate = createQueryGate({ maxConcurrent: config.concurrentQueries, maxQueued: config.queuedQueries });
  const tables = createClickHouseSource(clickhouse, gate, head);
  const window = openWindowWriter(running, { log, metrics, tables, clickhouse });
  if (roles.projects) {
    const thread = startProjectorThread(
      { config, clickhouseUrl },
      {
        onProgress(progress) {
          metrics.projected(progress);
          head.advance(progress.batch.mcSeqno, progress.batch.globalId);
        },
        onPublished: window.wake,
      },
    );
    thread.done.catch((error) => shutdown.stop('the projector failed', error));
    shutdown.onClose('projector', () => thread.stop());
  }
  const devnet = await roles.devnet;
  const globalConfig = devnet?.ready.globalConfig ?? roles.globalConfig;
  const servers = openLiteservers(running, { globalConfig, ingests: roles.projects, metrics });
  // Something may have failed meanwhile: then nothing is served any more.
  shutdown.signal.throwIfAborted();
  const globalId = () => head.globalId;
  const pending = openPending(running, { clickhouseUrl, metrics, head: window.head, globalId, askLite: servers });
  const askLite = openSends(running, { log, metrics, askLite: servers, devnet, pending });
  const url = await openHttp(running, {
    clickhouseUrl,
    metrics,
    head: window.head,
    globalId,
    devnet,
    askLite,
    pending,
    onMentioned: openMentions(running, { log, metrics }),
  });
  // A part may have failed meanwhile: then all ends.
  if (shutdown.signal.aborted) return;
  for (const line of welcome(url, config, clickhouseUrl, devnet)) print(line);
}

function followHead(head: Head, clickhouse: ClickHouse, logger: Logger, shutdown: Shutdown): void {
  const mayTell = createSeldom();
  const onError = (error: unknown) => {
    // Of steps up to the former head parts would be shown while they are written.
    if (error instanceof TablesBehind) shutdown.stop('the tables are not those that were shown, start again', error);
    else if (mayTell()) logger.warn({ err: error }, 'the head cannot be read');
  };
  void followTables(clickhouse, head, shutdown.signal, onError);
  void head.follow(HEAD_POLL_MS, shutdown.signal, onError);
}

function welcome(url: string, config: Config, clickhouseUrl: string, devnet: DevnetThread | null): string[] {
  const log = config.kafkaBrokers ? `Kafka at ${config.kafkaBrokers.join(', ')}` : `embedded in ${config.dataDir}/log`;
  const elsewhere = !config.kafkaBrokers && config.dataDir !== settings.dataDir.schema.parse(undefined);
  const folder = elsewhere ? ` --data-dir ${config.dataDir}` : '';
  const chain = devnet ? devnetLines(devnet.ready, `${url}${FAUCET_PATH}`, config.dataDir) : [];
  const importing = config.network === 'none' ? `npx tonstream import${folder} <files>` : null;
  return [
    '',
    `  Page        ${url}/`,
    `  API         ${url}/api/v3/`,
    `  API v2      ${url}/api/v2/, for TonClient and the like ${url}/api/v2/jsonRPC`,
    `  Status      ${url}/status`,
    `  Metrics     ${url}/metrics`,
    ...(config.network === 'none' || devnet ? [] : [`  Network     ${config.network}`]),
    ...chain,
    `  Event log   ${log}`,
    `  ClickHouse  ${config.clickhouseUrl ? config.clickhouseUrl : `${clickhouseUrl} (embedded)`}`,
    '',
    ...(importing ? [`  Import blocks from another terminal:  ${importing}`] : []),
    '  Ask:',
    `    curl '${url}/api/v3/masterchainInfo'`,
    `    curl '${url}/api/v3/transactions?limit=3&sort=desc'`,
    `    curl '${url}/status'`,
    '  Stop with Ctrl-C; the next start goes on from here.',
    '',
  ];
}
