import { EventEmitter } from 'node:events';
import type { LiteEngine } from 'ton-lite-client/dist/engines/engine.js';
import { type TLFunction, TLReadBuffer, TLWriteBuffer } from 'ton-tl';

/** What an engine needs of a connection or a pool: bytes of a call there, bytes of the answer back. */
export interface LiteExchange {
  exchange(
    body: Buffer,
    options: { signal: AbortSignal; timeoutMs: number; minMcSeqno?: number | undefined },
  ): Promise<Buffer>;
}

const DEFAULT_TIMEOUT_MS = 5_000;

/**
 * An engine for the published `LiteClient` (`new LiteClient({ engine })`) whose calls go through ours: its typed calls
 * stay usable, the transport, the time-outs and the error codes are ours. Errors come as the exchange throws them.
 * `close` ends this engine's calls and leaves the exchange alone.
 */
export function createLiteEngine(exchange: LiteExchange): LiteEngine {
  return new ExchangeEngine(exchange);
}

/** A class because the interface is one of an event emitter. */
class ExchangeEngine extends EventEmitter implements LiteEngine {
  readonly #exchange: LiteExchange;
  readonly #controller = new AbortController();

  constructor(exchange: LiteExchange) {
    super();
    this.#exchange = exchange;
  }

  async query<REQ, RES>(
    f: TLFunction<REQ, RES>,
    req: REQ,
    { timeout = DEFAULT_TIMEOUT_MS, awaitSeqno }: { timeout?: number; awaitSeqno?: number } = {},
  ): Promise<RES> {
    const writer = new TLWriteBuffer();
    f.encodeRequest(req, writer);
    const { signal } = this.#controller;
    const answer = await this.#exchange.exchange(writer.build(), {
      signal,
      timeoutMs: timeout,
      minMcSeqno: awaitSeqno,
    });
    return f.decodeResponse(new TLReadBuffer(answer));
  }

  close(): void {
    if (this.isClosed()) return;
    this.#controller.abort(new Error('engine is closed'));
    this.emit('close');
  }

  isClosed(): boolean {
    return this.#controller.signal.aborted;
  }

  isReady(): boolean {
    return !this.isClosed();
  }
}
