import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { silent, startTestServer, type TestServer } from '../clickhouse/test-server.ts';
import { readConfig } from '../src/config.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { importFiles } from '../streams/ingest/import.ts';
import { sequenceFile } from '../streams/ingest/recorded-sequence.ts';
import type { EventLog } from '../streams/log.ts';
import { project } from '../streams/project/projector.ts';
import { topicNames } from '../streams/topics.ts';
import { type Run, runTonstream, waitFor } from './processes.ts';
import { privateBlocks, shelf } from './shelf.ts';
import { tableHashes } from './table-hashes.ts';

/** What is imported, strictly unless it has holes. */
const INPUTS = {
  genesis: { file: () => sequenceFile('mainnet-genesis_a'), loose: false },
  private: { file: () => sequenceFile('local-ton4j-2024_a'), loose: false },
  answers: { file: privateBlocks, loose: true },
};
type Input = keyof typeof INPUTS;
const NAMES: Input[] = ['genesis', 'private', 'answers'];
const VICTIMS = ['projector', 'ClickHouse', 'both'] as const;
const ROUNDS_OF_PARTS = 17;
const ROUNDS_OF_START = 3;
const topics = topicNames();

const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31));
let state = seed;
/** Park and Miller's generator: rounds can be repeated from the printed seed (the moments of kills only roughly). */
function random(below: number): number {
  state = (state * 48_271) % 2_147_483_647;
  return state % below;
}

const expected: Partial<Record<Input, { hashes: Record<string, string>; mcSeqno: number }>> = {};
let home: string;
let parts: TestServer;

function fill(log: EventLog, input: Input) {
  const { file, loose } = INPUTS[input];
  return importFiles(log, topics, [file()], { loose, batchBytes: 50_000 });
}

/** Waits for a batch that is done and ends as asked. */
async function projected(clickhouse: ClickHouse, run: Run, isFar: (mcSeqno: number) => boolean): Promise<void> {
  const sql = 'SELECT mc_seqno FROM projection_state WHERE done ORDER BY number DESC LIMIT 1';
  await waitFor('the projection', run, async () => {
    // The server may be away, the table not yet there.
    const rows = await clickhouse.json(sql, z.object({ mc_seqno: z.number() }), { timeoutMs: 5_000 }).catch(() => []);
    return rows.some((row) => isFar(row.mc_seqno));
  });
}

const isWhole = (input: Input) => (mcSeqno: number) => mcSeqno === expected[input]?.mcSeqno;

async function undisturbed(input: Input): Promise<void> {
  const folder = join(home, `calm-${input}`);
  const { url } = parts.server;
  const database = `calm_${input}`;
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  const clickhouse = createClickHouse({ url, database, logger: silent });
  const { lastMcSeqno } = await fill(log, input);
  const { config } = readConfig(['--data-dir', folder], {});
  await migrate({ clickhouse, logger: silent });
  await project({ log, topics, clickhouse, config, logger: silent, stopAtEnd: true }, new AbortController().signal);
  expected[input] = { hashes: await tableHashes(clickhouse), mcSeqno: lastMcSeqno ?? -1 };
  await clickhouse.close();
  await log.close();
}

beforeAll(async () => {
  if (shelf === null) return;
  home = mkdtempSync(join(tmpdir(), 'tonstream-crash-'));
  parts = await startTestServer();
  for (const input of NAMES) await undisturbed(input);
  process.stdout.write(`crash test: CRASH_SEED=${seed}\n`);
});

afterAll(async () => {
  if (shelf === null) return;
  await parts.remove();
  rmSync(home, { recursive: true, force: true });
});

const small = (): string[] => ['--batch-steps', String(3 + random(18)), '--batch-bytes', '64k', '--batch-ms', '20'];

/** Kills parts while blocks are imported and projected, lets them come back, and compares. */
async function roundOfParts(round: number): Promise<void> {
  const input = NAMES[round % NAMES.length];
  const victim = VICTIMS[Math.floor(round / NAMES.length) % VICTIMS.length];
  const folder = join(home, `parts-${round}`);
  const database = `parts_${round}`;
  const { url } = parts.server;
  const clickhouse = createClickHouse({ url, database, logger: silent });
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  const words = ['project', '--data-dir', folder, '--clickhouse-url', url, '--clickhouse-database', database];
  let projector = runTonstream(...words, ...small());
  const importing = fill(log, input);
  try {
    await projected(clickhouse, projector, () => true);
    await sleep(random(700));
    if (victim !== 'projector' && parts.server.pid !== null) process.kill(parts.server.pid, 'SIGKILL');
    if (victim !== 'ClickHouse') {
      await projector.kill();
      projector = runTonstream(...words, ...small());
    }
    await importing;
    await projected(clickhouse, projector, isWhole(input));
    const hashes = await tableHashes(clickhouse);
    expect({ victim, input, ...hashes }).toEqual({ victim, input, ...expected[input]?.hashes });
  } finally {
    await projector.kill('SIGTERM');
    await importing;
    await log.close();
    await clickhouse.close();
  }
  expect(projector.child.exitCode).toBe(0);
}

/** The ClickHouse server of a started service. */
async function clickhouseOf(service: Run): Promise<string> {
  const url = () => /ClickHouse {2}(\S+)/.exec(service.output())?.[1];
  await waitFor('the service', service, async () => url() !== undefined);
  return url() ?? '';
}

/** Kills the whole service with its ClickHouse while another process imports. */
async function roundOfStart(round: number): Promise<void> {
  const input = NAMES[round % NAMES.length];
  const folder = join(home, `start-${round}`);
  const { file, loose } = INPUTS[input];
  const start = (): Run => runTonstream('start', '--network', 'none', '--data-dir', folder, '--port', '0', ...small());
  let service = start();
  const importing = runTonstream('import', ...(loose ? ['--loose'] : []), '--data-dir', folder, file());
  const waitUntil = async (isFar: (mcSeqno: number) => boolean): Promise<Record<string, string>> => {
    const url = await clickhouseOf(service);
    const clickhouse = createClickHouse({ url, database: 'tonstream', logger: silent });
    try {
      await projected(clickhouse, service, isFar);
      return await tableHashes(clickhouse);
    } finally {
      await clickhouse.close();
    }
  };
  try {
    await waitUntil(() => true);
    await sleep(random(700));
    await service.kill();
    service = start();
    expect(await importing.ended).toBe(0);
    const hashes = await waitUntil(isWhole(input));
    expect({ input, ...hashes }).toEqual({ input, ...expected[input]?.hashes });
  } finally {
    await service.kill('SIGTERM');
    await importing.ended;
  }
}

const rounds = (count: number): number[] => Array.from({ length: count }, (_, round) => round);
const TIMEOUT_MS = 240_000;

describe.skipIf(shelf === null)('kill -9 during an import: the tables are those of an undisturbed run', () => {
  it.each(rounds(ROUNDS_OF_PARTS))('of projector, ClickHouse or both (%i)', roundOfParts, TIMEOUT_MS);
  it.each(rounds(ROUNDS_OF_START))('of the whole service (%i)', roundOfStart, TIMEOUT_MS);
});
