import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { text } from '../test/log-conformance.ts';
import { openKafkaLog } from './kafka.ts';

/** Of what is asked: longer than a test may take. */
const PATIENCE_MS = 3_600_000;
const TOPIC = 't.blocks.v1';

let server: Server | null = null;
let sockets: Socket[] = [];

afterEach(() => {
  server?.close();
  for (const socket of sockets) socket.destroy();
});

/** One that takes connections and says nothing, as a process that was stopped does. */
async function silentBroker(): Promise<string> {
  sockets = [];
  server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** One that is away. */
async function noBroker(): Promise<string> {
  const address = await silentBroker();
  server?.close();
  return address;
}

describe('a Kafka log at the end of its process', () => {
  it.each([
    ['is away', noBroker],
    ['says nothing', silentBroker],
  ])('gives up what it waits for when the broker %s', async (_, broker) => {
    const ending = new AbortController();
    const log = openKafkaLog({
      brokers: [await broker()],
      clientId: 'test',
      patienceMs: PATIENCE_MS,
      ending: ending.signal,
    });
    const reading = new AbortController();
    const waiting = Promise.allSettled([
      log.append(TOPIC, [text('a')]),
      log.end(TOPIC),
      log.ensureTopic(TOPIC),
      log.last(TOPIC, 1),
      log.read(TOPIC, 0, { signal: reading.signal })[Symbol.asyncIterator]().next(),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    ending.abort();
    reading.abort();
    const ended = await waiting;
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected', 'fulfilled']);
    await log.close();
  });

  it('closes soon also where nobody has told it of the end', async () => {
    const log = openKafkaLog({ brokers: [await silentBroker()], clientId: 'test', patienceMs: PATIENCE_MS });
    const appended = log.append(TOPIC, [text('a')]).catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await log.close();
    expect(await appended).toMatchObject({ name: 'LogError' });
  });
});
