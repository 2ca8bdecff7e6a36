import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createFrames } from './frames.ts';

/** What a client reads of these writes, and then of a message of the library. */
async function read(writes: readonly Buffer[]): Promise<string[]> {
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer().listen(0, '127.0.0.1');
  server.on('upgrade', (request, wire, head) => {
    sockets.handleUpgrade(request, wire, head, (socket) => {
      for (const bytes of writes) wire.write(bytes);
      socket.send('end');
      socket.close();
    });
  });
  await once(server, 'listening');
  const address = server.address();
  const client = new WebSocket(`ws://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
  const texts: string[] = [];
  client.on('message', (data, isBinary) => texts.push(isBinary ? 'binary' : String(data)));
  await once(client, 'close');
  server.close();
  expect(texts.pop()).toBe('end');
  return texts;
}

it('are read as what was added, in few writes, at every length of their header', async () => {
  const writes: Buffer[] = [];
  const frames = createFrames((bytes) => writes.push(bytes));
  const sizes = [0, 1, 125, 126, 127, 65_535, 65_536, 131_062, 131_063, 200_000, 5];
  const texts = sizes.map((size) => 'x'.repeat(size));
  for (const text of texts) frames.add([text.slice(0, 10), Buffer.from(text.slice(10))]);
  frames.add(['"é', Buffer.from('ё"')]);
  expect(frames.waiting).toBeGreaterThan(0);
  frames.flush();
  expect(frames.waiting).toBe(0);
  expect(await read(writes)).toEqual([...texts, '"éё"']);
  expect(writes.length).toBeLessThan(texts.length);
});

it('of several connections do not mix, also when they are filled at the same time', async () => {
  const writes: Buffer[][] = [[], [], []];
  const all = writes.map((own) => createFrames((bytes) => own.push(bytes)));
  for (let round = 0; round < 30; round++) {
    for (const [i, frames] of all.entries()) frames.add([`${i}:${round}`, Buffer.alloc(10_000, 0x61 + i)]);
  }
  for (const frames of all) frames.flush();
  for (const [i, own] of writes.entries()) {
    const expected = Array.from({ length: 30 }, (_, round) => `${i}:${round}${'abc'[i].repeat(10_000)}`);
    expect(await read(own)).toEqual(expected);
  }
});
