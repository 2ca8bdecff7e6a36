import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import { logFolder } from '../../streams/open.ts';
import { lastSealed } from '../../streams/step-search.ts';
import { topicNames } from '../../streams/topics.ts';
import { metricOf } from '../../test/metrics.ts';
import { recordedNode } from '../../test/recorded-node.ts';
import { shelf } from '../../test/shelf.ts';
import { readConfig } from '../config.ts';
import { runIngest } from './ingest.ts';

it.skipIf(shelf === null)(
  'the role follows a chain into the log until it is stopped, and closes what it opened',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-role-'));
    const { config } = readConfig(['--data-dir', folder, '--metrics-port', '0'], {});
    const printed: string[] = [];
    const stop = new AbortController();
    const closers: (() => Promise<void> | void)[] = [];
    const running = {
      config,
      logger: pino({ level: 'silent' }),
      print: (line: string) => void printed.push(line),
      shutdown: {
        signal: stop.signal,
        onClose: (_: string, close: () => Promise<void> | void) => closers.push(close),
        stop: () => stop.abort(),
        failure: null,
        done: Promise.resolve(0),
      },
    };
    const node = recordedNode('local-ton4j-2024_a', { head: 40 });
    let closed = 0;
    const chain = {
      node,
      prover: null,
      source: 'devnet' as const,
      servers: () => '1 server',
      states: () => ({ ready: 1 }),
      close: async () => void closed++,
    };
    const out = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: false });
    const work = runIngest(running, async () => chain, { from: 'genesis', standBy: false }, out);
    const log = openEmbeddedLog({ folder: logFolder(config) });
    const topic = topicNames(config.topicPrefix).blocks;
    try {
      while ((await lastSealed(log, topic)).sealed?.mcSeqno !== 40)
        await new Promise((resolve) => setTimeout(resolve, 20));
      const url = printed.join().match(/http:\S+/)?.[0] ?? '';
      const text = await (await fetch(url)).text();
      expect(metricOf(text, 'tonstream_chain_head_mc_seqno')).toBe(40);
      expect(metricOf(text, 'tonstream_liteservers{state="ready"}')).toBe(1);
      expect(metricOf(text, 'process_cpu_seconds_total')).toBeGreaterThan(0);
      const head = await fetch(url, { method: 'HEAD' });
      expect([head.status, head.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
      expect((await fetch(url, { method: 'POST' })).status).toBe(405);
      expect((await fetch(url.replace('/metrics', '//'))).status).toBe(404);
      stop.abort();
      await work;
      for (const close of closers.reverse()) await close();
      expect(closed).toBe(1);
      await expect(fetch(url)).rejects.toThrow();
      expect((await log.last(topic, 1))[0].headers).toMatchObject({ mc: '40', src: 'devnet' });
      expect(String(out.read())).toMatch(/^backfill .* of 40, \d+ behind .* 1 server\n|^at the head {2}step 40 of 40/);
    } finally {
      stop.abort();
      await log.close();
      rmSync(folder, { recursive: true });
    }
  },
);
