/**
 * ADNL over TCP on the runtime's own crypto, both sides. The client sends 256 bytes (adnl-keys.ts), the server answers
 * with an empty frame, then frames go both ways. (ton-blockchain/ton: adnl/adnl-ext-connection, adnl-ext-server.)
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  type AdnlConnection,
  AdnlError,
  createChannel,
  frames,
  MAX_FRAME_BYTES,
  MOST_UNASKED,
} from './adnl-channel.ts';
import { clientHandshake, HANDSHAKE_BYTES, keyId, publicKeyOf, serverHandshake } from './adnl-keys.ts';

export { type AdnlConnection, AdnlError, type AdnlErrorCode } from './adnl-channel.ts';

/** Operating-system probes of quiet connections, so that a peer whose host vanished is found out. */
const KEEP_ALIVE_MS = 30_000;

export interface AdnlAddress {
  host: string;
  port: number;
  /** Ed25519 key of the server, 32 bytes. */
  publicKey: Buffer;
}

export interface AdnlClientOptions {
  /** Time for connection and handshake together. Default 10 s. */
  handshakeMs?: number;
  /** A ping goes out this often. Default 5 s; 0 for none. */
  pingMs?: number;
  /** Silence after which the peer counts as gone: nothing heard, though pinged. Default 10 s. */
  silenceMs?: number;
  /** Default 16 MiB. */
  maxFrameBytes?: number;
  /** Default 8 MiB. */
  maxUnsentBytes?: number;
}

/**
 * Connects and shakes hands. The signal ends the attempt, not the connection. Pings and their answers are dealt with
 * here; every other frame goes to `onFrame`.
 * @throws {AdnlError} codes `connect`, `handshake`, `protocol`; the signal's reason when it aborts
 */
export async function connectAdnl(
  address: AdnlAddress,
  signal: AbortSignal,
  options: AdnlClientOptions = {},
): Promise<AdnlConnection> {
  signal.throwIfAborted();
  const { handshakeMs = 10_000, maxFrameBytes = MAX_FRAME_BYTES, maxUnsentBytes = 8 << 20 } = options;
  const where = `${address.host}:${address.port}`;
  const handshake = handshakeWith(address, where);
  const socket = connect({ host: address.host, port: address.port, noDelay: true });
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return new Promise((resolve, reject) => {
    let connected = false;
    const timer = setTimeout(() => {
      fail(new AdnlError(connected ? 'handshake' : 'connect', `${where}: no answer in ${handshakeMs} ms`));
    }, handshakeMs);
    const abort = (): void => fail(signal.reason);
    signal.addEventListener('abort', abort, { once: true });

    function settle(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
    function fail(error: unknown): void {
      settle();
      socket.destroy();
      reject(error);
    }

    socket.once('error', (error) => fail(new AdnlError('connect', `${where}: ${error.message}`, { cause: error })));
    socket.once('close', () => fail(new AdnlError('connect', `${where}: closed during the handshake`)));
    socket.once('connect', () => {
      connected = true;
      socket.write(handshake.bytes);
      const channel = createChannel(socket, handshake.ciphers, { maxFrameBytes, maxUnsentBytes });
      channel.onClose((error) => fail(new AdnlError(error.code, `${where}: ${error.message}`, { cause: error })));
      channel.onFrame((payload) => {
        if (payload.length > 0) return void channel.close('a frame before the handshake was answered');
        settle();
        resolve(withPings(channel, options));
      });
    });
  });
}

function handshakeWith(address: AdnlAddress, where: string): ReturnType<typeof clientHandshake> {
  try {
    return clientHandshake(address.publicKey);
  } catch (error) {
    throw new AdnlError('connect', `${where}: the public key cannot be used`, { cause: error });
  }
}

/** Pings, takes pongs out of the stream, closes the connection of a silent peer. */
function withPings(channel: AdnlConnection, { pingMs = 5_000, silenceMs = 10_000 }: AdnlClientOptions): AdnlConnection {
  const pong = frames.idOf('tcp.pong');
  const waiting: Buffer[] = [];
  let receive: ((payload: Buffer) => void) | null = null;
  /** Pings without their answer. */
  let pings = 0;
  let unasked = 0;
  channel.onFrame((payload) => {
    if (payload.length === 12 && payload.readUInt32LE(0) === pong) {
      if (pings > 0) pings--;
      else if (++unasked > MOST_UNASKED) channel.close(`${unasked} pongs without a ping`, 'flood');
    } else if (receive === null) waiting.push(payload);
    else receive(payload);
  });
  if (pingMs > 0) {
    let heard = channel.receivedBytes;
    let quiet = 0;
    const timer = setInterval(() => {
      // Bytes, not frames: a long frame over a slow line is no silence. Turns, not time: when this process was held
      // up, what has arrived meanwhile is read only after this.
      quiet = channel.receivedBytes === heard ? quiet + 1 : 0;
      heard = channel.receivedBytes;
      if (quiet * pingMs > silenceMs) channel.close(`nothing heard for ${quiet * pingMs} ms`, 'silent');
      else {
        pings++;
        channel.send(frames.encodeCall('tcp.ping', { randomId: randomBytes(8).readBigInt64LE() }));
      }
    }, pingMs);
    timer.unref();
    channel.onClose(() => clearInterval(timer));
  }
  return {
    ...channel,
    get receivedBytes() {
      return channel.receivedBytes;
    },
    get unsentBytes() {
      return channel.unsentBytes;
    },
    onFrame(listener) {
      receive = listener;
      for (const payload of waiting.splice(0)) listener(payload);
    },
  };
}

export interface AdnlServerAddress {
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** Ed25519 seed, 32 bytes. */
  privateKey: Buffer;
}

export interface AdnlServerOptions {
  /** Connections at a time; more are closed at once. Default 256. */
  maxConnections?: number;
  /** Time for the 256 bytes of the handshake. Default 10 s. */
  handshakeMs?: number;
  /** Queries are short: default 256 KiB. */
  maxFrameBytes?: number;
  /** Default 64 MiB. */
  maxUnsentBytes?: number;
  /** A peer that takes no byte for so long while some wait for it is cut off. Default 30 s. */
  stuckMs?: number;
}

export interface AdnlListener {
  readonly port: number;
  readonly publicKey: Buffer;
  /** Connections at the moment, those in the handshake included. */
  readonly connections: number;
  /** Closes every connection, then the port. */
  close(): Promise<void>;
}

/**
 * Accepts connections; `onConnection` gets each one whose handshake is right. Pings and `tcp.authentificate` are
 * answered here. Whatever a peer sends, it can only lose its own connection.
 */
export async function listenAdnl(
  address: AdnlServerAddress,
  onConnection: (connection: AdnlConnection) => void,
  options: AdnlServerOptions = {},
): Promise<AdnlListener> {
  const { maxConnections = 256, stuckMs = 30_000 } = options;
  const publicKey = publicKeyOf(address.privateKey);
  const id = keyId(publicKey);
  const sockets = new Set<Socket>();

  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    closeWhenStuck(socket, stuckMs);
    acceptHandshake(socket, address.privateKey, id, options, onConnection);
  });
  server.maxConnections = maxConnections;
  server.listen(address.port, address.host);
  await once(server, 'listening');
  return {
    port: portOf(server),
    publicKey,
    get connections() {
      return sockets.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function portOf(server: Server): number {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the server is not bound to a TCP port');
  return bound.port;
}

/** A socket that holds bytes and has sent none of them for the whole time belongs to a peer that does not read. */
function closeWhenStuck(socket: Socket, stuckMs: number): void {
  /** Bytes sent when bytes were last seen to wait; -1 when none waited. */
  let before = -1;
  const timer = setInterval(() => {
    const sent = socket.writableLength > 0 ? socket.bytesWritten - socket.writableLength : -1;
    if (sent >= 0 && sent === before) socket.destroy();
    before = sent;
  }, stuckMs);
  timer.unref();
  socket.on('close', () => clearInterval(timer));
}

function acceptHandshake(
  socket: Socket,
  seed: Buffer,
  id: Buffer,
  options: AdnlServerOptions,
  onConnection: (connection: AdnlConnection) => void,
): void {
  const { handshakeMs = 10_000, maxFrameBytes = 256 << 10, maxUnsentBytes = 64 << 20 } = options;
  let held = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), handshakeMs);
  socket.on('close', () => clearTimeout(timer));
  socket.on('data', function take(chunk: Buffer) {
    held = Buffer.concat([held, chunk]);
    if (held.length < HANDSHAKE_BYTES) return;
    socket.off('data', take);
    clearTimeout(timer);
    const ciphers = serverHandshake(held.subarray(0, HANDSHAKE_BYTES), seed, id);
    // A wrong handshake is the peer's affair: it learns nothing but the close.
    if (ciphers === null) return void socket.destroy();
    const limits = { maxFrameBytes, maxUnsentBytes };
    const channel = createChannel(socket, ciphers, limits, held.subarray(HANDSHAKE_BYTES));
    channel.send(Buffer.alloc(0));
    onConnection(withReplies(channel));
  });
}

/**
 * Answers `tcp.ping`, and `tcp.authentificate` with a nonce: some clients wait for it. Who the client says it is does
 * not matter here, so the completion is not checked.
 */
function withReplies(channel: AdnlConnection): AdnlConnection {
  const ping = frames.idOf('tcp.ping');
  const hello = frames.idOf('tcp.authentificate');
  const complete = frames.idOf('tcp.authentificationComplete');
  return {
    ...channel,
    get receivedBytes() {
      return channel.receivedBytes;
    },
    get unsentBytes() {
      return channel.unsentBytes;
    },
    onFrame: (receive) =>
      channel.onFrame((payload) => {
        const id = payload.length < 4 ? -1 : payload.readUInt32LE(0);
        if (id === ping && payload.length === 12) {
          channel.send(frames.encode('tcp.pong', { randomId: payload.readBigInt64LE(4) }));
        } else if (id === hello) channel.send(frames.encode('tcp.authentificationNonce', { nonce: randomBytes(32) }));
        else if (id !== complete) receive(payload);
      }),
  };
}
