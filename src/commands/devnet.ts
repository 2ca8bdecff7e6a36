import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { answerErrors, notFound } from '../api/errors.ts';
import { SERVER_OPTIONS } from '../api/limits.ts';
import type { DemoWallet } from '../devnet/actors/actors.ts';
import type { Chain } from '../devnet/chain.ts';
import { type Devnet, type DevnetOptions, startDevnet } from '../devnet/devnet.ts';
import { FAUCET_PATH, faucetRoute } from '../devnet/faucet-route.ts';
import { listen } from '../service.ts';
import type { Running } from './running.ts';

/** What serves the chain over the lite protocol. */
export interface OpenedLiteserver {
  /** `host:port`. */
  address: string;
  /** Text of the global config that leads clients to it. */
  globalConfig: string;
  close(): Promise<void> | void;
}

export interface DevnetSettings extends Pick<DevnetOptions, 'seed' | 'blockTimeMs' | 'rate' | 'splitAt' | 'mergeAt'> {
  traders?: number;
  openLiteserver?: (chain: Chain) => Promise<OpenedLiteserver>;
}

/** `tonstream devnet`: a chain in a box with its faucet and liteserver, until it is stopped. Kept in the data folder. */
export async function runDevnet(running: Running, settings: DevnetSettings): Promise<void> {
  const { logger, shutdown, print, config } = running;
  const { devnet, liteserver } = await openDevnet(running, settings);
  const app = express();
  app.disable('x-powered-by');
  app.use(faucetRoute(devnet.faucet), notFound, answerErrors(reportTo(logger)));
  const url = await serve(running, app);
  for (const line of devnetLines(devnet.demo, { url, liteserver, folder: config.dataDir })) print(line);
  await devnet.done;
  if (!shutdown.signal.aborted) throw new Error('the devnet ended by itself');
}

/**
 * Starts the devnet of the data folder; closed by the shutdown, which a failure of the chain begins.
 * @throws {IdentityError} when the folder holds another devnet
 */
export async function openDevnet(
  { config, logger, shutdown }: Pick<Running, 'config' | 'logger' | 'shutdown'>,
  { openLiteserver, ...settings }: DevnetSettings,
): Promise<{ devnet: Devnet; liteserver: OpenedLiteserver | null }> {
  let liteserver: OpenedLiteserver | null = null;
  const serveChain = async (chain: Chain): Promise<{ close(): Promise<void> | void }> => {
    liteserver = (await openLiteserver?.(chain)) ?? null;
    return { close: () => liteserver?.close() };
  };
  const folder = join(config.dataDir, 'devnet');
  const parts = { ...settings, folder, logger: logger.child({ part: 'devnet' }), serve: serveChain };
  const devnet = await startDevnet(parts, shutdown.signal);
  shutdown.onClose('devnet', () => devnet.done);
  devnet.done.catch((error: unknown) => shutdown.stop('the devnet failed', error));
  return { devnet, liteserver };
}

function reportTo(logger: Logger): (error: unknown) => void {
  return (error) => logger.error({ err: error }, 'a request failed');
}

async function serve({ config, shutdown }: Running, app: Express): Promise<string> {
  const server = createServer(SERVER_OPTIONS, app);
  const port = await listen(server, config.host, config.port);
  shutdown.onClose('HTTP server', async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return httpUrl(config.host, port);
}

/** `http://host:port` with an IPv6 address in brackets. */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** What a person needs to know of a devnet: where its faucet and liteserver are, and the keys of the demo wallets. */
export function devnetLines(
  demo: readonly DemoWallet[],
  { url, liteserver, folder }: { url: string; liteserver: OpenedLiteserver | null; folder: string },
): string[] {
  return [
    '',
    `  Devnet      kept in ${join(folder, 'devnet')}`,
    `  Faucet      curl ${url}${FAUCET_PATH} -d '{"address":"${demo[0].address}","amount":"5"}'`,
    ...(liteserver ? [`  Liteserver  ${liteserver.address}`] : []),
    '  Demo wallets (version, address, 32 secret bytes for keyPairFromSeed of @ton/crypto):',
    ...demo.map(({ version, address, secretSeed }) => `    ${version}  ${address}  ${secretSeed}`),
    ...(liteserver ? ['  Global config for clients:', liteserver.globalConfig] : []),
    '  Stop with Ctrl-C.',
    '',
  ];
}
