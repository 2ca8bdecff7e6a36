/** What a service does with more requests than it takes, and for clients that go away: through a real ClickHouse. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../clickhouse/test-server.ts';
import { type ClickHouseProxy, startClickHouseProxy } from './clickhouse-proxy.ts';
import { type Stack, startStack, until } from './stack.ts';

let server: TestServer;
let proxy: ClickHouseProxy;
let stack: Stack;
/** Statements that came through, and those that are held back. */
let seen: string[] = [];
let held: (() => void)[] | null = null;

beforeAll(async () => {
  server = await startTestServer();
  proxy = await startClickHouseProxy(server.server.url, async (sql) => {
    seen.push(sql);
    if (held !== null && sql.includes('FROM messages')) await new Promise<void>((resolve) => held?.push(resolve));
    return false;
  });
  stack = await startStack({
    command: 'api',
    environment: {
      CLICKHOUSE_URL: proxy.url,
      TONSTREAM_CONCURRENT_QUERIES: '1',
      TONSTREAM_QUEUED_QUERIES: '1',
      TONSTREAM_QUERY_TIMEOUT_MS: '60000',
    },
  });
});

afterAll(async () => {
  await stack?.remove();
  await proxy?.close();
  await server?.remove();
});

let asked = 0;
/** Something new each time: the same question would be answered together with the ones before. */
const ask = (signal?: AbortSignal): Promise<Response> =>
  fetch(`${stack.url}/api/v3/messages?opcode=${++asked}`, signal ? { signal } : {});

function letGo(): void {
  const waiting = held ?? [];
  held = null;
  for (const go of waiting) go();
}

describe('a service of one query at a time and one in the queue', () => {
  it('answers 429 with Retry-After to more, and the others in full', async () => {
    held = [];
    const first = ask();
    await until('the first query runs', async () => held?.length || null);
    // The place in the queue may be the head's for a moment: whoever waits is kept, until one is refused.
    const waiting = [first];
    const refused = await until('a request is refused', async () => {
      const request = ask();
      const response = await Promise.race([request, sleep(1000, null)]);
      if (response === null) waiting.push(request);
      return response?.status === 429 ? response : null;
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toEqual({ error: expect.any(String) });
    letGo();
    for (const response of await Promise.all(waiting)) {
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ messages: [] });
    }
  });

  it('ends the query of a client that hangs up', async () => {
    held = [];
    seen = [];
    const hangUp = new AbortController();
    const request = ask(hangUp.signal);
    await until('the query runs', async () => held?.length || null);
    hangUp.abort();
    await expect(request).rejects.toThrow();
    await until('the query is killed', async () => (seen.some((sql) => sql.includes('KILL QUERY')) ? true : null));
    letGo();
    // Its place is free again.
    expect((await ask()).status).toBe(200);
  });
});
