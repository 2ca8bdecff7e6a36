import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Connection, openConnection, ResultTooLarge, ServerError, type Statement } from './connection.ts';
import { describeFailure } from './query-error.ts';

type Heard = Pick<IncomingMessage, 'url' | 'headers'> & { body: Buffer };

let server: Server | null = null;
let connection: Connection | null = null;
/** Connections that were made. */
let sockets = 0;

afterEach(() => {
  connection?.close();
  server?.closeAllConnections();
  server?.close();
  sockets = 0;
});

/** A server that answers so, and a connection to it. */
async function open(
  answer: (response: ServerResponse, heard: Heard) => void,
  { path = '', maxConnections = 4, idleMs = 5_000 } = {},
): Promise<Connection> {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    answer(response, { url: request.url, headers: request.headers, body: Buffer.concat(chunks) });
  });
  server.on('connection', () => sockets++);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  connection = openConnection({ url, username: 'someone', password: 'pass:word', maxConnections, idleMs });
  return connection;
}

const statement = (more: Partial<Statement> = {}): Statement => ({
  sql: 'SELECT 1',
  queryId: 'an id',
  settings: {},
  maxBytes: 1_000,
  signal: AbortSignal.timeout(10_000),
  ...more,
});

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

describe('a connection to ClickHouse', () => {
  it('sends a statement as the body, with its id, settings and parameters, under the path of its URL', async () => {
    const heard: Heard[] = [];
    const to = await open((response, one) => void response.end('answer', () => heard.push(one)), { path: '/house' });
    const parameters = [['name', "a\\'b & c"]] as const;
    const { bytes } = await to.run(statement({ settings: { max_threads: 1, database: 'é' }, parameters }));
    expect(bytes.toString()).toBe('answer');
    const [{ url, headers, body }] = heard;
    const { pathname, searchParams } = new URL(url ?? '', 'http://server');
    expect(pathname).toBe('/house/');
    expect(Object.fromEntries(searchParams)).toEqual({
      query_id: 'an id',
      max_threads: '1',
      database: 'é',
      param_name: "a\\'b & c",
    });
    expect(body.toString()).toBe('SELECT 1');
    expect(headers.authorization).toBe(`Basic ${Buffer.from('someone:pass:word').toString('base64')}`);
  });

  it('sends the rows of an INSERT as the body, of a known length, and its statement beside', async () => {
    const heard: Heard[] = [];
    const to = await open((response, one) => void response.end(() => heard.push(one)));
    const values = [Buffer.from('first'), Buffer.alloc(300_000, 7), Buffer.from('last')];
    await to.run(statement({ sql: 'INSERT INTO t FORMAT RowBinary', values }));
    expect(heard[0].body.equals(Buffer.concat(values))).toBe(true);
    expect(heard[0].headers['content-length']).toBe('300009');
    expect(new URL(heard[0].url ?? '', 'http://server').searchParams.get('query')).toBe(
      'INSERT INTO t FORMAT RowBinary',
    );
  });

  it('is used again, and not once the server has said that it closes it', async () => {
    let keep = 'timeout=30';
    const to = await open((response) => void response.setHeader('Keep-Alive', keep).end('1'));
    for (let i = 0; i < 5; i++) await to.run(statement());
    expect(sockets).toBe(1);
    keep = 'timeout=1';
    for (let i = 0; i < 3; i++) await to.run(statement());
    expect(sockets).toBe(3);
  });

  it('is not used where the server has closed it meanwhile', async () => {
    const to = await open((response) => void response.end('1'));
    for (let i = 0; i < 3; i++) {
      await to.run(statement());
      server?.closeAllConnections();
      // As long as the news takes.
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(sockets).toBe(3);
  });

  it('is closed when it is not used for a while, not while an answer takes long', async () => {
    const to = await open((response) => void setTimeout(() => response.end('1'), 300), { idleMs: 50 });
    await to.run(statement());
    const connected = (): Promise<number> =>
      new Promise((resolve) => server?.getConnections((_, count) => resolve(count)));
    await expect.poll(connected, { timeout: 5_000 }).toBe(0);
    expect(sockets).toBe(1);
  });

  it('has so many statements at a time at most', async () => {
    let running = 0;
    let most = 0;
    const to = await open(
      (response) => {
        most = Math.max(most, ++running);
        setTimeout(() => {
          running--;
          response.end('1');
        }, 20);
      },
      { maxConnections: 2 },
    );
    await Promise.all(Array.from({ length: 7 }, () => to.run(statement())));
    expect(most).toBe(2);
  });

  it('tells the code, the type and the words of an exception, also where the type is not told', async () => {
    const said =
      "Code: 60. DB::Exception: Unknown table 'a (b)'. (UNKNOWN_TABLE) (version 26.7.2.1 (official build))\n";
    let text = said;
    const to = await open((response) => void response.writeHead(404).end(text));
    const full = await failure(to.run(statement()));
    expect(full).toMatchObject({ code: 60, type: 'UNKNOWN_TABLE', message: "Unknown table 'a (b)'." });
    text = 'Code: 999. DB::NetException: went away';
    expect(await failure(to.run(statement()))).toMatchObject({ code: 999, type: null, message: 'went away' });
  });

  it('finds an exception behind a status that says nothing of it', async () => {
    const to = await open((response) => {
      response.setHeader('X-ClickHouse-Exception-Code', '241');
      response.end('Code: 241. DB::Exception: too much (MEMORY_LIMIT_EXCEEDED) (version 26.7)');
    });
    expect(await failure(to.run(statement()))).toMatchObject({ code: 241, type: 'MEMORY_LIMIT_EXCEEDED' });
  });

  it('tells what else may answer in the place of the server', async () => {
    const to = await open((response) => void response.writeHead(502).end('<h1>Bad Gateway</h1>'));
    const error = await failure(to.run(statement()));
    expect(error).toBeInstanceOf(ServerError);
    expect(describeFailure(error, 'asking', 'id')).toMatchObject({
      code: 'server',
      detail: 'HTTP 502: <h1>Bad Gateway</h1>',
    });
  });

  it('tells an answer that breaks off from a whole one', async () => {
    const to = await open((response) => {
      response.writeHead(200, { 'Content-Length': 100 });
      response.write('half', () => response.destroy());
    });
    const error = await failure(to.run(statement()));
    expect(describeFailure(error, 'asking', 'id').code).toBe('connection');
  });

  it('reads no more than it may, and ends with its signal before, while and after the answer begins', async () => {
    const to = await open((response) => {
      response.writeHead(200);
      response.write(Buffer.alloc(500));
    });
    expect(await failure(to.run(statement({ maxBytes: 100 })))).toBeInstanceOf(ResultTooLarge);
    for (const signal of [AbortSignal.abort(), AbortSignal.timeout(0)]) {
      expect(await failure(to.run(statement({ signal })))).toMatchObject({ name: 'AbortError' });
    }
    // In the middle of an answer it is the socket that breaks.
    expect(await failure(to.run(statement({ signal: AbortSignal.timeout(100) })))).toMatchObject({
      code: 'ECONNRESET',
    });
  });

  it('ends with its own end, whoever waits', async () => {
    const to = await open(() => undefined);
    const waiting = failure(to.run(statement()));
    await new Promise((resolve) => setTimeout(resolve, 50));
    to.close();
    expect(describeFailure(await waiting, 'asking', 'id').code).toBe('connection');
  });
});
