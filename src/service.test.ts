import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createClickHouse } from '../clickhouse/client.ts';
import { silent } from '../clickhouse/test-server.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { type EventLog, LogError } from '../streams/log.ts';
import { createFakeSource } from '../test/fake-source.ts';
import { madeBlock, madeHead } from '../test/made-chain.ts';
import { smallPool } from '../test/small-pool.ts';
import { listen as listenToEvents } from '../test/soak/asking.ts';
import { type Config, readConfig } from './config.ts';
import { createHostCounts } from './feed/key-counts.ts';
import { httpUrl, listen } from './listen.ts';
import { createMetrics } from './metrics.ts';
import { NodeError } from './node/chain-node.ts';
import { NoNetworkError, noLiteservers } from './node/liteservers.ts';
import { createPendingStore } from './pending/store.ts';
import { health, serve, watchExecutor } from './service.ts';

/** Longest wait for what comes by itself, on a machine that is busy with other tests. */
const PATIENCE = { timeout: 180_000, interval: 5 };

const servers: Server[] = [];
function server(): Server {
  const made = createServer();
  servers.push(made);
  return made;
}

afterEach(async () => {
  for (const used of servers.splice(0).filter(({ listening }) => listening)) {
    used.close();
    await once(used, 'close');
  }
});

describe('listen', () => {
  it('tells the port that a free choice gave', async () => {
    expect(await listen(server(), '127.0.0.1', 0)).toBeGreaterThan(0);
  });

  it('names the setting when the port is taken', async () => {
    const port = await listen(server(), '127.0.0.1', 0);
    await expect(listen(server(), '127.0.0.1', port)).rejects.toThrow(
      `port ${port} of 127.0.0.1 is in use: stop what listens there or choose another with --port`,
    );
  });

  it('names the setting when the address is not of this machine', async () => {
    // 192.0.2.0/24 is kept for documentation (RFC 5737): no machine has it.
    await expect(listen(server(), '192.0.2.1', 0)).rejects.toThrow('choose another with --host');
  });
});

describe('health', () => {
  const clickhouse = { database: 'x', ping: async () => true, json: async () => [] };
  const metrics = { gaps: () => undefined };
  const empty = { low: async () => 0, end: async () => 0, last: async () => [] } as unknown as EventLog;
  const parts = { clickhouse, metrics, log: empty, blocksTopic: 'blocks', besides: [] };
  const known = async () => null;
  const unproven = 'blocks are not held to validator signatures (--trust none)';

  it.each<[string, Pick<Config, 'trust' | 'network'>, string | undefined]>([
    ['says that nobody proves the blocks', { trust: 'none', network: 'mainnet' }, unproven],
    ['says nothing of it where they are proven', { trust: 'proofs', network: 'mainnet' }, undefined],
    ['says nothing of it where no network is followed', { trust: 'none', network: 'none' }, undefined],
  ])('%s', async (_, config, degraded) => {
    expect(await health({ ...parts, config }, known)).toEqual({ ok: true, ...(degraded && { degraded }) });
  });

  it('says that rows may be missing where the server has set parts of tables aside', async () => {
    const json = async (sql: string) =>
      /detached_parts\s+WHERE database = 'x'/.test(sql) ? [{ table: 'blocks' }] : [];
    const config = { trust: 'proofs', network: 'mainnet' } as const;
    const state = await health(
      { ...parts, clickhouse: { ...clickhouse, json: json as () => Promise<never[]> }, config },
      known,
    );
    expect(state).toMatchObject({ ok: true, degraded: expect.stringContaining('rows may be missing (in blocks)') });
  });

  it('says that the disk of the tables is full', async () => {
    const json = async (sql: string) => (/FROM system\.disks/.test(sql) ? [{ path: '/data/', kept: 2 ** 26 }] : []);
    const config = { trust: 'proofs', network: 'mainnet' } as const;
    const state = await health(
      { ...parts, clickhouse: { ...clickhouse, json: json as () => Promise<never[]> }, config },
      known,
    );
    const degraded = 'the disk of ClickHouse is full: /data/ (but for 64 MB): no step comes into the tables';
    expect(state).toMatchObject({ ok: true, degraded: expect.stringContaining(degraded) });
  });

  it('says that the log does not answer', async () => {
    const away = async () => Promise.reject(new LogError('unavailable', 'no answer from the Kafka brokers'));
    const log = { ...empty, low: away, end: away, last: away };
    const config = { trust: 'proofs', network: 'mainnet' } as const;
    expect(await health({ ...parts, log, config }, known)).toEqual({
      ok: true,
      degraded: 'no answer from the Kafka brokers',
    });
  });

  it('is bad without the tables', async () => {
    const config = { trust: 'none', network: 'none' } as const;
    const state = await health({ ...parts, clickhouse: { ...clickhouse, ping: async () => false }, config }, known);
    expect(state).toEqual({ ok: false, reason: 'the ClickHouse server does not answer' });
  });
});

describe('what is told of running contracts', () => {
  const config = { queryTimeoutMs: 1_000 };
  const away = new NodeError('unavailable', 'no liteserver answers');
  afterEach(() => vi.useRealTimers());

  function watching(beyond: () => Promise<string | null>, head = madeHead(1)) {
    vi.useFakeTimers({ toFake: ['performance'] });
    const warned: string[] = [];
    const logger = { warn: (_: unknown, text?: string) => void warned.push(text ?? ''), debug: () => undefined };
    return { warned, ask: watchExecutor({ beyond }, { config, head, logger }) };
  }

  it('is that the configuration cannot be read, after half a minute and until it can', async () => {
    let answer = (): Promise<string | null> => Promise.reject(away);
    const { ask, warned } = watching(() => answer());
    expect(await ask()).toBeNull();
    vi.advanceTimersByTime(30_000);
    const text = 'the configuration of the chain cannot be read: contracts may not run';
    expect(await ask()).toBe(text);
    expect(await ask()).toBe(text);
    expect(warned).toEqual([text]);
    answer = async () => null;
    expect(await ask()).toBeNull();
    answer = () => Promise.reject(away);
    expect(await ask()).toBeNull();
  });

  it('is what the executor does not know, which the log is told once', async () => {
    const { ask, warned } = watching(async () => 'global version 14');
    const text = 'contracts may run otherwise than on the chain: global version 14';
    expect([await ask(), await ask(), warned]).toEqual([text, text, [text]]);
  });

  it('is nothing where no network is followed', async () => {
    const { ask } = watching(() => Promise.reject(new NoNetworkError()));
    await ask();
    vi.advanceTimersByTime(60_000);
    expect(await ask()).toBeNull();
  });

  it('is nothing before there is a step', async () => {
    const { ask } = watching(() => Promise.reject(away), madeHead(0));
    await ask();
    vi.advanceTimersByTime(60_000);
    expect(await ask()).toBeNull();
  });
});

describe('serve', () => {
  it('keeps the page up to date with the head', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-service-'));
    const log = openEmbeddedLog({ folder });
    // Nobody is there: the part of the page that shows the status is in trouble.
    const clickhouse = createClickHouse({ url: 'http://127.0.0.1:9', database: 'none', logger: silent });
    const head = madeHead(7);
    const blocks = async () => ({ rows: [madeBlock({ mcSeqno: head.seqno })], nextCursor: null });
    const service = await serve({
      config: readConfig([], {}).config,
      clickhouse,
      head,
      log,
      blocksTopic: 'blocks',
      besides: [],
      metrics: createMetrics(),
      mentioned: () => undefined,
      keys: createHostCounts().open(),
      printMetrics: async () => '',
      logger: silent,
      source: createFakeSource({ blocks }).source,
      version: () => String(head.seqno),
      liteservers: noLiteservers(),
      tvm: smallPool(),
      pending: createPendingStore(),
      apis: [],
      async open(opened) {
        const url = httpUrl('127.0.0.1', await listen(opened, '127.0.0.1', 0));
        return { url, close: async () => void opened.close() };
      },
    });
    const stop = new AbortController();
    const heads: unknown[] = [];
    try {
      void listenToEvents(
        `${service.url}/live`,
        (kind, data) => {
          if (kind === 'chain') heads.push([JSON.parse(data).head, JSON.parse(data).steps[0].seqno]);
        },
        stop.signal,
      );
      await vi.waitFor(() => expect(heads).toEqual([[7, 7]]), PATIENCE);
      head.advance(8);
      await vi.waitFor(
        () =>
          expect(heads).toEqual([
            [7, 7],
            [8, 8],
          ]),
        PATIENCE,
      );
    } finally {
      stop.abort();
      await service.close();
      await clickhouse.close();
      await log.close();
      rmSync(folder, { recursive: true });
    }
  });
});
