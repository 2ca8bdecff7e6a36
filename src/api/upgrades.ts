/** Requests to go on in another protocol than HTTP (RFC 9110, 7.8; WebSocket: RFC 6455). */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { InTurn } from './in-turn.ts';
import { hasTooManyHeaders, pathOf } from './request.ts';

/** Takes the connection over. `head`: what the client has sent after its request already. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Hands requests for WebSocket to whoever takes them at their path. All others are answered as if they had not asked:
 * Java's client, for one, asks for HTTP/2 with every request. What was asked before on the connection is answered first.
 * @param upgrades by path in lower case, without a slash at the end
 */
export function takeUpgrades(server: Server, upgrades: ReadonlyMap<string, Upgrade>, inTurn: InTurn): void {
  if (upgrades.size === 0) return;
  const take: Upgrade = (request, socket, head) => {
    // Its key may be among those that were not read, or the length of its body, which is no request then.
    if (hasTooManyHeaders(request)) return refuse(socket);
    const wanted = request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket';
    const upgrade = wanted ? upgrades.get(pathOf(request.url ?? '')) : undefined;
    if (upgrade !== undefined) upgrade(request, socket, head);
    else readAgain(server, request, socket, head);
  };
  server.on('upgrade', (request, socket, head) => {
    if (!inTurn.isOpen(socket)) return take(request, socket, head);
    void inTurn.answered(socket).then(() => {
      // The last answer may have been the end.
      if (!socket.destroyed && socket.writable) take(request, socket, head);
    });
  });
}

const TOO_MANY_HEADERS = 'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n';

/** Whoever it is need not have read the rest. */
function refuse(socket: Duplex): void {
  socket.on('error', () => undefined);
  socket.end(TOO_MANY_HEADERS, () => socket.destroy());
}

const ASKING = new Set(['upgrade', 'http2-settings']);

const withoutAsking = (options: string): string =>
  options
    .split(',')
    .filter((option) => !ASKING.has(option.trim().toLowerCase()))
    .join(',');

/** The connection begins anew with the same request, which asks for no upgrade. */
function readAgain(server: Server, { method, url, rawHeaders }: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i].toLowerCase();
    if (ASKING.has(name)) continue;
    // What else it says of the connection, as that it is the last request, stands.
    const value = name === 'connection' ? withoutAsking(rawHeaders[i + 1]) : rawHeaders[i + 1];
    lines.push(`${rawHeaders[i]}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
