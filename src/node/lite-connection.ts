import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { type AdnlAddress, type AdnlClientOptions, type AdnlConnection, type AdnlError, connectAdnl } from './adnl.ts';
import { frames, MOST_UNASKED } from './adnl-channel.ts';
import {
  decodeAnswer,
  encodeEnvelope,
  encodeRequest,
  type LiteAnswer,
  type LiteMethod,
  type LiteRequest,
  throwIfError,
  type WaitPrefix,
} from './lite-api.ts';
import { TlError } from './tl.ts';

/** No answer in time. The connection stays: the server may be busy with this one call. */
export class LiteTimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`no answer in ${timeoutMs} ms`);
    this.name = 'LiteTimeoutError';
  }
}

export interface ExchangeOptions {
  signal: AbortSignal;
  timeoutMs: number;
  /** Sent before the call: the server answers when it has this masterchain block. */
  wait?: WaitPrefix | undefined;
}

/** One server, connected: calls go out side by side, answers come back in any order. */
export interface LiteConnection {
  /**
   * Sends the body of a call (`encodeRequest`) and returns the bytes of the answer, a view of their frame.
   * @throws {LiteServerError} what the server answers instead @throws {LiteTimeoutError}
   * @throws {AdnlError} when the connection ends @throws the signal's reason
   */
  exchange(body: Buffer, options: ExchangeOptions): Promise<Buffer>;
  /** The same with a typed call. @throws {TlError} also for an answer that is not what the schema says */
  query<M extends LiteMethod>(request: LiteRequest<M>, options: ExchangeOptions): Promise<LiteAnswer<M>>;
  readonly inFlight: number;
  onClose(closed: (error: AdnlError) => void): void;
  close(reason?: string): void;
}

interface Waiting {
  resolve(answer: Buffer): void;
  reject(error: unknown): void;
}

/** Connects to a liteserver. The signal ends the attempt, not the connection. @throws {AdnlError} */
export async function connectLite(
  address: AdnlAddress,
  signal: AbortSignal,
  options: AdnlClientOptions = {},
): Promise<LiteConnection> {
  return createLiteConnection(await connectAdnl(address, signal, options));
}

function createLiteConnection(channel: AdnlConnection): LiteConnection {
  const waiting = new Map<string, Waiting>();
  let closed: AdnlError | null = null;
  /** Calls that nobody waits for any more, whose answers may still come. */
  let givenUp = 0;
  let unasked = 0;

  channel.onFrame((payload) => {
    try {
      const message = frames.decode(payload);
      const key = message.kind === 'adnl.message.answer' ? message.queryId.toString('latin1') : '';
      const asked = waiting.get(key);
      if (message.kind === 'adnl.message.answer' && asked !== undefined) {
        waiting.delete(key);
        asked.resolve(message.answer);
      } else if (givenUp > 0) givenUp--;
      else if (++unasked > MOST_UNASKED) channel.close(`${unasked} answers that nobody asked for`, 'flood');
    } catch (error) {
      channel.close(error instanceof TlError ? error.message : 'a frame could not be taken', 'protocol');
    }
  });
  channel.onClose((error) => {
    closed = error;
    for (const one of waiting.values()) one.reject(error);
  });

  async function exchange(body: Buffer, { signal, timeoutMs, wait }: ExchangeOptions): Promise<Buffer> {
    signal.throwIfAborted();
    if (closed !== null) throw closed;
    // One signal may end any number of calls; the listeners are taken off again.
    setMaxListeners(0, signal);
    const queryId = randomBytes(32);
    const key = queryId.toString('latin1');
    let stop = (): void => undefined;
    try {
      const answer = await new Promise<Buffer>((resolve, reject) => {
        waiting.set(key, { resolve, reject });
        const timer = setTimeout(() => reject(new LiteTimeoutError(timeoutMs)), timeoutMs);
        const abort = (): void => reject(signal.reason);
        signal.addEventListener('abort', abort, { once: true });
        stop = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', abort);
        };
        channel.send(frames.encode('adnl.message.query', { queryId, query: encodeEnvelope(body, wait) }));
      });
      throwIfError(answer);
      return answer;
    } finally {
      stop();
      if (waiting.delete(key)) givenUp++;
    }
  }

  return {
    exchange,
    query: async (request, options) => decodeAnswer(request.method, await exchange(encodeRequest(request), options)),
    get inFlight() {
      return waiting.size;
    },
    onClose: channel.onClose,
    close: channel.close,
  };
}
