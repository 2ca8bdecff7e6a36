import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { parseAddress, rawAddress } from './chain/address.ts';

/**
 * Every setting of the service: its flag, its environment variable, its default and its limits, in one place.
 * A flag wins over the environment, the environment over the default. The tables of docs/settings.md are made from this.
 */
export interface Setting<T = unknown> {
  flag: string;
  env: string;
  about: string;
  group: 'Service' | 'Chain' | 'Event log' | 'ClickHouse' | 'Limits';
  schema: z.ZodType<T>;
  /** The default as a person writes it, where that is not the value. */
  shownDefault?: string;
  /** Never printed. */
  secret?: boolean;
}

const text = z.string().min(1);
const optionalText = z.string().min(1).optional();
/** What is blank is no number: Number() makes 0 of it. */
const number = (wanted: string) =>
  z.preprocess(
    (given) => (typeof given === 'string' && given.trim() !== '' ? Number(given) : given),
    z.number({ error: ({ code }) => (code === 'invalid_type' ? wanted : undefined) }),
  );
const integer = (low: number, high: number) =>
  number('a whole number is wanted').pipe(z.number().int().min(low).max(high));
const bool = z.union([z.boolean(), z.enum(['true', 'false', '1', '0']).transform((v) => v === 'true' || v === '1')]);
const MB = 1024 * 1024;
const MOST_WORKERS_UNASKED = 4;
/** More than any disk has. */
const MOST_ARCHIVE_BYTES = 2 ** 50;

/** A number of bytes: `512`, `64k`, `256M`, `8G`. */
const bytes = (low: number, high: number) =>
  z
    .union([z.number(), z.string().regex(/^\d+[kMG]?$/, 'a number of bytes such as 512, 64k, 256M or 8G')])
    .transform((value) => {
      if (typeof value === 'number') return value;
      const unit = { k: 1024, M: MB, G: 1024 * MB }[value.slice(-1)];
      return unit ? Number(value.slice(0, -1)) * unit : Number(value);
    })
    .pipe(z.number().int().min(low).max(high));

/** Words between commas. @param read makes of a word what is kept, and tells what is wrong with it */
const commaList = (read: (word: string, refuse: (why: string) => void) => string = (word) => word) =>
  z.union([
    z.array(z.string()),
    z.string().transform((list, { addIssue }) =>
      list
        .split(',')
        .map((word) => word.trim())
        .filter(Boolean)
        .map((word) => read(word, (why) => addIssue({ code: 'custom', message: `${word} is no ${why}` }))),
    ),
  ]);

/** Addresses in any spelling, kept in the raw form. */
const addressList = commaList((word, refuse) => {
  const address = parseAddress(word);
  if (address === null) refuse('address');
  return address === null ? word : rawAddress(address);
});

/** Base URLs, each with a slash at its end. */
const gatewayList = commaList((word, refuse) => {
  if (!URL.canParse(word) || !/^https?:$/.test(new URL(word).protocol)) refuse('http or https URL');
  return word.endsWith('/') ? word : `${word}/`;
});

/** Milliseconds from `400ms` or `0.4s`. */
const duration = (low: number, high: number) =>
  z
    .union([z.number(), z.string().regex(/^\d+(\.\d+)?(ms|s)$/, 'a time such as 1s, 0.4s or 400ms')])
    .transform((value) => {
      if (typeof value === 'number') return value;
      return Math.round(Number.parseFloat(value) * (value.endsWith('ms') ? 1 : 1_000));
    })
    .pipe(z.number().int().min(low).max(high));

export const settings = {
  dataDir: {
    flag: 'data-dir',
    env: 'TONSTREAM_DATA_DIR',
    about: 'Folder of the embedded log, ClickHouse, the window, the archive and the devnet',
    group: 'Service',
    schema: text.default('./data'),
  },
  host: {
    flag: 'host',
    env: 'TONSTREAM_HOST',
    about: 'Address the HTTP server listens on',
    group: 'Service',
    schema: text.default('127.0.0.1'),
  },
  port: {
    flag: 'port',
    env: 'TONSTREAM_PORT',
    about: 'Port of the HTTP server; 0 takes a free one',
    group: 'Service',
    schema: integer(0, 65_535).default(8081),
  },
  metricsPort: {
    flag: 'metrics-port',
    env: 'TONSTREAM_METRICS_PORT',
    about:
      'Port at which `ingest`, `project`, `devnet` and `metadata`, run alone, answer `/metrics`; 0 takes a free one, and without it there are none. `start` and `api` answer it at `--port`',
    group: 'Service',
    schema: integer(0, 65_535).optional(),
  },
  metricsHost: {
    flag: 'metrics-host',
    env: 'TONSTREAM_METRICS_HOST',
    about: 'Address at which `--metrics-port` listens',
    group: 'Service',
    schema: text.default('127.0.0.1'),
  },
  workers: {
    flag: 'workers',
    env: 'TONSTREAM_WORKERS',
    about:
      'Processes that answer HTTP requests, beside the main process; at most one for each of `--concurrent-queries`',
    group: 'Service',
    schema: integer(1, 64).default(Math.min(availableParallelism(), MOST_WORKERS_UNASKED)),
    shownDefault: `cores, at most ${MOST_WORKERS_UNASKED}`,
  },
  logLevel: {
    flag: 'log-level',
    env: 'TONSTREAM_LOG_LEVEL',
    about: 'fatal, error, warn, info, debug, trace or silent',
    group: 'Service',
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  },
  sql: {
    flag: 'sql',
    env: 'TONSTREAM_SQL',
    about: 'Answer SQL at `/api/sql`: `on`, `off`, or `auto`, which is on while `--host` is this machine alone',
    group: 'Service',
    schema: z.enum(['auto', 'on', 'off']).default('auto'),
  },
  feedV1: {
    flag: 'feed-v1',
    env: 'TONSTREAM_FEED_V1',
    about: 'Whether the feed speaks streaming v1 too, which TON Center has deprecated',
    group: 'Service',
    schema: bool.default(false),
  },
  webhookPrivate: {
    flag: 'webhook-private',
    env: 'TONSTREAM_WEBHOOK_PRIVATE',
    about: 'Whether webhooks may lead to addresses that are not public, such as this machine and its network',
    group: 'Service',
    schema: bool.default(false),
  },
  metadataPrivate: {
    flag: 'metadata-private',
    env: 'TONSTREAM_METADATA_PRIVATE',
    about: 'Whether documents of tokens may be fetched from addresses that are not public',
    group: 'Service',
    schema: bool.default(false),
  },
  ipfsGateways: {
    flag: 'ipfs-gateways',
    env: 'TONSTREAM_IPFS_GATEWAYS',
    about:
      'Gateways that `ipfs://` documents are asked of, one after the other: URLs to be followed by id and path, separated by commas',
    group: 'Service',
    schema: gatewayList.default(['https://ipfs.io/ipfs/', 'https://dweb.link/ipfs/']),
    shownDefault: 'https://ipfs.io/ipfs/,https://dweb.link/ipfs/',
  },
  network: {
    flag: 'network',
    env: 'TONSTREAM_NETWORK',
    about:
      'Chain to follow: `devnet` (a chain of its own in the data folder), `mainnet`, `testnet`, the file of a global config, or `none`, which serves what the log holds',
    group: 'Chain',
    schema: text.default('devnet'),
  },
  from: {
    flag: 'from',
    env: 'TONSTREAM_FROM',
    about:
      'Where an empty log begins: `head`, `genesis`, a masterchain seqno or a time; `genesis` for the devnet, else `head`',
    group: 'Chain',
    schema: optionalText,
  },
  globalConfig: {
    flag: 'config',
    env: 'TONSTREAM_GLOBAL_CONFIG',
    about:
      'URL or file of the global config of `mainnet` or `testnet`; by default the published one, kept in the data folder',
    group: 'Chain',
    schema: optionalText,
  },
  trust: {
    flag: 'trust',
    env: 'TONSTREAM_TRUST',
    about:
      'What makes a block of the network true: `proofs` (signatures of its validators, from the init block of the global config on) or `none` (the word of the liteservers)',
    group: 'Chain',
    schema: z.enum(['proofs', 'none']).default('proofs'),
  },
  proofIntervalMs: {
    flag: 'proof-interval',
    env: 'TONSTREAM_PROOF_INTERVAL',
    about:
      'Shortest time between two proofs, some 40 KB each on mainnet; blocks wait for theirs. `0s` with a devnet of its own',
    group: 'Chain',
    schema: duration(0, 60_000).default(1_000),
    shownDefault: '1s',
  },
  blockTimeMs: {
    flag: 'block-time',
    env: 'TONSTREAM_BLOCK_TIME',
    about: 'Time between blocks of the devnet: `1s`, `0.4s` or `400ms`',
    group: 'Chain',
    schema: duration(50, 60_000).default(1_000),
    shownDefault: '1s',
  },
  devnetSeed: {
    flag: 'devnet-seed',
    env: 'TONSTREAM_DEVNET_SEED',
    about: 'Decides keys, blocks and traffic of a new devnet',
    group: 'Chain',
    schema: text.max(100).default('tonstream'),
  },
  devnetRaces: {
    flag: 'devnet-races',
    env: 'TONSTREAM_DEVNET_RACES',
    about:
      'Let messages of the devnet race: two for one seqno, some that never reach a block, shard blocks that are replaced',
    group: 'Chain',
    schema: bool.default(false),
  },
  devnetRate: {
    flag: 'devnet-rate',
    env: 'TONSTREAM_DEVNET_RATE',
    about: 'External messages a second that the devnet makes by itself; 0 makes none',
    group: 'Chain',
    schema: number('a number is wanted').pipe(z.number().min(0).max(1_000)).default(3),
  },
  splitAt: {
    flag: 'split-at',
    env: 'TONSTREAM_SPLIT_AT',
    about: 'Masterchain seqno at which the shard of a new devnet splits; 0: never',
    group: 'Chain',
    schema: integer(0, 2_000_000_000).default(30),
  },
  mergeAt: {
    flag: 'merge-at',
    env: 'TONSTREAM_MERGE_AT',
    about: 'Masterchain seqno at which the two shards merge again; 0: never',
    group: 'Chain',
    schema: integer(0, 2_000_000_000).default(60),
  },
  litePort: {
    flag: 'lite-port',
    env: 'TONSTREAM_LITE_PORT',
    about: "Port of the devnet's liteserver; 0 takes a free one",
    group: 'Chain',
    schema: integer(0, 65_535).default(0),
  },
  dnsCollections: {
    flag: 'dns-collections',
    env: 'TONSTREAM_DNS_COLLECTIONS',
    about:
      'Comma-separated addresses of NFT collections whose items are domains, besides `.ton` and `t.me`; for items that ' +
      'are in the tables already `tonstream rebuild contracts` is needed after a change',
    group: 'Chain',
    schema: addressList.default([]),
    shownDefault: 'none',
  },
  kafkaBrokers: {
    flag: 'kafka-brokers',
    env: 'KAFKA_BROKERS',
    about: 'Comma-separated `host:port` list; without it the log is embedded',
    group: 'Event log',
    schema: commaList()
      // Of none the log would be embedded for some parts and Kafka's for others.
      .refine((brokers) => brokers.length > 0, 'a list such as kafka1:9092,kafka2:9092 is wanted')
      .optional(),
  },
  kafkaTls: {
    flag: 'kafka-tls',
    env: 'KAFKA_TLS',
    about: 'Speak TLS with the brokers',
    group: 'Event log',
    schema: bool.default(false),
  },
  kafkaUsername: {
    flag: 'kafka-username',
    env: 'KAFKA_USERNAME',
    about: 'SASL SCRAM-SHA-512 user name',
    group: 'Event log',
    schema: optionalText,
  },
  kafkaPassword: {
    flag: 'kafka-password',
    env: 'KAFKA_PASSWORD',
    about: 'SASL password',
    group: 'Event log',
    schema: optionalText,
    secret: true,
  },
  kafkaReplication: {
    flag: 'kafka-replication',
    env: 'KAFKA_REPLICATION',
    about: 'Replication factor of topics that are made',
    group: 'Event log',
    schema: integer(1, 9).default(1),
  },
  topicPrefix: {
    flag: 'topic-prefix',
    env: 'TOPIC_PREFIX',
    about: 'First part of every topic name; one log holds one network',
    group: 'Event log',
    schema: z
      .string()
      .regex(/^[a-zA-Z0-9._-]{1,100}$/)
      .default('ton'),
  },
  clickhouseUrl: {
    flag: 'clickhouse-url',
    env: 'CLICKHOUSE_URL',
    about: 'ClickHouse server (25.8 or newer); without it one is started in the data folder',
    group: 'ClickHouse',
    schema: z
      .url({ protocol: /^https?$/, abort: true })
      .refine(
        (url) => new URL(url).username === '' && new URL(url).password === '',
        'name the user with --clickhouse-user, and give the password in CLICKHOUSE_PASSWORD',
      )
      .optional(),
  },
  clickhouseUser: {
    flag: 'clickhouse-user',
    env: 'CLICKHOUSE_USER',
    about: 'User name',
    group: 'ClickHouse',
    schema: text.default('default'),
  },
  clickhousePassword: {
    flag: 'clickhouse-password',
    env: 'CLICKHOUSE_PASSWORD',
    about: 'Password',
    group: 'ClickHouse',
    schema: z.string().default(''),
    secret: true,
  },
  clickhouseDatabase: {
    flag: 'clickhouse-database',
    env: 'CLICKHOUSE_DATABASE',
    about: 'Database of the tables; services that project the same log have one each, also on different servers',
    group: 'ClickHouse',
    schema: z
      .string()
      .regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,60}$/)
      .default('tonstream'),
  },
  clickhouseMemory: {
    flag: 'clickhouse-memory',
    env: 'CLICKHOUSE_MEMORY',
    about: 'Memory limit of the embedded server',
    group: 'ClickHouse',
    schema: bytes(512 * MB, 1024 * 1024 * MB).default(1200 * MB),
  },
  sqlDatabase: {
    flag: 'sql-database',
    env: 'TONSTREAM_SQL_DATABASE',
    about: 'Database of the views that SQL reads; services that share a server have one each',
    group: 'ClickHouse',
    schema: z
      .string()
      .regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,60}$/)
      .default('ton'),
  },
  sqlUser: {
    flag: 'sql-user',
    env: 'TONSTREAM_SQL_USER',
    about: 'User that SQL reads as; on a server of your own `tonstream sql --user-statements` prints how to make it',
    group: 'ClickHouse',
    schema: z
      .string()
      .regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,60}$/)
      .refine((name) => name !== 'default', 'not the user that owns the tables')
      .default('ton_reader'),
  },
  sqlPassword: {
    flag: 'sql-password',
    env: 'TONSTREAM_SQL_PASSWORD',
    about: 'Password of that user',
    group: 'ClickHouse',
    schema: z.string().default(''),
    secret: true,
  },
  sqlQueries: {
    flag: 'sql-queries',
    env: 'TONSTREAM_SQL_QUERIES',
    about: 'Queries of SQL at the same time, at least one for each worker',
    group: 'Limits',
    schema: integer(1, 100).default(2),
  },
  sqlQueued: {
    flag: 'sql-queued',
    env: 'TONSTREAM_SQL_QUEUED',
    about: 'Queries of SQL that wait for their turn; above it a request is answered 429',
    group: 'Limits',
    schema: integer(0, 10_000).default(16),
  },
  sqlTimeoutMs: {
    flag: 'sql-timeout-ms',
    env: 'TONSTREAM_SQL_TIMEOUT_MS',
    about: 'Longest time of one query of SQL, in milliseconds',
    group: 'Limits',
    schema: integer(1_000, 600_000).default(10_000),
  },
  sqlMemory: {
    flag: 'sql-memory',
    env: 'TONSTREAM_SQL_MEMORY',
    about: 'Memory of one query of SQL',
    group: 'Limits',
    schema: bytes(16 * MB, 1024 * 1024 * MB).default(300 * MB),
  },
  sqlRowsRead: {
    flag: 'sql-rows-read',
    env: 'TONSTREAM_SQL_ROWS_READ',
    about: 'Rows that one query of SQL reads',
    group: 'Limits',
    schema: integer(1_000, 1_000_000_000_000).default(500_000_000),
  },
  sqlRows: {
    flag: 'sql-rows',
    env: 'TONSTREAM_SQL_ROWS',
    about: 'Rows of an answer in JSON; a hundred times as many in CSV, Parquet and Arrow',
    group: 'Limits',
    schema: integer(1, 1_000_000).default(10_000),
  },
  sqlHourlyQueries: {
    flag: 'sql-hourly-queries',
    env: 'TONSTREAM_SQL_HOURLY_QUERIES',
    about:
      'Queries of SQL an hour, for each key, or address where no key is sent; those that read no view are not counted',
    group: 'Limits',
    schema: integer(1, 1_000_000_000).default(2_000),
  },
  sqlHourlyRows: {
    flag: 'sql-hourly-rows',
    env: 'TONSTREAM_SQL_HOURLY_ROWS',
    about: 'Rows that queries of SQL read in an hour, for each key',
    group: 'Limits',
    schema: integer(1, 1_000_000_000_000_000).default(20_000_000_000),
  },
  sqlHourlySeconds: {
    flag: 'sql-hourly-seconds',
    env: 'TONSTREAM_SQL_HOURLY_SECONDS',
    about: 'Seconds that queries of SQL run in an hour, for each key',
    group: 'Limits',
    schema: integer(1, 1_000_000).default(1_200),
  },
  exportBytes: {
    flag: 'export-bytes',
    env: 'TONSTREAM_EXPORT_BYTES',
    about: 'Slices of exports kept in memory, for those who ask for parts of one',
    group: 'Limits',
    schema: bytes(0, 64 * 1024 * MB).default(128 * MB),
  },
  windowBytes: {
    flag: 'window-bytes',
    env: 'TONSTREAM_WINDOW_BYTES',
    about: 'Size of the window of newest steps in the data folder, at most half of the free disk; 0 for none',
    group: 'Limits',
    schema: bytes(0, 1024 * 1024 * MB).default(8 * 1024 * MB),
  },
  archiveBytes: {
    flag: 'archive-bytes',
    env: 'TONSTREAM_ARCHIVE_BYTES',
    about:
      'Size of the archive of older steps by key in the data folder, behind a window, at most half of the free disk; `all` for the whole history, 0 for none',
    group: 'Limits',
    schema: z.union([z.literal('all').transform(() => MOST_ARCHIVE_BYTES), bytes(0, MOST_ARCHIVE_BYTES)]).default(0),
  },
  archiveForms: {
    flag: 'archive-forms',
    env: 'TONSTREAM_ARCHIVE_FORMS',
    about:
      'The archive keeps transactions as they are shown, too: pages of them are answered some twice as fast, and it takes some twice the disk',
    group: 'Limits',
    schema: bool.default(true),
  },
  stepsBytes: {
    flag: 'steps-bytes',
    env: 'TONSTREAM_STEPS_BYTES',
    about: 'Newest projected steps kept in the log, from which windows are filled',
    group: 'Limits',
    schema: bytes(MB, 1024 * 1024 * MB).default(4 * 1024 * MB),
  },
  stepsHours: {
    flag: 'steps-hours',
    env: 'TONSTREAM_STEPS_HOURS',
    about: 'How long projected steps are kept in the log, in hours; 0 for as long as they fit',
    group: 'Limits',
    schema: integer(0, 100_000).default(24),
  },
  batchBytes: {
    flag: 'batch-bytes',
    env: 'TONSTREAM_BATCH_BYTES',
    about: 'Blocks projected in one batch when behind',
    group: 'Limits',
    schema: bytes(64 * 1024, 256 * MB).default(8 * MB),
  },
  batchSteps: {
    flag: 'batch-steps',
    env: 'TONSTREAM_BATCH_STEPS',
    about: 'Masterchain steps projected in one batch when behind',
    group: 'Limits',
    schema: integer(1, 100_000).default(2_000),
  },
  batchMs: {
    flag: 'batch-ms',
    env: 'TONSTREAM_BATCH_MS',
    about: 'Longest wait for more steps before a batch is written, in milliseconds; 0 takes what is there',
    group: 'Limits',
    schema: integer(0, 60_000).default(0),
  },
  outageMs: {
    flag: 'outage-ms',
    env: 'TONSTREAM_OUTAGE_MS',
    about: 'How long the projector waits for a ClickHouse server that is away, in milliseconds',
    group: 'Limits',
    schema: integer(0, 86_400_000).default(600_000),
  },
  cachedAccounts: {
    flag: 'cached-accounts',
    env: 'TONSTREAM_CACHED_ACCOUNTS',
    about: 'Account states the projector keeps in memory',
    group: 'Limits',
    schema: integer(1_000, 100_000_000).default(200_000),
  },
  openMessages: {
    flag: 'open-messages',
    env: 'TONSTREAM_OPEN_MESSAGES',
    about: 'Messages sent and not yet received that the projector keeps in memory; older ones are looked up',
    group: 'Limits',
    schema: integer(1_000, 100_000_000).default(200_000),
  },
  maxDataBytes: {
    flag: 'max-data-bytes',
    env: 'TONSTREAM_MAX_DATA_BYTES',
    about: 'Largest contract data or code that is stored',
    group: 'Limits',
    schema: bytes(1024, 64 * MB).default(2 * MB),
  },
  maxStepBytes: {
    flag: 'max-step-bytes',
    env: 'TONSTREAM_MAX_STEP_BYTES',
    about: 'Largest step that is followed, all its blocks together; a larger one ends the ingester',
    group: 'Limits',
    schema: bytes(MB, 64 * 1024 * MB).default(512 * MB),
  },
  learnPerSecond: {
    flag: 'learn-per-second',
    env: 'TONSTREAM_LEARN_PER_SECOND',
    about:
      'Most accounts a second that liteservers are asked for because contracts name them and no block of the log has shown them (masters of wallets, collections of items); 0 asks for none',
    group: 'Limits',
    schema: integer(0, 1_000).default(20),
  },
  learnMentioned: {
    flag: 'learn-mentioned',
    env: 'TONSTREAM_LEARN_MENTIONED',
    about:
      'Most accounts a second that liteservers are asked for because answers mention them and nothing is known of them; 0 asks for none',
    group: 'Limits',
    schema: integer(0, 1_000).default(5),
  },
  queryMemory: {
    flag: 'query-memory',
    env: 'TONSTREAM_QUERY_MEMORY',
    about: 'Memory of one ClickHouse query of a request; above it a request is answered 422',
    group: 'Limits',
    schema: bytes(16 * MB, 1024 * 1024 * MB).default(300 * MB),
  },
  queryTimeoutMs: {
    flag: 'query-timeout-ms',
    env: 'TONSTREAM_QUERY_TIMEOUT_MS',
    about: 'Longest time of one ClickHouse query of a request, in milliseconds',
    group: 'Limits',
    schema: integer(10, 600_000).default(3_000),
  },
  concurrentQueries: {
    flag: 'concurrent-queries',
    env: 'TONSTREAM_CONCURRENT_QUERIES',
    about: 'ClickHouse queries of the API at the same time',
    group: 'Limits',
    schema: integer(1, 1_000).default(8),
  },
  queuedQueries: {
    flag: 'queued-queries',
    env: 'TONSTREAM_QUEUED_QUERIES',
    about: 'Queries that wait for their turn; above it a request is answered 429',
    group: 'Limits',
    schema: integer(0, 100_000).default(256),
  },
  cachedAnswersBytes: {
    flag: 'cached-answers-bytes',
    env: 'TONSTREAM_CACHED_ANSWERS_BYTES',
    about: 'Answers kept in memory until the next step, for those who ask the same; 0 for none',
    group: 'Limits',
    schema: bytes(0, 64 * 1024 * MB).default(64 * MB),
  },
  cachedRenderingsBytes: {
    flag: 'cached-renderings-bytes',
    env: 'TONSTREAM_CACHED_RENDERINGS_BYTES',
    about:
      'Transactions kept in memory as they are printed, by v2 and by v3 each, and a quarter as much each of messages and of transfers and burns; 0 for none',
    group: 'Limits',
    schema: bytes(0, 64 * 1024 * MB).default(64 * MB),
  },
  keptRunsBytes: {
    flag: 'kept-runs-bytes',
    env: 'TONSTREAM_KEPT_RUNS_BYTES',
    about: 'Results of get-methods kept in memory while contract and configuration stay the same; 0 for none',
    group: 'Limits',
    schema: bytes(0, 64 * 1024 * MB).default(16 * MB),
  },
  feedConnections: {
    flag: 'feed-connections',
    env: 'TONSTREAM_FEED_CONNECTIONS',
    about: 'Connections that listen to the feed at the same time',
    group: 'Limits',
    schema: integer(0, 1_000_000).default(20_000),
  },
  feedAddresses: {
    flag: 'feed-addresses',
    env: 'TONSTREAM_FEED_ADDRESSES',
    about: 'Addresses that one connection to the feed listens to, and traces',
    group: 'Limits',
    schema: integer(1, 100_000).default(10_000),
  },
  feedSubscribedBytes: {
    flag: 'feed-subscribed-bytes',
    env: 'TONSTREAM_FEED_SUBSCRIBED_BYTES',
    about:
      'Memory of what all connections to the feed listen to, some 350 bytes an address; above it a subscription is refused',
    group: 'Limits',
    schema: bytes(1 * MB, 1024 * 1024 * MB).default(512 * MB),
  },
  feedQueueBytes: {
    flag: 'feed-queue-bytes',
    env: 'TONSTREAM_FEED_QUEUE_BYTES',
    about: 'What waits for one connection to the feed, above which it is told no more until it has read it',
    group: 'Limits',
    schema: bytes(4096, 64 * MB).default(256 * 1024),
    shownDefault: '256k',
  },
  feedStallMs: {
    flag: 'feed-stall-ms',
    env: 'TONSTREAM_FEED_STALL_MS',
    about: 'Time after which a connection to the feed that reads nothing is ended, in milliseconds',
    group: 'Limits',
    schema: integer(100, 3_600_000).default(60_000),
  },
  webhooks: {
    flag: 'webhooks',
    env: 'TONSTREAM_WEBHOOKS',
    about: 'Webhooks of all keys; 0 for none',
    group: 'Limits',
    schema: integer(0, 100_000).default(1_000),
  },
  webhookBytes: {
    flag: 'webhook-bytes',
    env: 'TONSTREAM_WEBHOOK_BYTES',
    about: 'Memory of what all webhooks listen to, some 560 bytes an address; above it no more are made',
    group: 'Limits',
    schema: bytes(MB, 1024 * 1024 * MB).default(256 * MB),
  },
  metadataAtOnce: {
    flag: 'metadata-at-once',
    env: 'TONSTREAM_METADATA_AT_ONCE',
    about: 'Documents of tokens that `tonstream metadata` fetches at a time',
    group: 'Limits',
    schema: integer(1, 256).default(16),
  },
  metadataBytes: {
    flag: 'metadata-bytes',
    env: 'TONSTREAM_METADATA_BYTES',
    about: 'Largest document of a token that is kept; a larger one counts as none',
    group: 'Limits',
    schema: bytes(256, MB).default(32 * 1024),
  },
  metadataTimeoutMs: {
    flag: 'metadata-timeout-ms',
    env: 'TONSTREAM_METADATA_TIMEOUT_MS',
    about: 'Longest time to fetch a document of a token, redirects included, in milliseconds',
    group: 'Limits',
    schema: integer(100, 600_000).default(10_000),
  },
  metadataAgeHours: {
    flag: 'metadata-age-hours',
    env: 'TONSTREAM_METADATA_AGE_HOURS',
    about:
      'Age at which a document of a token is fetched again, in hours; one that failed is tried again after a day, then twice as late each time, up to that age; 0 fetches none again',
    group: 'Limits',
    schema: integer(0, 87_600).default(168),
  },
  pendingTraces: {
    flag: 'pending-traces',
    env: 'TONSTREAM_PENDING_TRACES',
    about:
      'Traces of sent messages that are told of before they are final, at a time; of messages above it the end alone is told; 0 for none',
    group: 'Limits',
    schema: integer(0, 1_000_000).default(10_000),
  },
  pendingBytes: {
    flag: 'pending-bytes',
    env: 'TONSTREAM_PENDING_BYTES',
    about:
      'Bytes of the transactions of these traces in each process that shows them; of messages above it the end alone is told',
    group: 'Limits',
    schema: bytes(MB, 64 * 1024 * MB).default(128 * MB),
  },
  pendingRate: {
    flag: 'pending-rate',
    env: 'TONSTREAM_PENDING_RATE',
    about: 'Messages to one account in ten seconds that are told of so; more wait for their turn',
    group: 'Limits',
    schema: integer(1, 100_000).default(30),
  },
  tvmThreads: {
    flag: 'tvm-threads',
    env: 'TONSTREAM_TVM_THREADS',
    about: 'Threads of each HTTP process that run contracts, some 60 MB each; they start with the first call',
    group: 'Limits',
    schema: integer(1, 64).default(1),
  },
  tvmQueue: {
    flag: 'tvm-queue',
    env: 'TONSTREAM_TVM_QUEUE',
    about: 'Calls of contracts that wait for such a thread, in each process; above it a request is answered 429',
    group: 'Limits',
    schema: integer(1, 100_000).default(256),
  },
  tvmTimeoutMs: {
    flag: 'tvm-timeout-ms',
    env: 'TONSTREAM_TVM_TIMEOUT_MS',
    about: 'Longest run of one contract, in milliseconds; its thread is then ended and another started',
    group: 'Limits',
    schema: integer(100, 60_000).default(3_000),
  },
  maxLimit: {
    flag: 'max-limit',
    env: 'TONSTREAM_MAX_LIMIT',
    about: 'Greatest `limit` of a page',
    group: 'Limits',
    schema: integer(1, 10_000).default(1_000),
  },
  maxBodyBytes: {
    flag: 'max-body-bytes',
    env: 'TONSTREAM_MAX_BODY_BYTES',
    about: 'Largest request body',
    group: 'Limits',
    schema: bytes(1024, 64 * MB).default(4 * MB),
  },
} satisfies Record<string, Setting>;

export type Config = { [K in keyof typeof settings]: z.output<(typeof settings)[K]['schema']> };

export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** A flag that is no setting. */
interface Flag {
  type: 'string' | 'boolean';
  short?: string;
  /** The commands that take it; without them each does. */
  of?: readonly string[];
}

const PASSWORD_IN_URL = /\/\/[^/@]*@/g;

/** Reads flags and environment into a Config and the words that are no flags. Errors name the setting. */
export function readConfig(
  args: string[],
  env: Record<string, string | undefined>,
  extraFlags: Record<string, Flag> = {},
): { config: Config; words: string[]; flags: Record<string, unknown> } {
  const entries = Object.entries(settings) as [keyof Config, Setting][];
  const options: Record<string, Flag> = { ...extraFlags };
  for (const [, setting] of entries) options[setting.flag] = { type: 'string' };
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: args.map(covered), options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : String(error));
  }
  const [command] = parsed.positionals;
  for (const [name, { of }] of Object.entries(extraFlags)) {
    if (of === undefined || command === undefined || !(name in parsed.values) || of.includes(command)) continue;
    throw new ConfigError(`--${name} is a flag of ${of.join(' and ')}, not of ${command}`);
  }
  const config: Record<string, unknown> = {};
  for (const [name, setting] of entries) {
    const value = parsed.values[setting.flag];
    const flag = typeof value === 'string' ? uncovered(value) : value;
    const given = flag ?? (env[setting.env] === '' ? undefined : env[setting.env]);
    const result = setting.schema.safeParse(given);
    if (!result.success) {
      const origin = flag === undefined ? setting.env : `--${setting.flag}`;
      const shown = setting.secret ? '(hidden)' : JSON.stringify(given)?.replace(PASSWORD_IN_URL, '//(hidden)@');
      const why = result.error.issues.flatMap(reasonsOf).join('; ');
      throw new ConfigError(`${origin}: ${shown} is not allowed: ${why}`);
    }
    config[name] = result.data;
  }
  return { config: config as Config, words: parsed.positionals.map(uncovered), flags: parsed.values };
}

/** An address of the masterchain in its raw form begins as a flag does. */
const covered = (word: string): string => (/^-1:/.test(word) ? `\0${word}` : word);
const uncovered = (word: string): string => word.replace(/^\0/, '');

/** Of a union, what its last member says: the one that reads text. */
function reasonsOf(issue: z.core.$ZodIssue): string[] {
  const inner = issue.code === 'invalid_union' ? (issue.errors.at(-1) ?? []) : [];
  return inner.length > 0 ? inner.flatMap(reasonsOf) : [issue.message];
}

/** The settings as a Markdown table, one for each group. */
export function settingsTable(): string {
  const rows = Object.values(settings) as Setting[];
  const groups = [...new Set(rows.map((row) => row.group))];
  const shownDefault = (row: Setting) => {
    const value = row.schema.safeParse(undefined).data;
    if (row.shownDefault) return `\`${row.shownDefault}\``;
    if (value === undefined || value === '') return '';
    // Among the defaults only sizes in bytes are whole mebibytes.
    const size = typeof value === 'number' && value > 0 && value % MB === 0;
    return `\`${size ? `${value / MB}M` : String(value)}\``;
  };
  return groups
    .map((group) => {
      const lines = rows
        .filter((row) => row.group === group)
        .map((row) => `| \`--${row.flag}\` | \`${row.env}\` | ${shownDefault(row)} | ${row.about} |`);
      return `**${group}**\n\n| Flag | Environment | Default | Meaning |\n|---|---|---|---|\n${lines.join('\n')}`;
    })
    .join('\n\n');
}

/** As in package.json. */
export const version: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))).version;
