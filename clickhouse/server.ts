import { mkdir, realpath, statfs, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { resolveLibchdb } from 'chdb/libchdb';
import { errorMessage } from '../src/chain/errors.ts';
import { LEAST_OPEN_FILES, openFilesLimit } from './open-files.ts';
import {
  KEPT_FREE_BYTES,
  type ServerLimits,
  type ServerPaths,
  serverArguments,
  serverConfigXml,
  serverPaths,
} from './server-config.ts';
import { choosePort, dropOwnership, livingOwner, takeOwnership } from './server-folder.ts';
import { type ServerProcess, spawnServer } from './server-process.ts';
import type { ClickHouseLogger } from './settings.ts';
import { WRITE_FAILURES, writeFailuresText } from './write-failures.ts';

export type ServerErrorCode = 'unsupported' | 'folder_busy' | 'few_files' | 'disk_full' | 'start_failed' | 'aborted';

export class ServerError extends Error {
  constructor(
    readonly code: ServerErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ServerError';
  }
}

export interface EmbeddedClickHouseOptions extends ServerLimits {
  /** Holds the engine's data, its configuration, its port. Made when missing. One server at a time. */
  folder: string;
  logger: ClickHouseLogger;
  /** Ends a start that is under way. A running server is ended by `stop()` only. */
  signal?: AbortSignal;
  /** How long a start waits for the first `/ping`, milliseconds. */
  startTimeoutMs?: number;
  /** How long a start waits for the dying server of a killed predecessor, milliseconds. */
  lockWaitMs?: number;
  /** How long `stop()` waits before it kills, milliseconds; STOP_TIMEOUT_MS unless given. */
  stopTimeoutMs?: number;
}

export interface ServerMetrics {
  up: boolean;
  restarts: number;
}

export interface EmbeddedClickHouse {
  /** Base URL of the HTTP interface, the same for all restarts. User `default`, no password, loopback only. */
  readonly url: string;
  /** The engine process; null while it is being restarted. */
  readonly pid: number | null;
  metrics(): ServerMetrics;
  /** Called after each successful restart. Returns the function that unsubscribes. */
  onRestart(listener: (restarts: number) => void): () => void;
  /** Resolves when the supervisor has given up; stays pending otherwise. */
  readonly failed: Promise<ServerError>;
  /** Ends the engine in an orderly way, kills it after `stopTimeoutMs`. Can be called twice. */
  stop(): Promise<void>;
}

export const STOP_TIMEOUT_MS = 20_000;

const PING_TIMEOUT_MS = 5_000;
/** An engine that answers no ping for so long while its process lives is killed and started again. */
const HUNG_AFTER_MS = 60_000;
const PING_EVERY_MS = 5_000;
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 10_000;
const MAX_FAILED_STARTS = 5;
const MAX_CRASHES = 60;
const CRASH_WINDOW_MS = 600_000;

function findLibrary(): string {
  try {
    return resolveLibchdb().path;
  } catch (cause) {
    throw new ServerError(
      'unsupported',
      `no embedded ClickHouse for ${process.platform}-${process.arch}: install a ClickHouse server (25.8 or newer) ` +
        'and set CLICKHOUSE_URL, or install the optional packages of chdb',
      { cause },
    );
  }
}

/**
 * One request on a connection of its own: the engine waits up to five seconds at its end for connections that a
 * client keeps open. Null when there is no good answer; the caller polls.
 */
function ask(url: string, body: string | null, timeoutMs: number): Promise<string | null> {
  return new Promise((resolveAnswer) => {
    const method = body === null ? 'GET' : 'POST';
    const asked = request(url, { method, agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      text(response).then(
        (answer) => resolveAnswer(response.statusCode === 200 ? answer : null),
        () => resolveAnswer(null),
      );
    });
    asked.once('error', () => resolveAnswer(null));
    asked.end(body ?? undefined);
  });
}

/** Another ClickHouse may have taken the port: the server is ours when it says so. */
async function isOurs(url: string, dataPath: string): Promise<boolean> {
  const answer = await ask(`${url}/`, "SELECT path FROM system.disks WHERE name = 'default' FORMAT TSVRaw", 30_000);
  return answer !== null && (await realpath(resolve(answer.trim())).catch(() => null)) === (await realpath(dataPath));
}

interface Setup {
  options: EmbeddedClickHouseOptions;
  paths: ServerPaths;
  library: string;
  port: number;
  url: string;
}

class FolderLocked extends Error {}

/** Starts the engine and waits until it answers. Throws FolderLocked or an Error with the engine's last words. */
async function startOnce(setup: Setup, signal: AbortSignal): Promise<ServerProcess> {
  const { options, paths, url } = setup;
  const server = spawnServer(
    setup.library,
    { folder: options.folder, args: serverArguments(paths, setup.port) },
    options.logger,
  );
  const deadline = performance.now() + (options.startTimeoutMs ?? 120_000);
  while (!server.hasEnded && !signal.aborted && performance.now() < deadline) {
    if ((await ask(`${url}/ping`, null, PING_TIMEOUT_MS)) !== null) {
      if (!server.hasEnded && (await isOurs(url, paths.data)) && !server.hasEnded) return server;
    }
    await Promise.race([server.ended, delay(50)]);
  }
  if (!server.hasEnded) {
    server.kill();
    await server.ended;
    if (signal.aborted) throw new ServerError('aborted', 'the start of the ClickHouse server was ended');
    throw new Error(`answered no ping within ${options.startTimeoutMs ?? 120_000} ms`);
  }
  const how = await server.ended;
  const words = server.lastLines().join('\n');
  if (words.includes('Cannot lock file')) throw new FolderLocked(words);
  throw new Error(`${how}${words === '' ? '' : `: ${words.slice(-2000)}`}`);
}

/**
 * The first start. A killed predecessor leaves an engine that takes seconds to write out and to release the
 * folder: that one is waited for. A folder with a living supervisor is refused at once.
 */
async function startFirst(setup: Setup, signal: AbortSignal): Promise<ServerProcess> {
  const { options, paths } = setup;
  const deadline = performance.now() + (options.lockWaitMs ?? 45_000);
  for (let attempt = 0; ; attempt++) {
    try {
      return await startOnce(setup, signal);
    } catch (error) {
      if (error instanceof ServerError) throw error;
      if (!(error instanceof FolderLocked)) {
        throw startFailed(options.folder, 'did not start', error);
      }
      if (performance.now() > deadline) throw folderBusy(options.folder, null);
      if (attempt === 0) options.logger.info({ folder: options.folder }, 'waiting for an earlier server to end');
      await delay(500, undefined, { signal }).catch(() => undefined);
      await refuseIfOwned(options.folder, paths, true);
    }
  }
}

function startFailed(folder: string, what: string, cause: unknown): ServerError {
  const why = errorMessage(cause);
  return new ServerError('start_failed', `the ClickHouse server of ${folder} ${what}: ${why.slice(0, 1000)}`, {
    cause,
  });
}

function folderBusy(folder: string, pid: number | null): ServerError {
  const who = pid === null ? 'another ClickHouse server' : `process ${pid}`;
  return new ServerError('folder_busy', `${folder} is in use by ${who}: stop it or choose another data folder`);
}

/** `taken`: this process has already written itself down as the owner, so only another name counts. */
async function refuseIfOwned(folder: string, paths: ServerPaths, taken: boolean): Promise<void> {
  const owner = await livingOwner(paths.owner);
  if (owner !== null && !(taken && owner === process.pid)) throw folderBusy(folder, owner);
}

/** With fewer the engine starts, and fails at some query later. */
async function refuseFewFiles(): Promise<void> {
  const most = await openFilesLimit();
  if (most === null || most >= LEAST_OPEN_FILES) return;
  throw new ServerError(
    'few_files',
    `this process may open ${most} files at a time, and ClickHouse needs at least ${LEAST_OPEN_FILES}: raise the limit (ulimit -n), then start again`,
  );
}

/** Of a disk that is full, or will be in a moment, what the engine writes might not be whole. */
async function refuseFullDisk(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= KEPT_FREE_BYTES) return;
  const [left, least] = [bavail * bsize, KEPT_FREE_BYTES].map((bytes) => Math.floor(bytes / 1024 ** 2));
  throw new ServerError(
    'disk_full',
    `the disk of ${folder} has ${left} MB left, and ClickHouse writes only where it leaves ${least}: make room there, then start again`,
  );
}

/**
 * Runs a real ClickHouse server on the folder as a supervised child process: restarted when it dies, ended with
 * this process whatever way this process ends.
 *
 * @throws ServerError `unsupported`, `folder_busy`, `few_files`, `disk_full`, `start_failed` or `aborted`
 */
export async function startEmbeddedClickHouse(options: EmbeddedClickHouseOptions): Promise<EmbeddedClickHouse> {
  const library = findLibrary();
  const folder = resolve(options.folder);
  const paths = serverPaths(folder);
  await mkdir(paths.data, { recursive: true });
  await refuseIfOwned(folder, paths, false);
  await refuseFullDisk(folder);
  await refuseFewFiles();
  await takeOwnership(paths.owner);
  try {
    if (options.users !== undefined) await writeFile(paths.users, options.users);
    await writeFile(paths.config, serverConfigXml(options));
    const port = await choosePort(paths.port);
    const setup = { options: { ...options, folder }, paths, library, port, url: `http://127.0.0.1:${port}` };
    const first = await startFirst(setup, options.signal ?? new AbortController().signal);
    // Another process that started at the same moment may have written its name over ours.
    await takeOwnership(paths.owner);
    options.logger.info({ folder, url: setup.url, pid: first.pid }, 'clickhouse server is up');
    return supervise(setup, first);
  } catch (error) {
    await dropOwnership(paths.owner);
    throw error;
  }
}

function supervise(setup: Setup, first: ServerProcess): EmbeddedClickHouse {
  const { options } = setup;
  const listeners = new Set<(restarts: number) => void>();
  const stopping = new AbortController();
  const stopRequest = new Promise<string>((resolveStop) => {
    stopping.signal.addEventListener('abort', () => resolveStop('stopped'), { once: true });
  });
  let current: ServerProcess | null = first;
  let restarts = 0;

  async function keepRunning(): Promise<ServerError | null> {
    const crashes: number[] = [];
    while (current !== null) {
      const startedAt = performance.now();
      const how = await untilDown(setup, current, stopRequest);
      if (stopping.signal.aborted) return null;
      if (how === LOST_WRITES) return new ServerError('disk_full', writeFailuresText(options.folder));
      current = null;
      crashes.push(performance.now());
      while (crashes[0] < performance.now() - CRASH_WINDOW_MS) crashes.shift();
      options.logger.error(
        { how, ranMs: Math.round(performance.now() - startedAt) },
        'clickhouse server died, starting it again',
      );
      if (crashes.length > MAX_CRASHES) {
        return new ServerError('start_failed', `the ClickHouse server died ${crashes.length} times in ten minutes`);
      }
      const next = await startAgain(setup, stopping.signal);
      if (next === null || next instanceof ServerError) return next;
      current = next;
      restarts++;
      options.logger.info({ pid: next.pid, restarts }, 'clickhouse server is up again');
      for (const listener of listeners) listener(restarts);
    }
    return null;
  }

  const supervision = keepRunning();
  const failed = new Promise<ServerError>((found) => {
    void supervision.then((error) => {
      if (error === null) return;
      options.logger.error({ err: error }, 'clickhouse server given up');
      found(error);
    });
  });
  let stopped: Promise<void> | null = null;

  async function stopNow(): Promise<void> {
    stopping.abort();
    await current?.end(options.stopTimeoutMs ?? STOP_TIMEOUT_MS);
    await supervision;
    // A restart may have come up between the two lines above.
    await current?.end(options.stopTimeoutMs ?? STOP_TIMEOUT_MS);
    current = null;
    await dropOwnership(setup.paths.owner);
  }

  return {
    url: setup.url,
    get pid() {
      return current?.pid ?? null;
    },
    metrics: () => ({ up: current !== null, restarts }),
    onRestart(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    failed,
    stop() {
      stopped ??= stopNow();
      return stopped;
    },
  };
}

/** How an engine ended that has acknowledged what is not on the disk. */
const LOST_WRITES = 'lost writes';

/**
 * Waits for the end of the process, and brings it about when the engine hangs, or cannot be believed any more. Ends early
 * when stopping.
 */
async function untilDown(setup: Setup, server: ServerProcess, stopRequest: Promise<string>): Promise<string> {
  let answeredAt = performance.now();
  for (;;) {
    const tick = new AbortController();
    const rest = delay(PING_EVERY_MS, 'tick', { signal: tick.signal }).catch(() => 'tick');
    const event = await Promise.race([server.ended, stopRequest, rest]);
    tick.abort();
    if (event !== 'tick') return event;
    if ((await ask(`${setup.url}/ping`, null, PING_TIMEOUT_MS)) !== null) answeredAt = performance.now();
    if (Number(await ask(`${setup.url}/`, WRITE_FAILURES, PING_TIMEOUT_MS)) > 0) {
      server.kill();
      await server.ended;
      return LOST_WRITES;
    }
    if (performance.now() - answeredAt > HUNG_AFTER_MS) {
      setup.options.logger.error({ pid: server.pid }, 'clickhouse server hangs, killing it');
      server.kill();
      return server.ended;
    }
  }
}

/** Null when stopped meanwhile; a ServerError when every try failed. */
async function startAgain(setup: Setup, stopping: AbortSignal): Promise<ServerProcess | ServerError | null> {
  let cause: unknown = null;
  for (let attempt = 0; attempt < MAX_FAILED_STARTS; attempt++) {
    const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 4 ** attempt);
    await delay(backoff, undefined, { signal: stopping }).catch(() => undefined);
    if (stopping.aborted) return null;
    try {
      return await startOnce(setup, stopping);
    } catch (error) {
      cause = error;
      if (!stopping.aborted) setup.options.logger.error({ err: error, attempt }, 'clickhouse server did not start');
    }
  }
  if (stopping.aborted) return null;
  return startFailed(setup.options.folder, 'did not start again', cause);
}
