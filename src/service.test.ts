import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { listen } from './service.ts';

const servers: Server[] = [];
function server(): Server {
  const made = createServer();
  servers.push(made);
  return made;
}

afterEach(async () => {
  for (const used of servers.splice(0).filter(({ listening }) => listening)) {
    used.close();
    await once(used, 'close');
  }
});

describe('listen', () => {
  it('tells the port that a free choice gave', async () => {
    expect(await listen(server(), '127.0.0.1', 0)).toBeGreaterThan(0);
  });

  it('names the setting when the port is taken', async () => {
    const port = await listen(server(), '127.0.0.1', 0);
    await expect(listen(server(), '127.0.0.1', port)).rejects.toThrow(
      `port ${port} of 127.0.0.1 is in use: stop what listens there or choose another with --port`,
    );
  });

  it('names the setting when the address is not of this machine', async () => {
    // 192.0.2.0/24 is kept for documentation (RFC 5737): no machine has it.
    await expect(listen(server(), '192.0.2.1', 0)).rejects.toThrow('choose another with --host');
  });
});
