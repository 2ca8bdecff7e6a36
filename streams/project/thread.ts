import type { Config } from '../../src/config.ts';
import { startThread, type Thread } from '../../src/thread.ts';
import type { Progress } from './projector.ts';

/** What the thread is started with. */
export interface ThreadData {
  config: Config;
  clickhouseUrl: string;
}

/** Runs the projector in a worker thread, so that decoding never holds up the HTTP event loop. */
export function startProjectorThread(data: ThreadData, onProgress: (progress: Progress) => void): Thread<never> {
  return startThread<ThreadData, never, Progress>(
    'projector',
    new URL('./worker.ts', import.meta.url),
    data,
    onProgress,
  );
}
