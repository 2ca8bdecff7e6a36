import type { Logger } from 'pino';
import { EnvelopeError } from '../../streams/envelope.ts';
import { IngestError } from '../../streams/ingest/check.ts';
import { type ImportSummary, importFiles } from '../../streams/ingest/import.ts';
import { LogError } from '../../streams/log.ts';
import { openLog } from '../../streams/open.ts';
import { topicNames } from '../../streams/topics.ts';
import type { Config } from '../config.ts';
import { createProgress, duration, megabytes, type ProgressOptions } from '../progress.ts';
import { makeDataFolder } from './data-folder.ts';

/** Where the command writes, and how it is stopped. */
export interface ImportIo {
  /** One line for the person at the terminal. */
  print: (line: string) => void;
  logger?: Logger;
  /** For progress and errors; the process's own by default. */
  stderr?: ProgressOptions['out'];
  /** Stops the import behind the batch it is writing. By default SIGINT and SIGTERM do. */
  signal?: AbortSignal;
}

/** A log that does not answer holds a stopped import no longer: what is not acknowledged the next import repeats. */
const STOP_TIMEOUT_MS = 8_000;

const PHASES = { check: 'checking', append: 'importing' };

/**
 * `tonstream import [--loose] PATH…`: puts block files into the event log of the configuration.
 * @param flags `loose` accepts blocks with holes
 * @returns the exit code: 0 when everything was imported or was there, 1 otherwise, with one line on stderr
 */
export async function runImport(
  config: Config,
  words: readonly string[],
  flags: Record<string, unknown>,
  io: ImportIo,
): Promise<number> {
  const stderr = io.stderr ?? process.stderr;
  if (words.length === 0) {
    stderr.write('tonstream import: name the files or folders to import\n');
    return 1;
  }
  const started = performance.now();
  const progress = createProgress({ out: stderr });
  const stop = stopSignal(io.signal);
  try {
    makeDataFolder(config);
    const log = await openLog(config, io.logger);
    try {
      const summary = await importFiles(log, topicNames(config.topicPrefix), words, {
        loose: flags.loose === true,
        signal: stop.signal,
        spoolFolder: config.dataDir,
        onProgress: ({ phase, blocks, bytes, totalBytes }) =>
          progress.update({
            label: PHASES[phase],
            done: bytes,
            total: totalBytes,
            counts: [
              { unit: 'blocks', value: blocks },
              { unit: 'MB', value: bytes / 1e6, digits: 1 },
            ],
          }),
      });
      progress.end();
      io.print(summaryText(summary, (performance.now() - started) / 1000));
      return summary.stopped ? 1 : 0;
    } finally {
      await log.close();
    }
  } catch (error) {
    progress.end();
    if (!(error instanceof IngestError || error instanceof LogError || error instanceof EnvelopeError)) throw error;
    // What is wrong with files shows before the first append; a log can also fail in the middle.
    const outcome = error instanceof IngestError ? '; nothing was imported' : '';
    stderr.write(`tonstream import: ${error.message}${outcome}\n`);
    return 1;
  } finally {
    stop.release();
  }
}

/** The signal given, else one that the first SIGINT or SIGTERM aborts; a second one ends the process at once. */
function stopSignal(given: AbortSignal | undefined): { signal: AbortSignal; release: () => void } {
  if (given !== undefined) return { signal: given, release: () => undefined };
  const controller = new AbortController();
  const release = (): void => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, abort);
  };
  const abort = (): void => {
    release();
    controller.abort();
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
  };
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, abort);
  return { signal: controller.signal, release };
}

/** What an import did, in one line for each thing to know. */
function summaryText(summary: ImportSummary, seconds: number): string {
  const { steps, blocks, bytes, firstMcSeqno, lastMcSeqno, skipped, repeated, leftOut, stopped } = summary;
  const lines =
    blocks === 0
      ? ['nothing new to import']
      : [
          `imported ${count(steps, 'step')} (masterchain ${firstMcSeqno} to ${lastMcSeqno}), ${count(blocks, 'block')}, ` +
            `${megabytes(bytes)} MB in ${duration(seconds)}`,
        ];
  if (skipped > 0) lines.push(`skipped ${count(skipped, 'block')} that the log had already`);
  if (repeated > 0) lines.push(`passed over ${count(repeated, 'block')} given more than once`);
  if (leftOut > 0) {
    lines.push(`left out ${count(leftOut, 'shard block')} that no masterchain block here commits (--loose takes them)`);
  }
  if (stopped) lines.push('stopped before the end: the same command goes on from here');
  return lines.join('\n');
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
