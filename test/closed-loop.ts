/** Load for benchmarks: connections that each ask for the next path as soon as they have their answer. */
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';

/** A path to GET, or what to POST there. */
export type LoopRequest = string | { path: string; body: string };

export interface ClosedLoop {
  url: string;
  /** Asked in turn by all connections together. */
  paths: readonly LoopRequest[];
  connections: number;
  /** Ends when both are reached; but not above `maxRequests`. */
  seconds: number;
  minRequests: number;
  maxRequests: number;
}

export interface LoopResult {
  requests: number;
  seconds: number;
  bytes: number;
  /** Milliseconds from a request to the last byte of its answer, ascending. */
  times: number[];
}

const HEAD_END = Buffer.from('\r\n\r\n');
const ANSWER_MS = 60_000;

/**
 * A client that costs little beside the service it measures: HTTP/1.1 on bare sockets, bodies counted and dropped.
 * @throws Error for any answer that is not 200, and without paths
 */
export async function closedLoop(options: ClosedLoop): Promise<LoopResult> {
  const { url, paths, connections, seconds, minRequests, maxRequests } = options;
  if (paths.length === 0) throw new Error('nothing to ask for: the load is too small for this case');
  const { hostname, port, host } = new URL(url);
  const times: number[] = [];
  let asked = 0;
  let bytes = 0;
  const began = performance.now();
  const goesOn = (): boolean =>
    asked < maxRequests && (asked < minRequests || performance.now() - began < seconds * 1000);

  async function run(socket: Socket): Promise<void> {
    await once(socket, 'connect');
    while (goesOn()) {
      const next = paths[asked++ % paths.length];
      const sent = performance.now();
      const length = await ask(
        socket,
        textOf(next, host),
        typeof next === 'string' ? next : `${next.path} ${next.body}`,
      );
      bytes += length;
      times.push(performance.now() - sent);
    }
  }

  const sockets = Array.from({ length: connections }, () =>
    createConnection({ host: hostname, port: Number(port), noDelay: true }),
  );
  try {
    await Promise.all(sockets.map(run));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  const elapsed = (performance.now() - began) / 1000;
  return { requests: times.length, seconds: elapsed, bytes, times: times.sort((a, b) => a - b) };
}

function textOf(next: LoopRequest, host: string): string {
  if (typeof next === 'string') return `GET ${next} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const { path, body } = next;
  return `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Bytes of the body. */
function ask(socket: Socket, request: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let head: Buffer = Buffer.alloc(0);
    let missing = -1;
    let length = 0;
    const done = (error: Error | null): void => {
      socket.off('data', onData).off('error', done).off('close', onClose).off('timeout', onTimeout);
      socket.setTimeout(0);
      if (error) reject(error);
      else resolve(length);
    };
    const onClose = (): void => done(new Error(`the connection ended during ${path.slice(0, 200)}`));
    const onTimeout = (): void => done(new Error(`no answer within ${ANSWER_MS} ms: ${path.slice(0, 200)}`));
    const onData = (chunk: Buffer): void => {
      if (missing < 0) {
        head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        const text = head.toString('latin1', 0, end);
        length = Number(/^content-length: (\d+)$/im.exec(text)?.[1] ?? Number.NaN);
        if (!text.startsWith('HTTP/1.1 200 ') || Number.isNaN(length)) {
          done(new Error(`${head.toString('utf8', 0, 500)} for ${path.slice(0, 200)}`));
          return;
        }
        missing = length - (head.length - end - HEAD_END.length);
      } else missing -= chunk.length;
      if (missing === 0) done(null);
    };
    socket.on('data', onData).on('error', done).on('close', onClose).on('timeout', onTimeout);
    socket.setTimeout(ANSWER_MS);
    socket.write(request);
  });
}
