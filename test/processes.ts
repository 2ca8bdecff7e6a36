/** The command line in processes of its own, for tests that kill it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../bin/tonstream.js', import.meta.url));

export interface Run {
  child: ChildProcess;
  /** Everything written so far, to stdout and stderr. */
  output(): string;
  /** Exit status; null after a signal. */
  ended: Promise<number | null>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Starts `tonstream` with these words; unless they say more, requests are answered in one process and take as long as
 * they need.
 */
export function runTonstream(...words: string[]): Run {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TONSTREAM_LOG_LEVEL: 'warn',
      TONSTREAM_WORKERS: '1',
      TONSTREAM_QUERY_TIMEOUT_MS: '60000',
      TONSTREAM_TVM_TIMEOUT_MS: '60000',
    },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  // The test process may be ended in the middle; nothing may outlive it.
  const onExit = (): void => void child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = once(child, 'close').then(([status]: (number | null)[]) => {
    process.off('exit', onExit);
    return status;
  });
  return {
    child,
    output: () => text,
    ended,
    async kill(signal = 'SIGKILL') {
      child.kill(signal);
      await ended;
    },
  };
}

/** What is looked at mostly costs a query, or a look at all processes. */
const PAUSE_MS = 100;

/** Waits until `check` holds; fails with what the run wrote when the run ends or the time is up. */
export async function waitFor(what: string, run: Run | null, check: () => Promise<boolean>, timeoutMs = 300_000) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    if (await check()) return;
    const over = Date.now() > deadline ? `not within ${timeoutMs} ms` : run?.child.exitCode != null ? 'it ended' : null;
    if (over !== null) throw new Error(`${what}: ${over}\n${run?.output() ?? ''}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
