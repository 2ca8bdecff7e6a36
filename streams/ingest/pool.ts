import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../../src/config.ts';
import { parseGlobalConfig } from '../../src/node/global-config.ts';
import type { FaultKind } from '../../src/node/lite-faults.ts';
import type { PeerState } from '../../src/node/lite-peer.ts';
import { createLitePool, type LitePool } from '../../src/node/lite-pool.ts';
import { openTrustedBlock } from '../../src/node/trusted-block.ts';

export interface OpenPoolOptions {
  config: Pick<Config, 'trust' | 'dataDir' | 'network'>;
  /** Text of the network's global config. */
  globalConfig: string;
  logger: Logger;
  onFault?: (kind: FaultKind) => void;
}

/** The pool that the ingester follows a network through, with a prover unless the settings trust the servers. */
export function openPool({ config, globalConfig, logger, onFault }: OpenPoolOptions): LitePool {
  const network = parseGlobalConfig(JSON.parse(globalConfig));
  const metrics = onFault === undefined ? {} : { fault: (_: string, kind: FaultKind) => onFault(kind) };
  if (config.trust === 'none') {
    logger.warn('blocks are not held to the signatures of validators (--trust none): the liteservers are believed');
    return createLitePool(network, { logger, metrics });
  }
  const trusted = openTrustedBlock(network, join(config.dataDir, 'trust'));
  logger.info({ seqno: trusted.first.seqno }, `proofs begin with masterchain block ${trusted.first.seqno}`);
  return createLitePool(network, { logger, metrics, trusted });
}

/** How many servers are in which state; none where a state is left out. */
export type ServerStates = Partial<Record<PeerState, number>>;

export function serverStates(pool: Pick<LitePool, 'servers'>): ServerStates {
  const states: ServerStates = {};
  for (const { state } of pool.servers()) states[state] = (states[state] ?? 0) + 1;
  return states;
}
