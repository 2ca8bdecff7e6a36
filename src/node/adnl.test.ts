import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { ADNLClientTCP } from 'adnl';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { type AdnlConnection, type AdnlServerOptions, connectAdnl, listenAdnl } from './adnl.ts';
import { createFrameReader, frameOf, frames, MOST_UNASKED } from './adnl-channel.ts';
import { clientHandshake, keyId, publicKeyOf, sharedSecret } from './adnl-keys.ts';

const SEED = Buffer.alloc(32, 7);
const never = new AbortController().signal;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A server that sends every frame back. */
async function echo(options?: AdnlServerOptions) {
  const accepted: AdnlConnection[] = [];
  const listener = await listenAdnl(
    { host: '127.0.0.1', port: 0, privateKey: SEED },
    (connection) => {
      accepted.push(connection);
      connection.onFrame((payload) => connection.send(payload));
    },
    options,
  );
  closers.push(() => listener.close());
  return { listener, accepted, address: { host: '127.0.0.1', port: listener.port, publicKey: listener.publicKey } };
}

function nextFrame(connection: AdnlConnection): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    connection.onFrame(resolve);
    connection.onClose(reject);
  });
}

function rawSocket(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  closers.push(() => socket.destroy());
  return socket;
}

/** A TCP server that is no ADNL server. */
async function impostor(onSocket: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    closers.push(() => socket.destroy());
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}

describe('keys', () => {
  test('the public key of RFC 8032, 7.1, test 1', () => {
    const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
    expect(publicKeyOf(seed).toString('hex')).toBe('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a');
  });

  test('both sides find the same secret', () => {
    const a = Buffer.alloc(32, 1);
    const b = Buffer.alloc(32, 2);
    expect(sharedSecret(a, publicKeyOf(b))).toEqual(sharedSecret(b, publicKeyOf(a)));
  });

  test('a key that is no point of full order is refused', () => {
    const neutral = Buffer.alloc(32);
    neutral[0] = 1;
    expect(() => clientHandshake(neutral)).toThrow();
  });
});

describe('frames', () => {
  test('come out whole however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 20 }),
        (payloads, cuts) => {
          const stream = Buffer.concat(payloads.map((payload) => frameOf(Buffer.from(payload))));
          const found: Buffer[] = [];
          const reader = createFrameReader(1 << 20, (payload) => found.push(Buffer.from(payload)));
          for (let at = 0, i = 0; at < stream.length; i++) {
            const end = at + cuts[i % cuts.length];
            reader.push(stream.subarray(at, end));
            at = end;
          }
          expect(found.map((payload) => payload.toString('hex'))).toEqual(
            payloads.map((payload) => Buffer.from(payload).toString('hex')),
          );
        },
      ),
    );
  });

  test('a long frame that comes byte by byte', () => {
    const payload = Buffer.alloc(20_000, 0x77);
    const found: Buffer[] = [];
    const reader = createFrameReader(1 << 20, (one) => found.push(one));
    for (const byte of frameOf(payload)) reader.push(Buffer.from([byte]));
    expect(found[0].equals(payload)).toBe(true);
  });

  test('a flipped bit, a short length and a giant length are refused', () => {
    const reader = () => createFrameReader(1000, () => undefined);
    const frame = frameOf(Buffer.from('payload'));
    frame[40] ^= 1;
    expect(() => reader().push(frame)).toThrow('wrong checksum');
    expect(() => reader().push(Buffer.from([63, 0, 0, 0]))).toThrow('frame of 63 bytes');
    expect(() => reader().push(Buffer.from('ffffffff', 'hex'))).toThrow('frame of 4294967295 bytes');
  });
});

describe('connection', () => {
  test('carries frames of every size both ways', async () => {
    const { address } = await echo({ maxFrameBytes: 2 << 20 });
    const connection = await connectAdnl(address, never);
    closers.push(() => connection.close());
    for (const size of [0, 1, 255, 70_000, 1 << 20]) {
      const payload = Buffer.alloc(size, size & 255);
      const back = nextFrame(connection);
      connection.send(payload);
      expect((await back).equals(payload)).toBe(true);
    }
  });

  test('the published client connects and exchanges frames with our server', async () => {
    const { listener } = await echo();
    const client = new ADNLClientTCP(`tcp://127.0.0.1:${listener.port}`, listener.publicKey.toString('base64'));
    closers.push(() => client.end());
    const ready = new Promise((resolve) => client.on('ready', () => resolve(null)));
    await client.connect();
    await ready;
    const back = new Promise<Buffer>((resolve) => client.on('data', resolve));
    client.write(Buffer.from('over the wire'));
    expect((await back).toString()).toBe('over the wire');
  });

  test('the server answers pings and asks for authentication with a nonce', async () => {
    const { address } = await echo();
    const connection = await connectAdnl(address, never, { pingMs: 0 });
    closers.push(() => connection.close());
    const nonce = nextFrame(connection);
    connection.send(frames.encodeCall('tcp.ping', { randomId: 5n }));
    connection.send(frames.encode('tcp.authentificate', { nonce: Buffer.alloc(0) }));
    const answer = frames.decode(await nonce);
    expect(answer.kind).toBe('tcp.authentificationNonce');
  });

  test('a ping is answered with its own id', async () => {
    const { listener } = await echo();
    const client = new ADNLClientTCP(`tcp://127.0.0.1:${listener.port}`, listener.publicKey.toString('base64'));
    closers.push(() => client.end());
    const ready = new Promise((resolve) => client.on('ready', () => resolve(null)));
    await client.connect();
    await ready;
    const back = new Promise<Buffer>((resolve) => client.on('data', resolve));
    client.write(frames.encodeCall('tcp.ping', { randomId: 77n }));
    expect(frames.decode(await back)).toEqual({ kind: 'tcp.pong', randomId: 77n });
  });

  test('pings keep a quiet connection, silence ends it', async () => {
    const { address, accepted } = await echo();
    const connection = await connectAdnl(address, never, { pingMs: 20, silenceMs: 60 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const back = nextFrame(connection);
    connection.send(Buffer.from('still here'));
    expect((await back).toString()).toBe('still here');
    const closed = new Promise<Error>((resolve) => connection.onClose(resolve));
    accepted[0].pause();
    expect(await closed).toMatchObject({ code: 'silent' });
  });

  test('pongs without a ping end the connection', async () => {
    const { address, accepted } = await echo();
    const connection = await connectAdnl(address, never);
    const closed = new Promise<Error>((resolve) => connection.onClose(resolve));
    connection.onFrame(() => undefined);
    await expect.poll(() => accepted.length).toBe(1);
    for (let n = 0; n <= MOST_UNASKED; n++) accepted[0].send(frames.encode('tcp.pong', { randomId: 7n }));
    expect(await closed).toMatchObject({ code: 'flood' });
  });
});

describe('a client facing a bad server', () => {
  const publicKey = publicKeyOf(SEED);
  const at = (port: number) => ({ host: '127.0.0.1', port, publicKey });

  test('refused connection', async () => {
    const port = await impostor(() => undefined);
    await closers.pop()?.();
    await expect(connectAdnl(at(port), never)).rejects.toMatchObject({ code: 'connect' });
  });

  test('no answer to the handshake', async () => {
    const port = await impostor(() => undefined);
    await expect(connectAdnl(at(port), never, { handshakeMs: 50 })).rejects.toMatchObject({ code: 'handshake' });
  });

  test('garbage in place of the answer', async () => {
    const port = await impostor((socket) => socket.write(Buffer.alloc(500, 0x5a)));
    await expect(connectAdnl(at(port), never)).rejects.toMatchObject({ code: 'protocol' });
  });

  test('close during the handshake', async () => {
    const port = await impostor((socket) => socket.end());
    await expect(connectAdnl(at(port), never)).rejects.toMatchObject({ code: 'connect' });
  });

  test('abort during the handshake', async () => {
    const port = await impostor(() => undefined);
    const controller = new AbortController();
    const attempt = connectAdnl(at(port), controller.signal);
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(attempt).rejects.toThrow('enough');
  });

  test('another key than the one expected', async () => {
    const { listener } = await echo();
    const address = { host: '127.0.0.1', port: listener.port, publicKey: publicKeyOf(Buffer.alloc(32, 9)) };
    await expect(connectAdnl(address, never)).rejects.toMatchObject({ code: 'connect' });
  });
});

describe('a server facing bad clients', () => {
  test('garbage, damaged handshakes and points of small order lose their connection, others stay served', async () => {
    const { listener, address, accepted } = await echo();
    const { bytes } = clientHandshake(listener.publicKey);
    const damaged = Buffer.from(bytes);
    damaged[255] ^= 1;
    const small = Buffer.concat([keyId(listener.publicKey), Buffer.alloc(224)]);
    for (const attack of [Buffer.alloc(256, 1), damaged, small]) {
      const socket = rawSocket(listener.port);
      socket.write(attack);
      await once(socket, 'close');
    }
    expect(accepted).toHaveLength(0);
    const connection = await connectAdnl(address, never);
    closers.push(() => connection.close());
    const back = nextFrame(connection);
    connection.send(Buffer.from('alive'));
    expect((await back).toString()).toBe('alive');
  });

  test('garbage after a right handshake and giant frames end the connection', async () => {
    const { listener, address } = await echo();
    const socket = rawSocket(listener.port);
    socket.write(Buffer.concat([clientHandshake(listener.publicKey).bytes, Buffer.alloc(4096, 3)]));
    socket.resume();
    await once(socket, 'close');
    const connection = await connectAdnl(address, never);
    const closed = new Promise<Error>((resolve) => connection.onClose(resolve));
    connection.send(Buffer.alloc(300 << 10));
    expect(await closed).toMatchObject({ code: 'closed' });
  });

  test('a handshake that does not end is cut off', async () => {
    const { listener } = await echo({ handshakeMs: 50 });
    const socket = rawSocket(listener.port);
    socket.write(Buffer.alloc(100));
    await once(socket, 'close');
    await expect.poll(() => listener.connections).toBe(0);
  });

  test('connections over the limit are closed', async () => {
    const { address } = await echo({ maxConnections: 1 });
    const first = await connectAdnl(address, never);
    closers.push(() => first.close());
    await expect(connectAdnl(address, never)).rejects.toMatchObject({ code: 'connect' });
  });

  test('a client that does not read is cut off by unsent bytes and by time', async () => {
    for (const options of [{ maxUnsentBytes: 1 << 20 }, { stuckMs: 50 }]) {
      const { address, accepted } = await echo(options);
      const connection = await connectAdnl(address, never, { pingMs: 0 });
      closers.push(() => connection.close());
      connection.pause();
      await expect.poll(() => accepted.length).toBe(1);
      const closed = new Promise<Error>((resolve) => accepted[0].onClose(resolve));
      for (let i = 0; i < 16; i++) accepted[0].send(Buffer.alloc(1 << 20));
      expect(await closed).toHaveProperty('code');
    }
  });
});
