import { once } from 'node:events';
import { createServer, get, type ServerResponse } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { readInTurn } from './in-turn.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Answers at `/now`, and keeps all else for the test to answer. */
async function open(read: 'heads' | 'bodies') {
  const asked: { path: string; body: string; response: ServerResponse }[] = [];
  const server = createServer({ maxHeaderSize: 1024 * 1024 }, async (request, response) => {
    const { url = '' } = request;
    if (url === '/now') return response.end('now');
    let body = '';
    if (read === 'bodies') for await (const chunk of request) body += chunk;
    asked.push({ path: url.split('?')[0], body, response });
  });
  readInTurn(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  /** Whatever has arrived is read by then. */
  const others = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      const [response] = await once(get({ port, path: '/now', agent: false }), 'response');
      await once(response.resume(), 'end');
    }
  };
  return { asked, port, others };
}

it.each(['heads', 'bodies'] as const)('reads one after the other of large requests by %s', async (read) => {
  const { asked, port, others } = await open(read);
  const asking = createConnection(port, '127.0.0.1');
  let text = '';
  asking.setEncoding('latin1').on('data', (more: string) => {
    text += more;
  });
  const paths = Array.from({ length: 12 }, (_, i) => `/${i}`);
  const filling = 'x'.repeat(300_000);
  for (const path of paths) {
    const head = read === 'heads' ? `GET ${path}?${filling}` : `POST ${path}`;
    const body = read === 'heads' ? '\r\n' : `Content-Length: ${filling.length}\r\n\r\n${filling}`;
    asking.write(`${head} HTTP/1.1\r\nHost: x\r\n${body}`);
  }
  const answered: string[] = [];
  while (answered.length < paths.length) {
    while (asked.length === 0) await others();
    await others();
    // One is answered while the next is read.
    expect(asked.length).toBeLessThanOrEqual(2);
    const [{ path, body, response }] = asked.splice(0, 1);
    expect(body.length).toBe(read === 'heads' ? 0 : filling.length);
    response.end(`at ${path};`);
    answered.push(path);
  }
  while (!text.includes(`at ${paths.at(-1)};`)) await once(asking, 'data');
  expect(answered).toEqual(paths);
  expect(Array.from(text.matchAll(/at (\/\d+);/g), ([, path]) => path)).toEqual(paths);
  asking.destroy();
});

it('answers many small ones that come at once', async () => {
  const { asked, port } = await open('heads');
  const asking = createConnection(port, '127.0.0.1');
  let [text, count] = ['', 0];
  asking.setEncoding('latin1').on('data', (more: string) => {
    text += more;
  });
  asking.write(Array.from({ length: 5_000 }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
  while (!text.includes('at /4999;')) {
    await new Promise((resolve) => setImmediate(resolve));
    // The last first.
    for (const { path, response } of asked.splice(0).reverse()) response.end(`at ${path};`);
    count++;
  }
  expect(count).toBeGreaterThan(0);
  expect(text.match(/at \/\d+;/g)).toHaveLength(5_000);
  asking.destroy();
});
