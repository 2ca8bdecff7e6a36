/** Whether chain, log and tables say the same once everything has stopped. */
import { expect } from 'vitest';
import { z } from 'zod';
import { createClickHouse } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { silent } from '../clickhouse/test-server.ts';
import { readConfig } from '../src/config.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import type { EventLog } from '../streams/log.ts';
import { project } from '../streams/project/projector.ts';
import { readSteps } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';
import {
  blockText,
  type DevnetFolderOptions,
  openDevnetFolder,
  type WalkedBlock,
  walkDevnet,
} from './devnet-folder.ts';
import { runTonstream } from './processes.ts';
import { hashesOfTables } from './stack.ts';

const topics = topicNames();
const FRESH_DATABASE = 'fresh';

export interface Agreeing {
  /** Folder of the devnet in `devnet` and of the log in `log`. Nothing else may write there now. */
  dataDir: string;
  devnet: DevnetFolderOptions;
  clickhouseUrl: string;
  database: string;
}

/**
 * Fails unless the log holds the blocks of the devnet's folder from the first on, each once and byte for byte, and
 * the tables, brought up to the log's end, are those that a new projection of the log makes.
 */
export async function expectAgreement({ dataDir, devnet, clickhouseUrl, database }: Agreeing): Promise<AgreedFigures> {
  const log = openEmbeddedLog({ folder: `${dataDir}/log` });
  try {
    const walked = await blocksOf(dataDir, devnet);
    const logged = await expectLogged(log, walked);
    await projectAll(log, dataDir, clickhouseUrl, database);
    const transactions = logged.reduce((sum, block) => sum + block.transactions, 0);
    expect(await countRows(clickhouseUrl, database)).toEqual({ blocks: logged.length, transactions });
    await expectVerified(dataDir, clickhouseUrl, database);
    await projectAll(log, dataDir, clickhouseUrl, FRESH_DATABASE);
    const hashes = await hashesOfTables(clickhouseUrl, database);
    expect(hashes).toEqual(await hashesOfTables(clickhouseUrl, FRESH_DATABASE));
    return { steps: logged.at(-1)?.mcSeqno ?? 0, blocks: logged.length, transactions };
  } finally {
    await log.close();
  }
}

/** Of what is in the log. */
export interface AgreedFigures {
  steps: number;
  blocks: number;
  transactions: number;
}

async function blocksOf(dataDir: string, options: DevnetFolderOptions): Promise<WalkedBlock[]> {
  const chain = await openDevnetFolder(`${dataDir}/devnet`, options);
  try {
    return walkDevnet(chain);
  } finally {
    chain.close();
  }
}

/** The blocks of the chain that the log has. */
async function expectLogged(log: EventLog, walked: readonly WalkedBlock[]): Promise<WalkedBlock[]> {
  const found: string[] = [];
  const twice: string[] = [];
  const onDuplicate = (_: unknown, offset: number): void => void twice.push(`offset ${offset}`);
  const options = { signal: new AbortController().signal, stopAtEnd: true, onDuplicate };
  for await (const steps of readSteps(log, topics.blocks, 0, options)) {
    for (const { mcSeqno, blocks } of steps) {
      for (const { id, boc } of blocks) found.push(blockText(mcSeqno, id, boc));
    }
  }
  const expected = walked.slice(0, found.length);
  expect(twice).toEqual([]);
  expect(found).toEqual(expected.map(({ text }) => text));
  // Nothing behind the last whole step, which is whole in the chain, too.
  expect(await log.end(topics.blocks)).toBe(found.length);
  expect(walked[found.length]?.mcSeqno).not.toBe(expected.at(-1)?.mcSeqno);
  return expected;
}

async function projectAll(log: EventLog, dataDir: string, url: string, database: string): Promise<void> {
  const clickhouse = createClickHouse({ url, database, logger: silent });
  const { config } = readConfig(['--data-dir', dataDir], {});
  try {
    await migrate({ clickhouse, logger: silent });
    await project({ log, topics, clickhouse, config, logger: silent, stopAtEnd: true }, new AbortController().signal);
  } finally {
    await clickhouse.close();
  }
}

async function countRows(url: string, database: string): Promise<{ blocks: number; transactions: number }> {
  const clickhouse = createClickHouse({ url, database, logger: silent });
  const row = z.object({ blocks: z.coerce.number(), transactions: z.coerce.number() });
  const sql =
    'SELECT (SELECT count() FROM blocks FINAL) AS blocks, (SELECT count() FROM transactions FINAL) AS transactions';
  try {
    const [counts] = await clickhouse.json(sql, row, { timeoutMs: 60_000 });
    return counts;
  } finally {
    await clickhouse.close();
  }
}

async function expectVerified(dataDir: string, url: string, database: string): Promise<void> {
  const where = ['--data-dir', dataDir, '--clickhouse-url', url, '--clickhouse-database', database];
  const verify = runTonstream('verify', ...where);
  const status = await verify.ended;
  expect(verify.output()).toMatch(/\n?\d+ steps compared .*: 0 differences, 0 gaps\n/);
  expect(status).toBe(0);
}
