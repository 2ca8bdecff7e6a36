import { type BlockSource, blockKey, encodeBlockRecord } from '../envelope.ts';
import type { EventLog, LogRecord } from '../log.ts';
import type { BlockPlace } from '../step-search.ts';
import { IngestError, sameHashes } from './check.ts';
import type { FetchedStep } from './follow-steps.ts';

/** Writes steps and what goes with them, one append at a time. */
export interface StepWriter {
  /** Durable when it resolves. @throws {IngestError} `order` @throws {LogError} */
  append(steps: readonly FetchedStep[]): Promise<void>;
  /**
   * Between two appends: `work` gets the offset that the next block will have and the newest step that this writer
   * wrote, null before the first; and no block is appended before it ends. After an append that failed it is not known
   * where the log ends, so nothing follows: it rejects with that failure.
   */
  between<T>(work: (nextOffset: number, mcSeqno: number | null) => Promise<T>): Promise<T>;
}

export interface StepWriterOptions {
  log: EventLog;
  topic: string;
  /** End of the topic. */
  nextOffset: number;
  /** Blocks that the log has of the first step already. */
  tail: readonly BlockPlace[];
  /** Root hash of the network's zero state. */
  zeroState: Buffer;
  source: BlockSource;
  /** Of one append; a single larger record comes alone. */
  batchBytes: number;
  /** Told of an append before which there are records of somebody else, at these offsets. */
  onForeign?: (from: number, to: number) => void;
}

export function createStepWriter(options: StepWriterOptions): StepWriter {
  const { log, topic, zeroState, source, batchBytes } = options;
  let { nextOffset, tail } = options;
  let newest: number | null = null;
  let queue: Promise<unknown> = Promise.resolve();

  /** Of an append: what it was to write may be in the log all the same. */
  let failure: { error: unknown } | null = null;

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = queue.then(() => {
      if (failure !== null) throw failure.error;
      return work();
    });
    // The caller hears of a failure; those behind it in the queue hear of theirs.
    queue = result.catch(() => undefined);
    return result;
  };

  function* records(steps: readonly FetchedStep[]): Generator<LogRecord> {
    for (const step of steps) {
      const { mcSeqno, blocks } = step;
      const written = tail.length > 0 ? writtenBlocks(step, tail) : 0;
      tail = [];
      for (let at = written; at < blocks.length; at++) {
        const { id, globalId, globalVersion, genUtime, receivedAtMs, boc } = blocks[at];
        const seal = at === blocks.length - 1 ? blocks.length : null;
        const meta = { id, globalId, globalVersion, genUtime, mcSeqno, seal, receivedAtMs, source, zeroState };
        yield encodeBlockRecord({ ...meta, boc });
      }
    }
  }

  async function appendAll(steps: readonly FetchedStep[]): Promise<void> {
    let batch: LogRecord[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      const { last } = await log.append(topic, batch);
      const first = last + 1 - batch.length;
      if (first > nextOffset) options.onForeign?.(nextOffset, first - 1);
      nextOffset = last + 1;
      batch = [];
      bytes = 0;
    };
    for (const record of records(steps)) {
      if (batch.length > 0 && bytes + record.value.length > batchBytes) await flush();
      batch.push(record);
      bytes += record.value.length;
    }
    if (batch.length > 0) await flush();
    newest = steps.at(-1)?.mcSeqno ?? newest;
  }

  return {
    append: (steps) =>
      inTurn(() =>
        appendAll(steps).catch((error: unknown) => {
          failure = { error };
          throw error;
        }),
      ),
    between: (work) => inTurn(() => work(nextOffset, newest)),
  };
}

/** How many blocks of a step the log has already, as it ends inside of it. */
function writtenBlocks({ mcSeqno, blocks }: FetchedStep, tail: readonly BlockPlace[]): number {
  const fits = tail.every(({ id }, at) => {
    const block = blocks.at(at);
    return block !== undefined && blockKey(block.id) === blockKey(id) && sameHashes(block.id, id);
  });
  if (fits && tail[0].mcSeqno === mcSeqno && tail.length < blocks.length) return tail.length;
  const what = `the log ends inside step ${tail[0].mcSeqno}, and the node's step ${mcSeqno} does not continue it`;
  throw new IngestError('order', null, `${what}: another chain, or an import that was interrupted`);
}
