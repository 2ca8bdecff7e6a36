import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { masterHash } from '../../clickhouse/master-hash.ts';
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { tablesId } from '../../clickhouse/tables-id.ts';
import type { EventLog } from '../../streams/log.ts';
import { topicsOf } from '../../streams/topics.ts';
import { transactionForm } from '../api/v3/render/forms.ts';
import { openArchive } from '../archive/archive.ts';
import { createFilling } from '../archive/fill.ts';
import type { Metrics } from '../metrics.ts';
import { engineFile } from '../window/engine.ts';
import { createWindowFill, type WindowFill } from '../window/fill.ts';
import { createWindowFollower } from '../window/follow.ts';
import type { HostHead } from '../window/head.ts';
import { openWindow, type Window } from '../window/window.ts';
import type { Running } from './running.ts';

const FILL_QUERY_MS = 60_000;

export interface WindowWriter {
  /** Of this host, see HostHead; that of the tables where the window is switched off. */
  head: Pick<HostHead, 'seqno' | 'onAdvance'>;
  /** There is a step more in the topic. */
  wake(): void;
}

interface WindowParts {
  log: EventLog;
  metrics: Pick<Metrics, 'registry'>;
  tables: ClickHouseSource;
  clickhouse: ClickHouse;
}

/**
 * Writes the window of this host, with the archive behind it, which all its workers read, along the topic of steps
 * until the shutdown.
 * @param tables what lies below the window
 */
export function openWindowWriter(running: Running, { log, metrics, tables, clickhouse }: WindowParts): WindowWriter {
  const { config, logger, shutdown } = running;
  if (config.windowBytes === 0) {
    if (config.archiveBytes !== 0)
      logger.warn('the archive is kept behind a window: with --window-bytes 0 there is none');
    return { head: tables.head, wake: () => undefined };
  }
  const folder = join(config.dataDir, 'window');
  const window = openWindow({ folder, maxBytes: config.windowBytes, form: transactionForm });
  showWindow(window, folder, metrics);
  const follower = createWindowFollower({
    window,
    log,
    topic: topicsOf(config).steps,
    clickhouse: tables,
    tablesId: (signal) => tablesId(clickhouse, signal),
    masterHash: (mcSeqno, signal) => masterHash(clickhouse, mcSeqno, signal),
    logger: logger.child({ part: 'window' }),
    // A broker tells of new records itself.
    continuous: config.kafkaBrokers !== undefined,
  });
  const following = follower.run(shutdown.signal);
  const fill = createWindowFill({
    window,
    log,
    topic: topicsOf(config).steps,
    below: async (mcSeqno, signal) => {
      const newest = await tables.below(mcSeqno).newestBelow({ signal, timeoutMs: FILL_QUERY_MS });
      return newest && { lt: BigInt(newest.lt), utime: newest.utime };
    },
    logger: logger.child({ part: 'window' }),
  });
  showFill(fill, metrics);
  const filling = fill.run(shutdown.signal);
  // What the window takes itself would be in the archive for nothing.
  const archived = fill.filled.then(() => writeArchive(running, { window, clickhouse, metrics }));
  archived.catch((error) => shutdown.stop('the archive failed', error));
  shutdown.onClose('window', async () => {
    await Promise.all([following, filling, archived]);
    await window.close();
  });
  return follower;
}

/** Ends when the shutdown begins and the archive is closed. */
async function writeArchive(
  { config, logger, shutdown }: Running,
  { window, clickhouse, metrics: { registry } }: Pick<WindowParts, 'clickhouse' | 'metrics'> & { window: Window },
): Promise<void> {
  if (config.archiveBytes === 0 || shutdown.signal.aborted) return;
  const folder = join(config.dataDir, 'archive');
  const archive = openArchive(folder, config.archiveForms ? transactionForm : null);
  const gauge = (name: string, help: string, value: () => number) =>
    showGauge(registry, `tonstream_archive_${name}`, help, () => (shutdown.signal.aborted ? 0 : value()));
  gauge('first_mc_seqno', 'First step of the archive, 0 while it is empty', () => archive.state?.first ?? 0);
  gauge('mc_seqno', 'Last step of the archive, 0 while it is empty', () => archive.state?.head ?? 0);
  gauge('bytes', 'Estimated bytes of the archive', () => archive.bytes);
  gauge('complete', '1 while the archive reaches down to the first step', () => Number(archive.state?.below === null));
  const rows = new Counter({
    name: 'tonstream_archive_rows_total',
    help: 'Rows written into the archive',
    registers: [registry],
  });
  const filling = createFilling({
    archive,
    folder,
    maxBytes: config.archiveBytes,
    window,
    clickhouse,
    logger: logger.child({ part: 'archive' }),
    onWritten: (count) => rows.inc(count),
  });
  await filling.run(shutdown.signal);
  await archive.close();
}

function showFill({ filled }: WindowFill, { registry }: Pick<Metrics, 'registry'>): void {
  const gauge = new Gauge({
    name: 'tonstream_window_filled',
    help: '1 once the window has had all steps of the topic that it has room for',
    registers: [registry],
  });
  void filled.then(() => gauge.set(1));
}

function showWindow(window: Window, folder: string, { registry }: Pick<Metrics, 'registry'>): void {
  const gauge = (name: string, help: string, value: () => number) =>
    showGauge(registry, `tonstream_window_${name}`, help, value);
  gauge('first_mc_seqno', 'First step of the window, 0 while it is empty', () => window.state?.first ?? 0);
  gauge('mc_seqno', 'Last step of the window, 0 while it is empty', () => window.state?.head ?? 0);
  gauge('bytes', 'Estimated bytes of the window', () => window.state?.bytes ?? 0);
  gauge('file_bytes', 'Size of its file, which grows while a read lasts and does not shrink', () => {
    return statSync(engineFile(folder), { throwIfNoEntry: false })?.size ?? 0;
  });
}

function showGauge(registry: Registry, name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value());
    },
  });
}
