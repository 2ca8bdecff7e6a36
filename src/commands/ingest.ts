import { collectDefaultMetrics, Registry } from 'prom-client';
import type { BlockSource } from '../../streams/envelope.ts';
import { ingest } from '../../streams/ingest/follow.ts';
import type { StartPoint } from '../../streams/ingest/follow-start.ts';
import { ingestOptions } from '../../streams/ingest/options.ts';
import type { ServerStates } from '../../streams/ingest/pool.ts';
import { openLog } from '../../streams/open.ts';
import { topicNames } from '../../streams/topics.ts';
import { createFollowView } from '../follow-view.ts';
import { createIngestMetrics, watchServers } from '../ingest-metrics.ts';
import type { BlockProver, ChainNode } from '../node/chain-node.ts';
import type { FaultKind } from '../node/lite-faults.ts';
import type { ProgressOptions } from '../progress.ts';
import { makeDataFolder } from './data-folder.ts';
import { answerMetrics } from './metrics.ts';
import type { Running } from './running.ts';

/** A chain that is ready to be followed. */
export interface OpenChain {
  node: ChainNode;
  /** Null believes the node. */
  prover: BlockProver | null;
  /** Of what the chain's blocks are marked with. */
  source: BlockSource;
  /** A few words on the servers, e.g. `5 of 8 servers`. */
  servers?: () => string;
  states?: () => ServerStates;
  close(): Promise<void>;
}

/** Opens the chain that the configuration names. `onFault` is told what its servers do wrong. */
export type OpenNode = (running: Running, onFault: (kind: FaultKind) => void) => Promise<OpenChain>;

export interface IngestSettings {
  /** Where an empty log begins. */
  from: StartPoint;
  /** Wait for another ingester to end instead of failing. */
  standBy: boolean;
}

/**
 * `tonstream ingest`: follows the chain into the log until it is stopped; another process projects.
 * @param out where the view goes; the process's stdout by default
 */
export async function runIngest(
  running: Running,
  openNode: OpenNode,
  settings: IngestSettings,
  out: ProgressOptions['out'] = process.stdout,
): Promise<void> {
  const { config, logger, shutdown } = running;
  makeDataFolder(config);
  const log = await openLog(config, logger, shutdown.signal);
  shutdown.onClose('event log', () => log.close());
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = createIngestMetrics(registry);
  const chain = await openNode(running, metrics.serverFault);
  shutdown.onClose('chain node', () => chain.close());
  if (chain.states !== undefined) watchServers(registry, chain.states);
  await answerMetrics(running, registry);
  const view = createFollowView({ out, servers: chain.servers });
  try {
    await ingest(
      {
        log,
        topics: topicNames(config.topicPrefix),
        node: chain.node,
        prover: chain.prover,
        options: {
          ...settings,
          source: chain.source,
          ...ingestOptions(config),
        },
        logger: logger.child({ part: 'ingest' }),
        metrics,
        onProgress: view.update,
      },
      shutdown.signal,
    );
  } finally {
    view.end();
  }
}
