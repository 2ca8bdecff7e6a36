/** Thrown when the queue before the database is full. The API answers it with 429. */
export class Overloaded extends Error {
  readonly code = 'overloaded';
  constructor(
    readonly running: number,
    readonly queued: number,
  ) {
    super(`too many queries: ${running} are running, ${queued} are waiting`);
    this.name = 'Overloaded';
  }
}

export interface QueryGateMetrics {
  /** After every change. */
  depth(running: number, queued: number): void;
  rejected(): void;
  /** Milliseconds an entry waited before it ran. */
  waited(ms: number): void;
}

export interface QueryGateOptions {
  maxConcurrent: number;
  /** Entries beyond this are refused with Overloaded; nothing waits unseen. */
  maxQueued: number;
  metrics?: QueryGateMetrics;
}

export interface QueryGate {
  readonly running: number;
  readonly queued: number;
  /**
   * Runs the task when its turn has come, first in, first out.
   *
   * @throws Overloaded when the queue is full; the signal's reason when it aborts while waiting
   */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createQueryGate(options: QueryGateOptions): QueryGate {
  const { maxConcurrent, maxQueued, metrics } = options;
  /** In order of arrival: a Set keeps it and forgets an aborted entry in constant time. */
  const waiting = new Set<() => void>();
  let running = 0;

  function wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const since = performance.now();
      const leave = () => {
        waiting.delete(enter);
        metrics?.depth(running, waiting.size);
        reject(signal?.reason);
      };
      // The place of the finished task passes on directly, so `running` stays as it is.
      const enter = () => {
        signal?.removeEventListener('abort', leave);
        metrics?.waited(performance.now() - since);
        resolve();
      };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.add(enter);
      metrics?.depth(running, waiting.size);
    });
  }

  function release(): void {
    const [next] = waiting;
    if (next === undefined) running--;
    else {
      waiting.delete(next);
      next();
    }
    metrics?.depth(running, waiting.size);
  }

  return {
    get running() {
      return running;
    },
    get queued() {
      return waiting.size;
    },
    async run(task, signal) {
      signal?.throwIfAborted();
      if (running < maxConcurrent) {
        running++;
        metrics?.depth(running, waiting.size);
      } else if (waiting.size >= maxQueued) {
        metrics?.rejected();
        throw new Overloaded(running, waiting.size);
      } else {
        await wait(signal);
      }
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}
