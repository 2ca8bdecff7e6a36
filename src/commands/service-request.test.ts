import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { runExport } from './export.ts';
import { askService } from './service-request.ts';
import { runSql } from './sql.ts';

const folder = mkdtempSync(join(tmpdir(), 'tonstream-asked-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Where nobody listens. */
const NOBODY = 2;
const print = (): void => undefined;
const settings = (port: number, ...words: string[]) => readConfig(['--port', String(port), ...words], {}).config;

async function listening(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

it('says where nobody answers, and what to do', async () => {
  const { signal } = new AbortController();
  const why =
    /no service answers at http:\/\/127\.0\.0\.1:2\/api\/\w+\S*: .*ECONNREFUSED.*; start one with "tonstream start"/;
  await expect(runSql(settings(NOBODY), ['SELECT 1'], {}, { print, signal })).rejects.toThrow(why);
  await expect(runExport(settings(NOBODY), ['blocks', folder], {}, { print, signal })).rejects.toThrow(why);
});

it('says that a service does not answer in time, or breaks off', async () => {
  const { signal } = new AbortController();
  const server = await listening((request, response) => {
    if (request.url === '/cut') response.writeHead(200, { 'content-length': 9 }).write('a', () => response.destroy());
  });
  const url = `http://127.0.0.1:${server.port}`;
  await expect(askService(url, { timeoutMs: 50, signal })).rejects.toThrow(`${url} has not answered within 0.05 s`);
  await expect(askService(`${url}/cut`, { timeoutMs: 5_000, signal })).rejects.toThrow('/cut: the answer broke off: ');
  server.close();
});

it('waits for an answer that has begun as long as the service would, and no longer than one that is stopped', async () => {
  const server = await listening((request, response) => {
    response.writeHead(200, { 'content-length': 4 }).write('ro');
    if (request.url === '/slow') setTimeout(() => response.end('ws'), 2_500);
  });
  const url = `http://127.0.0.1:${server.port}`;
  const stop = new AbortController();
  const asked = { timeoutMs: 2_000, signal: stop.signal };
  const { bytes } = await askService(`${url}/slow`, asked);
  expect(Buffer.from(bytes).toString()).toBe('rows');
  setTimeout(() => stop.abort(), 20);
  await expect(askService(url, asked)).rejects.toThrow('stopped before the answer was there');
  server.close();
});

it('sql is stopped while it waits for a statement', async () => {
  const stop = new AbortController();
  const ran = runSql(settings(NOBODY), [], {}, { print, signal: stop.signal, stdin: new PassThrough() });
  stop.abort();
  await expect(ran).rejects.toThrow('stopped before there was a statement');
});

it('an export that is stopped between two files has not ended well', async () => {
  const stop = new AbortController();
  const server = await listening((_request, response) => {
    response.writeHead(200, { 'x-to-seqno': '7', link: '<>; rel="next"' }).end('rows');
  });
  const io = { print: () => stop.abort(), signal: stop.signal };
  await expect(runExport(settings(server.port), ['blocks', folder], {}, io)).rejects.toThrow('stopped before');
  expect(readdirSync(folder)).toEqual(['blocks-0-7.parquet']);
  server.close();
});

it('an export begins at a seqno alone', async () => {
  const { signal } = new AbortController();
  const run = (from: string) =>
    runExport(settings(NOBODY, '--from', from), ['messages', folder], {}, { print, signal });
  await expect(run('2026-11-01')).rejects.toThrow('--from: export begins at a masterchain seqno, not at "2026-11-01"');
  await expect(run('12')).rejects.toThrow('/api/export/messages?from=12&');
  await expect(run('genesis')).rejects.toThrow('/api/export/messages?from=0&');
});
