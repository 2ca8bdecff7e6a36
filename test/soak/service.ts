/** The service under soak: one `tonstream start` with a devnet, its processes, and how each is killed. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../process-table.ts';
import { type Run, runTonstream, waitFor } from '../processes.ts';

/**
 * `writer`: the main process, which writes the window; its workers and its ClickHouse end with it. `starting`: that one,
 * and the next at any moment of its start.
 */
export const VICTIMS = ['worker', 'writer', 'all', 'ClickHouse', 'starting'] as const;
export type Victim = (typeof VICTIMS)[number];

export interface SoakSettings {
  dataDir: string;
  port: number;
  blockTimeMs: number;
  /** External messages a second. */
  rate: number;
  windowBytes: number;
  stepsBytes: number;
  /** More flags. */
  flags: readonly string[];
  /** The service's own default is meant for machines that do nothing else. */
  queryTimeoutMs: number;
}

export const WORKERS = 2;

export interface Process {
  pid: number;
  role: 'main' | 'worker' | 'clickhouse';
}

export interface SoakedService {
  /** Of the HTTP server, without a path. */
  readonly url: string;
  readonly clickhouseUrl: string;
  processes(): Process[];
  output(): string;
  start(): Promise<void>;
  /**
   * Kills with SIGKILL, and starts again what nobody else does. Resolves when the victims are replaced; `dead` is
   * called once they are gone.
   */
  kill(victim: Victim, dead: () => void): Promise<void>;
  /** SIGTERM; gives the exit status. */
  stop(): Promise<number | null>;
  /** For the end of a run that failed. */
  destroy(): Promise<void>;
}

const START_MS = 240_000;
/** On a quiet machine. */
const LONGEST_START_MS = 6_000;

export function createService(settings: SoakSettings): SoakedService {
  let run: Run | null = null;
  let clickhouseUrl = '';
  const earlier: string[] = [];
  const url = `http://127.0.0.1:${settings.port}`;

  const output = (): string => [...earlier, run?.output() ?? ''].join('\n--- started again ---\n');

  function processes(): Process[] {
    const pid = run?.child.pid;
    if (pid === undefined) return [];
    const children = childrenOf(pid).flatMap((child): Process[] => {
      const role = roleOf(child.command);
      return role === null ? [] : [{ pid: child.pid, role }];
    });
    return [{ pid, role: 'main' }, ...children];
  }

  function launch(): Run {
    if (run !== null) earlier.push(run.output());
    run = runTonstream(...words(settings));
    return run;
  }

  async function start(): Promise<void> {
    const started = launch();
    await waitFor(
      'the service',
      started,
      async () => {
        clickhouseUrl = /^ +ClickHouse +(http:\S+)/m.exec(started.output())?.[1] ?? '';
        return clickhouseUrl !== '' && (await answers(`${url}/api/v3/masterchainInfo`));
      },
      START_MS,
    );
  }

  async function killWorker(dead: () => void): Promise<void> {
    const workers = processes().filter(({ role }) => role === 'worker');
    const victim = workers[Math.floor(Math.random() * workers.length)];
    if (victim === undefined) throw new Error('there is no HTTP worker to kill');
    process.kill(victim.pid, 'SIGKILL');
    await waitFor('its end', run, async () => processes().every(({ pid }) => pid !== victim.pid));
    dead();
    await waitFor('a worker in its place', run, async () => {
      const now = processes().flatMap(({ pid, role }) => (role === 'worker' ? [pid] : []));
      return now.length === WORKERS && !now.includes(victim.pid);
    });
  }

  /** Until what only the tables know is answered again. */
  async function killClickHouse(dead: () => void): Promise<void> {
    const victim = processes().find(({ role }) => role === 'clickhouse');
    if (victim === undefined) throw new Error('there is no ClickHouse to kill');
    process.kill(victim.pid, 'SIGKILL');
    await waitFor('its end', run, async () => processes().every(({ pid }) => pid !== victim.pid));
    dead();
    // The window knows nothing of this address, and has kept no answer about it.
    const asked = `${url}/api/v3/messages?destination=0:${randomBytes(32).toString('hex')}&limit=1`;
    const both = async () => (await answers(`${clickhouseUrl}/ping`)) && (await answers(asked));
    await waitFor('ClickHouse in its place', run, both, START_MS);
  }

  return {
    url,
    get clickhouseUrl() {
      return clickhouseUrl;
    },
    processes,
    output,
    start,
    async kill(victim, dead) {
      if (victim === 'worker') return killWorker(dead);
      if (victim === 'ClickHouse') return killClickHouse(dead);
      if (victim === 'all') for (const { pid } of processes().toReversed()) process.kill(pid, 'SIGKILL');
      await run?.kill('SIGKILL');
      dead();
      if (victim === 'starting') {
        const again = launch();
        await sleep(Math.random() * LONGEST_START_MS);
        await again.kill('SIGKILL');
      }
      await start();
    },
    async stop() {
      run?.child.kill('SIGTERM');
      return (await run?.ended) ?? null;
    },
    async destroy() {
      await run?.kill('SIGKILL');
    },
  };
}

function words(settings: SoakSettings): string[] {
  const { dataDir, port, blockTimeMs, rate, windowBytes, stepsBytes, queryTimeoutMs } = settings;
  return [
    'start',
    ...['--network', 'devnet', '--block-time', `${blockTimeMs}ms`, '--devnet-rate', String(rate)],
    ...['--data-dir', dataDir, '--port', String(port), '--workers', String(WORKERS)],
    ...['--window-bytes', String(windowBytes), '--steps-bytes', String(stepsBytes)],
    ...['--query-timeout-ms', String(queryTimeoutMs), '--webhook-private', 'true'],
    ...settings.flags,
  ];
}

function roleOf(command: string): Process['role'] | null {
  if (command.includes('worker.js')) return 'worker';
  return command.includes('server-child') ? 'clickhouse' : null;
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    // Nobody listens yet.
    await sleep(50);
    return false;
  }
}
