/**
 * HTTP to a ClickHouse server, over connections that are kept: a statement goes out in one piece and its answer is read
 * as it comes. What a statement costs here is counted: a request to the API takes several, a step of the chain dozens.
 *
 * The interface: https://clickhouse.com/docs/interfaces/http
 */
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

/** By their names; strings where a number has more digits than one of JavaScript. */
export type Settings = Record<string, string | number>;

export interface ConnectionOptions {
  /** Base URL: what stands in its path goes before every path. */
  url: string;
  username: string;
  password: string;
  /** Statements at a time; further ones wait. */
  maxConnections: number;
  /** A connection that is not used so long is closed: before the server does it, which may cross with a statement. */
  idleMs?: number;
}

export interface Statement {
  /** An INSERT, with its FORMAT, where there are values. */
  sql: string;
  /** What an INSERT inserts. */
  values?: readonly Buffer[] | null;
  queryId: string;
  settings: Settings;
  /** Values of `{name:Type}` in the statement, in the server's escaped form. */
  parameters?: Iterable<readonly [string, string]>;
  /** An answer beyond is not read on. */
  maxBytes: number;
  signal: AbortSignal;
}

export interface Answer {
  bytes: Buffer;
  /** `X-ClickHouse-Summary`: JSON of what was read, written and returned. Complete with `wait_end_of_query` alone. */
  summary: string;
}

export interface Connection {
  /** @throws {ServerError} what the server says; {ResultTooLarge}; errors of sockets, also where the signal aborts */
  run(statement: Statement): Promise<Answer>;
  /** Whether the server answers. */
  ping(signal: AbortSignal): Promise<boolean>;
  /** Drops the connections; who waits for an answer gets an error. */
  close(): void;
}

/** The server's own words. */
export class ServerError extends Error {
  override name = 'ServerError';
  /** https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp; null where something else answered. */
  readonly code: number | null;
  /** The code's name. */
  readonly type: string | null;

  constructor(message: string, code: number | null, type: string | null) {
    super(message);
    this.code = code;
    this.type = type;
  }
}

export class ResultTooLarge extends Error {
  override name = 'ResultTooLarge';
}

const IDLE_MS = 5_000;
const OK = 200;
/** Of an error's text: the server quotes statements. */
const MAX_ERROR_BYTES = 64 * 1024 * 1024;
const MAX_PING_BYTES = 1024;
const EXCEPTION = /^Code: (\d+)\. DB::\w*Exception: /;
const TYPE = /\s*\(([A-Z][A-Z0-9_]*)\)\s*(?:\(version [^)]*\)+)?\s*$/;
/** Characters at the end that have the type. */
const TYPE_LENGTH = 300;

export function openConnection(options: ConnectionOptions): Connection {
  const { url, username, password, maxConnections, idleMs = IDLE_MS } = options;
  const base = new URL(url);
  const isHttps = base.protocol === 'https:';
  const request = isHttps ? requestHttps : requestHttp;
  const agent = new (isHttps ? HttpsAgent : HttpAgent)({
    keepAlive: true,
    maxSockets: maxConnections,
    maxFreeSockets: maxConnections,
    timeout: idleMs,
    scheduling: 'lifo',
  });
  const path = base.pathname.replace(/\/*$/, '/');
  const common: RequestOptions = {
    agent,
    hostname: base.hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(base.port === '' ? {} : { port: base.port }),
  };
  const headers = {
    Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    'User-Agent': 'tonstream',
  };

  function send(asked: RequestOptions, body: string | readonly Buffer[]): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request({ ...common, ...asked });
      // Also of what happens after the answer began, which its reader hears of as well.
      sent.on('error', reject);
      sent.on('response', resolve);
      if (typeof body === 'string') {
        sent.end(body);
        return;
      }
      sent.cork();
      for (const chunk of body) sent.write(chunk);
      sent.end();
    });
  }

  return {
    async run({ sql, values = null, queryId, settings, parameters = [], maxBytes, signal }) {
      const query = new URLSearchParams({ query_id: queryId });
      for (const name in settings) query.set(name, String(settings[name]));
      for (const [name, value] of parameters) query.set(`param_${name}`, value);
      if (values !== null) query.set('query', sql);
      const length = values === null ? Buffer.byteLength(sql) : values.reduce((sum, { length: one }) => sum + one, 0);
      const asked = {
        method: 'POST',
        path: `${path}?${query}`,
        headers: { ...headers, 'Content-Length': length },
        signal,
      };
      const answer = await send(asked, values ?? sql);
      const isError = answer.statusCode !== OK || answer.headers['x-clickhouse-exception-code'] !== undefined;
      if (isError) throw await readError(answer);
      const summary = answer.headers['x-clickhouse-summary'];
      return { bytes: await readBounded(answer, maxBytes), summary: typeof summary === 'string' ? summary : '{}' };
    },
    async ping(signal) {
      try {
        const answer = await send({ method: 'GET', path: `${path}ping`, headers, signal }, '');
        await readBounded(answer, MAX_PING_BYTES);
        return answer.statusCode === OK;
      } catch {
        return false;
      }
    },
    close: () => agent.destroy(),
  };
}

function readBounded(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    answer.on('error', reject);
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) answer.destroy(new ResultTooLarge(`the result passes ${maxBytes} bytes`));
      else chunks.push(chunk);
    });
    answer.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, bytes)));
    // However it ended: who waits hears of it.
    answer.on('close', () => reject(new Error('aborted')));
  });
}

async function readError(answer: IncomingMessage): Promise<ServerError> {
  const text = (await readBounded(answer, MAX_ERROR_BYTES)).toString('utf8');
  const code = EXCEPTION.exec(text);
  // Not the server's own form: of what stands between, say.
  if (code === null)
    return new ServerError(`HTTP ${answer.statusCode}: ${text.trim() || 'an empty answer'}`, null, null);
  const type = TYPE.exec(text.slice(-TYPE_LENGTH));
  const said = text.slice(code[0].length, text.length - (type?.[0].length ?? 0));
  return new ServerError(said.trim(), Number(code[1]), type?.[1] ?? null);
}
