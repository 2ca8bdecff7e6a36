import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { BroadcastChannel } from 'node:worker_threads';
import { type Database, open, type RootDatabase } from 'lmdb';
import { errorMessage } from '../src/chain/errors.ts';
import { damageOf, expectRoom, LMDB_FILE } from './lmdb-file.ts';
import { LogError } from './log.ts';
import { releaseMappedPages } from './mapped-pages.ts';
import { otherWriter, releaseWriterLock, takeWriterLock } from './writer-lock.ts';

export const DAMAGED_ADVICE = 'bring back a copy of the folder, or begin anew with another data folder';

/** Where a topic stands. Offsets from `low` up to, not including, `next` are in the log. */
export interface TopicState {
  next: number;
  low: number;
  /** Unix ms of the newest record; times never go back even when the clock does. */
  time: number;
}

const EMPTY: TopicState = { next: 0, low: 0, time: 0 };
/** Topics and the meta database. */
const MAX_DATABASES = 64;

/**
 * The lmdb environment of one folder as this thread sees it, shared by all logs opened on the folder: the values are
 * frames by uint32 offset in one sub-database a topic, and `meta` has the state of each topic.
 */
export interface Environment {
  /** Of its folder. */
  readonly path: string;
  state(topic: string): TopicState;
  frame(topic: string, offset: number): Buffer | undefined;
  /** Makes the topic if it is not there. */
  create(topic: string): Promise<void>;
  /**
   * Runs a change of one topic in a write transaction and resolves when it is on the disk. A change that throws
   * leaves nothing behind. Waiting readers of this process are woken.
   */
  change<T>(topic: string, apply: (state: TopicState, frames: Database<Buffer, number>) => [TopicState, T]): Promise<T>;
  /** Takes the topic's writer lock unless this environment has it. @throws {LogError} `writer_busy` */
  lock(topic: string): void;
  note(group: string, topic: string, nextOffset: number): Promise<void>;
  /** Resolves on the next change of the topic by this process, after `waitMs`, or on abort. */
  changed(topic: string, waitMs: number, signal: AbortSignal): Promise<void>;
  /** Forgets the snapshot that earlier reads of this turn of the event loop see. */
  refresh(): void;
  /** Gives memory back that pages of the file take. */
  releasePages(): void;
  release(): Promise<void>;
}

interface Shared {
  environment: Environment;
  users: number;
}

const shared = new Map<string, Shared>();

/** Opens the folder or joins the environment this thread already has on it. */
export function openEnvironment(folder: string, mapSize?: number): Environment {
  mkdirSync(folder, { recursive: true });
  const path = realpathSync(folder);
  const present = shared.get(path);
  if (present !== undefined) {
    present.users++;
    return present.environment;
  }
  const environment = createEnvironment(path, mapSize, () => {
    const entry = shared.get(path);
    if (entry === undefined || --entry.users > 0) return false;
    return shared.delete(path);
  });
  shared.set(path, { environment, users: 1 });
  return environment;
}

function openRoot(path: string, mapSize: number | undefined): RootDatabase<Buffer, string> {
  const file = join(path, LMDB_FILE);
  const damage = damageOf(file);
  if (damage !== null)
    throw new LogError('corrupt', `cannot open the log: ${file} is damaged: ${damage}; ${DAMAGED_ADVICE}`);
  try {
    expectRoom(path);
    return open<Buffer, string>({
      path,
      noSubdir: false,
      maxDbs: MAX_DATABASES,
      encoding: 'binary',
      ...(mapSize === undefined ? {} : { mapSize }),
    });
  } catch (error) {
    const why = errorMessage(error);
    throw new LogError('unavailable', `cannot open the log in ${path}: ${why}`, { cause: error });
  }
}

function createEnvironment(path: string, mapSize: number | undefined, lastUser: () => boolean): Environment {
  const root = openRoot(path, mapSize);
  const meta: Database<Buffer, string> = root.openDB('meta', { encoding: 'binary' });
  const topics = new Map<string, Database<Buffer, number>>();
  const locked = new Set<string>();
  const wakers = createWakers(path);

  const frames = (topic: string): Database<Buffer, number> => {
    let database = topics.get(topic);
    if (database === undefined) {
      database = root.openDB<Buffer, number>(`topic:${topic}`, { encoding: 'binary', keyEncoding: 'uint32' });
      topics.set(topic, database);
    }
    return database;
  };
  const state = (topic: string): TopicState => decodeState(meta.getBinary(`topic:${topic}`));
  const lockFile = (topic: string): string => join(path, `${topic}.writer`);

  const commits = mindCommits(root, `the log in ${path}`);

  const environment: Environment = {
    path,
    state,
    frame: (topic, offset) => frames(topic).getBinary(offset),
    async create(topic) {
      if (meta.getBinary(`topic:${topic}`) === undefined) await environment.change(topic, (now) => [now, undefined]);
    },
    async change(topic, apply) {
      const database = frames(topic);
      // A child transaction is undone when its callback throws; a plain one would commit what it had done so far.
      const written = root.childTransaction(() => {
        const [after, value] = apply(state(topic), database);
        meta.putSync(`topic:${topic}`, encodeState(after));
        return value;
      });
      const result = await commits.outcome(written);
      // lmdb commits first and flushes after: only now does the change survive a power cut.
      await commits.flushed();
      wakers.wake(topic);
      return result;
    },
    lock(topic) {
      if (locked.has(topic)) return;
      const file = lockFile(topic);
      // Looked at first without a transaction: a writer that stands still may stand in the middle of one.
      const other = otherWriter(file);
      if (other !== null) throw writerBusy(topic, path, other.pid);
      // The write transaction is the mutex between processes that want the lock at the same time.
      const outcome = root.transactionSync(() => takeWriterLock(file));
      if (!outcome.taken) throw writerBusy(topic, path, outcome.holder.pid);
      locked.add(topic);
    },
    async note(group, topic, nextOffset) {
      await commits.outcome(meta.put(`progress:${group}:${topic}`, Buffer.from(String(nextOffset))));
    },
    changed: wakers.wait,
    refresh: () => root.resetReadTxn(),
    releasePages: () => releaseMappedPages(join(path, LMDB_FILE)),
    async release() {
      if (!lastUser()) return;
      wakers.close();
      await commits.flushed().catch(ignore);
      if (locked.size > 0) {
        root.transactionSync(() => {
          for (const topic of locked) releaseWriterLock(lockFile(topic));
        });
      }
      await commits.close();
    },
  };
  return environment;
}

const ignore = (): void => undefined;

/** The commits of a store, which lmdb tells of in part. */
export interface Commits {
  /**
   * To be called in the turn of the event loop that wrote.
   * @throws {Error} that names the store, for a commit that failed
   */
  outcome<T>(written: Promise<T>): Promise<T>;
  /**
   * Resolves when all that is committed is on the disk.
   * @throws {Error} when the newest commit has failed, or one meanwhile
   */
  flushed(): Promise<void>;
  close(): Promise<void>;
}

/** @param what the store, in words */
export function mindCommits(root: Pick<RootDatabase, 'committed' | 'flushed' | 'close'>, what: string): Commits {
  /** Of the newest commit. */
  let failure: Error | null = null;
  const waiting = new Set<(error: unknown) => void>();
  return {
    async outcome(written) {
      // When this turn ends, lmdb adds a write of its own, whose rejection nobody hears. The commit tells of it for all.
      setImmediate(() => void root.committed.then(ignore, ignore));
      try {
        const value = await written;
        failure = null;
        return value;
      } catch (error) {
        if (!isOfCommit(error)) throw error;
        failure = error;
        const explained = await explain(what, error);
        if (failure === error) failure = explained;
        for (const refuse of waiting) refuse(explained);
        throw explained;
      }
    },
    async flushed() {
      if (failure !== null) throw failure;
      let refuse: (error: unknown) => void = ignore;
      const failed = new Promise<never>((_, reject) => {
        refuse = reject;
        waiting.add(refuse);
      });
      // Of a commit that fails lmdb tells nothing here, ever.
      await Promise.race([root.flushed, failed]).finally(() => waiting.delete(refuse));
    },
    async close() {
      const closed = root.close();
      // Nor here: it waits for the flush of what was never committed.
      if (failure !== null) closed.catch(ignore);
      else await closed;
    },
  };
}

const isOfCommit = (error: unknown): error is Error & { commitError: unknown } =>
  error instanceof Error && 'commitError' in error;

/** What lmdb says of a write that ended in its middle: EIO. */
const CUT_SHORT = 'Input/output error';

/** lmdb tells why by a promise beside the error. */
async function explain(what: string, error: Error & { commitError: unknown }): Promise<Error> {
  let reason = error.message;
  try {
    await error.commitError;
  } catch (why) {
    if (why instanceof Error) reason = why.message;
  }
  const hint = reason.startsWith(CUT_SHORT) ? ', as where the disk is full' : '';
  // Not as a log that may be back: what lmdb has of it by now is for the next start to say.
  return new Error(`${what} cannot be written: ${reason}${hint}`, { cause: error });
}

function writerBusy(topic: string, path: string, pid: number): LogError {
  return new LogError('writer_busy', `topic ${topic} of ${path} is being written by process ${pid}; stop it first`);
}

/**
 * Wakes readers in all threads of the process: a look every few milliseconds instead would cost each reader a twentieth
 * of a core. Those of other processes look.
 */
function createWakers(path: string) {
  const waiting = new Map<string, Set<() => void>>();
  const threads = new BroadcastChannel(`tonstream-log:${path}`);
  const wakeOwn = (topic: string): void => {
    for (const wake of waiting.get(topic) ?? []) wake();
  };
  threads.onmessage = (event) => {
    if (typeof event === 'object' && event !== null && 'data' in event) wakeOwn(String(event.data));
  };
  threads.unref();
  return {
    wake(topic: string): void {
      wakeOwn(topic);
      threads.postMessage(topic);
    },
    close: (): void => threads.close(),
    wait(topic: string, waitMs: number, signal: AbortSignal): Promise<void> {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const group = waiting.get(topic) ?? new Set();
        waiting.set(topic, group);
        const done = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          group.delete(done);
          resolve();
        };
        const timer = setTimeout(done, waitMs);
        signal.addEventListener('abort', done);
        group.add(done);
      });
    },
  };
}

function encodeState(state: TopicState): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.writeDoubleLE(state.next, 0);
  bytes.writeDoubleLE(state.low, 8);
  bytes.writeDoubleLE(state.time, 16);
  return bytes;
}

function decodeState(bytes: Buffer | undefined): TopicState {
  if (bytes === undefined) return EMPTY;
  if (bytes.length !== 24) throw new LogError('corrupt', `state of a topic has ${bytes.length} bytes instead of 24`);
  return { next: bytes.readDoubleLE(0), low: bytes.readDoubleLE(8), time: bytes.readDoubleLE(16) };
}
