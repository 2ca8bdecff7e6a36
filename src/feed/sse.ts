/** Streaming v2 as server-sent events (HTML standard, 9.2): one subscription for the life of the connection. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readText } from '../api/body.ts';
import { parseBool, readQuery } from '../api/request.ts';
import type { Unfinished } from '../api/unfinished.ts';
import { parseAddress, parseHash } from '../chain/address.ts';
import { type Admission, type Admitted, actionsVersion, RefusedError, refusalOfEverything } from './admission.ts';
import { subscribe } from './conversation.ts';
import type { Feed } from './feed.ts';
import { LOW_WATER, type Sink } from './line.ts';
import { RequestError } from './protocol.ts';
import { goesOn, type Subscription } from './subscription.ts';

export interface SseOptions {
  /** Of a body, or of a query in its form. @throws {RequestError} */
  readBody: (text: string) => { id: string | undefined; subscription: Subscription };
  feed: Feed;
  admission: Admission;
  /** Bytes not yet taken by the client from which a connection has no room. */
  queueBytes: number;
  maxBodyBytes: number;
  unfinished: Unfinished;
  /** Milliseconds between comment lines that keep the connection. */
  keepAliveMs: number;
}

const KEEP_ALIVE = ': keepalive\n\n';
/** For what waits when a stream ends to be taken, as long as a WebSocket has to close. */
const FAREWELL_MS = 30_000;

/**
 * POST with the subscription as body, as the protocol has it; GET with it as query, for a browser's EventSource. HEAD is
 * answered as GET would begin, and listens to nothing.
 */
export function createSse(options: SseOptions) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    let id: string | undefined;
    let admitted: Admitted | null = null;
    try {
      const asked = await readAsked(request, options);
      id = asked.id;
      if (request.method === 'HEAD') {
        beginStream(response);
        response.end();
        return;
      }
      admitted = await options.admission.admit(request.headers);
      gone.signal.throwIfAborted();
      await listen(request, response, asked.subscription, { ...options, admitted, id, signal: gone.signal });
    } catch (error) {
      admitted?.release();
      if (gone.signal.aborted) return;
      if (error instanceof RequestError) return refuse(response, 400, { id: error.id ?? id, error: error.message });
      if (error instanceof RefusedError) return refuse(response, 429, { id, error: error.message });
      throw error;
    }
  };
}

interface Listening extends SseOptions {
  admitted: Admitted;
  id: string | undefined;
  signal: AbortSignal;
}

async function listen(
  request: IncomingMessage,
  response: ServerResponse,
  asked: Subscription,
  { feed, admitted, id, signal, queueBytes, keepAliveMs }: Listening,
): Promise<void> {
  const last = request.headers['last-event-id'];
  // Behind what was heard already, wherever it began: a browser asks again at the same address.
  const resumed = typeof last === 'string' && last !== '';
  const known = asked.supportedActionTypes.length > 0 ? asked.supportedActionTypes : actionsVersion(request.headers);
  const told = { ...asked, supportedActionTypes: known };
  const subscription = resumed ? { ...told, cursors: true, start: { cursor: last } } : told;
  const { length } = subscription.addresses;
  if (length > admitted.maxAddresses) {
    throw new RequestError(`too many addresses: ${length} > max ${admitted.maxAddresses}`, id);
  }
  const refusal = refusalOfEverything(subscription, admitted.mostOnce);
  if (refusal !== null) throw new RequestError(refusal, id);
  // Nothing of the stream may come before the answer.
  const frames = sinkOf(response, queueBytes);
  const line = feed.open(frames.sink);
  response.once('close', () => {
    feed.close(line);
    admitted.release();
  });
  // Nobody who is cut off before his first event misses what comes meanwhile: a start that he names himself stays the
  // same when he asks again, now and the last minute do not.
  const { start } = subscription;
  const hasPlace = subscription.cursors && !goesOn(start) && line.place.mcSeqno > 0;
  const from = async () => (start === null ? feed.cursorOf(line) : feed.cursorAt(start, signal));
  const begun = hasPlace ? `id: ${await from()}\n` : '';
  const failure = await subscribe({ feed, line, admitted, signal }, subscription);
  if (failure !== null) {
    admitted.release();
    refuse(response, 400, { id, ...failure });
    return;
  }
  // Gone, or let go, meanwhile.
  if (signal.aborted || response.writableEnded) return;
  beginStream(response);
  response.write(`${begun}event: connected\ndata: ${JSON.stringify({ id, status: 'subscribed' })}\n\n`);
  frames.start();
  const beat = setInterval(frames.keepAlive, keepAliveMs);
  response.once('close', () => clearInterval(beat));
}

function beginStream(response: ServerResponse): void {
  response.setHeader('Content-Type', 'text/event-stream');
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('X-Accel-Buffering', 'no');
}

function refuse(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(body));
}

async function readAsked(
  request: IncomingMessage,
  { maxBodyBytes: maxBytes, unfinished, readBody }: Pick<SseOptions, 'maxBodyBytes' | 'unfinished' | 'readBody'>,
) {
  if (request.method === 'GET' || request.method === 'HEAD') return readBody(JSON.stringify(queryOf(request)));
  return readBody(await readText(request, maxBytes, unfinished));
}

const LISTS = new Set([
  'types',
  'addresses',
  'trace_external_hash_norms',
  'action_types',
  'supported_action_types',
  'opcodes',
  'code_hashes',
  'jetton_masters',
  'nft_collections',
]);
const NUMBERS = new Set(['workchain', 'head_seconds', 'from_mc_seqno', 'from_utime']);
const SWITCHES = new Set(['include_address_book', 'include_metadata', 'everything', 'with_cursor', 'replay_existing']);

/** The query in the form of the body: lists are repeated or separated by commas. An EventSource always resumes. */
function queryOf(request: IncomingMessage): Record<string, unknown> {
  const body: Record<string, unknown> = { with_cursor: true };
  for (const [name, values] of readQuery(request.url ?? '')) {
    const last = values[values.length - 1];
    if (LISTS.has(name))
      body[name] = values
        .flatMap((value) => value.split(','))
        .filter(Boolean)
        .map(asSent);
    else if (NUMBERS.has(name)) body[name] = /^-?\d+$/.test(last) ? Number(last) : last;
    else if (SWITCHES.has(name)) body[name] = last !== '' && (parseBool(last) ?? last);
    else body[name] = asSent(last);
  }
  return body;
}

/** Standard base64 in a query as it stands is read with spaces for its plus signs. */
function asSent(value: string): string {
  if (!value.includes(' ')) return value;
  const sent = value.replaceAll(' ', '+');
  return parseHash(sent) === null && parseAddress(sent) === null ? value : sent;
}

/** Frames of events; those that come before `start` wait. Nothing is written once the stream has ended. */
function sinkOf(response: ServerResponse, queueBytes: number): { sink: Sink; start(): void; keepAlive(): void } {
  let room: () => void = () => undefined;
  let full = false;
  let early: string[] | null = [];
  // Asked as each frame is taken: `drain` does not come of a response whose queue is shorter than that of its stream, nor
  // always of one that was corked (nodejs/node#60432).
  const taken = (): void => {
    if (!full || response.writableLength > queueBytes * LOW_WATER) return;
    full = false;
    room();
  };
  const send = (frame: string): boolean => {
    if (response.writableEnded) return true;
    response.write(frame, taken);
    full ||= response.writableLength > queueBytes;
    return !full;
  };
  // Of a response that nobody hears an error ends the process; `close` follows.
  response.on('error', () => undefined);
  return {
    sink: {
      write(json, mark) {
        const frame = `${mark === null ? '' : `id: ${mark.cursor}\n`}event: event\ndata: ${json.toString()}\n\n`;
        if (early === null) return send(frame);
        early.push(frame);
        return true;
      },
      onRoom(call) {
        room = call;
      },
      cork: () => response.cork(),
      uncork: () => response.uncork(),
      end(_code, reason) {
        if (response.destroyed || response.writableEnded) return;
        if (reason !== '') response.write(`: ${reason}\n\n`);
        if (response.writableLength > queueBytes) return void response.destroy();
        response.end();
        const farewell = setTimeout(() => response.destroy(), FAREWELL_MS).unref();
        response.once('close', () => clearTimeout(farewell));
      },
    },
    start() {
      const frames = early ?? [];
      early = null;
      for (const frame of frames) send(frame);
    },
    keepAlive: () => void send(KEEP_ALIVE),
  };
}
