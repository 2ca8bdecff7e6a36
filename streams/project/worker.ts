import { parentPort, workerData } from 'node:worker_threads';
import { connect } from '../../clickhouse/open.ts';
import { createLogger } from '../../src/logger.ts';
import { openLog } from '../open.ts';
import { topicNames } from '../topics.ts';
import { project } from './projector.ts';
import type { ThreadData, ThreadMessage } from './thread.ts';

/** The projector's thread: follows the log until it is told to stop. */
const port = parentPort;
if (port === null) throw new Error('this file runs as a worker thread only');
const { config, clickhouseUrl }: ThreadData = workerData;
const send = (message: ThreadMessage): void => port.postMessage(message);
const stopping = new AbortController();

const logger = createLogger(config.logLevel).child({ part: 'project' });
const log = openLog(config, logger);
const clickhouse = connect(config, clickhouseUrl, logger);
let closing: Promise<void> | null = null;
const closeLog = (): Promise<void> => {
  closing ??= log.close();
  return closing;
};
port.on('message', () => {
  stopping.abort();
  // Questions to brokers that do not answer end with the log, not with a signal.
  void closeLog();
});
try {
  const topics = topicNames(config.topicPrefix);
  const onProgress = (progress: Parameters<NonNullable<Parameters<typeof project>[0]['onProgress']>>[0]) =>
    send({ type: 'progress', progress });
  await project({ log, topics, clickhouse, config, logger, onProgress }, stopping.signal);
} catch (error) {
  if (!stopping.signal.aborted) send({ type: 'failed', error: error instanceof Error ? error.message : String(error) });
} finally {
  await clickhouse.close();
  await closeLog();
  port.close();
}
