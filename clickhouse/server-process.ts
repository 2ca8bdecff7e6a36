import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ClickHouseLogger } from './settings.ts';

const CHILD = fileURLToPath(new URL('./server-child.mjs', import.meta.url));
const KEPT_LINES = 20;

export interface ServerProcess {
  readonly pid: number;
  /** Resolves, never rejects, with how it ended. */
  readonly ended: Promise<string>;
  readonly hasEnded: boolean;
  /** The newest lines the engine wrote to standard error. */
  lastLines(): string[];
  /** Lets the engine finish; kills it after the given time. */
  end(withinMs: number): Promise<void>;
  kill(): void;
}

/** Only what the engine can use: it has no business with the service's secrets. */
function childEnvironment(): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { TZ: 'UTC' };
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH']) {
    if (process.env[name] !== undefined) environment[name] = process.env[name];
  }
  return environment;
}

/** Starts one engine process, in a folder. Never throws: a failed spawn shows as an ended process. */
export function spawnServer(
  library: string,
  { folder, args }: { folder: string; args: readonly string[] },
  logger: ClickHouseLogger,
): ServerProcess {
  // Detached: Ctrl-C in a terminal goes to the whole process group, and the engine must outlive the
  // service's own orderly end. It cannot be left behind, because it ends when its stdin closes.
  const child = spawn(process.execPath, [CHILD, library, ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
    cwd: folder,
    env: childEnvironment(),
  });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    logger.warn({ pid: child.pid, line }, 'clickhouse server wrote to stderr');
  });
  // A child that died makes closing its stdin fail with EPIPE; `ended` tells of the death.
  child.stdin.on('error', () => undefined);
  let hasEnded = false;
  const ended = whenEnded(child).then((how) => {
    hasEnded = true;
    return how;
  });
  return {
    pid: child.pid ?? 0,
    ended,
    get hasEnded() {
      return hasEnded;
    },
    lastLines: () => [...lines],
    kill: () => void child.kill('SIGKILL'),
    async end(withinMs) {
      child.stdin.end();
      const timer = new AbortController();
      const late = delay(withinMs, 'late', { signal: timer.signal }).catch(() => 'cancelled');
      if ((await Promise.race([ended, late])) === 'late') {
        logger.warn({ pid: child.pid, withinMs }, 'clickhouse server did not end in time, killing it');
        child.kill('SIGKILL');
      }
      timer.abort();
      await ended;
    },
  };
}

/** `close`, not `exit`: by then stderr is read to its end. */
function whenEnded(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('close', (code, signal) =>
      resolve(signal === null ? `exited with status ${code}` : `was ended by ${signal}`),
    );
  });
}
