import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReader, type Parameter, QUOTA_KEYS, type Reader, readerStatements, usersXml } from './reader.ts';

describe('the user of SQL', () => {
  it('has the same settings on a server of ours and of others, and reads times as UTC on both', () => {
    const hourly = { queries: 1, rows: 2, seconds: 3 };
    const bounds = { timeoutMs: 4_000, memoryBytes: 50, queries: 6, atOnce: 7, rowsRead: 8, resultBytes: 9 };
    const limits = { database: 'd', ...bounds, hourly };
    const [profile] = readerStatements(limits, 'u');
    const told = [...usersXml(limits, 'u').matchAll(/^ +<(\w+)>([^<]+)<\/\1>$/gm)].map(([, ...one]) => one);
    const settings = told.slice(0, told.findIndex(([name]) => name === 'session_timezone') + 1);
    expect(settings).toContainEqual(['session_timezone', 'UTC']);
    expect(settings).toContainEqual(['max_concurrent_queries_for_user', '7']);
    for (const [name, value] of settings) expect(profile).toMatch(new RegExp(`\\b${name} = '?${value}'? (CONST|MAX)`));
  });
});

describe('the reader of SQL', () => {
  const told: string[] = [];
  let last = new URLSearchParams();
  const server = createServer((request, response) => {
    last = new URL(request.url ?? '', 'http://server').searchParams;
    told.push(last.get('quota_key') ?? '');
    request.resume().on('end', () => response.end());
  });
  let reader: Reader;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    reader = createReader({ url, user: 'u', password: '', database: 'd', maxConnections: 8, kill: () => undefined });
  });
  afterAll(async () => {
    reader.close();
    server.close();
  });

  async function ask(key: string): Promise<void> {
    const asked = { sql: 'SELECT 1', format: 'CSV', head: 1, limit: 1, parameters: new Map(), timeoutMs: 5_000 };
    await reader.ask({ ...asked, key, signal: AbortSignal.timeout(5_000) });
  }

  it('tells parameters in the form that the server reads', async () => {
    const parameters = new Map<string, Parameter>([
      ['text', "it's a \t\\ \n"],
      ['number', 1.5],
      ['flag', true],
      ['some', ["it's", 2, true]],
    ]);
    const asked = { sql: 'SELECT 1', format: 'CSV', head: 1, limit: 1, key: 'someone', timeoutMs: 5_000 };
    await reader.ask({ ...asked, parameters, signal: AbortSignal.timeout(5_000) });
    expect([...last].filter(([name]) => name.startsWith('param_'))).toEqual([
      ['param_text', "it\\'s a \\t\\\\ \\n"],
      ['param_number', '1.5'],
      ['param_flag', '1'],
      ['param_some', "['it\\'s',2,true]"],
    ]);
  });

  const keyOf = (n: number): string => `${n} ${'ü'.repeat(n % 50)}`;

  // The server keeps what it knows of a quota key for good, some 30 KB, and clients choose theirs.
  it('tells the server so many keys at most, whatever clients call themselves', async () => {
    for (let n = 0; n < 3 * QUOTA_KEYS; n += 64) {
      await Promise.all(Array.from({ length: 64 }, (_, i) => ask(keyOf(n + i))));
    }
    const different = new Set(told);
    expect(different.size).toBeLessThanOrEqual(QUOTA_KEYS);
    expect(different.size).toBeGreaterThan(0.9 * QUOTA_KEYS);
  });

  it('has one for a client, also in another process', async () => {
    for (const key of ['alice', 'bob', 'alice']) await ask(key);
    expect(told.slice(-3)).toEqual(['713', '984', '713']);
  });
});
