/** A recorded chain, told step by step by a server of the feed; both are new for each test. */
import { afterEach, beforeEach, expect } from 'vitest';
import type { FeedLimits } from '../src/feed/streaming.ts';
import { type FeedServer, serveFeed } from './feed-server.ts';
import { createFeedSource, type FeedSource } from './feed-source.ts';

export interface FedChain {
  readonly chain: FeedSource;
  readonly server: FeedServer;
  /** Begins to tell at this place of the list of steps. */
  start(at: number, limits?: Partial<FeedLimits>): Promise<void>;
  /** Tells all steps before this place, one after the other. */
  advanceTo(to: number): Promise<void>;
}

/** For a whole file: fails each test whose server failed at something. */
export function useFedChain(): FedChain {
  let chain: FeedSource;
  let server: FeedServer;

  beforeEach(() => {
    chain = createFeedSource('private');
  });

  afterEach(async () => {
    await server.close();
    expect(server.failures).toEqual([]);
  });

  return {
    get chain() {
      return chain;
    },
    get server() {
      return server;
    },
    async start(at, limits = {}) {
      chain.advance(chain.steps[at]);
      server = await serveFeed(chain, limits);
    },
    async advanceTo(to) {
      for (const step of chain.steps.slice(0, to)) {
        if (step <= chain.head.seqno) continue;
        chain.advance(step);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
