import { connect } from '../../clickhouse/open.ts';
import { createLogger } from '../../src/logger.ts';
import { runInThread } from '../../src/thread.ts';
import { openLog } from '../open.ts';
import { topicNames } from '../topics.ts';
import { type Progress, project } from './projector.ts';
import type { ThreadData } from './thread.ts';

/** The projector's thread: follows the log until it is told to stop. */
await runInThread<ThreadData, never, Progress>(async ({ data: { config, clickhouseUrl }, signal, send }) => {
  const logger = createLogger(config.logLevel).child({ part: 'project' });
  const log = openLog(config, logger);
  const clickhouse = connect(config, clickhouseUrl, logger);
  let closing: Promise<void> | null = null;
  const closeLog = (): Promise<void> => {
    closing ??= log.close();
    return closing;
  };
  // Questions to brokers that do not answer end with the log, not with a signal.
  signal.addEventListener('abort', () => void closeLog(), { once: true });
  try {
    const topics = topicNames(config.topicPrefix);
    await project({ log, topics, clickhouse, config, logger, onProgress: send }, signal);
  } finally {
    await clickhouse.close();
    await closeLog();
  }
});
