import { once } from 'node:events';
import { createServer } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { FAUCET_PATH, faucetApi } from '../api/faucet.ts';
import { createFront } from '../api/front.ts';
import { apiLimits, SERVER_OPTIONS } from '../api/limits.ts';
import { errorMessage } from '../chain/errors.ts';
import { ConfigError } from '../config.ts';
import { httpUrl, listen } from '../listen.ts';
import { devnetLines, openDevnet, writeGlobalConfig } from './chain.ts';
import { answerMetrics } from './metrics.ts';
import type { Running } from './running.ts';

/**
 * `tonstream devnet`: a chain in a box with its faucet and liteserver, until it is stopped. Kept in the data folder.
 * @param configOut file that gets the global config, for `--network FILE` of others; null: none
 */
export async function runDevnet(running: Running, configOut: string | null): Promise<void> {
  const { config, logger, shutdown, print } = running;
  const { ready, faucet, thread } = await openDevnet(running);
  if (configOut !== null) await writeConfigOut(configOut, ready);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  await answerMetrics(running, registry);
  const front = createFront({
    apis: [faucetApi(faucet)],
    limits: apiLimits(config),
    metrics: registry,
    report: (error) => logger.error({ err: error }, 'a request failed'),
  });
  const server = createServer(SERVER_OPTIONS, front);
  const url = httpUrl(config.host, await listen(server, config.host, config.port));
  shutdown.onClose('HTTP server', async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  print('');
  for (const line of devnetLines(ready, `${url}${FAUCET_PATH}`, config.dataDir)) print(line);
  for (const line of ['', '  Global config for clients:', ready.globalConfig, '', '  Stop with Ctrl-C.', ''])
    print(line);
  await thread.done;
}

/** @throws {ConfigError} that names the flag */
export async function writeConfigOut(path: string, ready: Parameters<typeof writeGlobalConfig>[1]): Promise<void> {
  await writeGlobalConfig(path, ready).catch((cause: unknown) => {
    const why = errorMessage(cause);
    throw new ConfigError(`--config-out: ${path} cannot be written: ${why}`, { cause });
  });
}
