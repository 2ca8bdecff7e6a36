/** Streaming v2 over WebSocket (RFC 6455). */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { keyOf } from '../api/request.ts';
import type { Unfinished } from '../api/unfinished.ts';
import { type Admission, type Admitted, actionsVersion, RefusedError } from './admission.ts';
import { createConversation } from './conversation.ts';
import type { Feed } from './feed.ts';
import { createFrames } from './frames.ts';
import { LOW_WATER, type Sink } from './line.ts';
import type { Names } from './names.ts';
import type { Request } from './protocol.ts';
import type { Subscription } from './subscription.ts';
import { createPauses } from './turns.ts';

export interface WebSocketOptions {
  protocol: Protocol;
  feed: Feed;
  names: Names;
  admission: Admission;
  /** Bytes not yet taken by the client from which a connection has no room. */
  queueBytes: number;
  /** Longest message of a client. */
  maxMessageBytes: number;
  /** Messages of a client that wait to be answered; above it the connection is ended. */
  maxUnanswered: number;
  unfinished: Unfinished;
  report: (error: unknown) => void;
}

/** What is spoken. */
export interface Protocol {
  readRequest: (text: string, before: Subscription) => Request;
  /** Of a connection that has not said anything. */
  nothing: Subscription;
}

export interface FeedSockets {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): void;
}

const TRY_LATER = 1013;
const INTERNAL_ERROR = 1011;
const POLICY = 1008;
/** A peer that is gone without a word is found out by the kernel. */
const KEEP_ALIVE_MS = 30_000;
/** What RFC 6455 leaves for a reason. */
const REASON_BYTES = 123;

/** Of a control frame of a client: two bytes and the mask (RFC 6455, 5.2). */
const CONTROL_HEADER_BYTES = 6;

/**
 * Frames of a message. Each takes memory and time of its own, however few bytes it has; the longest message has as many
 * of 4 KB, which is what clients write at once.
 */
const MOST_FRAGMENTS = 1_024;
/** Control frames of a client that are read at once: of more the others would have to wait for the end. */
const MOST_CONTROL_FRAMES = 64;

/** Longest that messages are answered before all else has its turn, milliseconds. */
const ANSWERING_MS = 5;

export function createFeedSockets(options: WebSocketOptions): FeedSockets {
  const { feed, admission, maxMessageBytes } = options;
  const pauses = createPauses(ANSWERING_MS);
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    maxFragments: MOST_FRAGMENTS,
    perMessageDeflate: false,
  });

  function open(socket: WebSocket, wire: Duplex, admitted: Admitted, headers: IncomingHttpHeaders): void {
    const gone = new AbortController();
    const line = feed.open(sinkOf(socket, wire, options.queueBytes), { begun: options.protocol.nothing });
    const conversation = createConversation({
      feed,
      line,
      admitted,
      signal: gone.signal,
      names: options.names,
      readRequest: options.protocol.readRequest,
      owner: keyOf(headers),
      supportedActionTypes: actionsVersion(headers),
      maxUnnoted: options.maxUnanswered,
      pauses,
    });
    let [unanswered, unansweredLength] = [0, 0];
    const waitsEnough = (): boolean => unansweredLength > maxMessageBytes || unanswered > options.maxUnanswered / 2;
    socket.on('message', (data: RawData) => {
      if (++unanswered > options.maxUnanswered) {
        line.end(POLICY, 'too many messages at once');
        // Its farewell is heard.
        socket.resume();
        return;
      }
      const text = textOf(data);
      unansweredLength += text.length;
      // What is not read stays with the client: here only so much waits.
      if (line.full || waitsEnough()) socket.pause();
      conversation
        .hear(text)
        .catch((error: unknown) => {
          if (gone.signal.aborted) return;
          options.report(error);
          line.end(INTERNAL_ERROR, 'the service failed');
        })
        .finally(() => {
          unanswered--;
          unansweredLength -= text.length;
          if (socket.isPaused && !waitsEnough()) socket.resume();
        });
    });
    socket.on('close', () => {
      gone.abort();
      feed.close(line);
      admitted.release();
    });
  }

  async function enter(socket: WebSocket, wire: Duplex, { headers }: IncomingMessage): Promise<void> {
    try {
      const admitted = await admission.admit(headers);
      if (socket.readyState !== socket.OPEN) return admitted.release();
      open(socket, wire, admitted, headers);
      socket.resume();
    } catch (error) {
      socket.resume();
      if (!(error instanceof RefusedError)) {
        options.report(error);
        socket.close(INTERNAL_ERROR);
        return;
      }
      socket.send(JSON.stringify({ error: error.message }));
      socket.close(TRY_LATER);
    }
  }

  return {
    upgrade(request, socket, head) {
      server.handleUpgrade(request, socket, head, (webSocket) => {
        if ('setKeepAlive' in socket && typeof socket.setKeepAlive === 'function') {
          socket.setKeepAlive(true, KEEP_ALIVE_MS);
        }
        // Heard before the frames are read: what a message has finished is taken back then.
        const part = options.unfinished.open(() => webSocket.terminate());
        socket.prependListener('data', (chunk: Buffer) => part.add(chunk.length));
        for (const event of ['message', 'close']) webSocket.on(event, part.clear);
        // They may stand between the fragments of a message, which goes on.
        let controls = 0;
        for (const event of ['ping', 'pong']) {
          webSocket.on(event, (data: Buffer) => {
            part.less(CONTROL_HEADER_BYTES + data.length);
            if (controls++ === 0) setImmediate(() => (controls = 0));
            if (controls > MOST_CONTROL_FRAMES) webSocket.terminate();
          });
        }
        // Bad frames and broken lines; `close` follows.
        webSocket.on('error', () => undefined);
        // Nothing is heard before it is admitted, and nothing lost.
        webSocket.pause();
        void enter(webSocket, socket, request);
      });
    },
    close: () => server.close(),
  };
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return data instanceof ArrayBuffer ? Buffer.from(data).toString() : data.toString();
}

/**
 * Nothing is compressed, so frames that are made here may stand between those of the library.
 * @param wire what the frames are written to
 */
function sinkOf(socket: WebSocket, wire: Duplex, queueBytes: number): Sink {
  let room: () => void = () => undefined;
  let full = false;
  let corked = false;
  const taken = (): void => {
    if (!full || socket.bufferedAmount > queueBytes * LOW_WATER) return;
    full = false;
    room();
  };
  const frames = createFrames((bytes) => void (socket.readyState === socket.OPEN && wire.write(bytes, taken)));
  const hasRoom = (): boolean => {
    full ||= socket.bufferedAmount + frames.waiting > queueBytes;
    return !full;
  };
  return {
    write(json) {
      if (socket.readyState !== socket.OPEN) return true;
      frames.flush();
      socket.send(json, { binary: false }, taken);
      return hasRoom();
    },
    writePieces(json) {
      if (socket.readyState !== socket.OPEN) return true;
      frames.add(json);
      if (!corked) frames.flush();
      return hasRoom();
    },
    onRoom(call) {
      room = call;
    },
    cork() {
      corked = true;
      wire.cork();
    },
    uncork() {
      corked = false;
      frames.flush();
      wire.uncork();
    },
    end(code, reason) {
      frames.flush();
      socket.close(code, Buffer.from(reason).subarray(0, REASON_BYTES));
      // One that takes nothing does not take the farewell either; one that reads has as long as it may take to close.
      if (socket.bufferedAmount > queueBytes) socket.terminate();
    },
  };
}
