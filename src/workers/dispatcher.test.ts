import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { listen } from '../listen.ts';
import { createDispatcher } from './dispatcher.ts';

const MAX_WAITING = 1_024;
const SHOWN = 'tonstream_connections_refused_total';

it('keeps connections for workers that are not there yet, up to a limit, and ends them with itself', async () => {
  const registry = new Registry();
  const dispatcher = createDispatcher(registry);
  const port = await listen(dispatcher.server, '127.0.0.1', 0);
  const connect = async (): Promise<Socket> => {
    const socket = createConnection(port, '127.0.0.1').resume();
    await once(socket, 'connect');
    return socket;
  };
  const kept: Socket[] = [];
  while (kept.length < MAX_WAITING) kept.push(await connect());
  expect(await registry.metrics()).toContain(`${SHOWN} 0\n`);
  await once(await connect(), 'close');
  expect(await registry.metrics()).toContain(`${SHOWN} 1\n`);
  expect(kept.filter(({ closed }) => closed)).toHaveLength(0);
  const ended = kept.map((socket) => once(socket, 'close'));
  dispatcher.close();
  await Promise.all(ended);
});

it('ends a connection that cannot be handed over to a worker that lives', async () => {
  const dispatcher = createDispatcher(new Registry());
  const port = await listen(dispatcher.server, '127.0.0.1', 0);
  const worker = {
    isConnected: () => true,
    send(...said: unknown[]): boolean {
      const told = said.at(-1);
      if (typeof told === 'function') told(new Error('cannot be sent'));
      return false;
    },
  };
  dispatcher.add(worker);
  await once(createConnection(port, '127.0.0.1').resume(), 'close');
  dispatcher.close();
});
