import { join } from 'node:path';
import { Gauge } from 'prom-client';
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import type { EventLog } from '../../streams/log.ts';
import { topicNames } from '../../streams/topics.ts';
import { transactionForm } from '../api/v3/render/forms.ts';
import type { Metrics } from '../metrics.ts';
import { createWindowFollower } from '../window/follow.ts';
import type { HostHead } from '../window/head.ts';
import { openWindow, type Window } from '../window/window.ts';
import type { Running } from './running.ts';

export interface WindowWriter {
  /** Of this host, see HostHead; that of the tables where the window is switched off. */
  head: Pick<HostHead, 'seqno' | 'onAdvance'>;
  /** There is a step more in the topic. */
  wake(): void;
}

/**
 * Writes the window of this host, which all its workers read, along the topic of steps until the shutdown.
 * @param tables what lies below the window
 */
export function openWindowWriter(
  { config, logger, shutdown }: Running,
  { log, metrics, tables }: { log: EventLog; metrics: Pick<Metrics, 'registry'>; tables: ClickHouseSource },
): WindowWriter {
  if (config.windowBytes === 0) return { head: tables.head, wake: () => undefined };
  const folder = join(config.dataDir, 'window');
  const window = openWindow({ folder, maxBytes: config.windowBytes, form: transactionForm });
  showWindow(window, metrics);
  const follower = createWindowFollower({
    window,
    log,
    topic: topicNames(config.topicPrefix).steps,
    clickhouse: tables,
    logger: logger.child({ part: 'window' }),
    // A broker tells of new records itself.
    continuous: config.kafkaBrokers !== undefined,
  });
  const following = follower.run(shutdown.signal);
  shutdown.onClose('window', async () => {
    await following;
    await window.close();
  });
  return follower;
}

function showWindow(window: Window, { registry }: Pick<Metrics, 'registry'>): void {
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `tonstream_window_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge('first_mc_seqno', 'First step of the window, 0 while it is empty', () => window.state?.first ?? 0);
  gauge('mc_seqno', 'Last step of the window, 0 while it is empty', () => window.state?.head ?? 0);
  gauge('bytes', 'Estimated bytes of the window', () => window.state?.bytes ?? 0);
}
