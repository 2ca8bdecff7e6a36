/** Bodies of requests, read into the parameters that an operation declares. */
import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors.ts';
import { parseExactly } from './exact-json.ts';
import type { ApiLimits } from './limits.ts';
import type { Sent } from './parameters.ts';
import { hasTooManyHeaders, MOST_HEADERS, queryOf } from './request.ts';
import type { Api } from './route.ts';
import { createUnfinished, type Unfinished } from './unfinished.ts';

/** The body cannot be read as what it is to be. */
export class BodyError extends ApiError {
  constructor(reason: string, options?: ErrorOptions) {
    super(422, reason, options);
    this.name = 'BodyError';
  }
}

/** The largest body of all requests, or of those of an API that takes less. */
export function mostBodyBytes({ maxBodyBytes }: Pick<ApiLimits, 'maxBodyBytes'>, most: Api['most']): number {
  return Math.min(maxBodyBytes, most?.bodyBytes ?? maxBodyBytes);
}

/** Throws ApiError 414 for a path and query that are longer than an API takes. */
export function refuseLongTarget({ url = '' }: IncomingMessage, maxBytes: number | undefined): void {
  if (maxBytes !== undefined && url.length > maxBytes) {
    throw new ApiError(414, `request target is longer than ${maxBytes} bytes`);
  }
}

/** Throws ApiError 431 for more header fields than are read. */
export function refuseManyHeaders(request: IncomingMessage): void {
  if (hasTooManyHeaders(request)) throw new ApiError(431, `request has more than ${MOST_HEADERS} header fields`);
}

/** Refuses a larger declared body before anything reads it. Throws ApiError 413. */
export function refuseLargeBody(request: IncomingMessage, maxBytes: number): void {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(413, `request body is larger than ${maxBytes} bytes`);
}

/**
 * Bytes of all bodies on their way: above it the connection with the most is ended. Twice the largest that can be
 * allowed.
 */
const UNFINISHED_BYTES = 128 * 1024 * 1024;
const dropped = { bodies: 0 };
const unfinished = createUnfinished({ maxBytes: UNFINISHED_BYTES, onDropped: () => dropped.bodies++ });
/** Bodies of which the end was not waited for, since the start. */
export const droppedBodies: Readonly<typeof dropped> = dropped;

/**
 * Pieces of a body. Each takes memory and time of its own, however few bytes it has; the largest body that can be allowed
 * has as many of 1 KB.
 */
const MOST_PIECES = 65_536;
/** What a piece takes in memory beside its bytes (1.4 million of one byte each). */
const PIECE_BYTES = 300;

/**
 * The whole body. One that is larger, or comes in crumbs, is not read on. Throws ApiError 413.
 * @param among what counts with it while it is on its way
 */
export async function readText(request: IncomingMessage, maxBytes: number, among: Unfinished = unfinished) {
  refuseLargeBody(request, maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const part = among.open(() => request.destroy());
  try {
    // The connection stays open for the refusal.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      if (chunks.push(chunk) > MOST_PIECES) {
        throw new ApiError(413, `request body comes in more than ${MOST_PIECES} pieces`);
      }
      part.add(chunk.length + PIECE_BYTES);
    }
  } finally {
    part.clear();
  }
  return Buffer.concat(chunks).toString();
}

/** The body is JSON whatever its type is called: `curl -d` calls it a form. Throws ApiError 413 and BodyError. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  return parseJson(await readText(request, maxBytes));
}

/**
 * The members of a JSON object, or the fields of an HTML form. Throws ApiError 413 and BodyError.
 * @param needed whether there must be a body
 */
export async function readMembers(request: IncomingMessage, maxBytes: number, needed = false): Promise<Sent> {
  const text = await readText(request, maxBytes);
  if (needed && text === '') throw new BodyError('Unprocessable Entity');
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  if (isForm && !text.trimStart().startsWith('{')) return queryOf(text);
  const body = text === '' ? {} : parseJson(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new BodyError('request body is not a JSON object');
  }
  return membersOf(body);
}

/** The members of an object; null is as if absent. */
export function membersOf(body: object): Sent {
  return new Map(Object.entries(body).filter(([, value]) => value !== null));
}

/** Deepest nesting of a body: what handles it further on does so by recursion. Stacks of get-methods take three a level. */
const MAX_DEPTH = 4096;

/** Whether arrays and objects stand deeper inside each other than that. */
function isTooDeep(text: string): boolean {
  // Each takes two characters at least.
  if (text.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (inText) {
      if (char === BACKSLASH) at++;
      else if (char === QUOTE) inText = false;
    } else if (char === QUOTE) inText = true;
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > MAX_DEPTH) return true;
    } else if (char === 0x5d || char === 0x7d) depth--;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new BodyError(`request body is nested deeper than ${MAX_DEPTH}`);
  try {
    return parseExactly(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new BodyError(`request body is not JSON: ${error.message}`, { cause: error });
  }
}
