import { encodeDeadLetter } from '../dead-letters.ts';
import type { EventLog } from '../log.ts';
import type { Step } from '../steps.ts';
import type { TopicNames } from '../topics.ts';
import type { BlockError } from './decode.ts';
import { PROJECTION_VERSION } from './position.ts';

/** A step that is not in the tables because of a block that cannot be decoded. */
export interface Gap {
  step: Step;
  error: BlockError;
}

/** Dead letters looked through for one that was written already. */
const REMEMBERED_LETTERS = 10_000;

/** Writes a dead letter for each gap, once for each version of the projection. */
export async function createGaps(log: EventLog, topics: TopicNames, signal: AbortSignal) {
  await log.ensureTopic(topics.dead);
  const written = new Set<string>();
  for (const record of await log.last(topics.dead, REMEMBERED_LETTERS)) {
    written.add(`${record.key}/${record.headers.pv}`);
  }
  signal.throwIfAborted();

  return {
    async report(gaps: Gap[], abort: AbortSignal): Promise<void> {
      for (const { step, error } of gaps) {
        abort.throwIfAborted();
        const letter = encodeDeadLetter({
          topic: topics.blocks,
          first: step.firstOffset,
          last: step.nextOffset - 1,
          mcSeqno: step.mcSeqno,
          projection: 'chain',
          version: PROJECTION_VERSION,
          error: { name: error.name, message: error.message },
          atMs: Date.now(),
        });
        const key = `${letter.key}/${letter.headers.pv}`;
        if (written.has(key)) continue;
        await log.append(topics.dead, [letter]);
        written.add(key);
      }
    },
  };
}
