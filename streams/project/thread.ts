// Loaded here as well: a library that only a thread has loaded is unloaded when the thread ends, and this one has the
// system call it at the thread's very end: a crash (Node 20).
import 'ffi-rs';
import type { Config } from '../../src/config.ts';
import { startThread, type Thread } from '../../src/thread.ts';
import type { Progress } from './options.ts';

/** What the thread is started with. */
export interface ThreadData {
  config: Config;
  clickhouseUrl: string;
}

/** What the thread tells: a batch is done, or its steps are in the topic of steps, which is a moment before. */
export type ThreadNews = { type: 'progress'; progress: Progress } | { type: 'published' };

export interface ThreadListener {
  onProgress(progress: Progress): void;
  onPublished(): void;
}

/** Runs the projector in a worker thread, so that decoding never holds up the HTTP event loop. */
export function startProjectorThread(data: ThreadData, listener: ThreadListener): Thread<never> {
  const module = new URL('./worker.ts', import.meta.url);
  return startThread<ThreadData, never, ThreadNews>('projector', module, data, (news) => {
    if (news.type === 'progress') listener.onProgress(news.progress);
    else listener.onPublished();
  });
}
