import { Counter } from 'prom-client';
import type { EventLog } from '../../streams/log.ts';
import { createMissingWriter } from '../../streams/missing.ts';
import { topicNames } from '../../streams/topics.ts';
import type { Metrics } from '../metrics.ts';
import type { Running } from './running.ts';

/** Puts accounts that answers mention and nothing is known of on their topic: who follows the chain asks for them. */
export function openMentions(
  { config, logger }: Running,
  { log, metrics }: { log: EventLog; metrics: Metrics },
): (accounts: readonly Uint8Array[]) => void {
  const counter = new Counter({
    name: 'tonstream_mentions_total',
    help: 'Accounts that answers mention and nothing is known of, by what became of them in the log: named, dropped, failed',
    labelNames: ['log'],
    registers: [metrics.registry],
  });
  for (const event of ['named', 'dropped', 'failed']) counter.inc({ log: event }, 0);
  const { mentions: topic } = topicNames(config.topicPrefix);
  const writer = createMissingWriter(log, topic, (event) => counter.inc({ log: event }));
  let flushing = false;
  let more = false;

  /** One after the other; what waits meanwhile is bounded by the writer. */
  async function flush(): Promise<void> {
    more = true;
    if (flushing) return;
    flushing = true;
    while (more) {
      more = false;
      try {
        await writer.flush();
      } catch (error) {
        counter.inc({ log: 'failed' });
        logger.warn({ err: error }, 'the topic of mentioned accounts cannot be written');
      }
    }
    flushing = false;
  }

  return (accounts) => {
    for (const account of accounts) writer.name({ account: Buffer.from(account), hash: null });
    void flush();
  };
}
