import type { Logger } from 'pino';
import { z } from 'zod';
import { errorMessage } from './chain/errors.ts';
import type { Running } from './commands/running.ts';
import { type Config, ConfigError, readConfig, version } from './config.ts';
import { createLogger } from './logger.ts';
import { createShutdown } from './shutdown.ts';

const HELP = `tonstream ${version}: an event-sourced indexer of the TON blockchain

  tonstream start              everything under one process: chain, log, ClickHouse, projection, HTTP API
      --network NAME           devnet (default), mainnet, testnet, none, or the file of a global config
  tonstream import <path…>     put recorded blocks (.boc, .ndjson, .ndjson.gz, folders) into the log
      --loose                  also blocks with holes between them, for tests and forensics
  tonstream ingest             only follow the network: liteservers -> log
      --stand-by               wait for another ingester of an embedded log to end instead of failing
  tonstream project            only the projection: log -> ClickHouse
  tonstream api                only the HTTP API
  tonstream metadata           only fetch the documents that tokens name into the log
  tonstream learn ADDRESS…     have a liteserver asked what these contracts are, into the log
  tonstream verify             compare the tables with the log
  tonstream rebuild [NAME…]    make the tables anew from the log; with names, those of these projections alone
  tonstream devnet             only the chain in a box, with its liteserver and faucet
      --config-out FILE        write its global config, for --network FILE of others
  tonstream faucet ADDRESS N   N coins of the devnet of a running start or devnet
  tonstream watch [ADDRESS…]   print transactions as they become final; --from a seqno, a time or a cursor
  tonstream sql "SELECT …"     ask the running service; --format csv (default), json, ndjson, parquet, arrow; --as-of SEQNO
  tonstream export VIEW FOLDER  a view of the running service as files of whole steps; goes on where it stopped
  tonstream classify <file…>   tell what the traces in files did, a JSON line each
  tonstream help | version

Settings are flags or environment variables; docs/settings.md lists them all.
`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
// Whoever reads may have read enough (`| head`): what is being done goes on, and what only prints ends.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`tonstream: standard output cannot be written: ${error.message}\n`);
  process.exit(1);
});

type Flags = Record<string, unknown>;
/** Besides the settings. */
const FLAGS = {
  help: { type: 'boolean', short: 'h' },
  loose: { type: 'boolean', of: ['import'] },
  'stand-by': { type: 'boolean', of: ['ingest'] },
  'config-out': { type: 'string', of: ['devnet'] },
  format: { type: 'string', of: ['sql', 'export'] },
  'as-of': { type: 'string', of: ['sql'] },
  'user-statements': { type: 'boolean', of: ['sql'] },
} as const;

/** How a command was called. */
interface Call {
  command: string;
  config: Config;
  /** Behind the command. */
  words: readonly string[];
  flags: Flags;
  logger: Logger;
}

/** Resolves with the exit status. */
type Command = (call: Call) => Promise<number>;

/** Each is loaded when it is asked for: what the others need takes a second of CPU time. */
const COMMANDS: Record<string, Command> = {
  start: opening(async (running) => (await import('./commands/start.ts')).runStart(running), { lasting: true }),
  import: async ({ config, words, flags, logger }) =>
    (await import('./commands/import.ts')).runImport(config, words, flags, { print, logger }),
  ingest: opening(async (running, { flags }) => {
    const { ingestSettings, openNetwork } = await import('./commands/chain.ts');
    const { runIngest } = await import('./commands/ingest.ts');
    return runIngest(running, openNetwork, ingestSettings(running.config, flags));
  }),
  project: opening(async (running) => (await import('./commands/start.ts')).runProject(running)),
  api: opening(async (running) => (await import('./commands/start.ts')).runApi(running), { lasting: true }),
  metadata: opening(async (running) => (await import('./commands/metadata.ts')).runMetadata(running)),
  learn: opening(async (running, { words }) => (await import('./commands/learn.ts')).runLearn(running, words), {
    takesWords: true,
    finishes: true,
  }),
  verify: opening(async (running) => (await import('./commands/verify.ts')).runVerify(running), { finishes: true }),
  rebuild: opening(async (running, { words }) => (await import('./commands/rebuild.ts')).runRebuild(running, words), {
    takesWords: true,
    finishes: true,
  }),
  devnet: opening(async (running, { flags }) => {
    const { runDevnet } = await import('./commands/devnet.ts');
    const configOut = z.string().nullable();
    return runDevnet(running, configOut.parse(flags['config-out'] ?? null));
  }),
  faucet: async ({ config, words }) => (await import('./commands/faucet.ts')).runFaucet(config, words, { print }),
  async watch({ config, words }) {
    const unread = new AbortController();
    process.stdout.once('error', () => unread.abort());
    const signal = AbortSignal.any([stopSignal(), unread.signal]);
    return (await import('./commands/watch.ts')).runWatch(config, words, { print, signal });
  },
  sql: async ({ config, words, flags }) =>
    (await import('./commands/sql.ts')).runSql(config, words, flags, { print, signal: stopSignal() }),
  export: async ({ config, words, flags }) =>
    (await import('./commands/export.ts')).runExport(config, words, flags, { print, signal: stopSignal() }),
  classify: async ({ words }) => (await import('./commands/classify.ts')).runClassify(words, { print }),
};

interface Opening {
  /** It takes words beside flags. */
  takesWords?: boolean;
  /** It stays until it is stopped. */
  lasting?: boolean;
  /** It has something to finish. */
  finishes?: boolean;
}

/** A command that opens the log and the tables; the result, when it is a number, is the exit status. */
function opening(run: (running: Running, call: Call) => Promise<unknown>, how: Opening = {}): Command {
  return async (call) => {
    const { command, config, words, logger } = call;
    if (words.length > 0 && !how.takesWords) throw new ConfigError(`${command} takes no ${JSON.stringify(words[0])}`);
    const shutdown = createShutdown(logger);
    let status = 0;
    try {
      const result = await run({ config, logger, shutdown, print }, call);
      if (typeof result === 'number') status = result;
      if (!how.lasting) shutdown.stop('finished');
    } catch (error) {
      if (!shutdown.signal.aborted) {
        process.stderr.write(`tonstream ${command}: ${errorMessage(error)}\n`);
        status = 1;
        shutdown.stop('failed');
      } else if (how.finishes) {
        process.stderr.write(`tonstream ${command}: stopped before it was done\n`);
        status = 1;
      }
    }
    const ended = await shutdown.done;
    // Behind all that the log has told of the end.
    if (shutdown.failure !== null) process.stderr.write(`tonstream ${command}: ${shutdown.failure}\n`);
    return ended || status;
  };
}

/** Aborts when somebody ends the command. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  return stop.signal;
}

async function main(): Promise<number> {
  const { config, words, flags } = readConfig(process.argv.slice(2), process.env, FLAGS);
  const [first = 'help', ...rest] = words;
  const command = flags.help === true ? 'help' : first;
  if (command === 'help' || command === 'version') {
    print(command === 'help' ? HELP : version);
    return 0;
  }
  const run = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (run === undefined) throw new ConfigError(`there is no command "${command}"; see: tonstream help`);
  return run({ command, config, words: rest, flags, logger: createLogger(config.logLevel) });
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`tonstream: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
// What could not be written is told of behind the write.
await new Promise((resolve) => process.stdout.write('', resolve));
process.exit();
