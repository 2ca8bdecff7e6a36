/** The app on a free port, for tests that speak HTTP to it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { type AppOptions, createApp } from '../src/api/app.ts';
import { createContracts } from '../src/api/contracts.ts';
import type { KeptRuns } from '../src/api/kept-runs.ts';
import { SERVER_OPTIONS } from '../src/api/limits.ts';
import type { ChainSource } from '../src/chain/chain-source.ts';
import { createEmulator } from '../src/emulation/emulator.ts';
import type { Knowledge } from '../src/emulation/knowledge.ts';
import { noLiteservers } from '../src/node/liteservers.ts';
import { createStateMetrics } from '../src/state/metrics.ts';
import type { StateSourceOptions } from '../src/state/source.ts';
import { createViews } from '../src/state/view.ts';
import { DEFAULT_LIMITS } from './default-limits.ts';
import { smallPool } from './small-pool.ts';
import { statesOf } from './states.ts';

/** For answers of a real ClickHouse on a machine that runs other tests beside this one. */
export const PATIENT_LIMITS = { ...DEFAULT_LIMITS, queryTimeoutMs: 60_000 };

/**
 * Who asks is in the same process mostly: what holds that up for a while is no slow client, and a connection that is cut
 * off for it fails a test.
 */
const UNHURRIED = { headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 };

export interface ApiServer {
  url: string;
  port: number;
  /** What the app reported as its own failures. */
  reported: unknown[];
  close(): Promise<void>;
}

/** Of servers without a database. */
const NO_KNOWLEDGE: Knowledge = {
  classify: async () => ({ state: 'unclassified', actions: [] }),
  wallets: async () => [],
  deployed: async () => ({ items: [], collections: [], masters: [], wallets: [] }),
};

/** `listenOn`: a free one unless given. */
export async function serveApi(
  source: ChainSource,
  options: Partial<
    AppOptions & Pick<StateSourceOptions, 'masterBlock'> & { tvmTimeoutMs: number; runs: KeptRuns }
  > = {},
  listenOn = 0,
): Promise<ApiServer> {
  const reported: unknown[] = [];
  const { liteservers = noLiteservers(), masterBlock = async () => null, tvmTimeoutMs, runs, ...rest } = options;
  const metrics = new Registry();
  const states = statesOf(source, { liteservers, masterBlock, metrics: createStateMetrics(metrics) });
  const pool = smallPool(tvmTimeoutMs);
  const viewOf = createViews(states, { unknownBlocks: () => undefined });
  const app = createApp({
    source,
    liteservers,
    states,
    contracts: createContracts(states, pool, viewOf, runs),
    emulator: createEmulator({ states, viewOf, pool }),
    knowledge: NO_KNOWLEDGE,
    health: () => ({ ok: true }),
    status: () => ({ log: { mc_seqno: 7 } }),
    metrics,
    limits: DEFAULT_LIMITS,
    testnet: () => false,
    report: (error) => reported.push(error),
    ...rest,
  });
  const server = createServer({ ...SERVER_OPTIONS, ...UNHURRIED }, app);
  await new Promise<void>((resolve) => server.listen(listenOn, '127.0.0.1', resolve));
  const address = server.address();
  const { port }: Pick<AddressInfo, 'port'> = typeof address === 'object' && address !== null ? address : { port: 0 };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    reported,
    async close() {
      await pool.close();
      await new Promise<void>((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      });
    },
  };
}
