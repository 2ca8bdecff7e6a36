import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Histogram, type Registry } from 'prom-client';
import type { ServerStates } from '../../streams/ingest/pool.ts';
import { startIngestThread } from '../../streams/ingest/thread.ts';
import { watchServers } from '../ingest-metrics.ts';
import type { Metrics } from '../metrics.ts';
import { NodeError } from '../node/chain-node.ts';
import { type LiteQuestion, type LiteReply, NoNetworkError } from '../node/liteservers.ts';
import { findGlobalConfig } from '../node/network.ts';
import type { Running } from './running.ts';

/** Asks the liteservers of this host's network. @throws {NodeError} @throws {NoNetworkError} */
export type AskLiteservers = (question: LiteQuestion, signal: AbortSignal) => Promise<LiteReply>;

export interface LiteserversOptions {
  /** Text of the global config; null where no network is followed. */
  globalConfig: string | null;
  /** Whether the network is followed into the log, too. */
  ingests: boolean;
  metrics: Metrics;
}

/** The one pool of this host, in a thread of its own until the shutdown. */
export function openLiteservers({ config, shutdown }: Running, options: LiteserversOptions): AskLiteservers {
  const { globalConfig, ingests, metrics } = options;
  const watch = watchLiteservers(metrics.registry);
  if (globalConfig === null) return watch.timed(() => Promise.reject(new NoNetworkError()));
  const thread = startIngestThread(
    { config, globalConfig, ingests },
    { ingest: metrics.ingest, servers: watch.servers },
  );
  const role = ingests ? 'ingester' : 'liteservers';
  thread.done.catch((error) => shutdown.stop(`the ${role} failed`, error));
  shutdown.onClose(role, () => thread.stop());
  return watch.timed(thread.ask);
}

/** Text of the global config of a network that another process follows; null where there is none to ask. */
export async function networkToAsk({ config, logger, shutdown }: Running): Promise<string | null> {
  const { network, dataDir } = config;
  if (network === 'none') return null;
  if (network !== 'devnet') {
    return findGlobalConfig({ ...config, source: config.globalConfig, logger, signal: shutdown.signal });
  }
  // The devnet of the folder, where one has run in it.
  return readFile(join(dataDir, 'devnet', 'global.config.json'), 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  });
}

function watchLiteservers(registry: Registry) {
  const seconds = new Histogram({
    name: 'tonstream_liteserver_questions_seconds',
    help: 'Duration of what the HTTP API asks of liteservers',
    labelNames: ['kind', 'outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
    registers: [registry],
  });
  let told: ServerStates = {};
  watchServers(registry, () => told);
  return {
    servers(states: ServerStates): void {
      told = states;
    },
    timed(ask: AskLiteservers): AskLiteservers {
      return async (question, signal) => {
        const end = seconds.startTimer({ kind: question.kind });
        try {
          const reply = await ask(question, signal);
          end({ outcome: 'answered' });
          return reply;
        } catch (error) {
          end({ outcome: signal.aborted ? 'aborted' : error instanceof NodeError ? error.code : 'failed' });
          throw error;
        }
      };
    },
  };
}
