/** Answers other than 200: what went wrong, and how a client is told. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Overloaded } from '../../clickhouse/gate.ts';
import { HeadBehind } from '../../clickhouse/queries/head.ts';
import { BadCursor } from '../../clickhouse/queries/keys.ts';
import { TooMuch } from '../../clickhouse/queries/reading.ts';
import { ClickHouseQueryError } from '../../clickhouse/query-error.ts';
import { createSeldom } from '../../streams/seldom.ts';
import { NodeError } from '../node/chain-node.ts';
import { NoNetworkError } from '../node/liteservers.ts';
import type { Exchange, Failure } from './form.ts';
import { dropRest } from './refused-body.ts';

export class ApiError extends Error {
  /** When to come back; null says nothing of it. */
  readonly retryAfterSeconds: number | null;

  constructor(
    /** HTTP status, 400 to 599. */
    readonly status: number,
    message: string,
    options: ErrorOptions & { retryAfterSeconds?: number } = {},
  ) {
    super(message, options);
    this.name = 'ApiError';
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }
}

/**
 * Has the status of a failure and is none: a node refuses in the place of the service, or nothing is indexed yet. Nobody
 * here is to blame, so nothing is reported.
 */
export class Refusal extends ApiError {
  override name = 'Refusal';
}

const LONGEST_TEXT = 300;
/** Where the queue of queries is full or a step is being written: a second later it may be otherwise. */
const SOON_SECONDS = 1;

/**
 * What a thrown value means to the caller. What liteservers refuse is no failure of the service. HTTP errors of express
 * carry their own status.
 */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { status: 500, text: 'internal server error', internal: true };
  if (error instanceof Refusal) return { status: error.status, text: error.message, internal: false };
  if (error instanceof ApiError) {
    const { status, message, retryAfterSeconds: seconds } = error;
    const failure = { status, text: message, internal: status >= 500 };
    return seconds === null ? failure : { ...failure, retryAfter: Math.max(Math.ceil(seconds), 1) };
  }
  if (error instanceof Overloaded) {
    return { status: 429, text: 'too many requests', retryAfter: SOON_SECONDS, internal: false };
  }
  if (error instanceof HeadBehind) {
    const text = `not ready: ${error.message}; try again soon`;
    return { status: 503, text, retryAfter: SOON_SECONDS, internal: false };
  }
  if (error instanceof TooMuch || error instanceof BadCursor) {
    return { status: 422, text: error.message, internal: false };
  }
  if (error instanceof NoNetworkError) return { status: 501, text: error.message, internal: false };
  if (error instanceof NodeError) return failureOfNode(error);
  const status = clientStatusOf(error);
  if (status !== null) return { status, text: error.message, internal: false };
  const reason = error.message.split('\n', 1)[0].slice(0, LONGEST_TEXT);
  return { status: 500, text: `internal server error: ${reason}`, internal: true };
}

function failureOfNode({ code, message }: NodeError): Failure {
  if (code === 'not_found') return { status: 404, text: message, internal: false };
  if (code === 'unavailable') return { status: 503, text: message, retryAfter: 1, internal: false };
  return { status: 500, text: message, internal: false };
}

function clientStatusOf(error: Error): number | null {
  const status = 'status' in error ? error.status : null;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null;
}

/** Writes JSON, or what it was packed into, as it is; `HEAD` gets the same headers without the body. */
export function sendJson(response: ServerResponse, status: number, json: string | Buffer): void {
  setJson(response, status, json);
  response.end(json);
}

function setJson(response: ServerResponse, status: number, json: string | Buffer): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', Buffer.byteLength(json));
}

/** For paths that belong to no API. */
export function sendError(response: ServerResponse, status: number, text: string): void {
  sendJson(response, status, JSON.stringify({ error: text }));
}

/** Sees an error that the service is to blame for. */
export type Report = (error: unknown, request: IncomingMessage) => void;

/**
 * Tells a log of them: each with its stack, but for questions that the tables did not answer in time. Whoever asks says
 * how much time there is, so of those it is told once in a while.
 */
export function reportTo(logger: Pick<Logger, 'error' | 'warn'>): Report {
  const mayTell = createSeldom();
  return (error, { url: asked }) => {
    const url = asked?.slice(0, LONGEST_TEXT);
    const isLate = error instanceof ClickHouseQueryError && error.code === 'timeout';
    if (!isLate) logger.error({ err: error, url }, 'a request failed');
    else if (mayTell()) logger.warn({ reason: error.message, url }, 'requests are not answered in time');
  };
}

/** Turns what was thrown into an answer; one that has begun is cut off. */
export function answerFailure(error: unknown, exchange: Exchange, report: Report): void {
  const { request, response, form } = exchange;
  if (request.socket.destroyed || response.writableEnded) return;
  const failure = form.failure?.(error, exchange) ?? failureOf(error);
  if (failure.internal) report(error, request);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (failure.retryAfter !== undefined) response.setHeader('Retry-After', failure.retryAfter);
  const json = form.refusal(failure, exchange);
  if (failure.status === 413) sendBeforeRest(exchange, json);
  else sendJson(response, failure.status, json);
}

/** To a client that is sending still: the connection is of no more use, and ends when he has come to read the answer. */
function sendBeforeRest({ request, response }: Exchange, json: string): void {
  setJson(response, 413, json);
  response.setHeader('Connection', 'close');
  response.write(json);
  void dropRest(request).then(() => response.end());
}
