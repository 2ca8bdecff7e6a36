import { join } from 'node:path';
import { Gauge } from 'prom-client';
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import type { EventLog } from '../../streams/log.ts';
import { topicNames } from '../../streams/topics.ts';
import { transactionForm } from '../api/v3/render/forms.ts';
import type { ChainSource } from '../chain/records.ts';
import type { Metrics } from '../metrics.ts';
import { createWindowFollower, type WindowFollower } from '../window/follow.ts';
import { createWindowSource } from '../window/source.ts';
import { openWindow, type Window } from '../window/window.ts';
import type { Running } from './running.ts';

export interface WindowRole {
  /** What answers: the window with the tables behind it, or the tables alone where the window is switched off. */
  source(tables: ClickHouseSource): ChainSource;
  /** The newest step of the window; 0 while there is none. */
  head(): number;
  /** See `Voice`; null before `source` was called, and where the window is switched off. */
  shown(): WindowFollower['shown'] | null;
  /** There is a step more in the topic. */
  wake(): void;
}

/** The window of this host, which follows the topic of steps until the shutdown. */
export function createWindowRole(
  { config, logger, shutdown }: Running,
  { log, metrics }: { log: EventLog; metrics: Pick<Metrics, 'registry'> },
): WindowRole {
  if (config.windowBytes === 0) {
    return { source: (tables) => tables, head: () => 0, shown: () => null, wake: () => undefined };
  }
  let head = (): number => 0;
  let follower: WindowFollower | null = null;
  return {
    source(tables) {
      const folder = join(config.dataDir, 'window');
      const window = openWindow({ folder, maxBytes: config.windowBytes, form: transactionForm });
      showWindow(window, metrics);
      follower = createWindowFollower({
        window,
        log,
        topic: topicNames(config.topicPrefix).steps,
        clickhouse: tables,
        logger: logger.child({ part: 'window' }),
        // A broker tells of new records itself.
        continuous: config.kafkaBrokers !== undefined,
      });
      head = () => window.state?.head ?? 0;
      const following = follower.run(shutdown.signal);
      shutdown.onClose('window', async () => {
        await following;
        await window.close();
      });
      return createWindowSource(follower, tables);
    },
    head: () => head(),
    shown: () => follower?.shown ?? null,
    wake: () => follower?.wake(),
  };
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
  gauge('bytes', 'Estimated bytes of the window', () => (window.state?.bytes ?? 0) + (window.state?.codeBytes ?? 0));
}
