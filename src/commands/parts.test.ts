import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createClickHouse } from '../../clickhouse/client.ts';
import { serverFolder } from '../../clickhouse/open.ts';
import { serverPaths } from '../../clickhouse/server-config.ts';
import { dropOwnership, takeOwnership } from '../../clickhouse/server-folder.ts';
import { silent } from '../../clickhouse/test-server.ts';
import { readConfig } from '../config.ts';
import { createShutdown } from '../shutdown.ts';
import { openParts, untilAnswers } from './parts.ts';
import { runVerify } from './verify.ts';

const how = { print: () => undefined, signal: new AbortController().signal, waitMs: 0 };

it('says which ClickHouse does not answer, why, and what to do', async () => {
  const url = 'http://127.0.0.1:9';
  const clickhouse = createClickHouse({ url, database: 'not_there_yet', logger: silent });
  await expect(untilAnswers(clickhouse, url, how)).rejects.toThrow(
    /^no ClickHouse answers at http:\/\/127\.0\.0\.1:9 \(.*ECONNREFUSED.*--clickhouse-url$/,
  );
  await clickhouse.close();
});

it('takes a ClickHouse that answers statements alone', async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(request.url === '/ping' ? 404 : 200, { 'x-clickhouse-summary': '{}' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const clickhouse = createClickHouse({ url, database: 'default', logger: silent });
  await untilAnswers(clickhouse, url, how);
  await clickhouse.close();
  server.close();
});

it('who may compare beside a service on its data folder reads how; others that it is to be stopped', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tonstream-parts-'));
  const { config } = readConfig(['--data-dir', dataDir], {});
  const { owner } = serverPaths(serverFolder(config));
  mkdirSync(serverFolder(config));
  await takeOwnership(owner);
  const running = { config, logger: silent, shutdown: createShutdown(silent), print: () => undefined };
  const busy = `clickhouse is in use by process ${process.pid}: stop it or choose another data folder`;
  await expect(openParts(running)).rejects.toThrow(new RegExp(`${busy}$`));
  await expect(runVerify(running)).rejects.toThrow(
    `${busy}, or compare beside it, with the --clickhouse-url that it has printed`,
  );
  await dropOwnership(owner);
  rmSync(dataDir, { recursive: true });
});
