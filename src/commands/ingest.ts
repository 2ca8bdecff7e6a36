import { mkdir } from 'node:fs/promises';
import type { BlockSource } from '../../streams/envelope.ts';
import { ingest } from '../../streams/ingest/follow.ts';
import type { StartPoint } from '../../streams/ingest/follow-start.ts';
import { proofInterval } from '../../streams/ingest/pool.ts';
import { openLog } from '../../streams/open.ts';
import { topicNames } from '../../streams/topics.ts';
import { createFollowView } from '../follow-view.ts';
import type { BlockProver, ChainNode } from '../node/chain-node.ts';
import type { ProgressOptions } from '../progress.ts';
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
  close(): Promise<void>;
}

/** Opens the chain that the configuration names. */
export type OpenNode = (running: Running) => Promise<OpenChain>;

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
  await mkdir(config.dataDir, { recursive: true });
  const log = openLog(config, logger);
  shutdown.onClose('event log', () => log.close());
  const chain = await openNode(running);
  shutdown.onClose('chain node', () => chain.close());
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
          cells: { maxBytes: config.maxDataBytes },
          proofIntervalMs: proofInterval(config),
        },
        logger: logger.child({ part: 'ingest' }),
        onProgress: view.update,
      },
      shutdown.signal,
    );
  } finally {
    view.end();
  }
}
