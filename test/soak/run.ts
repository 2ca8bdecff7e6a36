/**
 * A devnet under traffic with a window so small that it turns over all the time, asked by several clients, compared
 * with its log, and killed in part or as a whole when that is wanted.
 */

import { setMaxListeners } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { open } from 'lmdb';
import { createClickHouse } from '../../clickhouse/client.ts';
import { startEmbeddedClickHouse } from '../../clickhouse/server.ts';
import { choosePort } from '../../clickhouse/server-folder.ts';
import { silent, testServerOptions } from '../../clickhouse/test-server.ts';
import { transactionForm } from '../../src/api/v3/render/forms.ts';
import { engineFile } from '../../src/window/engine.ts';
import type { WindowView } from '../../src/window/view.ts';
import { openWindow, readWindow } from '../../src/window/window.ts';
import { auditActions, genesisIn } from '../actions-audit.ts';
import { listProcesses } from '../process-table.ts';
import { runTonstream } from '../processes.ts';
import { catchUp, differences, resting, sampledRequests } from '../window-agreement.ts';
import { projectAll, stepsOf, tablesOf } from '../windowed.ts';
import { ask } from './asking.ts';
import { type CheckOptions, checkStep, checkStretch } from './checks.ts';
import { createJournal, type Figures, type Journal } from './journal.ts';
import { logIn, logOnBroker, type SoakedLog } from './log.ts';
import { createMeasuring, type Measured, type Measuring } from './measuring.ts';
import {
  BROKER_VICTIMS,
  createService,
  type SoakedService,
  type SoakSettings,
  VICTIMS,
  type Victim,
} from './service.ts';
import { openSubscribers, type Subscribers, type SubscribersOptions } from './subscribers.ts';
import { INFO, pause, runTraffic } from './traffic.ts';
import { followTruth, type Truth } from './truth.ts';

export interface SoakOptions {
  minutes: number;
  /** Over a real broker, with another API host; the log is in the folder unless given. */
  broker?: boolean;
  /** Seconds between two kills; 0 kills nothing. */
  killSeconds: number;
  /** Goes on until there were so many kills, however long that takes; 0 unless given. */
  leastKills?: number;
  /** And until the window turned over so often, for some minutes more at most; 0 unless given. */
  leastTurnovers?: number;
  clients: number;
  /** Steps before anything is asked; 20 unless given. */
  firstSteps?: number;
  /** Steps looked at one by one between two looks at the head; 50 unless given. */
  mostSteps?: number;
  /** Requests that are compared with the tables after a kill; 25 unless given. */
  comparedLive?: number;
  /** The newest traces, told once more at the end; 50,000 unless given, 0: what actions say is not looked at. */
  auditedTraces?: number;
  /** Milliseconds that a client waits after an answer; 0 unless given. */
  pauseMs?: number;
  /** Of each kind; none unless given. */
  subscribers?: Pick<SubscribersOptions, 'sockets' | 'streams' | 'webhooks'>;
  /** In turn; all there are unless given. */
  victims?: readonly Victim[];
  seed: number;
  settings?: Partial<Omit<SoakSettings, 'dataDir' | 'log' | 'port' | 'otherPort' | 'litePort'>>;
  /**
   * Looks at what is left when all has stopped, with the tables in a server of their own; a comparison of the window with
   * the tables unless given.
   */
  compareStopped?: (stopped: Stopped) => Promise<void>;
  /** Told from time to time how it is going. */
  onProgress?: (line: string) => void;
}

export interface Stopped {
  dataDir: string;
  clickhouseUrl: string;
  database: string;
}

export interface SoakReport extends Figures, Measured {
  seconds: number;
  /** Masterchain steps in the log, blocks and transactions in them. */
  steps: number;
  blocks: number;
  transactions: number;
  /** Last line of `tonstream verify`, and what else it said when it was not content. */
  verify: string;
}

const MB = 1024 * 1024;
const DATABASE = 'tonstream';
const SETTINGS = {
  blockTimeMs: 250,
  rate: 12,
  windowBytes: 2 * MB,
  // So small that it turns over, too.
  archiveBytes: 8 * MB,
  stepsBytes: MB,
  queryTimeoutMs: 3_000,
  flags: [],
};
const COMPARE_EVERY_MS = 15_000;
/** Looked at one by one between two looks at the head; what a slow machine leaves out is looked at in the end. */
const MOST_STEPS = 50;
/** So that there is something to ask for. */
const FIRST_STEPS = 20;
const COMPARED_LIVE = 25;
const COMPARED_AT_THE_END = 150;
const AUDITED_TRACES = 50_000;
const PROGRESS_MS = 30_000;
/** For the window to turn over, behind the end. */
const PATIENCE_MS = 300_000;
/** Seconds behind the head of what is taken as over, and how far a stretch reaches. */
const SETTLED_S = 5;
const STRETCH_S = 40;

interface Soak {
  service: SoakedService;
  truth: Truth;
  journal: Journal;
  options: SoakOptions;
  dataDir: string;
  settings: SoakSettings;
  /** Beside the clients, for who watches. */
  doing: string;
}

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tonstream-soak-'));
  const log = options.broker ? await logOnBroker() : logIn(dataDir);
  try {
    return await soaked(options, dataDir, log);
  } finally {
    await log.broker?.remove();
    // A ClickHouse whose service was killed may write for a moment more.
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
  }
}

async function soaked(options: SoakOptions, dataDir: string, log: SoakedLog): Promise<SoakReport> {
  const free = (name: string) => choosePort(join(dataDir, name));
  const ports = { port: await free('port'), otherPort: await free('other-port'), litePort: await free('lite-port') };
  const settings = { ...SETTINGS, ...options.settings, dataDir, log, ...ports };
  const service = createService(settings);
  const journal = createJournal((line) => options.onProgress?.(`! ${line}`));
  try {
    await service.start();
    const truth = followTruth(log.open());
    try {
      await truth.until(options.firstSteps ?? FIRST_STEPS);
      return await watched({ service, truth, journal, options, dataDir, settings, doing: 'subscribing' });
    } finally {
      await truth.close();
    }
  } catch (cause) {
    throw new Error(`the soak failed; the service said:\n${service.output()}`, { cause });
  } finally {
    await service.destroy();
  }
}

async function watched(soak: Soak): Promise<SoakReport> {
  const { service, truth, journal, options, dataDir } = soak;
  const begun = performance.now();
  const stop = new AbortController();
  const { signal } = stop;
  // Clients rest while subscribers come to the head and are compared.
  const enough = new AbortController();
  const asking = AbortSignal.any([signal, enough.signal]);
  // Each client and each subscriber has its own.
  setMaxListeners(0, signal, asking);
  const measuring = createMeasuring(service, dataDir);
  const traffic = Promise.all([
    ...service.hosts.map(({ url }, at) => {
      const { seed, clients } = options;
      return runTraffic({
        ...options,
        url,
        clients: at === 0 ? clients : 1,
        seed: seed + at,
        truth,
        journal,
        signal: asking,
      });
    }),
    measuring.run(signal),
    progress(soak, measuring, signal),
  ]);
  // When it fails, all fails: what is awaited below ends, too.
  traffic.catch((error: unknown) => {
    options.onProgress?.(`! the clients fail: ${error instanceof Error ? error.stack : String(error)}`);
    stop.abort();
  });
  let seconds = 0;
  let subscribers: Subscribers | null = null;
  try {
    subscribers = await subscribed(soak, signal);
    soak.doing = 'checking steps';
    await control(soak, measuring, signal);
    seconds = Math.round((performance.now() - begun) / 1000);
    if (!signal.aborted) {
      soak.doing = 'comparing subscribers';
      enough.abort();
      await subscribers?.compare(await headOf(service.url));
      await subscribers?.close();
      subscribers = null;
      soak.doing = 'reading everything';
      await lookAtEverything(soak);
    }
  } finally {
    await subscribers?.close();
    stop.abort();
    await Promise.allSettled([traffic]);
  }
  await traffic;
  for (const status of await service.stop()) {
    journal.wrong(`the service ended with status ${status}:\n${service.output()}`);
  }
  const left = listProcesses().filter(({ command }) => command.includes(dataDir));
  if (left.length > 0) journal.wrong(`left behind: ${JSON.stringify(left)}`);
  const verify = await verified(soak);
  await compareStopped(soak);
  return {
    seconds,
    steps: truth.steps().length,
    blocks: truth.steps().reduce((sum, { blocks }) => sum + blocks.length, 0),
    transactions: truth.steps().reduce((sum, { transactions }) => sum + transactions.length, 0),
    verify,
    ...measuring.result(),
    ...journal.figures(),
  };
}

async function subscribed(soak: Soak, signal: AbortSignal): Promise<Subscribers | null> {
  const { service, truth, journal, options } = soak;
  if (options.subscribers === undefined) return null;
  const ports = service.hosts.map(({ port }) => port);
  return openSubscribers({ ...options.subscribers, url: service.url, ports, truth, journal, signal });
}

/** Checks, and kills in between, one after the other until the time is up. */
async function control(soak: Soak, measuring: Measuring, signal: AbortSignal): Promise<void> {
  const { service, truth, journal, options } = soak;
  const { killSeconds, leastKills = 0, leastTurnovers = 0, mostSteps = MOST_STEPS } = options;
  const end = performance.now() + options.minutes * 60_000;
  const check: CheckOptions = { url: service.url, journal, signal };
  const victims = options.victims ?? (options.broker ? BROKER_VICTIMS : VICTIMS);
  let checked = 0;
  let [killedAt, comparedAt] = [performance.now(), performance.now()];
  let kills = 0;
  const lasts = () => performance.now() < end || kills < leastKills;
  const turned = () => performance.now() > end + PATIENCE_MS || measuring.result().turnovers >= leastTurnovers;
  const goesOn = () => !signal.aborted && (lasts() || !turned());
  while (goesOn()) {
    const head = await headOf(service.url);
    await truth.until(head);
    checked = Math.max(checked, head - mostSteps);
    while (checked < head && goesOn()) await checkStep(check, truth.step(++checked));
    await checkStep(check, truth.step(1 + Math.floor(Math.random() * Math.max(1, checked))));
    const now = performance.now();
    if (killSeconds > 0 && lasts() && now - killedAt > killSeconds * 1_000) {
      const victim = victims[kills++ % victims.length];
      const before = truth.head;
      soak.doing = `killing ${victim}`;
      await journal.killing(victim, (dead) => service.kill(victim, dead));
      soak.doing = `comparing after the end of ${victim}`;
      await truth.until(before + 2);
      await compareLive(soak, signal);
      soak.doing = 'checking steps';
      killedAt = performance.now();
    } else if (now - comparedAt > COMPARE_EVERY_MS) {
      await compareLive(soak, signal);
      comparedAt = performance.now();
    }
    await pause(200, signal);
  }
}

/** What one worker says; whoever is asked next must know it, too. */
async function headOf(url: string): Promise<number> {
  return INFO.parse(JSON.parse((await ask(`${url}/api/v3/masterchainInfo`, 'new')).text)).last.seqno;
}

/** Time up to which everything is shown by now: blocks of later steps may be a little older than the head. */
async function settled({ service, truth }: Soak): Promise<number> {
  const head = await headOf(service.url);
  await truth.until(head);
  return Math.max(...truth.step(head).blocks.map(({ utime }) => utime)) - SETTLED_S;
}

/** Answers with the window and from the tables alone at one moment; and the last stretch, over pages. */
async function compareLive(soak: Soak, signal: AbortSignal): Promise<void> {
  const { service, truth, journal, options, dataDir } = soak;
  const newest = await settled(soak);
  await checkStretch({ url: service.url, journal, signal }, truth, newest - STRETCH_S, newest);
  const seed = options.seed + truth.head;
  const paths = resting(sampledRequests(await truth.published(), options.comparedLive ?? COMPARED_LIVE, seed));
  await withView(dataDir, async (view) => {
    const { clickhouseUrl } = service;
    const found = await differences({ view, clickhouseUrl, database: DATABASE, paths, signal });
    journal.count('answers compared with the tables', paths.length);
    for (const difference of found) journal.wrong(`beside step ${view.head}: ${difference}`);
  });
}

/** Everything there is, in pages, while the chain goes on. */
async function lookAtEverything(soak: Soak): Promise<void> {
  const { service, truth, journal } = soak;
  const check: CheckOptions = { url: service.url, journal, signal: new AbortController().signal };
  await checkStretch(check, truth, 0, await settled(soak));
}

/** Tables and window brought to the end of the log, now that nothing else moves. */
async function compareStopped(soak: Soak): Promise<void> {
  const { options, dataDir } = soak;
  const server = await startEmbeddedClickHouse(testServerOptions(join(dataDir, 'clickhouse')));
  try {
    if (options.compareStopped === undefined) await compareWindows(soak, server.url);
    else await options.compareStopped({ dataDir, clickhouseUrl: server.url, database: DATABASE });
    await audit(soak, server.url);
  } finally {
    await server.stop();
  }
}

/** The window of each host. */
async function compareWindows({ service, journal, options, settings }: Soak, clickhouseUrl: string): Promise<void> {
  const { windowBytes: maxBytes, stepsBytes } = settings;
  const log = settings.log.open();
  const clickhouse = createClickHouse({ url: clickhouseUrl, database: DATABASE, logger: silent });
  try {
    await projectAll(log, clickhouse, stepsBytes);
    const paths = sampledRequests(await stepsOf(log), COMPARED_AT_THE_END, options.seed);
    for (const { dataDir } of service.hosts) {
      const window = openWindow({ folder: join(dataDir, 'window'), maxBytes, form: transactionForm });
      try {
        await catchUp(window, log, await tablesOf(clickhouse));
        const found = await differences({ view: window.view(), clickhouseUrl, database: DATABASE, paths });
        journal.count('answers compared with the tables', paths.length);
        for (const difference of found) journal.wrong(`at the end: ${difference}`);
      } finally {
        await window.close();
      }
    }
  } finally {
    await clickhouse.close();
    await log.close();
  }
}

/** What traces and actions say, held to transactions, balances and the classifier. */
async function audit({ journal, dataDir, options }: Soak, url: string): Promise<void> {
  const { auditedTraces = AUDITED_TRACES } = options;
  if (auditedTraces === 0) return;
  const clickhouse = createClickHouse({ url, database: DATABASE, logger: silent });
  try {
    const genesis = genesisIn(join(dataDir, 'devnet'));
    const { problems, traces, actions, balances } = await auditActions({ clickhouse, genesis, traces: auditedTraces });
    for (const problem of problems) journal.wrong(`actions: ${problem}`);
    journal.count('traces told once more', traces);
    journal.count('actions told once more', actions);
    journal.count('balances that actions come to', balances);
  } finally {
    await clickhouse.close();
  }
}

/** Of a copy: a view that is held while answers are compared keeps all that the service takes out meanwhile. */
async function withView(dataDir: string, use: (view: WindowView) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(dataDir, 'compared-'));
  try {
    await copyEngine(join(dataDir, 'window'), folder);
    const window = readWindow(folder, transactionForm);
    try {
      const view = window.view();
      if (view === null) throw new Error('the window is empty');
      await use(view);
    } finally {
      await window.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What one commit left, while others follow. */
async function copyEngine(from: string, to: string): Promise<void> {
  const [source, target] = [from, to].map((folder) => dirname(engineFile(folder)));
  mkdirSync(target, { recursive: true });
  const root = open({ path: source, noSubdir: false, readOnly: true });
  try {
    await root.backup(target, false);
  } finally {
    await root.close();
  }
}

async function verified({ dataDir, journal, settings }: Soak): Promise<string> {
  const archive = ['--archive-bytes', String(settings.archiveBytes)];
  const verify = runTonstream('verify', '--data-dir', dataDir, ...archive, ...settings.log.words);
  const status = await verify.ended;
  const last = verify.output().trim().split('\n').at(-1) ?? '';
  if (status !== 0) journal.wrong(`tonstream verify ended with status ${status}:\n${verify.output()}`);
  return last;
}

async function progress(soak: Soak, measuring: Measuring, signal: AbortSignal): Promise<void> {
  const begun = performance.now();
  while (!signal.aborted) {
    await pause(PROGRESS_MS, signal);
    const { requests, failureCount, wrongCount } = soak.journal.figures();
    const { turnovers, windowFirst, windowHead, archiveFirst, archiveHead, memory } = measuring.result();
    const own = memory.map(({ role, lastThird }) => `${role} ${lastThird.ownMb} MB`).join(', ');
    soak.options.onProgress?.(
      `${Math.round((performance.now() - begun) / 1000)} s: step ${soak.truth.head}, window ${windowFirst}-${windowHead} ` +
        `over ${archiveFirst}-${archiveHead} ` +
        `turned over ${turnovers} times, ${requests} requests, ${failureCount} failed, ${wrongCount} wrong; ${own}; ${soak.doing}`,
    );
  }
}
