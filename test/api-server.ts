/** The app on a free port, for tests that speak HTTP to it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { type AppOptions, createApp } from '../src/api/app.ts';
import { DEFAULT_LIMITS, SERVER_OPTIONS } from '../src/api/limits.ts';
import type { ChainSource } from '../src/chain/records.ts';
import { noLiteservers } from '../src/node/liteservers.ts';

/** For answers of a real ClickHouse on a machine that runs other tests beside this one. */
export const PATIENT_LIMITS = { ...DEFAULT_LIMITS, queryTimeoutMs: 60_000 };

export interface ApiServer {
  url: string;
  port: number;
  /** What the app reported as its own failures. */
  reported: unknown[];
  close(): Promise<void>;
}

/** `listenOn`: a free one unless given. */
export async function serveApi(
  source: ChainSource,
  options: Partial<AppOptions> = {},
  listenOn = 0,
): Promise<ApiServer> {
  const reported: unknown[] = [];
  const app = createApp({
    source,
    liteservers: noLiteservers(),
    health: () => ({ ok: true }),
    status: () => ({ log: { mc_seqno: 7 } }),
    metrics: new Registry(),
    limits: DEFAULT_LIMITS,
    testnet: () => false,
    report: (error) => reported.push(error),
    ...options,
  });
  const server = createServer(SERVER_OPTIONS, app);
  await new Promise<void>((resolve) => server.listen(listenOn, '127.0.0.1', resolve));
  const address = server.address();
  const { port }: Pick<AddressInfo, 'port'> = typeof address === 'object' && address !== null ? address : { port: 0 };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    reported,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}
