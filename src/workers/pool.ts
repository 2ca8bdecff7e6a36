/** HTTP workers as seen from the main process: started, started again when they die, spoken to, stopped. */
import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { AggregatorRegistry, Counter, Gauge, type Registry } from 'prom-client';
import { createCalled } from '../calls.ts';
import { createHostCounts } from '../feed/key-counts.ts';
import type { Dispatcher } from './dispatcher.ts';
import {
  type FromWorker,
  type KnownHead,
  type MetricsOfProcess,
  type PackedError,
  packError,
  type Question,
  type Reply,
  type ToWorker,
  type WorkerStart,
} from './messages.ts';

export interface WorkerPoolOptions {
  count: number;
  /** What worker `index` is started with besides the head, asked again for each start. */
  startOf: (index: number) => Omit<WorkerStart, 'head'>;
  /** Workers are told of it when they start, and of each advance. */
  head: { known(): KnownHead; onAdvance(listener: () => void): void };
  /**
   * Answers what workers ask for besides metrics and what keys have taken. Its errors go back to who asked; the signal
   * aborts when he waits no more.
   */
  answer: (question: Exclude<Question, { kind: 'metrics' | 'key' }>, signal: AbortSignal) => Promise<Reply>;
  /** Takes accounts that answers mention and nothing is known of. */
  onMentioned?: (accounts: readonly Uint8Array[]) => void;
  /** Calls back when there is more in the topic of pending traces. */
  onPending?: (listener: () => void) => void;
  /** Has the port, and gives its connections to the workers. Closed with the pool. */
  dispatcher: Dispatcher;
  /** Of this process; gets the figures of the workers. */
  registry: Registry;
  logger: Logger;
  /** A worker dies again and again. */
  onGivenUp: (error: Error) => void;
  /** Both differ from the defaults in tests only. */
  patience?: Partial<Patience>;
  program?: string;
}

export interface Patience {
  /** Wait before the first restart of a worker, in milliseconds; twice as long each time it dies young. */
  restartAfterMs: number;
  longestWaitMs: number;
  /** A worker that served this long was all right. */
  oldAfterMs: number;
  /** Starts in a row of one worker that end young before the pool gives up. */
  maxYoungDeaths: number;
  /** A worker that takes longer to stop is killed. */
  stopMs: number;
}

const PATIENCE: Patience = {
  restartAfterMs: 100,
  longestWaitMs: 5_000,
  oldAfterMs: 30_000,
  maxYoungDeaths: 10,
  stopMs: 5_000,
};
/**
 * Half of the memory that the engine collects from most often, in MB; its own default is 16. An answer of a megabyte with
 * what it is made of survives collections of that, to be copied: with 32 a request takes 15 to 30 % less CPU, and a
 * worker some 50 MB more.
 */
const YOUNG_MB = 32;
const PROGRAM = fileURLToPath(new URL('../../bin/worker.js', import.meta.url));
/** Of a worker that takes longer to tell its metrics those count that it told last. */
const METRICS_MS = 1_000;
/** Every worker that was asked for its health tells the same gaps. */
const NOT_SUMMED = new Set(['tonstream_gaps']);

export interface WorkerPool {
  /** Process ids of the workers that run. */
  readonly pids: number[];
  /** Metrics of this process and all workers, summed. */
  metrics(): Promise<string>;
  close(): Promise<void>;
}

/**
 * Starts the workers and waits until all of them listen.
 * @throws Error with the reason when one cannot
 */
export async function startWorkerPool(options: WorkerPoolOptions): Promise<WorkerPool> {
  const { count, head, dispatcher, registry, logger, onGivenUp } = options;
  const patience = { ...PATIENCE, ...options.patience };
  const running = new Map<number, Worker>();
  const exits = new Set<Promise<unknown>>();
  const collecting = new Map<number, (metrics: MetricsOfProcess) => void>();
  const told = new WeakMap<Worker, MetricsOfProcess>();
  const counts = createHostCounts();
  const restarts = showPool(registry, running);
  let lastId = 0;
  let stopping = false;
  // Before the first worker: one that is being started must not miss what comes meanwhile.
  head.onAdvance(() => {
    for (const worker of running.values()) tell(worker, { type: 'head', ...head.known() });
  });
  options.onPending?.(() => {
    for (const worker of running.values()) tell(worker, { type: 'pending' });
  });
  cluster.setupPrimary({
    exec: options.program ?? PROGRAM,
    args: [],
    execArgv: [...process.execArgv, `--max-semi-space-size=${YOUNG_MB}`],
    serialization: 'advanced',
  });

  /** Resolves when it listens, rejects when it says that it cannot or ends before. */
  function startOne(index: number, died: (worker: Worker, livedMs: number) => void): Promise<void> {
    const worker = cluster.fork();
    const begun = performance.now();
    running.set(index, worker);
    const keys = counts.open();
    const called = createCalled<Question, Reply, PackedError>({
      answer: (question, signal) => {
        if (question.kind === 'metrics') return metrics();
        if (question.kind === 'key') return keys.take(question.key, question.change, question.most);
        return options.answer(question, signal);
      },
      send: (message) => tell(worker, message),
      pack: packError,
    });
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.type === 'ready') {
          tell(worker, { type: 'start', start: { ...options.startOf(index), head: head.known() } });
        } else if (message.type === 'listening') {
          dispatcher.add(worker);
          resolve();
        } else if (message.type === 'taken') dispatcher.taken(message.id);
        else if (message.type === 'failed') reject(new Error(message.reason));
        else if (message.type === 'metrics') {
          told.set(worker, message.metrics);
          collecting.get(message.id)?.(message.metrics);
        } else if (message.type === 'mentioned') options.onMentioned?.(message.accounts);
        else called.receive(message);
      });
      worker.on('error', (error) => logger.warn({ err: error, worker: index }, 'a message to an HTTP worker is lost'));
      const exit = exitOf(worker).then((how) => {
        running.delete(index);
        exits.delete(exit);
        called.end();
        keys.end();
        dispatcher.remove(worker);
        reject(new Error(`HTTP worker ${index} ended with ${how}`));
        died(worker, performance.now() - begun);
      });
      exits.add(exit);
    });
  }

  /** Keeps a worker running; `young` deaths in a row make the waits longer, and too many are the end. */
  function keep(index: number, young: number): Promise<void> {
    return startOne(index, (worker, livedMs) => {
      if (stopping) return;
      const deaths = livedMs < patience.oldAfterMs ? young + 1 : 1;
      const pid = worker.process.pid;
      if (deaths > patience.maxYoungDeaths) {
        onGivenUp(new Error(`HTTP worker ${index} died ${deaths} times soon after its start`));
        return;
      }
      const waitMs = Math.min(patience.restartAfterMs * 2 ** (deaths - 1), patience.longestWaitMs);
      logger.error({ worker: index, pid, waitMs }, 'an HTTP worker died and is started again');
      setTimeout(() => {
        if (stopping) return;
        restarts.inc();
        // What it failed of is in the log: its own lines, or the one above when it dies again.
        keep(index, deaths).catch((error) =>
          logger.warn({ err: error, worker: index }, 'an HTTP worker did not start'),
        );
      }, waitMs);
    });
  }

  function metricsOf(worker: Worker): Promise<MetricsOfProcess> {
    const id = ++lastId;
    return new Promise((resolve) => {
      const done = (metrics: MetricsOfProcess): void => {
        clearTimeout(timer);
        collecting.delete(id);
        resolve(metrics);
      };
      const timer = setTimeout(() => done(told.get(worker) ?? []), METRICS_MS);
      collecting.set(id, done);
      tell(worker, { type: 'metrics', id });
    });
  }

  async function metrics(): Promise<string> {
    const all = [registry.getMetricsAsJSON(), ...Array.from(running.values(), metricsOf)];
    return AggregatorRegistry.aggregate((await Promise.all(all)).map(withAggregators)).metrics();
  }

  async function close(): Promise<void> {
    stopping = true;
    dispatcher.close();
    for (const worker of running.values()) tell(worker, { type: 'stop' });
    const killing = setTimeout(() => {
      for (const worker of running.values()) worker.process.kill('SIGKILL');
    }, patience.stopMs);
    await Promise.all(exits);
    clearTimeout(killing);
  }

  const pool: WorkerPool = {
    get pids() {
      return Array.from(running.values()).flatMap(({ process: { pid } }) => pid ?? []);
    },
    metrics,
    close,
  };
  let started = false;
  try {
    // A worker that cannot start the first time is a wrong setting more often than an accident.
    const first = Array.from({ length: count }, (_, index) => keep(index, 0));
    await Promise.all(first);
    started = true;
    return pool;
  } finally {
    if (!started) await close();
  }
}

/**
 * Its signal or status, or why the system gave no process for it. Lost messages, which are errors of the worker too, do not
 * end the wait.
 */
function exitOf(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ?? `status ${code}`));
    worker.on('error', ({ message }) => {
      if (worker.process.pid === undefined) resolve(message);
    });
  });
}

/** A worker that has just died is told nothing; whoever waits for it hears of its end. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}

function withAggregators(metrics: MetricsOfProcess): MetricsOfProcess {
  return metrics.map((metric) => (NOT_SUMMED.has(metric.name) ? { ...metric, aggregator: 'max' } : metric));
}

/** What is told of the workers. */
export function showPool(registry: Registry, running: ReadonlyMap<number, Worker>): Counter {
  new Gauge({
    name: 'tonstream_workers',
    help: 'HTTP workers that run',
    registers: [registry],
    collect() {
      this.set(running.size);
    },
  });
  return new Counter({
    name: 'tonstream_worker_restarts_total',
    help: 'HTTP workers that died and were started again',
    registers: [registry],
  });
}
