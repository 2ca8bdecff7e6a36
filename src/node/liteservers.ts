/**
 * What any part of a host may ask of the liteservers of its network. One pool answers all of them; who is in another
 * thread or process asks it in bytes, through `askLiteservers` there and `answerLite` where the pool is.
 */
import { errorMessage } from '../chain/errors.ts';
import { NodeError, type NodeErrorCode } from './chain-node.ts';
import {
  decodeAnswer,
  encodeRequest,
  type LiteAnswer,
  type LiteMethod,
  type LiteRequest,
  LiteServerError,
} from './lite-api.ts';
import type { LitePool, QueryOptions, ServerStatus } from './lite-pool.ts';

export interface Liteservers {
  /**
   * A call of the lite protocol. The first right answer counts: servers that do not have the thing, fail, or answer
   * what their own proofs contradict (lite-checks.ts) are passed over.
   * @throws {NodeError} with the `LiteServerError` of the last server as its cause, where one answered with an error
   * @throws {NoNetworkError}
   */
  query<M extends LiteMethod>(request: LiteRequest<M>, options: QueryOptions): Promise<LiteAnswer<M>>;
  /**
   * Sends an external message (a bag of cells) to several servers at once; resolves when the first has taken it.
   * @throws {NodeError} `refused` when every server asked refuses it @throws {NoNetworkError}
   */
  sendMessage(boc: Buffer, signal: AbortSignal): Promise<void>;
  /** How each server of the pool does now. @throws {NoNetworkError} */
  servers(signal: AbortSignal): readonly ServerStatus[] | Promise<readonly ServerStatus[]>;
}

/** A question as it travels. Bytes may arrive as plain Uint8Arrays. */
export type LiteQuestion =
  | { kind: 'query'; body: Uint8Array; timeoutMs?: number | undefined; minMcSeqno?: number | undefined }
  | { kind: 'send'; boc: Uint8Array }
  | { kind: 'servers' };

/** Bytes of the answer to a query, nothing for a message that was taken, how the servers do where that was asked. */
export type LiteReply = Uint8Array | readonly ServerStatus[] | null;

/** Answers a question from the pool. @throws {NodeError} */
export async function answerLite(
  pool: Pick<LitePool, 'queryBytes' | 'sendMessage' | 'servers'>,
  question: LiteQuestion,
  signal: AbortSignal,
): Promise<LiteReply> {
  if (question.kind === 'query') {
    const { body, timeoutMs, minMcSeqno } = question;
    return pool.queryBytes(asBuffer(body), { signal, timeoutMs, minMcSeqno });
  }
  if (question.kind === 'servers') return pool.servers();
  await pool.sendMessage(asBuffer(question.boc), signal);
  return null;
}

/** Asks a pool that is elsewhere. */
export function askLiteservers(ask: (question: LiteQuestion, signal: AbortSignal) => Promise<LiteReply>): Liteservers {
  return {
    async query(request, { signal, timeoutMs, minMcSeqno }) {
      const reply = await ask({ kind: 'query', body: encodeRequest(request), timeoutMs, minMcSeqno }, signal);
      if (!isBytes(reply)) throw new NodeError('unavailable', `${request.method}: no bytes were answered`);
      return decodeAnswer(request.method, asBuffer(reply));
    },
    async sendMessage(boc, signal) {
      await ask({ kind: 'send', boc }, signal);
    },
    async servers(signal) {
      const reply = await ask({ kind: 'servers' }, signal);
      if (reply === null || isBytes(reply)) throw new NodeError('unavailable', 'no servers were answered');
      return reply;
    },
  };
}

/** No network is followed: there is nobody to ask. */
export class NoNetworkError extends Error {
  override name = 'NoNetworkError';

  constructor(message = 'the service follows no network: name one with --network') {
    super(message);
  }
}

/** Where no network is followed. */
export function noLiteservers(): Liteservers {
  return askLiteservers(() => Promise.reject(new NoNetworkError()));
}

/** What can be thrown for a question, as it travels. */
export type PackedLiteError =
  | { kind: 'node'; code: NodeErrorCode; message: string; server: { code: number; message: string } | null }
  | { kind: 'no_network'; message: string }
  | { kind: 'other'; message: string };

export function packLiteError(error: unknown): PackedLiteError {
  const message = errorMessage(error);
  if (error instanceof NoNetworkError) return { kind: 'no_network', message };
  if (!(error instanceof NodeError)) return { kind: 'other', message };
  const { code, cause } = error;
  const server = cause instanceof LiteServerError ? { code: cause.code, message: cause.message } : null;
  return { kind: 'node', code, message, server };
}

export function unpackLiteError(packed: PackedLiteError): Error {
  if (packed.kind === 'no_network') return new NoNetworkError(packed.message);
  if (packed.kind === 'other') return new Error(packed.message);
  const { code, message, server } = packed;
  return new NodeError(
    code,
    message,
    server === null ? undefined : { cause: new LiteServerError(server.code, server.message) },
  );
}

const isBytes = (reply: LiteReply): reply is Uint8Array => reply !== null && !Array.isArray(reply);

/** Structured clones of Buffers are plain. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
