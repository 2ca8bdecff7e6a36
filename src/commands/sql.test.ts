import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { runSql } from './sql.ts';

it('sql says that the service is slow where it is, and not that there is none', async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const config = { ...readConfig([], {}).config, port, sqlTimeoutMs: 20 };
    const io = { print: () => undefined, signal: new AbortController().signal };
    await expect(runSql(config, ['SELECT 1'], {}, io)).rejects.toThrow(
      `http://127.0.0.1:${port}/api/sql has not answered within 0.04 s`,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it('sql says in one line what is wrong with its flags', async () => {
  const io = { print: () => undefined, signal: new AbortController().signal };
  const { config } = readConfig([], {});
  await expect(runSql(config, ['SELECT 1'], { format: 'xml' }, io)).rejects.toThrow(
    /^sql: --format: Invalid option: expected one of [^\n]*$/,
  );
  await expect(runSql(config, ['SELECT 1'], { 'as-of': 'now' }, io)).rejects.toThrow(
    /^sql: --as-of: a masterchain seqno is wanted$/,
  );
});
