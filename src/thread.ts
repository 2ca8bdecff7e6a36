/**
 * Roles that run in a thread of their own, so that nothing they do holds up the HTTP event loop. A role is a module
 * that calls `runInThread`; whoever starts it speaks to it by messages.
 */
import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { errorMessage } from './chain/errors.ts';

export interface Thread<In> {
  /** Rejects when the role fails, resolves when it was stopped. */
  readonly done: Promise<void>;
  post(message: In): void;
  stop(): Promise<void>;
  /** Ends it in the middle of whatever it does, also of a call that never returns. */
  kill(): Promise<void>;
}

/** For what a role that has ended has still to say. */
const LEFT_MS = 500;

interface Started<Data> {
  data: Data;
}

type FromThread<Out> = { type: 'message'; message: Out } | { type: 'failed'; error: string };
type ToThread<In> = { type: 'message'; message: In } | { type: 'stop' };

/**
 * Starts a role.
 * @param module URL of the module that calls `runInThread`
 * @param data anything that can be cloned
 */
export function startThread<Data, In, Out>(
  name: string,
  module: URL,
  data: Data,
  onMessage: (message: Out) => void,
): Thread<In> {
  const worker = new Worker(new URL('../bin/thread.js', import.meta.url), {
    workerData: { data, module: module.href },
    name,
  });
  let failure: Error | null = null;
  worker.on('message', (message: FromThread<Out>) => {
    if (message.type === 'message') onMessage(message.message);
    else failure = new Error(message.error);
  });
  worker.on('error', (error: unknown) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  const done = once(worker, 'exit').then(([code]) => {
    if (failure) throw failure;
    if (code !== 0) throw new Error(`the ${name} thread ended with status ${code}`);
  });
  done.catch(() => undefined);
  const post = (message: ToThread<In>): void => worker.postMessage(message);
  return {
    done,
    post: (message) => post({ type: 'message', message }),
    async stop() {
      post({ type: 'stop' });
      await done;
    },
    async kill() {
      await worker.terminate();
    },
  };
}

export interface ThreadContext<Data, In, Out> {
  data: Data;
  /** Aborts when the role is to end. */
  signal: AbortSignal;
  send(message: Out): void;
  onMessage(listener: (message: In) => void): void;
}

/** Runs a role to its end; a failure is told to whoever started it, unless it was to end anyway. */
export async function runInThread<Data, In, Out>(
  role: (context: ThreadContext<Data, In, Out>) => Promise<void>,
): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('this module runs as a worker thread only');
  const { data }: Started<Data> = workerData;
  const stopping = new AbortController();
  const listeners: ((message: In) => void)[] = [];
  const post = (message: FromThread<Out>): void => port.postMessage(message);
  port.on('message', (message: ToThread<In>) => {
    if (message.type === 'stop') stopping.abort();
    else for (const listener of listeners) listener(message.message);
  });
  try {
    await role({
      data,
      signal: stopping.signal,
      send: (message) => post({ type: 'message', message }),
      onMessage: (listener) => void listeners.push(listener),
    });
  } catch (error) {
    if (!stopping.signal.aborted) post({ type: 'failed', error: errorMessage(error) });
  } finally {
    port.close();
    // What is left behind, such as appends to brokers that are away, would keep the thread for minutes.
    setTimeout(() => process.exit(), LEFT_MS).unref();
  }
}
