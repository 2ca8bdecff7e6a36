import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runExport } from './export.ts';

interface Given {
  config: Parameters<typeof runExport>[0];
  folder: string;
  io: Parameters<typeof runExport>[3];
  printed: readonly string[];
}

/** With a service that answers so, and an empty folder. */
async function withService(answer: RequestListener, check: (given: Given) => Promise<void>): Promise<void> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-export-'));
  const printed: string[] = [];
  const { port } = server.address() as AddressInfo;
  const config = { host: '127.0.0.1', port, from: undefined, sqlTimeoutMs: 5_000 };
  const io = { print: (line: string) => void printed.push(line), signal: new AbortController().signal };
  try {
    await check({ config, folder, io, printed });
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
}

it('an export waits where the service is asked too much or is not ready, and goes on', async () => {
  let asked = 0;
  const answer: RequestListener = (_request, response) => {
    asked++;
    if (asked === 1) {
      response.writeHead(429, { 'Retry-After': '0' }).end('{"error":"the quota of this hour is used up"}');
      return;
    }
    if (asked === 2) {
      response.writeHead(503, { 'Retry-After': '0' }).end('{"error":"the tables cannot be asked now"}');
      return;
    }
    response.writeHead(200, { 'X-To-Seqno': '5' }).end('PAR1');
  };
  await withService(answer, async ({ config, folder, io, printed }) => {
    expect(await runExport(config, ['blocks', folder], {}, io)).toBe(0);
    expect(readdirSync(folder)).toEqual(['blocks-0-5.parquet']);
    expect(printed.slice(0, 2)).toEqual([
      'waiting 0 s: the quota of this hour is used up',
      'waiting 0 s: the tables cannot be asked now',
    ]);
  });
});

it('an export asks for fewer steps where the service says so, then for more again, and goes on from where it is told', async () => {
  const asked: (string | null)[] = [];
  const answer: RequestListener = (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://localhost');
    const [from, steps] = [Number(searchParams.get('from')), Number(searchParams.get('steps') ?? 10_000)];
    asked.push(`${from} ${searchParams.get('steps')}`);
    if (steps > 6) {
      response.writeHead(400, { 'X-Steps': String(Math.floor(steps / 4)) }).end('{"error":"take too long"}');
      return;
    }
    const to = Math.min(from + steps - 1, 20);
    response.writeHead(200, { 'X-To-Seqno': String(to), ...(to < 20 && { Link: '<>; rel="next"' }) }).end('PAR1');
  };
  await withService(answer, async ({ config, folder, io, printed }) => {
    expect(await runExport(config, ['blocks', folder], {}, io)).toBe(0);
    expect(asked).toEqual([
      '0 null',
      '0 2500',
      '0 625',
      '0 156',
      '0 39',
      '0 9',
      '0 2',
      '2 3',
      '5 4',
      '9 5',
      '14 7',
      '14 1',
      '15 2',
      '17 3',
      '20 4',
    ]);
    expect(printed[0]).toBe('asking for 2500 steps at a time: take too long');
    asked.length = 0;
    await runExport({ ...config, from: '15' }, ['blocks', folder], {}, io);
    await runExport({ ...config, from: '40' }, ['blocks', folder], {}, io).catch(() => undefined);
    expect(asked.map((one) => one?.split(' ')[0])).toEqual(expect.arrayContaining(['21', '40']));
    expect(asked).not.toContainEqual(expect.stringMatching(/^15 /));
  });
});
