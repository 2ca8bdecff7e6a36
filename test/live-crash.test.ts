import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createClickHouse } from '../clickhouse/client.ts';
import { startEmbeddedClickHouse } from '../clickhouse/server.ts';
import { choosePort } from '../clickhouse/server-folder.ts';
import { silent, startTestServer, testServerOptions } from '../clickhouse/test-server.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { lastSealed } from '../streams/step-search.ts';
import { topicNames } from '../streams/topics.ts';
import { type AgreedFigures, expectAgreement } from './agreement.ts';
import type { DevnetFolderOptions } from './devnet-folder.ts';
import { childrenOf, listProcesses } from './process-table.ts';
import { type Run, runTonstream, waitFor } from './processes.ts';

const WHOLE_ROUNDS = 7;
const PART_ROUNDS = 15;
/** `starting`: the service again, at any moment of its start. The window is written by the service, or by the API. */
const WHOLE_VICTIMS = ['service', 'starting', 'ClickHouse', 'worker'] as const;
const PART_VICTIMS = ['devnet', 'ingester', 'projector', 'api', 'worker', 'ClickHouse', 'everything'] as const;
/** A bound for machines that do much else; on a quiet one a round takes seconds. */
const PATIENCE_MS = 240_000;
const TEST_TIMEOUT_MS = 1_200_000;

const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31));
let state = seed;
/** Park and Miller's generator: rounds can be repeated from the printed seed (the moments of kills only roughly). */
function random(below: number): number {
  state = (state * 48_271) % 2_147_483_647;
  return state % below;
}

const home = mkdtempSync(join(tmpdir(), 'tonstream-live-crash-'));
const topics = topicNames();
const runs: Run[] = [];

function run(...words: string[]): Run {
  const started = runTonstream(...words);
  runs.push(started);
  return started;
}

afterAll(async () => {
  for (const each of runs) await each.kill();
  rmSync(home, { recursive: true, force: true });
});

function devnetOptions(splitAt: number, mergeAt: number): DevnetFolderOptions {
  return { seed: 'crash', blockTimeMs: 200, splitAt, mergeAt };
}

function devnetFlags({ seed: name, blockTimeMs, splitAt, mergeAt }: DevnetFolderOptions): string[] {
  const scripted = ['--split-at', String(splitAt), '--merge-at', String(mergeAt)];
  return ['--devnet-seed', name, '--block-time', `${blockTimeMs}ms`, '--devnet-rate', '15', ...scripted];
}

/** Words in the commands of children. */
const CLICKHOUSE = 'server-child';
const WORKER = 'bin/worker.js';
/** The window is so small that steps leave it all the time. */
const WORKERS = ['--workers', '2', '--window-bytes', '512k'];

const small = (): string[] => ['--batch-steps', String(1 + random(20)), '--batch-bytes', '64k', '--batch-ms', '20'];

/** Each of them as often as any other, give or take one, in random order. */
function drawn<T>(kinds: readonly T[], count: number): T[] {
  const bag = Array.from({ length: count }, (_, i) => kinds[i % kinds.length]);
  for (let i = bag.length - 1; i > 0; i--) {
    const other = random(i + 1);
    [bag[i], bag[other]] = [bag[other], bag[i]];
  }
  return bag;
}

/** Processes of ours that still run. */
function leftBehind(): string[] {
  return listProcesses().flatMap(({ pid, command }) => (command.includes(home) ? [`${pid} ${command}`] : []));
}

async function ended(part: Run): Promise<void> {
  await part.kill('SIGTERM');
  expect(part.child.exitCode, part.output()).toBe(0);
}

function report(what: string, victims: readonly string[], agreed: AgreedFigures): void {
  const { steps, blocks, transactions, windows } = agreed;
  const figures = `${steps} steps, ${blocks} blocks, ${transactions} transactions, windows from steps ${windows}`;
  process.stdout.write(`CRASH_SEED=${seed}: ${what}: killed ${victims.join(', ')}; agreed on ${figures}\n`);
}

const statusAnswer = z.object({
  log: z.object({ mc_seqno: z.number().nullable() }),
  projected: z.object({ mc_seqno: z.number().nullable() }),
});

/** Masterchain seqnos of the log's end and of the tables; null while the service cannot tell. */
async function positionOf(service: Run): Promise<{ logged: number; projected: number } | null> {
  const url = /^ +Status +(http:\S+)$/m.exec(service.output())?.[1];
  if (url === undefined) return null;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    if (!response.ok) return null;
    const { log, projected } = statusAnswer.parse(await response.json());
    return { logged: log.mc_seqno ?? 0, projected: projected.mc_seqno ?? 0 };
  } catch (error) {
    // Its ClickHouse may be away, and then it may answer late or not at all.
    if (error instanceof z.ZodError) throw error;
    return null;
  }
}

/** Waits until blocks behind `seqno` are in the tables; the log's end by then. */
async function movedOn(service: Run, seqno: number): Promise<number> {
  let logged = 0;
  const check = async (): Promise<boolean> => {
    const position = await positionOf(service);
    logged = position?.logged ?? 0;
    return position !== null && position.projected > seqno;
  };
  await waitFor(`masterchain block ${seqno + 1} in the tables`, service, check, PATIENCE_MS);
  return logged;
}

/** Kills one child of a process; there must be one with these words in its command. */
function killChild(service: Run, words: string): void {
  const own = childrenOf(service.child.pid);
  const child = own.find(({ command }) => command.includes(words));
  if (child === undefined) throw new Error(`no ${words} among ${JSON.stringify(own)}`);
  process.kill(child.pid, 'SIGKILL');
}

it('kill -9 of a whole service under traffic: chain, log and tables agree', { timeout: TEST_TIMEOUT_MS }, async () => {
  const dataDir = join(home, 'whole');
  const devnet = devnetOptions(10, 20);
  const flags = [...devnetFlags(devnet), ...WORKERS];
  const words = ['start', '--network', 'devnet', ...flags, '--data-dir', dataDir, '--port', '0'];
  const start = (): Run => run(...words, ...small());
  const victims = drawn(WHOLE_VICTIMS, WHOLE_ROUNDS);
  let service = start();
  let logged = 0;
  for (const victim of victims) {
    if (victim === 'starting') {
      await service.kill();
      service = start();
      await sleep(random(6_000));
    } else {
      logged = await movedOn(service, logged);
      await sleep(random(1_000));
    }
    if (victim === 'ClickHouse') {
      killChild(service, CLICKHOUSE);
    } else if (victim === 'worker') {
      killChild(service, WORKER);
    } else {
      await service.kill();
      service = start();
    }
  }
  await movedOn(service, await movedOn(service, logged));
  await ended(service);
  expect(leftBehind()).toEqual([]);
  const server = await startEmbeddedClickHouse(testServerOptions(join(dataDir, 'clickhouse')));
  try {
    const tables = { clickhouseUrl: server.url, database: 'tonstream' };
    report('the whole service', victims, await expectAgreement({ dataDir, devnet, seed, ...tables }));
  } finally {
    await server.stop();
  }
});

it('kill -9 of single parts under traffic: chain, log and tables agree', { timeout: TEST_TIMEOUT_MS }, async () => {
  const dataDir = join(home, 'parts');
  const devnet = devnetOptions(40, 80);
  const server = await startTestServer();
  try {
    const victims = drawn(PART_VICTIMS, PART_ROUNDS);
    await killParts({ dataDir, devnet, server: server.server, victims });
    const tables = { clickhouseUrl: server.server.url, database: 'parts' };
    report('single parts', victims, await expectAgreement({ dataDir, devnet, seed, ...tables }));
  } finally {
    await server.remove();
  }
});

it('a second devnet in a folder is refused', { timeout: TEST_TIMEOUT_MS }, async () => {
  const words = ['devnet', '--data-dir', join(home, 'twice'), '--port', '0', '--block-time', '100ms'];
  const first = run(...words);
  await waitFor('the first devnet', first, async () => isOpen(first), PATIENCE_MS);
  const second = run(...words);
  const hasEnded = async () => second.child.exitCode !== null || isOpen(second);
  await waitFor('the second devnet', null, hasEnded, PATIENCE_MS);
  expect(second.output()).toContain(`twice/devnet is in use by process ${first.child.pid}:`);
  expect(await second.ended).toBe(1);
  await ended(first);
  // One that was killed does not count.
  const third = run(...words);
  await waitFor('the third devnet', third, async () => isOpen(third), PATIENCE_MS);
  await third.kill();
  const fourth = run(...words);
  await waitFor('the fourth devnet', fourth, async () => isOpen(fourth), PATIENCE_MS);
  await ended(fourth);
});

function isOpen(devnet: Run): boolean {
  return /^ +Devnet +liteserver /m.test(devnet.output());
}

const PART_NAMES = ['devnet', 'ingester', 'projector', 'api'] as const;
type PartName = (typeof PART_NAMES)[number];

interface Parts {
  dataDir: string;
  devnet: DevnetFolderOptions;
  server: { url: string; pid: number | null };
  victims: (typeof PART_VICTIMS)[number][];
}

/** How each part is started, and started again. */
async function partsOf({ dataDir, devnet, server }: Parts): Promise<Record<PartName, () => Run>> {
  const configFile = join(home, 'network.json');
  // Not one of the system's own choice: while the devnet is dead an outgoing connection might be given it.
  const litePort = await choosePort(join(home, 'lite-port'));
  const ports = ['--port', '0', '--lite-port', String(litePort)];
  const tables = ['--clickhouse-url', server.url, '--clickhouse-database', 'parts'];
  return {
    devnet: () => run('devnet', ...devnetFlags(devnet), '--data-dir', dataDir, ...ports, '--config-out', configFile),
    ingester: () => run('ingest', '--network', configFile, '--from', 'genesis', '--data-dir', dataDir),
    projector: () => run('project', '--data-dir', dataDir, ...tables, ...small()),
    api: () => run('api', '--data-dir', dataDir, '--port', '0', ...tables, ...WORKERS),
  };
}

/** Starts the parts, kills one after another, and ends all in an orderly way once the tables have the whole log. */
async function killParts(options: Parts): Promise<void> {
  const { dataDir, server, victims } = options;
  const log = openEmbeddedLog({ folder: join(dataDir, 'log') });
  const tables = openTables(server.url, 'parts');
  const loggedSeqno = async (): Promise<number> => (await lastSealed(log, topics.blocks)).sealed?.mcSeqno ?? 0;
  try {
    const start = await partsOf(options);
    const devnet = start.devnet();
    await waitFor('the devnet', devnet, async () => isOpen(devnet), PATIENCE_MS);
    const parts = { devnet, ingester: start.ingester(), projector: start.projector(), api: start.api() };
    await answering(parts.api);
    for (const victim of victims) {
      await projected(parts, tables, (await loggedSeqno()) + 1);
      await sleep(random(600));
      // Of the API only what it does once it is there is looked at here.
      if (victim === 'worker' || victim === 'ClickHouse') await answering(parts.api);
      if (victim === 'worker') {
        killChild(parts.api, WORKER);
        continue;
      }
      const dying = PART_NAMES.filter((name) => victim === name || victim === 'everything');
      if (dying.length !== 1) await killClickHouse(server);
      await Promise.all(dying.map((name) => parts[name].kill()));
      for (const name of dying) parts[name] = start[name]();
    }
    await projected(parts, tables, (await loggedSeqno()) + 5);
    await ended(parts.devnet);
    await ended(parts.ingester);
    const isWhole = async (): Promise<boolean> => (await tables.seqno()) === (await loggedSeqno());
    await waitFor('the end of the log in the tables', parts.projector, isWhole, PATIENCE_MS);
    await ended(parts.projector);
    await ended(parts.api);
    expect(leftBehind()).toEqual([]);
  } finally {
    await tables.close();
    await log.close();
  }
}

/** Waits until a masterchain block is in the tables. None of the parts may end meanwhile. */
async function projected(parts: Record<PartName, Run>, tables: Tables, seqno: number): Promise<void> {
  const output = (): string => PART_NAMES.map((name) => `${name}:\n${parts[name].output()}`).join('\n');
  const check = async (): Promise<boolean> => {
    for (const name of PART_NAMES) expect(parts[name].child.exitCode, output()).toBeNull();
    return (await tables.seqno()) >= seqno;
  };
  await waitFor(`masterchain block ${seqno} in the tables`, { ...parts.devnet, output }, check, PATIENCE_MS);
}

/** Waits until it listens, with all its workers. */
async function answering(api: Run): Promise<void> {
  await waitFor('the API', api, async () => (await positionOf(api)) !== null, PATIENCE_MS);
}

/** It answers a moment before its supervisor knows that it is up again. */
async function killClickHouse(server: Parts['server']): Promise<void> {
  await waitFor('ClickHouse', null, async () => server.pid !== null, PATIENCE_MS);
  if (server.pid !== null) process.kill(server.pid, 'SIGKILL');
}

type Tables = ReturnType<typeof openTables>;

/** The masterchain seqno up to which tables are complete. */
function openTables(url: string, database: string) {
  const clickhouse = createClickHouse({ url, database, logger: silent });
  const sql = 'SELECT mc_seqno FROM projection_state WHERE done ORDER BY number DESC LIMIT 1';
  return {
    seqno: async (): Promise<number> => {
      // The server may be away, the table not yet there.
      const rows = await clickhouse.json(sql, z.object({ mc_seqno: z.number() }), { timeoutMs: 5_000 }).catch(() => []);
      return rows[0]?.mc_seqno ?? 0;
    },
    close: () => clickhouse.close(),
  };
}
