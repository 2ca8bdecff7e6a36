/**
 * Threads that run contracts. A call that takes too long or breaks the executor costs that call: the thread is
 * replaced, or its executor instantiated anew. A pool shares nothing with another one.
 */
import type { Cell } from '../chain/builder.ts';
import { startThread, type Thread } from '../thread.ts';
import { type CellText, cellText } from './executor.ts';
import type { FromWorker, Job, JobResult, ToWorker } from './jobs.ts';
import { compileExecutor } from './module.ts';

/** A configuration as pools take it, made once for each key block. */
export interface TvmConfig {
  /** Root of the dictionary of parameters (`Hashmap 32 ^Cell`). */
  root: Cell;
  text: CellText;
  /** Hash of the root in hex. */
  key: string;
}

export function tvmConfig(root: Cell): TvmConfig {
  return { root, text: cellText(root), key: root.hash().toString('hex') };
}

export type TvmOutcome = 'done' | 'failed' | 'timeout' | 'killed';

export interface TvmMetrics {
  depth(running: number, queued: number): void;
  finished(kind: Job['kind'], outcome: TvmOutcome, ms: number): void;
  /** A call was refused because the queue is full. */
  rejected(): void;
  /** A thread or its executor was replaced. */
  replaced(): void;
}

export interface TvmPoolOptions {
  /** Threads; each takes some 60 MB. They start with the first call. */
  workers: number;
  /** Calls that may wait for a thread. */
  maxQueued: number;
  /** Longest a call may run. */
  timeoutMs: number;
  /**
   * For whoever writes down what follows from a timeout: it then says that the contract took so long, not that the
   * machine was busy. The time that counts is that which the process had of the processor, for so long at most.
   */
  patienceMs?: number;
  metrics?: TvmMetrics;
}

export interface TvmPool {
  /**
   * Runs a job on the first free thread.
   * @param signal ends waiting; a job that runs is not stopped by it
   * @throws {TvmBusyError}, {TvmTimeoutError}, {TvmError}, or the signal's reason
   */
  run<J extends Job>(job: J, config: TvmConfig, signal?: AbortSignal): Promise<JobResult<J>>;
  close(): Promise<void>;
}

/** The executor could not run a job: an input it cannot read, a result it cannot write. */
export class TvmError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}
export class TvmBusyError extends TvmError {}
export class TvmTimeoutError extends TvmError {}

/** Configurations a thread holds; the one that was used longest ago goes first. */
const MAX_CONFIGS = 4;

/** A thread that is not ready by then has failed to start. */
const START_MS = 60_000;

interface Task {
  job: Job;
  config: TvmConfig;
  settle(message: FromWorker): void;
  reject(error: unknown): void;
}

interface Running {
  task: Task;
  since: number;
  /** CPU time of the process when it began, milliseconds; it is asked for where it counts. */
  cpuMs: number;
}

interface Slot {
  thread: Thread<ToWorker> | null;
  ready: boolean;
  configs: Map<string, true>;
  running: Running | null;
  timer: NodeJS.Timeout | null;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export function createTvmPool(options: TvmPoolOptions): TvmPool {
  const { metrics } = options;
  const queue = new Set<Task>();
  const slots: Slot[] = Array.from({ length: options.workers }, emptySlot);
  let module: Promise<WebAssembly.Module> | null = null;
  let closed = false;

  const showDepth = (): void => metrics?.depth(slots.filter((slot) => slot.running !== null).length, queue.size);

  function start(slot: Slot, compiled: WebAssembly.Module): void {
    const url = new URL('./worker.ts', import.meta.url);
    const thread = startThread<{ module: WebAssembly.Module }, ToWorker, FromWorker>(
      'tvm',
      url,
      { module: compiled },
      (message) => {
        if (slot.thread === thread) answered(slot, message);
      },
    );
    slot.thread = thread;
    slot.timer = setTimeout(() => replace(slot, new TvmError('a TVM thread did not start'), 'killed'), START_MS);
    const gone = (reason: string) => () => {
      if (slot.thread === thread && !closed) replace(slot, new TvmError(`a TVM thread ended: ${reason}`), 'killed');
    };
    thread.done.then(gone('by itself'), (error: unknown) => gone(String(error))());
  }

  /** The thread is given up, and with it the job it has. */
  function replace(slot: Slot, error: TvmError, outcome: TvmOutcome): void {
    const { thread, running } = slot;
    if (slot.timer !== null) clearTimeout(slot.timer);
    Object.assign(slot, emptySlot());
    metrics?.replaced();
    if (running !== null) finish(running, outcome, () => running.task.reject(error));
    else failWaiting(error);
    void thread?.kill();
    dispatch();
  }

  /** A thread that fails without a job fails at its start: whoever waits hears why. */
  function failWaiting(error: TvmError): void {
    for (const task of queue) task.reject(error);
    queue.clear();
  }

  function finish(running: Running, outcome: TvmOutcome, settle: () => void): void {
    metrics?.finished(running.task.job.kind, outcome, performance.now() - running.since);
    settle();
    showDepth();
  }

  function answered(slot: Slot, message: FromWorker): void {
    if (slot.timer !== null) clearTimeout(slot.timer);
    slot.timer = null;
    const { running } = slot;
    slot.running = null;
    slot.ready = true;
    if (message.type !== 'ready' && message.broken) metrics?.replaced();
    if (running !== null && message.type !== 'ready') {
      finish(running, message.type, () => running.task.settle(message));
    }
    dispatch();
  }

  function dispatch(): void {
    for (const task of queue) {
      const free = slots.find((slot) => slot.ready && slot.running === null);
      if (free === undefined) break;
      queue.delete(task);
      post(free, task);
    }
    if (wanting()) startOne();
    showDepth();
  }

  /** Whether more calls wait than threads are on their way. */
  const wanting = (): boolean =>
    !closed && queue.size > slots.filter((slot) => slot.thread !== null && !slot.ready).length;

  function startOne(): void {
    if (!slots.some((slot) => slot.thread === null)) return;
    module ??= compileExecutor();
    module.then(
      (compiled) => {
        const empty = slots.find((slot) => slot.thread === null);
        if (empty !== undefined && wanting()) start(empty, compiled);
      },
      (error: unknown) => failWaiting(new TvmError(`the executor cannot be compiled: ${String(error)}`)),
    );
  }

  function post(slot: Slot, task: Task): void {
    const { thread } = slot;
    if (thread === null) throw new Error('a free slot has a thread');
    const { key, text } = task.config;
    const known = slot.configs.delete(key);
    slot.configs.set(key, true);
    if (!known) {
      const [oldest] = slot.configs.keys();
      if (slot.configs.size > MAX_CONFIGS) {
        slot.configs.delete(oldest);
        thread.post({ type: 'forget', key: oldest });
      }
      thread.post({ type: 'config', key, text });
    }
    thread.post({ type: 'job', config: key, job: task.job });
    const running = { task, since: performance.now(), cpuMs: options.patienceMs === undefined ? 0 : cpuMs() };
    slot.running = running;
    slot.timer = setTimeout(() => late(slot, running), options.timeoutMs);
  }

  function late(slot: Slot, running: Running): void {
    // After a standstill of this thread an answer may wait behind this timer.
    setImmediate(() => {
      if (slot.running !== running) return;
      const { patienceMs } = options;
      const leftMs =
        patienceMs === undefined
          ? 0
          : Math.min(options.timeoutMs - (cpuMs() - running.cpuMs), patienceMs - (performance.now() - running.since));
      if (leftMs > 0) slot.timer = setTimeout(() => late(slot, running), leftMs);
      else replace(slot, new TvmTimeoutError(`the contract ran longer than ${options.timeoutMs} ms`), 'timeout');
    });
  }

  return {
    run<J extends Job>(job: J, config: TvmConfig, signal?: AbortSignal): Promise<JobResult<J>> {
      return new Promise((resolve, reject) => {
        if (closed) throw new TvmError('the TVM pool is closed');
        signal?.throwIfAborted();
        if (queue.size >= options.maxQueued) {
          metrics?.rejected();
          throw new TvmBusyError(`${queue.size} calls wait for the TVM`);
        }
        const stop = (): void => {
          queue.delete(task);
          reject(signal?.reason);
          showDepth();
        };
        const task: Task = {
          job,
          config,
          reject: (error) => {
            signal?.removeEventListener('abort', stop);
            reject(error);
          },
          settle: (message) => {
            signal?.removeEventListener('abort', stop);
            if (isResult<J>(message)) resolve(message.result);
            else reject(new TvmError(message.type === 'failed' ? message.reason : 'the thread answered nonsense'));
          },
        };
        signal?.addEventListener('abort', stop, { once: true });
        queue.add(task);
        dispatch();
      });
    },
    async close() {
      closed = true;
      failWaiting(new TvmError('the TVM pool is closed'));
      await Promise.all(
        slots.map(async (slot) => {
          if (slot.timer !== null) clearTimeout(slot.timer);
          slot.running?.task.reject(new TvmError('the TVM pool is closed'));
          await slot.thread?.kill();
        }),
      );
    },
  };
}

/** A thread answers a job with that job's result: it has one at a time. */
function isResult<J extends Job>(
  message: FromWorker,
): message is { type: 'done'; result: JobResult<J>; broken: boolean } {
  return message.type === 'done';
}

function emptySlot(): Slot {
  return { thread: null, ready: false, configs: new Map(), running: null, timer: null };
}
