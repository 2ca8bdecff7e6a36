/** A pool over a network of made-up liteservers, anew for each test of a file. */
import { pino } from 'pino';
import { afterEach, beforeEach, expect } from 'vitest';
import { createLitePool, type LitePool, type LitePoolOptions } from '../src/node/lite-pool.ts';
import { createLiteNetwork, type FakeServer, type LiteNetwork, recordedMasterchain } from './lite-network.ts';
import { shelf } from './shelf.ts';

/** The recorded blocks; the network stands five before the last. */
export const FIRST = 2660;
export const LAST = 2690;

const never = new AbortController().signal;
const logger = pino({ level: 'silent' });

export function poolStage() {
  const recorded = shelf === null ? [] : recordedMasterchain();
  let network: LiteNetwork;
  let pool: LitePool | null = null;

  beforeEach(() => {
    network = createLiteNetwork(recorded);
    network.advance(LAST - 5);
  });

  afterEach(async () => {
    await pool?.close();
    pool = null;
    await network.close();
  });

  function open(servers: readonly FakeServer[], options: Partial<LitePoolOptions> = {}): LitePool {
    const quick = { attemptMs: 1_000, handshakeMs: 2_000, pollMs: 200, hedgeMs: 60, minHedgeMs: 30, maxLagBlocks: 10 };
    const times = { restMs: 60_000, lieRestMs: 60_000, backoffMs: 10, maxBackoffMs: 50, timeoutMs: 10_000 };
    pool = createLitePool(network.config(servers), { logger, ...quick, ...times, ...options });
    return pool;
  }

  /** Fetches a block; compared as bytes, which is much quicker than `toEqual`. */
  async function fetchBlock(node: LitePool, seqno: number): Promise<void> {
    const bytes = await node.block(idAt(seqno), never);
    expect(bytes.equals(recorded[seqno - FIRST].bytes)).toBe(true);
  }

  const idAt = (seqno: number) => recorded[seqno - FIRST].id;
  const statusOf = (server: FakeServer) => {
    const found = pool?.servers().find(({ port }) => port === server.address.port);
    if (found === undefined) throw new Error('no such server');
    return found;
  };
  const ready = (count: number): Promise<unknown> =>
    expect.poll(() => pool?.servers().filter(({ state }) => state === 'ready').length).toBe(count);

  return {
    recorded,
    get network() {
      return network;
    },
    get pool() {
      return pool;
    },
    open,
    fetchBlock,
    idAt,
    statusOf,
    ready,
  };
}
