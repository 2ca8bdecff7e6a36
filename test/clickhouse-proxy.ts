/** An HTTP proxy before a ClickHouse server that calls back before a statement is passed on. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface ClickHouseProxy {
  url: string;
  close(): Promise<void>;
}

/**
 * `refuse` is asked for every statement in a request's body, and may take its time; true drops the connection instead
 * of passing it on.
 */
export async function startClickHouseProxy(
  target: string,
  refuse: (sql: string) => boolean | Promise<boolean>,
): Promise<ClickHouseProxy> {
  const server = createServer(async (asked, answer) => {
    const body = await buffer(asked);
    if (await refuse(body.toString('latin1'))) {
      asked.socket.destroy();
      return;
    }
    const { host: _, connection: __, 'transfer-encoding': ___, ...headers } = asked.headers;
    const passed = request(
      new URL(asked.url ?? '/', target),
      { method: asked.method ?? 'GET', agent: false, headers: { ...headers, 'content-length': body.length } },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      },
    );
    passed.on('error', () => answer.destroy());
    passed.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
