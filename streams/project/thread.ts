import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Config } from '../../src/config.ts';
import type { Progress } from './projector.ts';

export interface ProjectorThread {
  /** Rejects when the projector fails, resolves when it was stopped. */
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

/** What the thread is started with. */
export interface ThreadData {
  config: Config;
  clickhouseUrl: string;
}

/** Messages of the thread. */
export type ThreadMessage = { type: 'progress'; progress: Progress } | { type: 'failed'; error: string };

/** Runs the projector in a worker thread, so that decoding never holds up the HTTP event loop. */
export function startProjectorThread(data: ThreadData, onProgress: (progress: Progress) => void): ProjectorThread {
  const worker = new Worker(new URL('../../bin/thread.js', import.meta.url), {
    workerData: { ...data, module: new URL('./worker.ts', import.meta.url).href },
  });
  let failure: Error | null = null;
  worker.on('message', (message: ThreadMessage) => {
    if (message.type === 'progress') onProgress(message.progress);
    else failure = new Error(message.error);
  });
  const done = once(worker, 'exit').then(([code]) => {
    if (failure) throw failure;
    if (code !== 0) throw new Error(`the projector thread ended with status ${code}`);
  });
  done.catch(() => undefined);
  return {
    done,
    async stop() {
      worker.postMessage('stop');
      await done;
    },
  };
}
