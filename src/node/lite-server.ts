import { setMaxListeners } from 'node:events';
import { errorMessage } from '../chain/errors.ts';
import { type AdnlConnection, type AdnlListener, type AdnlServerOptions, listenAdnl } from './adnl.ts';
import { frames } from './adnl-channel.ts';
import {
  type AnyLiteRequest,
  decodeEnvelope,
  encodeAnswer,
  encodeError,
  LITE_ERROR,
  type LiteAnswer,
  type LiteMethod,
  type LiteRequest,
  LiteServerError,
  type WaitPrefix,
} from './lite-api.ts';
import { TlError } from './tl.ts';

export { type LiteAnswer, type LiteMethod, type LiteRequest, LiteServerError } from './lite-api.ts';

export interface LiteCall {
  /** Aborts when the client has gone. */
  signal: AbortSignal;
  /** `host:port` of the client. */
  peer: string;
}

/**
 * What the server can do: one function for each call it knows, given the decoded call, giving the decoded answer or
 * throwing a {@link LiteServerError}. A call without a function is answered with an error.
 */
export type LiteHandlers = {
  [M in LiteMethod]?: (request: LiteRequest<M>, call: LiteCall) => LiteAnswer<M> | Promise<LiteAnswer<M>>;
};

export interface LiteServerOptions extends AdnlServerOptions {
  /**
   * Resolves true when the masterchain block is there, false when it has not come after `timeoutMs`. Serves the
   * `waitMasterchainSeqno` prefix; without it calls with the prefix are refused.
   */
  waitMasterchainSeqno?: (seqno: number, timeoutMs: number, signal: AbortSignal) => Promise<boolean>;
  /** Longest wait a prefix can ask for. Default 30 s. */
  maxWaitMs?: number;
  /** Calls of one connection that are worked on at a time; the rest waits in its socket. Default 64. */
  maxInFlight?: number;
  /** Unsent bytes of one connection above which none of its calls are taken up. Default 8 MiB. */
  pauseAtBytes?: number;
  /** Told of every failure of a handler that is not a LiteServerError. The client gets code 601. */
  onFault?: (error: unknown, method: LiteMethod) => void;
}

/**
 * A liteserver on a port (0 takes a free one). `seed` is its Ed25519 seed of 32 bytes. Each connection is bounded in
 * calls and unsent bytes; a client that does not read its answers is first not heard and then cut off.
 */
export async function serveLite(
  address: { host: string; port: number; seed: Buffer },
  handlers: LiteHandlers,
  options: LiteServerOptions = {},
): Promise<AdnlListener> {
  const { host, port, seed } = address;
  return listenAdnl({ host, port, privateKey: seed }, (channel) => attend(channel, handlers, options), options);
}

function attend(channel: AdnlConnection, handlers: LiteHandlers, options: LiteServerOptions): void {
  const { maxInFlight = 64, pauseAtBytes = 8 << 20 } = options;
  const controller = new AbortController();
  // Every call of the connection may listen to it.
  setMaxListeners(0, controller.signal);
  const call: LiteCall = { signal: controller.signal, peer: channel.peer };
  /** Frames of a chunk that was read before the socket was paused: less than one chunk of them. */
  const waiting: Buffer[] = [];
  let inFlight = 0;

  async function serve(payload: Buffer): Promise<void> {
    inFlight++;
    try {
      const message = frames.decode(payload);
      if (message.kind !== 'adnl.message.query') return;
      const answer = await answerTo(message.query, handlers, call, options);
      channel.send(frames.encode('adnl.message.answer', { queryId: message.queryId, answer }));
    } catch (error) {
      channel.close(error instanceof TlError ? error.message : 'the frame could not be served', 'protocol');
    } finally {
      inFlight--;
      advance();
    }
  }

  function advance(): void {
    while (waiting.length > 0 && inFlight < maxInFlight && channel.unsentBytes < pauseAtBytes) {
      void serve(waiting.shift() ?? Buffer.alloc(0));
    }
    if (waiting.length > 0) channel.pause();
    else channel.resume();
  }

  channel.onClose((error) => {
    waiting.length = 0;
    controller.abort(error);
  });
  channel.onDrain(advance);
  channel.onFrame((payload) => {
    waiting.push(payload);
    advance();
  });
}

/** The bytes of the answer; an error becomes `liteServer.error`. */
async function answerTo(
  query: Buffer,
  handlers: LiteHandlers,
  call: LiteCall,
  options: LiteServerOptions,
): Promise<Buffer> {
  let method: LiteMethod | null = null;
  try {
    const { request, wait } = decodeEnvelope(query);
    method = request.method;
    if (wait !== null) await waitFor(wait, call, options);
    return await dispatch(handlers, request, call);
  } catch (error) {
    if (error instanceof LiteServerError) return encodeError(error);
    if (method === null && error instanceof TlError) {
      return encodeError(new LiteServerError(LITE_ERROR.protocolViolation, `cannot parse the query: ${error.message}`));
    }
    if (method !== null) options.onFault?.(error, method);
    const reason = errorMessage(error);
    return encodeError(new LiteServerError(LITE_ERROR.failure, `internal error: ${reason}`));
  }
}

async function waitFor(wait: WaitPrefix, call: LiteCall, options: LiteServerOptions): Promise<void> {
  const { waitMasterchainSeqno, maxWaitMs = 30_000 } = options;
  if (waitMasterchainSeqno === undefined) throw new LiteServerError(LITE_ERROR.error, 'waiting is not supported');
  const timeoutMs = Math.min(Math.max(wait.timeoutMs, 0), maxWaitMs);
  if (!(await waitMasterchainSeqno(wait.seqno, timeoutMs, call.signal))) {
    throw new LiteServerError(LITE_ERROR.timeout, `masterchain block ${wait.seqno} has not come in ${timeoutMs} ms`);
  }
}

async function dispatch(handlers: LiteHandlers, request: AnyLiteRequest, call: LiteCall): Promise<Buffer> {
  const { method } = request;
  // A handler takes the call it is named after; the compiler cannot follow that through the union of all calls.
  const handler = handlers[method] as ((request: AnyLiteRequest, call: LiteCall) => unknown) | undefined;
  if (handler === undefined) throw new LiteServerError(LITE_ERROR.error, `${method} is not supported`);
  return encodeAnswer(method, (await handler(request, call)) as LiteAnswer<typeof method>);
}
