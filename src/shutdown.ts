import type { Logger } from 'pino';

export interface Shutdown {
  /** Aborts when the process is to end. */
  readonly signal: AbortSignal;
  /** What is closed at the end, the last registered first. */
  onClose(name: string, close: () => Promise<void> | void): void;
  /** Begins the end: with an error the process exits with status 1. */
  stop(reason: string, error?: unknown): void;
  /** Resolves with the exit status when everything is closed. */
  readonly done: Promise<number>;
}

/** A close that takes longer is left behind. */
const CLOSE_TIMEOUT_MS = 8_000;

/** The one way a process ends: SIGINT, SIGTERM or a failure of a part; everything registered is closed in turn. */
export function createShutdown(logger: Logger): Shutdown {
  const controller = new AbortController();
  const closers: { name: string; close: () => Promise<void> | void }[] = [];
  let finish: (status: number) => void;
  const done = new Promise<number>((resolve) => {
    finish = resolve;
  });

  async function closeAll(status: number): Promise<void> {
    for (const { name, close } of closers.reverse()) {
      try {
        await withTimeout(Promise.resolve(close()), name);
      } catch (error) {
        logger.error({ err: error }, `closing ${name} failed`);
      }
    }
    finish(status);
  }

  function stop(reason: string, error?: unknown): void {
    if (controller.signal.aborted) return;
    if (error === undefined) logger.info(`stopping: ${reason}`);
    else logger.fatal({ err: error }, reason);
    controller.abort(new Error(reason));
    void closeAll(error === undefined ? 0 : 1);
  }

  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop(name));
  return { signal: controller.signal, onClose: (name, close) => closers.push({ name, close }), stop, done };
}

async function withTimeout(work: Promise<void>, name: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${name} did not close within ${CLOSE_TIMEOUT_MS} ms`)),
      CLOSE_TIMEOUT_MS,
    );
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
