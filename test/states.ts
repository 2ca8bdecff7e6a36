import type { ChainSource } from '../src/chain/chain-source.ts';
import { noLiteservers } from '../src/node/liteservers.ts';
import { createStateSource, type StateSource, type StateSourceOptions } from '../src/state/source.ts';

/** States of what a source shows, without liteservers and log unless given. */
export function statesOf(source: ChainSource, options: Partial<StateSourceOptions> = {}): StateSource {
  return createStateSource({
    source,
    liteservers: noLiteservers(),
    masterBlock: async () => null,
    metrics: { answered: () => undefined },
    ...options,
  });
}
