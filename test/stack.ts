/** The real command line as child processes on a folder of their own, for tests of the whole stack. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { createClickHouse } from '../clickhouse/client.ts';
import { serverFolder } from '../clickhouse/open.ts';
import { copySchema } from '../clickhouse/test-schema.ts';
import { silent } from '../clickhouse/test-server.ts';
import { metricOf } from './metrics.ts';
import { tableHashes } from './table-hashes.ts';

const PROGRAM = fileURLToPath(new URL('../bin/tonstream.js', import.meta.url));
/** Long enough for a slow machine that runs other tests beside this one; a stack is ready after a few seconds. */
export const PATIENCE_MS = 300_000;
/** Between two questions to a service, and two looks at what it has printed. */
const ASK_MS = 250;
const LOOK_MS = 50;
/** Characters of the beginning, where a program says what tests go by, and of the end. */
const KEPT_OUTPUT = 20_000;

export type Environment = Record<string, string>;

export interface Program {
  /** What it printed so far, the beginning and the end of it when that was much. */
  output(): string;
  /** Waits until it prints something that matches, and gives the match. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Exit status once it ended, null after a signal. */
  readonly ended: Promise<number | null>;
  /** Asks it to end and waits; throws unless it ended by itself with status 0. */
  stop(): Promise<void>;
}

export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'tonstream-stack-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 20 }) };
}

/**
 * Starts `tonstream` with these words. Settings of the caller's environment do not reach it; requests are answered in
 * one process; they, statements of SQL and runs of contracts take as long as they need.
 */
export function runProgram(words: readonly string[], environment: Environment = {}): Program {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TONSTREAM_LOG_LEVEL: 'warn',
      TONSTREAM_WORKERS: '1',
      TONSTREAM_QUERY_TIMEOUT_MS: '60000',
      TONSTREAM_SQL_TIMEOUT_MS: '60000',
      TONSTREAM_TVM_TIMEOUT_MS: '60000',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [begun, since] = ['', ''];
  const output = (): string => begun + since;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      const room = KEPT_OUTPUT - begun.length;
      begun += text.slice(0, room);
      since = (since + text.slice(room)).slice(-KEPT_OUTPUT);
    });
  }
  // The test process may be ended in the middle; nothing may outlive it.
  const onExit = (): void => void child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => {
      process.off('exit', onExit);
      resolve(status);
    });
  });
  const name = `tonstream ${words[0]}`;
  return {
    output,
    ended,
    async printed(pattern) {
      const found = async () => {
        const match = pattern.exec(output());
        if (match === null && hasEnded(child)) throw new Error(`${name} ended early:\n${output()}`);
        return match;
      };
      return await until(`${name} prints ${pattern}`, found, LOOK_MS);
    },
    async stop() {
      const early = hasEnded(child);
      child.kill('SIGTERM');
      const status = await Promise.race([ended, sleep(PATIENCE_MS, 'late' as const, { ref: false })]);
      if (status === 'late') child.kill('SIGKILL');
      if (early || status !== 0) throw new Error(`${name}: ${early ? 'ended early' : `exit ${status}`}:\n${output()}`);
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Of workers that take turns, each is asked. */
const ASKED_IN_TURN = 4;
const INFO = z.object({ last: z.object({ seqno: z.number() }) });

/** On a connection of its own; 0 where nothing is shown yet. */
export async function shownHead(url: string): Promise<number> {
  const asked = { headers: { Connection: 'close' }, signal: AbortSignal.timeout(PATIENCE_MS) };
  const response = await fetch(`${url}/api/v3/masterchainInfo`, asked);
  const text = await response.text();
  return response.ok ? INFO.parse(JSON.parse(text)).last.seqno : 0;
}

/** What v3 answers to a path and query, which is to be 200. */
export async function readV3<T>(url: string, path: string, shape: z.ZodType<T>): Promise<T> {
  const response = await fetch(`${url}/api/v3/${path}`);
  if (response.status !== 200) throw new Error(`${path.slice(0, 200)}: ${response.status} ${await response.text()}`);
  return shape.parse(await response.json());
}

/**
 * Asks again and again until there is an answer; `what` is in the error when none comes. What is asked for is mostly of a
 * service that has a new step every second or two, and pays for each answer.
 */
export async function until<T>(what: string, ask: () => Promise<T | null>, pauseMs = ASK_MS): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (Date.now() > end) throw new Error(`gave up waiting: ${what}`);
    await sleep(pauseMs);
  }
}

/** Runs a command to its end; what it printed. Throws unless it exits with `status`. */
export async function runToEnd(words: readonly string[], environment?: Environment, status = 0): Promise<string> {
  const program = runProgram(words, environment);
  const exit = await program.ended;
  if (exit !== status) throw new Error(`tonstream ${words[0]}: exit ${exit}:\n${program.output()}`);
  return program.output();
}

const STATUS = z.object({
  log: z.object({ mc_seqno: z.number().nullable() }),
  projected: z.object({ mc_seqno: z.number().nullable() }),
  lag_steps: z.number().nullable(),
  rows: z.record(z.string(), z.number()),
  gaps: z.array(z.unknown()),
});
export type Status = z.infer<typeof STATUS>;

/** Hashes of the tables of a server, its connections closed again. */
export async function hashesOfTables(url: string, database = 'tonstream'): Promise<Record<string, string>> {
  const clickhouse = createClickHouse({ url, database, logger: silent });
  try {
    return await tableHashes(clickhouse);
  } finally {
    await clickhouse.close();
  }
}

export interface Stack {
  /** Of the HTTP server, without a path. */
  url: string;
  clickhouseUrl: string;
  dataDir: string;
  program: Program;
  status(): Promise<Status>;
  /** Waits until everything in the log is projected, up to this masterchain block. */
  caughtUp(mcSeqno: number): Promise<Status>;
  /** Waits until the window has everything that is projected. */
  windowed(): Promise<void>;
  /** `import` into this stack's log. */
  import(files: readonly string[], options?: { loose?: boolean }): Promise<string>;
  /** Stops it and removes its folder, unless the folder was given. */
  remove(): Promise<void>;
}

export interface StackOptions {
  environment?: Environment;
  /** `start` unless given. */
  command?: 'start' | 'api';
  /** `none` unless given. */
  network?: string;
  /** More flags. */
  flags?: readonly string[];
  /** A folder of the caller's; a new one unless given. */
  dataDir?: string;
  /** Imported before the stack is started. */
  files?: readonly string[];
  loose?: boolean;
}

/** Starts a stack on a free port. Without `files` it serves what its log holds. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const { environment = {}, command = 'start', network = 'none', flags = [], files = [], loose = false } = options;
  const folder = options.dataDir === undefined ? temporaryFolder() : { path: options.dataDir, remove: () => undefined };
  const dataDir = folder.path;
  const importing = (paths: readonly string[], more: readonly string[]) =>
    runToEnd(['import', ...more, '--data-dir', dataDir, ...paths], environment);
  let program: Program | null = null;
  try {
    // A first start's hundreds of statements, which other tests make.
    if (!existsSync(serverFolder({ dataDir }))) await copySchema(serverFolder({ dataDir }));
    if (files.length > 0) await importing(files, loose ? ['--loose'] : []);
    const words = [command, '--network', network, '--data-dir', dataDir, '--port', '0', ...flags];
    program = runProgram(words, environment);
    const [, url] = await program.printed(/^ +API +(http:\S+?)\/api\/v3\/$/m);
    const [, clickhouseUrl] = await program.printed(/^ +ClickHouse +(http:\S+)/m);
    return running({ url, clickhouseUrl, dataDir, program }, importing, { loose, removeFolder: folder.remove });
  } catch (error) {
    await program?.stop().catch(() => undefined);
    folder.remove();
    throw error;
  }
}

function running(
  parts: Pick<Stack, 'url' | 'clickhouseUrl' | 'dataDir' | 'program'>,
  importing: (paths: readonly string[], flags: readonly string[]) => Promise<string>,
  { loose, removeFolder }: { loose: boolean; removeFolder: () => void },
): Stack {
  const status = async (): Promise<Status> => {
    const response = await fetch(`${parts.url}/status`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!response.ok) throw new Error(`/status: ${response.status} ${await response.text()}`);
    return STATUS.parse(await response.json());
  };
  return {
    ...parts,
    status,
    async caughtUp(mcSeqno) {
      const found = await until(`masterchain block ${mcSeqno} is projected`, async () => {
        const state = await status();
        return state.lag_steps === 0 && state.projected.mc_seqno === mcSeqno ? state : null;
      });
      // The last of loose steps may have no masterchain block to show.
      if (loose) return found;
      await until(`every worker shows masterchain block ${mcSeqno}`, async () => {
        const heads: number[] = [];
        for (let i = 0; i < ASKED_IN_TURN; i++) heads.push(await shownHead(parts.url));
        return heads.every((head) => head >= mcSeqno) ? heads : null;
      });
      return found;
    },
    windowed: () =>
      until('the window has what the tables have', async () => {
        const metrics = await (await fetch(`${parts.url}/metrics`)).text();
        const { projected } = await status();
        return metricOf(metrics, 'tonstream_window_mc_seqno') === projected.mc_seqno ? undefined : null;
      }),
    import: (files, { loose = false } = {}) => importing(files, loose ? ['--loose'] : []),
    async remove() {
      try {
        await parts.program.stop();
      } finally {
        removeFolder();
      }
    },
  };
}
