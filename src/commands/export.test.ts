import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runExport } from './export.ts';

it('an export waits where the service says that it is asked too much, and goes on', async () => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    if (asked === 1) {
      response.writeHead(429, { 'Retry-After': '0' }).end('{"error":"the quota of this hour is used up"}');
      return;
    }
    response.writeHead(200, { 'X-To-Seqno': '5' }).end('PAR1');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-export-'));
  const printed: string[] = [];
  try {
    const { port } = server.address() as AddressInfo;
    const config = { host: '127.0.0.1', port, from: undefined, sqlTimeoutMs: 5_000 };
    const io = { print: (line: string) => void printed.push(line), signal: new AbortController().signal };
    expect(await runExport(config, ['blocks', folder], {}, io)).toBe(0);
    expect(readdirSync(folder)).toEqual(['blocks-0-5.parquet']);
    expect(printed[0]).toBe('waiting 0 s: the quota of this hour is used up');
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});
