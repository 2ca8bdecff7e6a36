import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { createClickHouse } from '../../clickhouse/client.ts';
import { silent } from '../../clickhouse/test-server.ts';
import { untilAnswers } from './parts.ts';

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
