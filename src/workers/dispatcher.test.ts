import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { listen } from '../listen.ts';
import { createDispatcher, type Dispatcher, type Taker } from './dispatcher.ts';

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

it('gives a connection that cannot be handed over to a worker that has just died to another', async () => {
  const dispatcher = createDispatcher(new Registry());
  const port = await listen(dispatcher.server, '127.0.0.1', 0);
  const asked: Error[] = [];
  const dead = {
    isConnected: () => true,
    send(...said: unknown[]): boolean {
      const told = said.at(-1);
      asked.push(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      if (typeof told === 'function') told(asked.at(-1));
      return false;
    },
  };
  dispatcher.add(dead);
  const other = slowWorker(dispatcher);
  const socket = createConnection(port, '127.0.0.1').resume();
  await expect.poll(() => asked).toHaveLength(1);
  dispatcher.remove(dead);
  dispatcher.add(other.worker);
  expect(other.given).toEqual([1]);
  const closed = once(socket, 'close');
  dispatcher.close();
  await closed;
});

/** Takes what it is given when it is told to. */
function slowWorker(dispatcher: Dispatcher) {
  const given: number[] = [];
  const worker: Taker = {
    isConnected: () => true,
    send(message: unknown): boolean {
      given.push((message as { id: number }).id);
      return true;
    },
  };
  return { worker, given, take: () => dispatcher.taken(given[0]) };
}

it('gives a worker few connections at once, so that it hears what else it is told, and the others in their order', async () => {
  const dispatcher = createDispatcher(new Registry());
  const port = await listen(dispatcher.server, '127.0.0.1', 0);
  const [one, other] = [slowWorker(dispatcher), slowWorker(dispatcher)];
  dispatcher.add(one.worker);
  for (let i = 0; i < 100; i++) await once(createConnection(port, '127.0.0.1').resume(), 'connect');
  await expect.poll(() => one.given).toEqual([1, 2, 3, 4]);
  one.take();
  expect(one.given).toEqual([1, 2, 3, 4, 5]);
  dispatcher.add(other.worker);
  expect(other.given).toEqual([6, 7, 8, 9]);
  dispatcher.remove(one.worker);
  for (const id of other.given.slice(0, 3)) dispatcher.taken(id);
  expect(other.given.slice(4)).toEqual([2, 3, 4]);
  for (const id of other.given.slice(3, 5)) dispatcher.taken(id);
  expect(other.given.slice(7)).toEqual([5, 10]);
  dispatcher.close();
});

it('ends connections that no worker takes in time, and gives on those that come later', async () => {
  const registry = new Registry();
  const dispatcher = createDispatcher(registry, { waitingMs: 20 });
  const port = await listen(dispatcher.server, '127.0.0.1', 0);
  const { worker, given } = slowWorker(dispatcher);
  dispatcher.add(worker);
  await Promise.all(Array.from({ length: 10 }, () => once(createConnection(port, '127.0.0.1').resume(), 'close')));
  expect(await registry.metrics()).toContain(`${SHOWN} 10\n`);
  const before = given.length;
  await once(createConnection(port, '127.0.0.1').resume(), 'close');
  expect(given).toHaveLength(before + 1);
  dispatcher.close();
});
