/** Asks for what the projector has named as missing (streams/missing.ts), one after the other. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { EnvelopeError } from '../envelope.ts';
import { createFollower, type Followed } from '../follow.ts';
import type { EventLog, ReadOptions } from '../log.ts';
import { decodeMissing, type Missing } from '../missing.ts';
import type { Cells } from './cells.ts';

export interface MissingOptions {
  log: EventLog;
  /** Topics of such names, followed side by side. */
  topics: readonly string[];
  cells: Pick<Cells, 'ask'>;
  /** Most questions a second. */
  perSecond: number;
  /** The log wakes its readers itself. */
  continuous: boolean;
  logger: Pick<Logger, 'warn'>;
  signal: AbortSignal;
}

const BATCH_BYTES = 256 * 1024;

/**
 * Follows the topic from its oldest record on, at each start: what was answered is known from the topic of cells. So
 * what a killed process has not asked is asked, and nothing has to be noted. Resolves when the signal aborts.
 */
export async function followMissing(options: MissingOptions): Promise<void> {
  const { log, topics, cells, perSecond, continuous, logger, signal } = options;
  let dueAt = 0;
  let line: Promise<unknown> = Promise.resolve();

  async function ask(missing: Missing): Promise<void> {
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal });
    if (await cells.ask(missing)) dueAt = performance.now() + 1000 / perSecond;
  }

  async function take(some: readonly Missing[]): Promise<void> {
    for (const missing of some) {
      const asked = line.then(() => ask(missing));
      // Whoever is next in the line does not hear of a failure.
      line = asked.catch(() => undefined);
      await asked;
    }
  }

  async function* read(topic: string, from: number, how: ReadOptions): AsyncGenerator<Followed<Missing[]>> {
    for await (const batch of log.read(topic, from, { ...how, maxBytes: BATCH_BYTES })) {
      const items = batch.flatMap((record) => {
        try {
          return decodeMissing(record, topic);
        } catch (error) {
          if (!(error instanceof EnvelopeError)) throw error;
          logger.warn({ err: error }, 'a question that cannot be read is passed over');
          return [];
        }
      });
      yield { items, nextOffset: batch[batch.length - 1].offset + 1 };
    }
  }

  const onTrouble = (error: unknown): void => logger.warn({ err: error }, 'what the log lacks cannot be asked for yet');
  const follow = (topic: string): Promise<void> =>
    createFollower<Missing[]>({
      log,
      topic,
      read: (from, how) => read(topic, from, how),
      position: async () => null,
      take,
      onTrouble,
      continuous,
    }).run(signal);
  await Promise.all(topics.map(follow));
}
