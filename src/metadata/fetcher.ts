/** Fetches a JSON object from an address of a stranger's choice, within limits, and tells what became of it. */
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { lookupOf, type Reach } from '../webhooks/addresses.ts';
import { answerOf } from '../webhooks/answer.ts';
import { refusalOf } from '../webhooks/poster.ts';

export type Fetched =
  | { kind: 'found'; content: Record<string, unknown> }
  /** It answered, and has no such document; or it must not be asked. */
  | { kind: 'lost'; reason: string }
  /** It does not answer, or cannot now by its own word. */
  | { kind: 'away'; reason: string };

export interface FetcherOptions extends Reach {
  /** For one attempt, redirects and body included. */
  timeoutMs: number;
  /** Of a document. */
  maxBytes: number;
}

export interface Fetcher {
  /** Never rejects but for the signal. */
  fetch(url: string, signal: AbortSignal): Promise<Fetched>;
  close(): void;
}

const MOST_REDIRECTS = 3;
const MOST_HEADER_BYTES = 16 * 1024;
/** More requests to one wait for a connection, in the time that they have. */
export const CONNECTIONS_OF_A_HOST = 4;
const MOST_DEPTH = 32;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const AWAY = new Set([408, 425, 429]);
const HEADERS = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'tonstream' };

export function createFetcher({ timeoutMs, maxBytes, ...reach }: FetcherOptions): Fetcher {
  const { isAllowed } = reach;
  const lookup = lookupOf(reach);
  const shared = { keepAlive: false, maxSockets: CONNECTIONS_OF_A_HOST };
  const agents = { 'http:': new HttpAgent(shared), 'https:': new HttpsAgent(shared) };

  function get(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    const agent = agents[url.protocol === 'https:' ? 'https:' : 'http:'];
    const options: RequestOptions = { agent, headers: HEADERS, maxHeaderSize: MOST_HEADER_BYTES, signal, lookup };
    return answerOf(url, options);
  }

  async function follow(from: string, signal: AbortSignal): Promise<Fetched> {
    let at = from;
    for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
      const refusal = refusalOf(at, isAllowed);
      if (refusal !== null) return lost(refusal);
      const response = await get(new URL(at), signal);
      const { statusCode: status = 0, headers } = response;
      if (!REDIRECTS.has(status) || headers.location === undefined) return documentOf(response, maxBytes);
      response.destroy();
      if (!URL.canParse(headers.location, at)) return lost('redirects to what is no URL');
      const next = new URL(headers.location, at);
      if (new URL(at).protocol === 'https:' && next.protocol !== 'https:') return lost('redirects from https to http');
      at = next.href;
    }
    return lost(`redirects more than ${MOST_REDIRECTS} times`);
  }

  return {
    async fetch(url, signal) {
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        return await follow(url, AbortSignal.any([signal, limit]));
      } catch (error) {
        signal.throwIfAborted();
        return { kind: 'away', reason: limit.aborted ? `not there within ${timeoutMs} ms` : reasonOf(error) };
      }
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

const lost = (reason: string): Fetched => ({ kind: 'lost', reason });

async function documentOf(response: IncomingMessage, maxBytes: number): Promise<Fetched> {
  const { statusCode: status = 0, headers } = response;
  if (status !== 200) {
    response.destroy();
    const reason = `answered ${status}`;
    return status >= 500 || AWAY.has(status) ? { kind: 'away', reason } : lost(reason);
  }
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding !== 'identity') {
    response.destroy();
    return lost(`is packed as ${coding}, which was not asked for`);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > maxBytes) return lost(`is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return readObject(Buffer.concat(chunks));
}

function readObject(bytes: Buffer): Fetched {
  let read: unknown;
  try {
    read = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    return lost(`is no JSON: ${error.message}`);
  }
  if (!isObject(read)) return lost('is no JSON object');
  if (isDeep(read, MOST_DEPTH)) return lost(`is nested more than ${MOST_DEPTH} deep`);
  return { kind: 'found', content: read };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isDeep(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((one) => isDeep(one, left - 1));
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof AggregateError && error.message === '' ? reasonOf(error.errors[0]) : error.message;
}
