import { decodeCellEnvelope, decodeCellRecord, type StoredCell } from '../cell-record.ts';
import type { EventLog, StoredRecord } from '../log.ts';
import { createPauses } from './pause.ts';
import { PositionError, rebuildAdvice } from './position.ts';

export interface CellReader {
  /** Offset of the first record that counts from none of the steps seen so far. */
  readonly next: number;
  /**
   * For each of the steps that are next in the log: the records that count from it on.
   * @param end where the records of a batch end that was announced before
   * @throws {EnvelopeError} @throws {LogError} @throws {PositionError} when the topic ends before records seen earlier
   */
  take(steps: readonly { firstOffset: number }[], signal: AbortSignal, end?: number): Promise<StoredCell[][]>;
}

const READ_BYTES = 8 * 1024 * 1024;

/**
 * Deals out the topic of cells to the steps. A record counts from the first step on that begins at its `after` or
 * later, and no record before those in front of it: which step that is follows from the two topics alone, however the
 * steps are cut into batches. The ingester appends a record before any block at its `after`, so those of a step that
 * can be read are there.
 *
 * Records that count from a later step on are held, at most as many as one read of the log brings.
 */
export function createCellReader(log: EventLog, topic: string, from: number): CellReader {
  let waiting: { record: StoredRecord; after: number }[] = [];
  let next = from;
  let readTo = from;

  /** Reads until a record counts from a later step on, or to the end of the topic. */
  async function readBefore(firstOffset: number, signal: AbortSignal): Promise<void> {
    const isLater = ({ after }: { after: number }): boolean => after > firstOffset;
    if (waiting.some(isLater)) return;
    const end = await log.end(topic);
    if (end < readTo) {
      throw new PositionError(
        `topic ${topic} ends at offset ${end}, the tables have its records up to ${readTo}: give the log the tables ` +
          `were made from, or ${rebuildAdvice()}`,
      );
    }
    if (end === readTo) return;
    for await (const batch of log.read(topic, readTo, { maxBytes: READ_BYTES, signal, stopAtEnd: true })) {
      const records = batch.map((record) => ({ record, after: decodeCellEnvelope(record, topic).after }));
      waiting.push(...records);
      readTo = batch[batch.length - 1].offset + 1;
      if (records.some(isLater)) break;
    }
    signal.throwIfAborted();
  }

  return {
    get next() {
      return next;
    },
    async take(steps, signal, end = Number.POSITIVE_INFINITY) {
      if (steps.length === 0) return [];
      await readBefore(steps[steps.length - 1].firstOffset, signal);
      const pause = createPauses();
      let taken = 0;
      const dealt: StoredCell[][] = [];
      for (const { firstOffset } of steps) {
        const cells: StoredCell[] = [];
        for (; taken < waiting.length; taken++) {
          const { record, after } = waiting[taken];
          if (after > firstOffset || record.offset >= end) break;
          await pause();
          cells.push(decodeCellRecord(record, topic));
          next = record.offset + 1;
        }
        dealt.push(cells);
      }
      waiting = waiting.slice(taken);
      return dealt;
    },
  };
}
