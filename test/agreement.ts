/** Whether chain, log and tables say the same once everything has stopped. */
import { expect } from 'vitest';
import { z } from 'zod';
import { createClickHouse } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { silent } from '../clickhouse/test-server.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { openWindow, type Window } from '../src/window/window.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import type { EventLog } from '../streams/log.ts';
import { readSteps } from '../streams/steps.ts';
import type { PublishedStep } from '../streams/steps-topic.ts';
import { rounds } from './chance.ts';
import {
  blockText,
  type DevnetFolderOptions,
  openDevnetFolder,
  type WalkedBlock,
  walkDevnet,
} from './devnet-folder.ts';
import { runTonstream } from './processes.ts';
import { tableDifferences } from './table-hashes.ts';
import { catchUp, differences, sampledRequests } from './window-agreement.ts';
import { OTHER_POSITIONS } from './window-positions.ts';
import { projectAll, stepsOf, tablesOf, topics, windowFrom } from './windowed.ts';

const FRESH_DATABASE = 'fresh';
/** Room for what a small window of a killed service has still to follow. */
const LARGE = 1024 ** 3;

export interface Agreeing {
  /** Folder of the devnet in `devnet` and of the log in `log`. Nothing else may write there now. */
  dataDir: string;
  devnet: DevnetFolderOptions;
  clickhouseUrl: string;
  database: string;
  /** Published steps are forgotten after a while; false unless given. */
  forgotten?: boolean;
  /** By `tonstream verify`, when all had stopped; false unless given. */
  isVerified?: boolean;
  /** Decides what the windows are asked for. */
  seed: number;
}

/**
 * Fails unless the log holds the blocks of the devnet's folder from the first on, each once and byte for byte, the
 * tables, brought up to the log's end, are those that a new projection of the log makes, every step was published once,
 * and the window of the folder, brought up to the same end, and others that begin elsewhere answer as the tables do.
 */
export async function expectAgreement(agreeing: Agreeing): Promise<AgreedFigures> {
  const { dataDir, devnet, clickhouseUrl, database, forgotten = false, isVerified = false } = agreeing;
  const log = openEmbeddedLog({ folder: `${dataDir}/log` });
  try {
    const walked = await blocksOf(dataDir, devnet);
    const logged = await expectLogged(log, walked);
    await projectTo(log, clickhouseUrl, database, LARGE);
    const transactions = logged.reduce((sum, block) => sum + block.transactions, 0);
    expect(await countRows(clickhouseUrl, database)).toEqual({ blocks: logged.length, transactions });
    if (!isVerified) await expectVerified(dataDir, clickhouseUrl, database);
    await projectTo(log, clickhouseUrl, FRESH_DATABASE, null);
    await expectSameTables(clickhouseUrl, database);
    const published = await stepsOf(log);
    const seqnos = logged.flatMap(({ mcSeqno }, i) => (mcSeqno === logged[i - 1]?.mcSeqno ? [] : [mcSeqno]));
    expect(published.map(({ step }) => step.mcSeqno)).toEqual(forgotten ? seqnos.slice(-published.length) : seqnos);
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

const REQUESTS = rounds(30, 150);
/** Where windows of our own begin, as a share of the steps. */
const BOUNDARIES = OTHER_POSITIONS.filter((share) => share < 1);

/** Compares what a client is told with each window and without; gives the first step of each. */
async function expectWindowsAgree(
  log: EventLog,
  steps: readonly PublishedStep[],
  { dataDir, clickhouseUrl, database, seed }: Agreeing,
): Promise<number[]> {
  const clickhouse = createClickHouse({ url: clickhouseUrl, database, logger: silent });
  const paths = sampledRequests(steps, REQUESTS, seed);
  const compared: number[] = [];
  const compare = async (window: Window): Promise<void> => {
    expect(await differences({ view: window.view(), clickhouseUrl, database, paths })).toEqual([]);
    compared.push(window.state?.first ?? 0);
  };
  try {
    const tables = await tablesOf(clickhouse);
    const window = openWindow({ folder: `${dataDir}/window`, maxBytes: LARGE, form: transactionForm });
    try {
      await catchUp(window, log, tables);
      await compare(window);
    } finally {
      await window.close();
    }
    for (const share of BOUNDARIES) {
      const made = await windowFrom({ tables, steps: [...steps] }, Math.floor(steps.length * share));
      await compare(made.window);
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

/** To the end of the log, with the tables made first; `retainBytes`: of the steps that are published, null for none. */
async function projectTo(log: EventLog, url: string, database: string, retainBytes: number | null): Promise<void> {
  const clickhouse = createClickHouse({ url, database, logger: silent });
  try {
    await migrate({ clickhouse, logger: silent });
    await projectAll(log, clickhouse, retainBytes);
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

/** As a new projection makes them; says otherwise in which rows they differ. */
async function expectSameTables(url: string, database: string): Promise<void> {
  const clickhouse = createClickHouse({ url, database, logger: silent });
  try {
    expect(await tableDifferences(clickhouse, database, FRESH_DATABASE)).toBe('');
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
