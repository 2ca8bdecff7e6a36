import { runImport } from './commands/import.ts';
import { runRebuild } from './commands/rebuild.ts';
import type { Running } from './commands/running.ts';
import { runApi, runProject, runStart } from './commands/start.ts';
import { runVerify } from './commands/verify.ts';
import { ConfigError, readConfig, version } from './config.ts';
import { createLogger } from './logger.ts';
import { createShutdown } from './shutdown.ts';

const HELP = `tonstream ${version}: an event-sourced indexer of the TON blockchain

  tonstream start              everything in one process: log, ClickHouse, projection, HTTP API
  tonstream import <path…>     put recorded blocks (.boc, .ndjson, .ndjson.gz, folders) into the log
      --loose                  also blocks with holes between them, for tests and forensics
  tonstream project            only the projection: log -> ClickHouse
  tonstream api                only the HTTP API
  tonstream verify             compare the tables with the log
  tonstream rebuild            make the tables anew from the log
  tonstream help | version

Settings are flags or environment variables; the README lists them all.
`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Commands that open the log and the tables; the result, when it is a number, is the exit status. */
const COMMANDS: Record<string, (running: Running) => Promise<unknown>> = {
  start: runStart,
  project: runProject,
  api: runApi,
  verify: runVerify,
  rebuild: runRebuild,
};
/** These stay until they are stopped. */
const LASTING = new Set(['start', 'api']);

async function main(): Promise<number> {
  const { config, words, flags } = readConfig(process.argv.slice(2), process.env, { loose: { type: 'boolean' } });
  const [command = 'help', ...rest] = words;
  if (command === 'help' || command === 'version') {
    print(command === 'help' ? HELP : version);
    return 0;
  }
  const logger = createLogger(config.logLevel);
  if (command === 'import') return runImport(config, rest, flags, { print, logger });
  const run = COMMANDS[command];
  if (run === undefined) throw new ConfigError(`there is no command "${command}"; see: tonstream help`);
  if (rest.length > 0) throw new ConfigError(`${command} takes no ${JSON.stringify(rest[0])}`);
  const shutdown = createShutdown(logger);
  let status = 0;
  try {
    const result = await run({ config, logger, shutdown, print });
    if (typeof result === 'number') status = result;
    if (!LASTING.has(command)) shutdown.stop('finished');
  } catch (error) {
    if (!shutdown.signal.aborted) {
      process.stderr.write(`tonstream ${command}: ${error instanceof Error ? error.message : String(error)}\n`);
      status = 1;
      shutdown.stop('failed');
    }
  }
  return (await shutdown.done) || status;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`tonstream: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
