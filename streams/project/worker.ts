import { connect } from '../../clickhouse/open.ts';
import { createLogger } from '../../src/logger.ts';
import { runInThread } from '../../src/thread.ts';
import { openLog } from '../open.ts';
import { topicsOf } from '../topics.ts';
import type { ProjectorOptions } from './options.ts';
import { project } from './projector.ts';
import { publishSettings } from './publish.ts';
import type { ThreadData, ThreadNews } from './thread.ts';

/** The projector's thread: follows the log until it is told to stop. */
await runInThread<ThreadData, never, ThreadNews>(async ({ data: { config, clickhouseUrl }, signal, send }) => {
  const logger = createLogger(config.logLevel).child({ part: 'project' });
  const log = await openLog(config, logger, signal);
  const clickhouse = connect(config, clickhouseUrl, logger);
  let closing: Promise<void> | null = null;
  const closeLog = (): Promise<void> => {
    closing ??= log.close();
    return closing;
  };
  // Questions to brokers that do not answer end with the log, not with a signal.
  signal.addEventListener('abort', () => void closeLog(), { once: true });
  try {
    const topics = topicsOf(config);
    const publish = { ...publishSettings(config), onPublished: () => send({ type: 'published' }) };
    const onProgress: ProjectorOptions['onProgress'] = (progress) => send({ type: 'progress', progress });
    await project({ log, topics, clickhouse, config, logger, onProgress, publish, names: true }, signal);
  } finally {
    await clickhouse.close();
    await closeLog();
  }
});
