import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPoint } from '../../streams/ingest/follow-start.ts';
import { openPool, serverStates } from '../../streams/ingest/pool.ts';
import { releaseWriterLock, takeWriterLock } from '../../streams/writer-lock.ts';
import { type Config, ConfigError } from '../config.ts';
import type { DemoWallet } from '../devnet/actors/actors.ts';
import { type DevnetReady, type DevnetThread, startDevnetThread } from '../devnet/thread.ts';
import { parseGlobalConfig } from '../node/global-config.ts';
import type { FaultKind } from '../node/lite-faults.ts';
import { findGlobalConfig } from '../node/network.ts';
import { makeDataFolder } from './data-folder.ts';
import type { IngestSettings, OpenChain } from './ingest.ts';
import type { Running } from './running.ts';

/**
 * Starts the devnet of the data folder; closed by the shutdown, which a failure of the chain begins.
 * @throws Error when another process makes blocks in the folder: each would write over those of the other
 */
export async function openDevnet({ config, shutdown }: Pick<Running, 'config' | 'shutdown'>): Promise<DevnetThread> {
  const {
    devnetSeed: seed,
    devnetRate: rate,
    devnetRaces: races,
    blockTimeMs,
    splitAt,
    mergeAt,
    host,
    litePort,
    logLevel,
  } = config;
  const folder = join(config.dataDir, 'devnet');
  makeDataFolder(config);
  await takeFolder(folder, shutdown);
  const settings = { seed, rate, races, blockTimeMs, splitAt, mergeAt, host, litePort, logLevel };
  const devnet = await startDevnetThread({ folder, ...settings });
  shutdown.onClose('devnet', () => devnet.thread.stop());
  devnet.thread.done.then(
    () => shutdown.stop('the devnet failed', new Error('it ended by itself')),
    (error) => shutdown.stop('the devnet failed', error),
  );
  // For clients on this machine, and for other roles: --network FILE.
  await writeGlobalConfig(join(folder, 'global.config.json'), devnet.ready);
  return devnet;
}

/** Processes that start in the same moment may overwrite each other's mark; by then the last one's stays. */
const SETTLED_MS = 50;

async function takeFolder(folder: string, shutdown: Running['shutdown']): Promise<void> {
  await mkdir(folder, { recursive: true });
  const lock = join(folder, 'writer.json');
  for (const waitMs of [0, SETTLED_MS]) {
    await sleep(waitMs);
    const lockState = takeWriterLock(lock);
    if (lockState.taken) continue;
    throw new Error(`${folder} is in use by process ${lockState.holder.pid}: stop it or choose another data folder`);
  }
  shutdown.onClose('folder of the devnet', () => releaseWriterLock(lock));
}

/** Replaces the file as a whole: who reads it while the devnet is started again finds the old text or the new one. */
export async function writeGlobalConfig(path: string, { globalConfig }: Pick<DevnetReady, 'globalConfig'>) {
  const text = `${globalConfig}\n`;
  const found = await stat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  });
  // A pipe or /dev/stdout is written to, not replaced.
  if (found !== null && !found.isFile()) return writeFile(path, text);
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** Connects to the liteservers of the configured network. @param onFault is told what they do wrong */
export async function openNetwork(
  { config, logger, shutdown, print }: Running,
  onFault: (kind: FaultKind) => void,
): Promise<OpenChain> {
  if (config.network === 'none' || config.network === 'devnet') {
    throw new ConfigError(
      `--network ${config.network} names no servers to follow: give mainnet, testnet or the file of a global config ` +
        '(tonstream devnet --config-out FILE writes one)',
    );
  }
  const { signal } = shutdown;
  const text = await findGlobalConfig({ ...config, source: config.globalConfig, logger, signal });
  const network = parseGlobalConfig(JSON.parse(text));
  print(`following ${config.network} through ${network.liteservers.length} liteservers; stop with Ctrl-C`);
  const node = openPool({ config, globalConfig: text, logger, onFault });
  const servers = () => {
    const all = node.servers();
    return `${all.filter(({ state }) => state === 'ready').length} of ${all.length} servers`;
  };
  return {
    node,
    prover: node.prover,
    source: 'lite',
    servers,
    states: () => serverStates(node),
    close: () => node.close(),
  };
}

/**
 * What the flags say of ingesting.
 * @throws {ConfigError} for one that is to stand by where nothing tells it of another ingester
 */
export function ingestSettings(
  { from, network, kafkaBrokers }: Config,
  flags: Record<string, unknown>,
): IngestSettings {
  const standBy = flags['stand-by'] === true;
  if (standBy && kafkaBrokers !== undefined) {
    throw new ConfigError(
      '--stand-by is for the embedded log: Kafka does not keep two ingesters apart, both would write; run only one',
    );
  }
  return { from: startPoint({ from, network }), standBy };
}

/** What a person needs to know of a devnet. `faucetUrl` is where the faucet's route is served. */
export function devnetLines(ready: DevnetReady, faucetUrl: string, folder: string): string[] {
  return [
    `  Devnet      liteserver ${ready.liteserver}, kept in ${join(folder, 'devnet')}`,
    `  Faucet      curl ${faucetUrl} -d '{"address":"${ready.demo[0]?.address ?? ''}","amount":"5"}'`,
    '  Wallets     with coins, to try things (version, address, seed for keyPairFromSeed of @ton/crypto):',
    ...ready.demo.map(walletLine),
  ];
}

function walletLine({ version, address, secretSeed }: DemoWallet): string {
  return `              ${version}  ${address}  ${secretSeed}`;
}
