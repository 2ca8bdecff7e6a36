import { once } from 'node:events';
import { createServer, type Server as NetServer } from 'node:net';

/** `http://host:port` with an IPv6 address in brackets. */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The port that was taken. Errors say which setting to change: `--port` and `--host`, behind a prefix if there is one. */
export async function listen(server: NetServer, host: string, port: number, prefix = ''): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const reasons: Record<string, string> = {
      EADDRINUSE: `port ${port} of ${host} is in use: stop what listens there or choose another with --${prefix}port`,
      EACCES: `port ${port} of ${host} needs more rights than this user has: choose another with --${prefix}port`,
      EADDRNOTAVAIL: `${host} is no address of this machine: choose another with --${prefix}host`,
      ENOTFOUND: `${host} is no address of this machine: choose another with --${prefix}host`,
    };
    const reason = typeof code === 'string' ? reasons[code] : undefined;
    if (reason === undefined) throw error;
    throw new Error(reason, { cause: error });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/**
 * For before anything else is started: what would end it at last is said at once.
 * @throws as `listen`
 */
export async function expectFree(host: string, port: number): Promise<void> {
  const server = createServer();
  await listen(server, host, port);
  server.close();
  await once(server, 'close');
}
