import { collectDefaultMetrics, Registry } from 'prom-client';
import { connect } from '../../clickhouse/open.ts';
import { createHead } from '../../clickhouse/queries/head.ts';
import { openLog } from '../../streams/open.ts';
import { topicNames } from '../../streams/topics.ts';
import { ConfigError } from '../config.ts';
import { createFetcher } from '../metadata/fetcher.ts';
import { createDocumentMetrics } from '../metadata/metrics.ts';
import { staleDocuments } from '../metadata/stale.ts';
import { createWanted } from '../metadata/wanted.ts';
import { fetchDocuments } from '../metadata/worker.ts';
import { reachOf } from '../webhooks/addresses.ts';
import { makeDataFolder } from './data-folder.ts';
import { answerMetrics } from './metrics.ts';
import type { Running } from './running.ts';

/** `tonstream metadata`: fetches the documents that the content of tokens names into the log, until it is stopped. */
export async function runMetadata(running: Running): Promise<void> {
  const { config, logger, shutdown, print } = running;
  if (config.clickhouseUrl === undefined) {
    throw new ConfigError(
      'metadata reads the tables of a service: give --clickhouse-url, which tonstream start prints',
    );
  }
  makeDataFolder(config);
  const log = await openLog(config, logger, shutdown.signal);
  shutdown.onClose('event log', () => log.close());
  const clickhouse = connect(config, config.clickhouseUrl, logger);
  shutdown.onClose('ClickHouse connections', () => clickhouse.close());
  const fetcher = createFetcher({
    ...reachOf(config.metadataPrivate),
    timeoutMs: config.metadataTimeoutMs,
    maxBytes: config.metadataBytes,
  });
  shutdown.onClose('fetcher', async () => fetcher.close());
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = createDocumentMetrics(registry);
  await answerMetrics(running, registry);
  print(`fetching documents of the tokens in ${clickhouse.database}; stop with Ctrl-C`);
  const ageSeconds = config.metadataAgeHours * 3_600;
  await fetchDocuments(
    {
      log,
      topic: topicNames(config.topicPrefix).documents,
      wanted: createWanted(clickhouse, createHead(clickhouse)),
      stale: async (signal) => (ageSeconds === 0 ? [] : staleDocuments(clickhouse, ageSeconds, unixSeconds(), signal)),
      fetcher,
      gateways: config.ipfsGateways,
      concurrency: config.metadataAtOnce,
      onEvent: metrics.settled,
      logger: logger.child({ part: 'metadata' }),
    },
    shutdown.signal,
  );
}

const unixSeconds = (): number => Math.floor(Date.now() / 1000);
