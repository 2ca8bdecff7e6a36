/**
 * The service under soak: one `tonstream start` with a devnet, over a broker another `tonstream api` beside it, their
 * processes, and how each is killed.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, listProcesses } from '../process-table.ts';
import { type Run, runTonstream, waitFor } from '../processes.ts';
import type { SoakedLog } from './log.ts';

/**
 * `writer`: the main process, which writes the window; its workers and its ClickHouse end with it. `starting`: that one,
 * and the next at any moment of its start. `all`: with the broker, where there is one.
 */
export const VICTIMS = ['worker', 'writer', 'all', 'ClickHouse', 'starting'] as const;
/** There over a broker alone. */
export const BROKER_VICTIMS = ['broker', 'other host', ...VICTIMS] as const;
export type Victim = (typeof BROKER_VICTIMS)[number];

export interface SoakSettings {
  dataDir: string;
  log: SoakedLog;
  port: number;
  /** Of the other API host, which is there over a broker alone. */
  otherPort: number;
  /** Of the devnet's liteserver: the other host knows it by that. */
  litePort: number;
  blockTimeMs: number;
  /** External messages a second. */
  rate: number;
  windowBytes: number;
  /** Of older steps, behind the window. */
  archiveBytes: number;
  stepsBytes: number;
  /** More flags. */
  flags: readonly string[];
  /** The service's own default is meant for machines that do nothing else. */
  queryTimeoutMs: number;
}

export const WORKERS = 2;

export interface Process {
  pid: number;
  /** The other host's are all of one role. */
  role: 'main' | 'worker' | 'clickhouse' | 'other host';
}

/** One that answers HTTP. */
export interface Host {
  /** Without a path. */
  url: string;
  port: number;
  dataDir: string;
}

export interface SoakedService {
  /** The main process first. */
  readonly hosts: readonly Host[];
  /** Of the main process. */
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
  /** SIGTERM; gives the exit status of each that did not end well. */
  stop(): Promise<(number | null)[]>;
  /** For the end of a run that failed. */
  destroy(): Promise<void>;
}

const START_MS = 240_000;
/** On a quiet machine. */
const LONGEST_START_MS = 6_000;

/** A command that is killed and started again. */
interface Program {
  readonly run: Run | null;
  launch(words: readonly string[]): Run;
  /** Of all runs so far. */
  output(): string;
}

function createProgram(): Program {
  let run: Run | null = null;
  const earlier: string[] = [];
  return {
    get run() {
      return run;
    },
    launch(words) {
      if (run !== null) earlier.push(run.output());
      run = runTonstream(...words);
      return run;
    },
    output: () => [...earlier, run?.output() ?? ''].join('\n--- started again ---\n'),
  };
}

export function createService(settings: SoakSettings): SoakedService {
  const { dataDir, port, otherPort } = settings;
  const { broker } = settings.log;
  const main = createProgram();
  const other = broker === null ? null : createProgram();
  const hosts = [hostAt(port, dataDir), ...(other === null ? [] : [hostAt(otherPort, join(dataDir, 'other'))])];
  const [{ url }] = hosts;
  let clickhouseUrl = '';

  function processes(): Process[] {
    const pid = main.run?.child.pid;
    if (pid === undefined) return [];
    const children = childrenOf(pid).flatMap((child): Process[] => {
      const role = roleOf(child.command);
      return role === null ? [] : [{ pid: child.pid, role }];
    });
    return [{ pid, role: 'main' }, ...children, ...processesOfOther()];
  }

  function processesOfOther(): Process[] {
    const { pid, exitCode = null, signalCode = null } = other?.run?.child ?? {};
    if (pid === undefined || exitCode !== null || signalCode !== null) return [];
    return [pid, ...childrenOf(pid).map((child) => child.pid)].map((one) => ({ pid: one, role: 'other host' }));
  }

  const launch = (): Run => main.launch(['start', ...words(settings, hosts[0]), ...wordsOfChain(settings)]);

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
    if (other !== null && processesOfOther().length === 0) await startOther(other);
  }

  async function startOther(program: Program): Promise<void> {
    const network = join(dataDir, 'devnet', 'global.config.json');
    const server = ['--network', network, '--clickhouse-url', clickhouseUrl];
    const started = program.launch(['api', ...words(settings, hosts[1]), ...server]);
    const isUp = () => answers(`${hosts[1].url}/api/v3/masterchainInfo`);
    await waitFor('the other host', started, isUp, START_MS);
  }

  /** The next one takes the port again, at which the other host knows it. */
  async function untilClickHouseIsGone(): Promise<void> {
    const isGone = async () =>
      !listProcesses().some(({ command }) => roleOf(command) === 'clickhouse' && command.includes(dataDir));
    if (other !== null) await waitFor('the end of ClickHouse', null, isGone);
  }

  async function killWorker(dead: () => void): Promise<void> {
    const workers = processes().filter(({ role }) => role === 'worker');
    const victim = workers[Math.floor(Math.random() * workers.length)];
    if (victim === undefined) throw new Error('there is no HTTP worker to kill');
    process.kill(victim.pid, 'SIGKILL');
    await waitFor('its end', main.run, async () => processes().every(({ pid }) => pid !== victim.pid));
    dead();
    await waitFor('a worker in its place', main.run, async () => {
      const now = processes().flatMap(({ pid, role }) => (role === 'worker' ? [pid] : []));
      return now.length === WORKERS && !now.includes(victim.pid);
    });
  }

  /** Until what only the tables know is answered again. */
  async function killClickHouse(dead: () => void): Promise<void> {
    const victim = processes().find(({ role }) => role === 'clickhouse');
    if (victim === undefined) throw new Error('there is no ClickHouse to kill');
    process.kill(victim.pid, 'SIGKILL');
    await waitFor('its end', main.run, async () => processes().every(({ pid }) => pid !== victim.pid));
    dead();
    // The window knows nothing of this address, and has kept no answer about it.
    const asked = `${url}/api/v3/messages?destination=0:${randomBytes(32).toString('hex')}&limit=1`;
    const both = async () => (await answers(`${clickhouseUrl}/ping`)) && (await answers(asked));
    await waitFor('ClickHouse in its place', main.run, both, START_MS);
  }

  async function killMain(victim: Victim, dead: () => void): Promise<void> {
    const everything = victim === 'all';
    if (everything) for (const { pid } of processes().toReversed()) process.kill(pid, 'SIGKILL');
    await Promise.all([main.run?.kill('SIGKILL'), everything && other?.run?.ended, everything && broker?.kill()]);
    dead();
    await untilClickHouseIsGone();
    if (victim === 'starting') {
      const again = launch();
      await sleep(Math.random() * LONGEST_START_MS);
      await again.kill('SIGKILL');
      await untilClickHouseIsGone();
    }
    await Promise.all([start(), everything && broker?.start()]);
  }

  return {
    hosts,
    url,
    get clickhouseUrl() {
      return clickhouseUrl;
    },
    processes,
    output: () => [main.output(), ...(other === null ? [] : [other.output()])].join('\n--- the other host ---\n'),
    start,
    async kill(victim, dead) {
      if (victim === 'worker') return killWorker(dead);
      if (victim === 'ClickHouse') return killClickHouse(dead);
      if (victim === 'broker') {
        await broker?.kill();
        dead();
        await broker?.start();
      } else if (victim === 'other host') {
        await other?.run?.kill('SIGKILL');
        dead();
        if (other !== null) await startOther(other);
      } else await killMain(victim, dead);
    },
    async stop() {
      const statuses: (number | null)[] = [];
      for (const run of [other?.run, main.run]) {
        if (run == null) continue;
        run.child.kill('SIGTERM');
        statuses.push(await run.ended);
      }
      return statuses.filter((status) => status !== 0);
    },
    async destroy() {
      await Promise.all([main.run?.kill('SIGKILL'), other?.run?.kill('SIGKILL')]);
    },
  };
}

const hostAt = (port: number, dataDir: string): Host => ({ url: `http://127.0.0.1:${port}`, port, dataDir });

/** Of every host. */
function words(settings: SoakSettings, { dataDir, port }: Host): string[] {
  const { log, windowBytes, archiveBytes, queryTimeoutMs } = settings;
  return [
    ...log.words,
    ...['--data-dir', dataDir, '--port', String(port), '--workers', String(WORKERS)],
    ...['--window-bytes', String(windowBytes), '--archive-bytes', String(archiveBytes)],
    ...['--query-timeout-ms', String(queryTimeoutMs), '--webhook-private', 'true'],
  ];
}

function wordsOfChain({ blockTimeMs, rate, stepsBytes, litePort, flags }: SoakSettings): string[] {
  return [
    ...['--network', 'devnet', '--block-time', `${blockTimeMs}ms`, '--devnet-rate', String(rate)],
    ...['--lite-port', String(litePort), '--steps-bytes', String(stepsBytes)],
    ...flags,
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
