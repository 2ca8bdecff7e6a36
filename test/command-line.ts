/** Commands of the program, run in this process over logs in folders and databases of one ClickHouse. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { identifier, list, textLiteral } from '../clickhouse/literal.ts';
import { silent, startTestServer } from '../clickhouse/test-server.ts';
import { openParts } from '../src/commands/parts.ts';
import type { Running } from '../src/commands/running.ts';
import { type Config, readConfig } from '../src/config.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { importFiles } from '../streams/ingest/import.ts';
import { project } from '../streams/project/projector.ts';
import type { Step } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';
import { cloneTables } from './cloned-tables.ts';
import { allSteps } from './recorded-sequence.ts';

const topics = topicNames();

export interface Place {
  folder: string;
  database: string;
}

export interface CommandLine {
  /** Holds the folders of the places. */
  home: string;
  /** Of ClickHouse. */
  url: string;
  /** Closed by `closeTables`. */
  tables(database: string): ClickHouse;
  /** Settings for a folder's log and a database, as words of the command line. */
  words(place: Place): string[];
  run(command: Command, place: Place, clickhouseUrl?: string): Promise<Ran>;
  /** Projects a folder's log to its end, after what each command does at its start. */
  projectAll(place: Place, clickhouse?: ClickHouse): Promise<void>;
  /** Makes a database with the tables of another. */
  clone(from: string, to: string): Promise<ClickHouse>;
  closeTables(): Promise<void>;
  /** Drops all databases but these: the server looks after tables also when nobody asks for them. */
  dropOthers(kept: readonly string[]): Promise<void>;
  remove(): Promise<void>;
}

type Command = (running: Running) => Promise<unknown>;

interface Ran {
  status: unknown;
  printed: string;
}

/** Runs a command in this process; its status and what it printed. */
export async function runCommand(command: Command, config: Config): Promise<Ran> {
  const closers: (() => Promise<void> | void)[] = [];
  const printed: string[] = [];
  const shutdown: Running['shutdown'] = {
    signal: new AbortController().signal,
    onClose: (_, close) => closers.unshift(close),
    stop: () => undefined,
    failure: null,
    done: Promise.resolve(0),
  };
  try {
    const status = await command({ config, logger: silent, shutdown, print: (line) => printed.push(line) });
    return { status, printed: printed.join('\n') };
  } finally {
    for (const close of closers) await close();
  }
}

export async function openCommandLine(): Promise<CommandLine> {
  const home = mkdtempSync(join(tmpdir(), 'tonstream-commands-'));
  const parts = await startTestServer();
  const { url } = parts.server;
  const opened: ClickHouse[] = [];

  function tables(database: string): ClickHouse {
    const clickhouse = createClickHouse({ url, database, logger: silent });
    opened.push(clickhouse);
    return clickhouse;
  }

  const words: CommandLine['words'] = ({ folder, database }) => [
    ...['--data-dir', folder, '--clickhouse-url', url, '--clickhouse-database', database],
    ...['--batch-steps', '25', '--log-level', 'silent'],
  ];

  const run: CommandLine['run'] = (command, place, clickhouseUrl = url) => {
    const { config } = readConfig(words(place), {});
    return runCommand(command, { ...config, clickhouseUrl });
  };

  const projectAll: CommandLine['projectAll'] = async (place, clickhouse = tables(place.database)) => {
    const { config } = readConfig(words(place), {});
    await run(openParts, place);
    const log = openEmbeddedLog({ folder: join(place.folder, 'log') });
    const options = { log, topics, clickhouse, config, logger: silent, stopAtEnd: true };
    await project(options, new AbortController().signal).finally(() => log.close());
  };

  return {
    home,
    url,
    tables,
    words,
    run,
    projectAll,
    async clone(from, to) {
      const clickhouse = tables(to);
      await cloneTables(clickhouse, from);
      return clickhouse;
    },
    async closeTables() {
      for (const clickhouse of opened.splice(0)) await clickhouse.close();
    },
    async dropOthers(kept) {
      const system = createClickHouse({ url, database: 'system', logger: silent });
      const others = await system.json(
        `SELECT name FROM databases WHERE engine = 'Atomic' AND name NOT IN ${list(['default', 'system', ...kept].map(textLiteral))}`,
        z.object({ name: z.string() }),
      );
      for (const { name } of others) await system.command(`DROP DATABASE ${identifier(name)} SYNC`);
      await system.close();
    },
    async remove() {
      await parts.remove();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export async function importSequence(folder: string, file: string): Promise<void> {
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  await importFiles(log, topics, [file]);
  await log.close();
}

export async function stepsOf(folder: string): Promise<Step[]> {
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  const steps = await allSteps(log, topics.blocks);
  await log.close();
  return steps;
}
