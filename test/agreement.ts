/** Whether chain, log and tables say the same once everything has stopped. */
import { expect } from 'vitest';
import { z } from 'zod';
import { createClickHouse } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { silent } from '../clickhouse/test-server.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { readConfig } from '../src/config.ts';
import type { View } from '../src/window/view.ts';
import { openWindow } from '../src/window/window.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import type { StoredStep } from '../streams/live-steps.ts';
import type { EventLog } from '../streams/log.ts';
import { project } from '../streams/project/projector.ts';
import { publishSettings } from '../streams/project/publish.ts';
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
import { catchUp, differences, sampledRequests } from './window-agreement.ts';
import { stepsOf, tablesOf, windowFrom } from './windowed.ts';

const topics = topicNames();
const FRESH_DATABASE = 'fresh';
/** Room for what a small window of a killed service has still to follow. */
const LARGE = 1024 ** 3;

export interface Agreeing {
  /** Folder of the devnet in `devnet` and of the log in `log`. Nothing else may write there now. */
  dataDir: string;
  devnet: DevnetFolderOptions;
  clickhouseUrl: string;
  database: string;
  /** Decides what the windows are asked for. */
  seed: number;
}

/**
 * Fails unless the log holds the blocks of the devnet's folder from the first on, each once and byte for byte, the
 * tables, brought up to the log's end, are those that a new projection of the log makes, every step was published once,
 * and the window of the folder, brought up to the same end, and others that begin elsewhere answer as the tables do.
 */
export async function expectAgreement(agreeing: Agreeing): Promise<AgreedFigures> {
  const { dataDir, devnet, clickhouseUrl, database } = agreeing;
  const log = openEmbeddedLog({ folder: `${dataDir}/log` });
  try {
    const walked = await blocksOf(dataDir, devnet);
    const logged = await expectLogged(log, walked);
    await projectAll(log, dataDir, clickhouseUrl, database, 'published');
    const transactions = logged.reduce((sum, block) => sum + block.transactions, 0);
    expect(await countRows(clickhouseUrl, database)).toEqual({ blocks: logged.length, transactions });
    await expectVerified(dataDir, clickhouseUrl, database);
    await projectAll(log, dataDir, clickhouseUrl, FRESH_DATABASE);
    const hashes = await hashesOfTables(clickhouseUrl, database);
    expect(hashes).toEqual(await hashesOfTables(clickhouseUrl, FRESH_DATABASE));
    const published = await stepsOf(log);
    const seqnos = logged.flatMap(({ mcSeqno }, i) => (mcSeqno === logged[i - 1]?.mcSeqno ? [] : [mcSeqno]));
    expect(published.map(({ step }) => step.mcSeqno)).toEqual(seqnos);
    const windows = await expectWindowsAgree(log, published, agreeing);
    return { steps: seqnos.length, blocks: logged.length, transactions, windows };
  } finally {
    await log.close();
  }
}

/** Of what is in the log. */
export interface AgreedFigures {
  steps: number;
  blocks: number;
  transactions: number;
  /** Of each window, its first step. */
  windows: number[];
}

const REQUESTS = 150;
/** Where windows of our own begin, as a share of the steps. */
const BOUNDARIES = [0, 0.25, 0.5, 0.75];

/** Compares what a client is told with each window and without; gives the first step of each. */
async function expectWindowsAgree(
  log: EventLog,
  steps: readonly StoredStep[],
  { dataDir, clickhouseUrl, database, seed }: Agreeing,
): Promise<number[]> {
  const clickhouse = createClickHouse({ url: clickhouseUrl, database, logger: silent });
  const paths = sampledRequests(steps, REQUESTS, seed);
  const compared: number[] = [];
  const compare = async (view: View | null): Promise<void> => {
    if (view === null) throw new Error('a window that does not answer');
    compared.push(view.first);
    expect(await differences({ view, clickhouseUrl, database, paths })).toEqual([]);
  };
  try {
    const tables = await tablesOf(clickhouse);
    const window = openWindow({ folder: `${dataDir}/window`, maxBytes: LARGE, form: transactionForm });
    try {
      await catchUp(window, log, tables);
      await compare(window.view());
    } finally {
      await window.close();
    }
    for (const share of BOUNDARIES) {
      const made = await windowFrom({ tables, steps: [...steps] }, Math.floor(steps.length * share));
      await compare(made.window.view());
      await made.remove();
    }
    return compared;
  } finally {
    await clickhouse.close();
  }
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

async function projectAll(
  log: EventLog,
  dataDir: string,
  url: string,
  database: string,
  steps: 'published' | 'unpublished' = 'unpublished',
): Promise<void> {
  const clickhouse = createClickHouse({ url, database, logger: silent });
  const { config } = readConfig(['--data-dir', dataDir], {});
  const publish = steps === 'published' ? { publish: publishSettings(config) } : {};
  try {
    await migrate({ clickhouse, logger: silent });
    const projected = { log, topics, clickhouse, config, logger: silent, stopAtEnd: true, ...publish };
    await project(projected, new AbortController().signal);
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
