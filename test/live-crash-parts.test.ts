import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createClickHouse } from '../clickhouse/client.ts';
import { choosePort } from '../clickhouse/server-folder.ts';
import { silent, startTestServer } from '../clickhouse/test-server.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { lastSealed } from '../streams/step-search.ts';
import { topicNames } from '../streams/topics.ts';
import { expectAgreement } from './agreement.ts';
import { drawn, random, rounds, seed } from './chance.ts';
import type { DevnetFolderOptions } from './devnet-folder.ts';
import {
  devnetFlags,
  devnetOptions,
  ended,
  home,
  isOpen,
  killAll,
  killChild,
  leftBehind,
  PATIENCE_MS,
  positionOf,
  report,
  run,
  small,
  TEST_TIMEOUT_MS,
  WORKER,
  WORKERS,
} from './live-crash.ts';
import { type Run, waitFor } from './processes.ts';

/** The window is written by the API. */
const VICTIMS = ['devnet', 'ingester', 'projector', 'api', 'everything', 'worker', 'ClickHouse'] as const;
/** The last two also die under `start`, in test/soak.test.ts. */
const DYING = rounds(5, VICTIMS.length);
const ROUNDS = rounds(2, 3 * VICTIMS.length);
const topics = topicNames();

afterAll(killAll);

it('kill -9 of single parts under traffic: chain, log and tables agree', { timeout: TEST_TIMEOUT_MS }, async () => {
  const dataDir = join(home, 'parts');
  const devnet = devnetOptions(20, 50);
  const server = await startTestServer();
  try {
    const victims = drawn(VICTIMS.slice(0, DYING), ROUNDS);
    await killParts({ dataDir, devnet, server: server.server, victims });
    const tables = { clickhouseUrl: server.server.url, database: 'parts' };
    report('single parts', victims, await expectAgreement({ dataDir, devnet, seed, ...tables }));
  } finally {
    await server.remove();
  }
});

const PART_NAMES = ['devnet', 'ingester', 'projector', 'api'] as const;
type PartName = (typeof PART_NAMES)[number];

interface Parts {
  dataDir: string;
  devnet: DevnetFolderOptions;
  server: { url: string; pid: number | null };
  victims: (typeof VICTIMS)[number][];
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
