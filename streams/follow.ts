import { setTimeout as sleep } from 'node:timers/promises';
import { type EventLog, LogError, type ReadOptions } from './log.ts';

/** What is taken at a time, and where the topic goes on behind it. */
export interface Followed<T> {
  items: T;
  nextOffset: number;
}

export interface FollowOptions<T> {
  log: EventLog;
  topic: string;
  /** The topic's records read as what they are. */
  read(from: number, options: ReadOptions): AsyncIterable<Followed<T>>;
  /**
   * Where to begin: behind what was taken last, null at the oldest record that is kept. Asked at the start and after
   * trouble; may wait for what has to be there first.
   */
  position(signal: AbortSignal): Promise<number | null>;
  take(items: T, signal: AbortSignal): Promise<void>;
  /** Sees what went wrong before it is tried again. Not told of records that were trimmed before they were read. */
  onTrouble(error: unknown): void;
  /** The log wakes its readers itself (a broker does): `wake` is not needed then. */
  continuous?: boolean;
  /** Most bytes of values to take at a time. */
  maxBytes?: number;
}

export interface Follower {
  /** There is more in the topic: looked for at once. Without it a new record is seen within some 100 ms. */
  wake(): void;
  /** Follows the topic until the signal aborts; resolves when what was being taken is taken or given up. */
  run(signal: AbortSignal): Promise<void>;
}

const RETRY_MS = 1_000;
/** Without a call of `wake` the topic is looked at this often. */
const IDLE_MS = 50;

/**
 * Follows a topic to its end and on: from a position that outlives the process, again after trouble, from the oldest
 * record when what comes next was trimmed, from the beginning of a topic that was made anew. What is taken may come
 * again; nothing that is kept is passed over.
 */
export function createFollower<T>(options: FollowOptions<T>): Follower {
  const { log, topic, continuous = false, maxBytes } = options;
  let wakeUp = (): void => undefined;
  /** Woken while it was reading: what woke it may have come behind the end of that. */
  let woken = false;

  async function start(signal: AbortSignal): Promise<number> {
    await log.ensureTopic(topic);
    const wanted = await options.position(signal);
    const low = await log.low(topic);
    const from = wanted ?? low;
    // A topic that ends before is another one.
    return from >= low && from <= (await log.end(topic)) ? from : low;
  }

  async function read(from: number, signal: AbortSignal): Promise<number> {
    let next = from;
    const reading = options.read(from, {
      signal,
      stopAtEnd: !continuous,
      ...(maxBytes === undefined ? {} : { maxBytes }),
    });
    for await (const { items, nextOffset } of reading) {
      await options.take(items, signal);
      next = nextOffset;
    }
    return next;
  }

  function idle(signal: AbortSignal): Promise<void> {
    if (woken) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, IDLE_MS);
      signal.addEventListener('abort', done);
      wakeUp = done;
    });
  }

  async function follow(signal: AbortSignal): Promise<void> {
    let next = await start(signal);
    while (!signal.aborted) {
      const from = (await log.end(topic)) < next ? await log.low(topic) : next;
      woken = false;
      next = await read(from, signal);
      // Nothing new, or something that is not whole yet.
      if (next === from) await idle(signal);
    }
  }

  return {
    wake() {
      woken = true;
      wakeUp();
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          await follow(signal);
        } catch (error) {
          if (signal.aborted) return;
          const trimmed = error instanceof LogError && error.code === 'trimmed';
          if (!trimmed) options.onTrouble(error);
          await sleep(trimmed ? 0 : RETRY_MS, undefined, { signal }).catch(() => undefined);
        }
      }
    },
  };
}
