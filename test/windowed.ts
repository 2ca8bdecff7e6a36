/** A projected log with its steps, and windows over any part of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { createQueryGate } from '../clickhouse/gate.ts';
import { createHead } from '../clickhouse/queries/head.ts';
import { type ClickHouseSource, createClickHouseSource } from '../clickhouse/queries/source.ts';
import { accountData, codes } from '../clickhouse/tables/accounts.ts';
import type { StepRows } from '../clickhouse/tables/table.ts';
import { MIGRATED, startMigratedServer } from '../clickhouse/test-schema.ts';
import { silent } from '../clickhouse/test-server.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import type { Archive } from '../src/archive/archive.ts';
import { beneathArchive } from '../src/archive/source.ts';
import type { ChainSource } from '../src/chain/chain-source.ts';
import type { QueryContext } from '../src/chain/records.ts';
import { readConfig } from '../src/config.ts';
import { createWindowSource } from '../src/window/source.ts';
import { type Below, openWindow, type Window } from '../src/window/window.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { importFiles } from '../streams/ingest/import.ts';
import type { EventLog } from '../streams/log.ts';
import { project } from '../streams/project/projector.ts';
import { encodeProjectedStep } from '../streams/projected-step.ts';
import { type PublishedStep, readProjectedSteps } from '../streams/steps-topic.ts';
import { topicNames } from '../streams/topics.ts';

const GB = 1024 ** 3;

export const topics = topicNames();

export interface Projected {
  folder: string;
  /** Of the ClickHouse server. */
  url: string;
  log: EventLog;
  clickhouse: ClickHouse;
  tables: ClickHouseSource;
  steps: PublishedStep[];
  remove(): Promise<void>;
}

export const context = (): QueryContext => ({ signal: new AbortController().signal, timeoutMs: 30_000 });

/** Imports the files and projects them, the steps published. `users`: of the server, besides its own. */
export async function projectFiles(files: readonly string[], users?: string): Promise<Projected> {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-window-'));
  const server = await startMigratedServer(users);
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  await importFiles(log, topics, files, { loose: true });
  const clickhouse = createClickHouse({ url: server.server.url, database: MIGRATED, logger: silent });
  await projectAll(log, clickhouse);
  return {
    folder,
    url: server.server.url,
    log,
    clickhouse,
    tables: await tablesOf(clickhouse),
    steps: await stepsOf(log),
    async remove() {
      await clickhouse.close();
      await log.close();
      await server.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Where a stack that runs keeps its log and its tables; the database is `tonstream` unless given. */
export interface Kept {
  dataDir: string;
  clickhouseUrl: string;
  database?: string;
}

/** The tables and steps of a stack that runs. */
export async function projectedBy({ dataDir, clickhouseUrl, database = 'tonstream' }: Kept) {
  const log = openEmbeddedLog({ folder: join(dataDir, 'log') });
  const clickhouse = createClickHouse({ url: clickhouseUrl, database, logger: silent });
  return {
    tables: await tablesOf(clickhouse),
    steps: await stepsOf(log),
    async close() {
      await clickhouse.close();
      await log.close();
    },
  };
}

export async function tablesOf(clickhouse: ClickHouse): Promise<ClickHouseSource> {
  const head = createHead(clickhouse);
  await head.refresh(context().signal);
  return createClickHouseSource(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 1_000 }), head);
}

/** Projects to the end of the log, a few steps in a batch. `retainBytes`: of published steps; null publishes none. */
export function projectAll(log: EventLog, clickhouse: ClickHouse, retainBytes: number | null = GB): Promise<void> {
  const config = { ...readConfig([], {}).config, batchSteps: 25 };
  const publish = retainBytes === null ? {} : { publish: { retainBytes, retainMs: 0 } };
  const options = { log, topics, clickhouse, config, logger: silent, stopAtEnd: true, ...publish };
  return project(options, new AbortController().signal);
}

export async function stepsOf(log: EventLog): Promise<PublishedStep[]> {
  const { signal } = context();
  const reading = readProjectedSteps(log, topics.steps, await log.low(topics.steps), { signal, stopAtEnd: true });
  const steps: PublishedStep[] = [];
  for await (const some of reading) steps.push(...some);
  return steps;
}

/** A step without what the tables had before, depending on when the projector was started. */
export function bytesWithoutKnown({ step }: PublishedStep): string {
  const tables = step.rows.tables.filter(({ name }) => ![accountData.name, codes.name].includes(name));
  const rows: StepRows = { mcSeqno: step.mcSeqno, tables, of: (table) => step.rows.of(table) };
  return encodeProjectedStep({ ...step, rows }).toString('latin1');
}

export interface Windowed {
  window: Window;
  source: ChainSource;
  /** Questions that reached the tables, each with the bound of what it asked of. */
  asked(): readonly string[];
  remove(): Promise<void>;
}

/** A window with the steps from this one on, as many of the newest as it has room for. */
export async function windowFrom(
  projected: Pick<Projected, 'tables' | 'steps'>,
  first: number,
  maxBytes = GB,
  archive?: Pick<Archive, 'view'>,
): Promise<Windowed> {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-window-'));
  const window = openWindow({ folder, maxBytes, form: transactionForm });
  const { tables, steps } = projected;
  await window.apply(steps.slice(first), (mcSeqno) => belowOf(tables, mcSeqno));
  const noted = notingSource(tables, window);
  return {
    window,
    source: createWindowSource(window, noted.source, archive && beneathArchive(archive, noted.source)),
    asked: noted.asked,
    async remove() {
      await window.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type SharedWindows = ReturnType<typeof sharedWindows>;

/** Windows that tests only read: one for each step that they begin with. */
export function sharedWindows(projected: Pick<Projected, 'tables' | 'steps'>) {
  const made = new Map<number, Windowed>();
  return {
    async from(first: number): Promise<Windowed> {
      const found = made.get(first) ?? (await windowFrom(projected, first));
      made.set(first, found);
      return found;
    },
    async remove(): Promise<void> {
      for (const windowed of made.values()) await windowed.remove();
    },
  };
}

/** Fills a window that begins with the step at `from` downwards to the one at `to`, so many steps in a commit. */
export async function fillDown(
  { window }: Pick<Windowed, 'window'>,
  { tables, steps }: Pick<Projected, 'tables' | 'steps'>,
  { from, to, atOnce }: Record<'from' | 'to' | 'atOnce', number>,
): Promise<void> {
  for (let end = from; end > to; ) {
    const start = Math.max(to, end - atOnce);
    const some = steps.slice(start, end).map(({ step }) => step);
    const done = await window.prepend(some, steps[end].step.mcSeqno, await belowOf(tables, some[0].mcSeqno));
    if (done !== 'added') throw new Error(`steps before ${some[0].mcSeqno} cannot be added: ${done}`);
    end = start;
  }
}

async function belowOf(tables: ClickHouseSource, mcSeqno: number): Promise<Below> {
  const newest = await tables.below(mcSeqno).newestBelow(context());
  return newest && { lt: BigInt(newest.lt), utime: newest.utime };
}

/** Notes the questions: `below` the window, or the `whole` up to its head. */
function notingSource(
  tables: ClickHouseSource,
  window: Window,
): { source: ClickHouseSource; asked: () => readonly string[] } {
  const asked: string[] = [];
  const noting = <T extends object>(target: T, bound: string): T =>
    new Proxy(target, {
      get(inner, name, receiver) {
        const value: unknown = Reflect.get(inner, name, receiver);
        if (name === 'contracts' || name === 'events') return noting(value as object, bound);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const result: unknown = Reflect.apply(value, inner, args);
          if (name === 'below' && typeof result === 'object' && result !== null) {
            return noting(result, args[0] === window.state?.first ? 'below' : 'whole');
          }
          asked.push(`${bound}.${String(name)}`);
          return result;
        };
      },
    });
  return { source: noting(tables, 'alone'), asked: () => asked };
}
