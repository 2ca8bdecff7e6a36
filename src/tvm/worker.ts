/** A thread of the TVM pool: one instance of the executor, the configurations it was told, one job after another. */
import { errorMessage } from '../chain/errors.ts';
import { runInThread } from '../thread.ts';
import { createExecutor, type Executor, ExecutorError, UNWRITABLE } from './executor.ts';
import type { FromWorker, Job, ToWorker } from './jobs.ts';
import { type Emulator, instantiateExecutor, UnwritableError } from './module.ts';

interface WorkerData {
  module: WebAssembly.Module;
}

await runInThread<WorkerData, ToWorker, FromWorker>(async ({ data, signal, send, onMessage }) => {
  const configs = new Map<string, string>();
  const executors = new Map<string, Executor>();
  let emulator: Emulator | null = null;

  async function executorFor(key: string): Promise<Executor> {
    const known = executors.get(key);
    if (known !== undefined) return known;
    const text = configs.get(key);
    if (text === undefined) throw new Error(`the configuration ${key} was not told`);
    emulator ??= await instantiateExecutor(data.module);
    const executor = await createExecutor(text, emulator);
    executors.set(key, executor);
    return executor;
  }

  function failed(error: unknown): FromWorker {
    const broken = error instanceof ExecutorError && error.broken;
    if (broken) {
      // Its memory may be spoilt: nothing of it is used again.
      emulator = null;
      executors.clear();
    }
    if (error instanceof UnwritableError)
      return { type: 'done', result: { success: false, reason: UNWRITABLE }, broken };
    return { type: 'failed', reason: errorMessage(error), broken };
  }

  async function run(key: string, job: Job): Promise<FromWorker> {
    try {
      return { type: 'done', result: runJob(await executorFor(key), job), broken: false };
    } catch (error) {
      return failed(error);
    }
  }

  let last = Promise.resolve();
  onMessage((message) => {
    last = last.then(async () => {
      if (message.type === 'config') configs.set(message.key, message.text);
      else if (message.type === 'job') send(await run(message.config, message.job));
      else {
        configs.delete(message.key);
        executors.get(message.key)?.close();
        executors.delete(message.key);
      }
    });
  });
  emulator = await instantiateExecutor(data.module);
  send({ type: 'ready' });
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
});

function runJob(executor: Executor, job: Job) {
  if (job.kind === 'get_method') return executor.runGetMethod(revive(job.call));
  if (job.kind === 'tick_tock') return executor.runTickTock(job.shardAccount, job.isTock, revive(job.context));
  return executor.runTransaction(job.shardAccount, job.message, revive(job.context));
}

/** A buffer comes through a message as a plain array of bytes. */
function revive<T extends { randSeed: Uint8Array }>(value: T): T & { randSeed: Buffer } {
  return { ...value, randSeed: Buffer.from(value.randSeed) };
}
