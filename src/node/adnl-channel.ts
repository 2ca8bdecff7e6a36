import * as crypto from 'node:crypto';
import type { Socket } from 'node:net';
import type { StreamCiphers } from './adnl-keys.ts';
import { frameFunctions, frameTypes } from './lite-schema.ts';
import type { FrameCalls, FrameValues } from './lite-types.ts';
import { createTl } from './tl.ts';

export const frames = createTl<FrameValues, FrameCalls>(frameTypes, frameFunctions);

export type AdnlErrorCode =
  /** The peer could not be reached or closed during the handshake. */
  | 'connect'
  /** The peer did not finish the handshake in time. */
  | 'handshake'
  /** Bytes that no honest peer sends: wrong checksum, frame over the limit. */
  | 'protocol'
  /** Nothing heard for too long. */
  | 'silent'
  /** More answers than there were questions. */
  | 'flood'
  /** More unsent bytes than allowed: the peer does not read. */
  | 'overflow'
  | 'closed';

export class AdnlError extends Error {
  constructor(
    readonly code: AdnlErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'AdnlError';
  }
}

/** An established connection: whole frames in both directions. */
export interface AdnlConnection {
  /** `host:port` of the peer, for messages. */
  readonly peer: string;
  /** Sends a frame. Does nothing after the close. Over the limit of unsent bytes the connection is closed. */
  send(payload: Buffer): void;
  /** The one receiver of frames, the last one set. What comes before the first is set waits in the socket. */
  onFrame(receive: (payload: Buffer) => void): void;
  /** Called once, at once when it is closed already. */
  onClose(closed: (error: AdnlError) => void): void;
  close(reason?: string, code?: AdnlErrorCode): void;
  /** Stops reading from the socket: the peer feels it as back-pressure. */
  pause(): void;
  resume(): void;
  /** Bytes the socket has received, whole frames or not. */
  readonly receivedBytes: number;
  /** Bytes handed to `send` that the socket still holds. */
  readonly unsentBytes: number;
  /** Called whenever the socket has sent all it held. */
  onDrain(drained: () => void): void;
}

export interface ChannelLimits {
  /** Longest frame accepted. Blocks and states are the longest. */
  maxFrameBytes: number;
  /** Unsent bytes that end the connection. */
  maxUnsentBytes: number;
}

/** Frames of a connection that answer nothing that was asked: an honest server sends none. More end it. */
export const MOST_UNASKED = 64;

export const MAX_FRAME_BYTES = 16 << 20;

/** Nonce and checksum around every payload. */
const OVERHEAD = 64;

const EMPTY = Buffer.alloc(0);

/** Chunks below this size are joined once so many have come in a row. */
const SMALL_CHUNK = 4096;
const SMALL_RUN = 64;

/**
 * Cuts a decrypted stream into frames: u32 length, nonce, payload, SHA-256 of nonce and payload. Chunks are kept as
 * they come until a frame is whole, so a length that lies costs no memory before its bytes are there; tiny chunks are
 * joined, so a frame that comes byte by byte costs no object for each byte.
 */
export function createFrameReader(maxFrameBytes: number, onPayload: (payload: Buffer) => void) {
  let chunks: Buffer[] = [];
  let held = 0;
  /** Bytes until the next step can be taken: a length prefix, then a frame. */
  let wanted = 4;
  let inFrame = false;
  let smallRun = 0;

  function hold(chunk: Buffer): void {
    chunks.push(chunk);
    held += chunk.length;
    smallRun = chunk.length < SMALL_CHUNK ? smallRun + 1 : 0;
    if (smallRun < SMALL_RUN || chunks.length < SMALL_RUN) return;
    const joined = Buffer.concat(chunks.splice(-SMALL_RUN));
    chunks.push(joined);
    smallRun = joined.length < SMALL_CHUNK ? 1 : 0;
  }

  function take(size: number): Buffer {
    const all = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, held);
    held -= size;
    chunks = held > 0 ? [all.subarray(size)] : [];
    return all.subarray(0, size);
  }

  function step(): void {
    const bytes = take(wanted);
    if (!inFrame) {
      const length = bytes.readUInt32LE(0);
      if (length < OVERHEAD || length > maxFrameBytes) throw new AdnlError('protocol', `frame of ${length} bytes`);
      wanted = length;
      inFrame = true;
      return;
    }
    const end = bytes.length - 32;
    const hash = crypto.createHash('sha256').update(bytes.subarray(0, end)).digest();
    if (hash.compare(bytes, end) !== 0) throw new AdnlError('protocol', 'frame with a wrong checksum');
    wanted = 4;
    inFrame = false;
    onPayload(bytes.subarray(32, end));
  }

  return {
    /** Takes decrypted bytes. @throws {AdnlError} code `protocol` */
    push(chunk: Buffer): void {
      if (chunk.length === 0) return;
      hold(chunk);
      while (held >= wanted) step();
    },
  };
}

/** A frame, not encrypted yet. */
export function frameOf(payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(4 + OVERHEAD + payload.length);
  frame.writeUInt32LE(OVERHEAD + payload.length, 0);
  crypto.randomFillSync(frame, 4, 32);
  payload.copy(frame, 36);
  const end = 36 + payload.length;
  crypto.createHash('sha256').update(frame.subarray(4, end)).digest().copy(frame, end);
  return frame;
}

/**
 * Frames over a socket whose handshake is done. `first` are bytes that came with the end of the handshake. Reading
 * begins with `onFrame`.
 */
export function createChannel(
  socket: Socket,
  ciphers: StreamCiphers,
  limits: ChannelLimits,
  first: Buffer = EMPTY,
): AdnlConnection {
  let receive: ((payload: Buffer) => void) | null = null;
  const closers: ((error: AdnlError) => void)[] = [];
  let closed: AdnlError | null = null;
  const reader = createFrameReader(limits.maxFrameBytes, (payload) => {
    if (closed === null) receive?.(payload);
  });

  function end(error: AdnlError): void {
    if (closed !== null) return;
    closed = error;
    socket.destroy();
    for (const closer of closers) closer(error);
  }

  function take(chunk: Buffer): void {
    try {
      reader.push(ciphers.inbound.update(chunk));
    } catch (error) {
      end(error instanceof AdnlError ? error : new AdnlError('protocol', 'frame could not be taken', { cause: error }));
    }
  }

  socket.on('error', (error) => end(new AdnlError('closed', error.message, { cause: error })));
  socket.on('close', () => end(new AdnlError('closed', 'connection closed by the peer')));
  const peer = `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? 0}`;

  return {
    peer,
    send(payload) {
      if (closed !== null) return;
      socket.write(ciphers.outbound.update(frameOf(payload)));
      if (socket.writableLength > limits.maxUnsentBytes) {
        end(new AdnlError('overflow', `${socket.writableLength} unsent bytes`));
      }
    },
    onFrame(listener) {
      const reading = receive !== null;
      receive = listener;
      if (reading) return;
      if (first.length > 0) take(first);
      socket.on('data', take);
    },
    onClose(listener) {
      if (closed === null) closers.push(listener);
      else listener(closed);
    },
    close: (reason = 'closed on this side', code = 'closed') => end(new AdnlError(code, reason)),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    get receivedBytes() {
      return socket.bytesRead;
    },
    get unsentBytes() {
      return socket.writableLength;
    },
    onDrain: (drained) => void socket.on('drain', drained),
  };
}
