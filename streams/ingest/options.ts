import type { Config } from '../../src/config.ts';
import type { IngestOptions } from './follow.ts';

/** What the settings say of following a chain, wherever that is done. */
export function ingestOptions(config: Config) {
  return {
    cells: {
      maxBytes: config.maxDataBytes,
      perSecond: config.learnPerSecond,
      mentionedPerSecond: config.learnMentioned,
    },
    continuous: config.kafkaBrokers !== undefined,
    // A devnet in the same process costs no traffic.
    proofIntervalMs: config.network === 'devnet' ? 0 : config.proofIntervalMs,
    ahead: { stepBytes: config.maxStepBytes },
  } satisfies Partial<IngestOptions>;
}
