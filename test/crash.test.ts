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
import { encodeBlockRecord } from '../streams/envelope.ts';
import { importFiles } from '../streams/ingest/import.ts';
import type { EventLog } from '../streams/log.ts';
import { project } from '../streams/project/projector.ts';
import type { Step } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';
import { drawn, isLong, random, rounds } from './chance.ts';
import { type Run, runTonstream, waitFor } from './processes.ts';
import { allSteps, sequenceFile } from './recorded-sequence.ts';
import { privateBlocks, shelf } from './shelf.ts';
import { tableHashes } from './table-hashes.ts';

/** What is imported, strictly unless it has holes. */
const INPUTS = {
  genesis: { file: () => sequenceFile('mainnet-genesis_a'), loose: false },
  private: { file: () => sequenceFile('local-ton4j-2024_a'), loose: false },
  answers: { file: privateBlocks, loose: true },
};
type Input = keyof typeof INPUTS;
/** The usual run looks at the one with the most messages between steps. */
const NAMES: Input[] = isLong ? ['genesis', 'private', 'answers'] : ['private'];
const VICTIMS = ['projector', 'ClickHouse', 'both'] as const;
type Victim = (typeof VICTIMS)[number];
/** Of each input, one after another on the same tables. */
const DEATHS_OF_PARTS = rounds(1, 6) * VICTIMS.length;
const DEATHS_OF_START = rounds(1, 12);
/** Who dies, over all inputs. */
const DYING: Victim[] = drawn(VICTIMS, NAMES.length * DEATHS_OF_PARTS);
/** How long the blocks between two deaths take to come, and the longest wait for a death once some are projected. */
const STRETCH_MS = 700;
/** Between two questions: asked without a pause, they take a tenth of all CPU time. */
const PAUSE_MS = 100;
const topics = topicNames();

interface Calm {
  steps: Step[];
  hashes: Record<string, string>;
  mcSeqno: number;
}

/** Runs that nothing disturbed. */
const calm: Partial<Record<Input, Calm>> = {};
let home: string;
let parts: TestServer;

/** Steps as they come in life, one after the other. */
async function fill(log: EventLog, steps: readonly Step[]): Promise<void> {
  for (const { blocks } of steps) {
    await log.append(topics.blocks, blocks.map(encodeBlockRecord));
    await sleep(STRETCH_MS / steps.length);
  }
}

/** In parts of the same length, give or take one: none is empty where there is enough for each. */
function parted<T>(list: readonly T[], count: number): T[][] {
  const at = (i: number): number => Math.floor((i * list.length) / count);
  return Array.from({ length: count }, (_, i) => list.slice(at(i), at(i + 1)));
}

const mcSeqnos = (steps: readonly Step[]): number[] => steps.map(({ mcSeqno }) => mcSeqno);

/** Waits for a batch that is done and ends as asked. */
async function projected(clickhouse: ClickHouse, run: Run, isFar: (mcSeqno: number) => boolean): Promise<void> {
  const sql = 'SELECT mc_seqno FROM projection_state WHERE done ORDER BY number DESC LIMIT 1';
  await waitFor('the projection', run, async () => {
    // The server may be away, the table not yet there.
    const rows = await clickhouse.json(sql, z.object({ mc_seqno: z.number() }), { timeoutMs: 5_000 }).catch(() => []);
    const isThere = rows.some((row) => isFar(row.mc_seqno));
    if (!isThere) await sleep(PAUSE_MS);
    return isThere;
  });
}

async function undisturbed(input: Input): Promise<Calm> {
  const folder = join(home, `calm-${input}`);
  const { url } = parts.server;
  const database = `calm_${input}`;
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  const clickhouse = createClickHouse({ url, database, logger: silent });
  const { file, loose } = INPUTS[input];
  const { lastMcSeqno } = await importFiles(log, topics, [file()], { loose });
  const { config } = readConfig(['--data-dir', folder], {});
  await migrate({ clickhouse, logger: silent });
  await project({ log, topics, clickhouse, config, logger: silent, stopAtEnd: true }, new AbortController().signal);
  const hashes = await tableHashes(clickhouse);
  const steps = await allSteps(log, topics.blocks);
  await clickhouse.command(`DROP DATABASE ${database} SYNC`);
  await clickhouse.close();
  await log.close();
  return { steps, hashes, mcSeqno: lastMcSeqno ?? -1 };
}

function calmOf(input: Input): Calm {
  const found = calm[input];
  if (found === undefined) throw new Error(`${input} was not projected`);
  return found;
}

beforeAll(async () => {
  if (shelf === null) return;
  home = mkdtempSync(join(tmpdir(), 'tonstream-crash-'));
  parts = await startTestServer();
  for (const input of NAMES) calm[input] = await undisturbed(input);
});

afterAll(async () => {
  if (shelf === null) return;
  await parts.remove();
  rmSync(home, { recursive: true, force: true });
});

/** Batches of at most so many steps or a few more. */
function small(mostSteps = 18): string[] {
  return ['--batch-steps', String(3 + random(mostSteps)), '--batch-bytes', '64k', '--batch-ms', '20'];
}

/** Kills parts again and again while blocks come and are projected, lets them come back, and compares. */
async function deathsOfParts(input: Input): Promise<void> {
  const { steps, hashes, mcSeqno: last } = calmOf(input);
  const victims = parted(DYING, NAMES.length)[NAMES.indexOf(input)];
  const folder = join(home, `parts-${input}`);
  const database = `parts_${input}`;
  const { url } = parts.server;
  const clickhouse = createClickHouse({ url, database, logger: silent });
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  const tables = ['--clickhouse-url', url, '--clickhouse-database', database, '--sql', 'off'];
  const words = ['project', '--data-dir', folder, ...tables];
  let projector = runTonstream(...words, ...small());
  let filling = Promise.resolve();
  try {
    for (const [i, stretch] of parted(steps, victims.length).entries()) {
      filling = fill(log, stretch);
      await projected(clickhouse, projector, (mcSeqno) => mcSeqnos(stretch).includes(mcSeqno));
      await sleep(random(STRETCH_MS));
      const victim = victims[i];
      if (victim !== 'projector' && parts.server.pid !== null) process.kill(parts.server.pid, 'SIGKILL');
      if (victim !== 'ClickHouse') {
        await projector.kill();
        projector = runTonstream(...words, ...small());
      }
      await filling;
    }
    await projected(clickhouse, projector, (mcSeqno) => mcSeqno === last);
    expect({ victims, ...(await tableHashes(clickhouse)) }).toEqual({ victims, ...hashes });
  } finally {
    await projector.kill('SIGTERM');
    await filling;
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

/** Kills the whole service with its ClickHouse again and again while another process imports. */
async function deathsOfStart(input: Input): Promise<void> {
  const { hashes, mcSeqno: last, steps } = calmOf(input);
  const folder = join(home, `start-${input}`);
  const { file, loose } = INPUTS[input];
  const words = ['start', '--network', 'none', '--data-dir', folder, '--port', '0'];
  // The import is soon at its end: batches so small that the projection is not.
  const start = (): Run => runTonstream(...words, ...small(3));
  let service = start();
  const importing = runTonstream('import', ...(loose ? ['--loose'] : []), '--data-dir', folder, file());
  const withTables = async <T>(use: (clickhouse: ClickHouse) => Promise<T>): Promise<T> => {
    const clickhouse = createClickHouse({ url: await clickhouseOf(service), database: 'tonstream', logger: silent });
    try {
      return await use(clickhouse);
    } finally {
      await clickhouse.close();
    }
  };
  try {
    for (const stretch of parted(steps, DEATHS_OF_START)) {
      await withTables((tables) => projected(tables, service, (mcSeqno) => mcSeqno >= stretch[0].mcSeqno));
      await sleep(random(STRETCH_MS));
      await service.kill();
      service = start();
    }
    expect(await importing.ended).toBe(0);
    await withTables(async (tables) => {
      await projected(tables, service, (mcSeqno) => mcSeqno === last);
      expect(await tableHashes(tables)).toEqual(hashes);
    });
  } finally {
    await service.kill('SIGTERM');
    await importing.ended;
  }
}

const TIMEOUT_MS = rounds(900_000, 1_800_000);

describe.skipIf(shelf === null)('kill -9 during an import: the tables are those of an undisturbed run', () => {
  const deaths = [
    { what: `of projector, ClickHouse or both, deaths: ${DEATHS_OF_PARTS}`, act: deathsOfParts },
    { what: `of the whole service, deaths: ${DEATHS_OF_START}`, act: deathsOfStart },
  ];
  // In the usual run one of the two: other kills of either kind are in test/live-crash-parts.test.ts and test/soak.test.ts.
  for (const { what, act } of drawn(deaths, rounds(1, deaths.length))) it.each(NAMES)(`${what}, %s`, act, TIMEOUT_MS);
});
