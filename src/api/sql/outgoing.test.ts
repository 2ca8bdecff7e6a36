import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOutgoing } from './outgoing.ts';

const MB = 1024 * 1024;
/** More than the system keeps of a connection. */
const body = Buffer.alloc(48 * MB);

describe('answers that are not read', () => {
  let cuts = 0;
  const metrics = { cutOff: () => void cuts++ };
  const patient = createOutgoing({ maxBytes: 80 * MB, metrics });
  const brief = createOutgoing({ maxBytes: 80 * MB, metrics, graceMs: 10, slowestBytesPerMs: 4 * MB });
  let outgoing = patient;
  let sent = 0;
  const server = createServer((request, response) => {
    if (request.url === '/never') return;
    outgoing.send(response, body);
    sent++;
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => server.close());

  async function ask(): Promise<{ socket: ReturnType<typeof connect>; closed: Promise<void> }> {
    const before = sent;
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    while (sent === before) await new Promise((resolve) => setTimeout(resolve, 2));
    return { socket, closed };
  }
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
  };
  const isFull = (): boolean => {
    try {
      outgoing.check();
      return false;
    } catch {
      return true;
    }
  };

  it('keep new ones away, until they are read or their clients leave', async () => {
    const [first, second] = [await ask(), await ask()];
    expect(() => outgoing.check()).toThrow('too many answers');
    first.socket.resume();
    await until(() => !isFull());
    const third = await ask();
    expect(isFull()).toBe(true);
    third.socket.destroy();
    await until(() => !isFull());
    second.socket.destroy();
    first.socket.destroy();
    expect(cuts).toBe(0);
  });

  it('are cut off after a while', async () => {
    outgoing = brief;
    const { socket, closed } = await ask();
    let bytes = 0;
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
    await closed;
    expect(bytes).toBeLessThan(body.length);
    expect(cuts).toBe(1);
  });

  it('count no longer than their time, also behind another answer whose connection is gone', async () => {
    outgoing = createOutgoing({ maxBytes: MB, metrics, graceMs: 50, slowestBytesPerMs: 4 * MB });
    const [before, cut] = [sent, cuts];
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET /never HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until(() => sent > before);
    expect(isFull()).toBe(true);
    socket.destroy();
    await expect.poll(isFull).toBe(false);
    // Node 24 tells of its end itself: then there is nothing to cut off.
    expect(cuts - cut).toBe(process.versions.node.startsWith('24.') ? 0 : 1);
  });
});
