import type { Logger } from 'pino';
import { createHead, type Head } from '../../clickhouse/queries/head.ts';
import { project } from '../../streams/project/projector.ts';
import { startProjectorThread } from '../../streams/project/thread.ts';
import { topicNames } from '../../streams/topics.ts';
import { type Config, settings } from '../config.ts';
import { serve } from '../service.ts';
import type { Shutdown } from '../shutdown.ts';
import { openParts } from './parts.ts';
import type { Running } from './running.ts';

const HEAD_POLL_MS = 250;

/** `tonstream start`: log, ClickHouse, projector and API in one process. */
export async function runStart(running: Running): Promise<void> {
  await runRoles(running, { projects: true, serves: true });
}

/** `tonstream api`: answers only; another process projects. */
export async function runApi(running: Running): Promise<void> {
  await runRoles(running, { projects: false, serves: true });
}

/** `tonstream project`: projects only, in this thread. */
export async function runProject({ config, logger, shutdown, print }: Running): Promise<void> {
  const { clickhouse, log } = await openParts({ config, logger, shutdown, print });
  print(`projecting into ${clickhouse.database}; stop with Ctrl-C`);
  await project({ log, topics: topicNames(config.topicPrefix), clickhouse, config, logger }, shutdown.signal);
}

async function runRoles(running: Running, roles: { projects: boolean; serves: boolean }): Promise<void> {
  const { config, logger, shutdown, print } = running;
  const { clickhouse, clickhouseUrl, log, metrics } = await openParts(running);
  const head = createHead(clickhouse);
  await head.refresh(shutdown.signal);
  followHead(head, logger, shutdown);
  if (roles.projects) {
    const thread = startProjectorThread({ config, clickhouseUrl }, (progress) => {
      metrics.projected(progress);
      head.advance(progress.batch.mcSeqno);
    });
    thread.done.catch((error) => shutdown.stop('the projector failed', error));
    shutdown.onClose('projector', () => thread.stop());
  }
  const blocksTopic = topicNames(config.topicPrefix).blocks;
  const service = await serve({ config, clickhouse, head, log, blocksTopic, metrics, logger });
  shutdown.onClose('HTTP server', () => service.close());
  for (const line of welcome(service.url, config, clickhouseUrl)) print(line);
}

function followHead(head: Head, logger: Logger, shutdown: Shutdown): void {
  const onError = (error: unknown) => logger.warn({ err: error }, 'the head cannot be read');
  void head.follow(HEAD_POLL_MS, shutdown.signal, onError);
}

function welcome(url: string, config: Config, clickhouseUrl: string): string[] {
  const log = config.kafkaBrokers ? `Kafka at ${config.kafkaBrokers.join(', ')}` : `embedded in ${config.dataDir}/log`;
  const elsewhere = !config.kafkaBrokers && config.dataDir !== settings.dataDir.schema.parse(undefined);
  const folder = elsewhere ? ` --data-dir ${config.dataDir}` : '';
  return [
    '',
    `  API         ${url}/api/v3/`,
    `  Status      ${url}/status`,
    `  Metrics     ${url}/metrics`,
    `  Event log   ${log}`,
    `  ClickHouse  ${config.clickhouseUrl ? config.clickhouseUrl : `${clickhouseUrl} (embedded)`}`,
    '',
    `  Import blocks from another terminal:  npx tonstream import${folder} <files>`,
    `  Then ask:  curl '${url}/api/v3/transactions?limit=1'`,
    '  Stop with Ctrl-C.',
    '',
  ];
}
