import type { Logger } from 'pino';
import { errorMessage } from './chain/errors.ts';

export interface Shutdown {
  /** Aborts when the process is to end. */
  readonly signal: AbortSignal;
  /** What is closed at the end, the last registered first. One that takes longer than `withinMs` (8 s) is left behind. */
  onClose(name: string, close: () => Promise<void> | void, withinMs?: number): void;
  /** Begins the end: with an error the process exits with status 1. */
  stop(reason: string, error?: unknown): void;
  /** What it ends with: the reason and the error's words; null for no error. */
  readonly failure: string | null;
  /** Resolves with the exit status when everything is closed. */
  readonly done: Promise<number>;
}

const CLOSE_TIMEOUT_MS = 8_000;

interface Closer {
  name: string;
  close: () => Promise<void> | void;
  withinMs: number;
}

/** The one way a process ends: SIGINT, SIGTERM or a failure of a part; everything registered is closed in turn. */
export function createShutdown(logger: Logger): Shutdown {
  const controller = new AbortController();
  const closers: Closer[] = [];
  let failure: string | null = null;
  let finish: (status: number) => void;
  const done = new Promise<number>((resolve) => {
    finish = resolve;
  });

  async function closeAll(status: number): Promise<void> {
    for (const closer of closers.reverse()) {
      try {
        await inTime(closer);
      } catch (error) {
        logger.error({ err: error }, `closing ${closer.name} failed`);
      }
    }
    finish(status);
  }

  function stop(reason: string, error?: unknown): void {
    if (controller.signal.aborted) return;
    if (error === undefined) logger.info(`stopping: ${reason}`);
    else {
      failure = `${reason}: ${errorMessage(error)}`;
      logger.fatal({ err: error }, reason);
    }
    controller.abort(new Error(reason));
    void closeAll(error === undefined ? 0 : 1);
  }

  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop(name));
  return {
    signal: controller.signal,
    onClose: (name, close, withinMs = CLOSE_TIMEOUT_MS) => void closers.push({ name, close, withinMs }),
    stop,
    get failure() {
      return failure;
    },
    done,
  };
}

async function inTime({ name, close, withinMs }: Closer): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} did not close within ${withinMs} ms`)), withinMs);
  });
  try {
    await Promise.race([close(), late]);
  } finally {
    clearTimeout(timer);
  }
}
