/** Sends a body to an address of a stranger's choice, and tells what became of it. */
import { type AgentOptions, Agent as HttpAgent, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { addressIn, type IsAllowed, lookupOf, PrivateAddressError, type Reach } from './addresses.ts';
import { answerOf } from './answer.ts';

export type Outcome =
  | { kind: 'taken' }
  /** It answered, and does not want it. */
  | { kind: 'refused'; reason: string }
  /** It did not answer, cannot now by its own word, or must not be called where its name leads. */
  | { kind: 'away'; reason: string; retryAfterMs: number | null };

export interface Poster {
  /** Never rejects but for the signal. */
  post(url: string, body: Buffer, headers: Record<string, string>, signal: AbortSignal): Promise<Outcome>;
  close(): void;
}

export interface PosterOptions extends Reach {
  /** For one attempt, redirects included. */
  timeoutMs: number;
  /** Differs from the default in tests only. */
  idleMs?: number;
}

const MOST_REDIRECTS = 3;
/** Of an answer, all of which is thrown away. */
const MOST_ANSWER_BYTES = 64 * 1024;
const MOST_HEADER_BYTES = 16 * 1024;
const CONNECTIONS_OF_A_HOST = 16;
/** How long a connection is kept for the next body. The other side has no say in that. */
const IDLE_MS = 15_000;
const AWAY = new Set([408, 425, 429, 502, 503, 504]);
const SAME_REQUEST_ELSEWHERE = new Set([307, 308]);

/** What of a URL can be seen before it is called. @returns why it cannot be called; null when it can */
export function refusalOf(text: string, isAllowed: IsAllowed): string | null {
  if (!URL.canParse(text)) return 'url is no URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'url must begin with https:// or http://';
  if (url.username !== '' || url.password !== '') return 'url must not carry a user name or password';
  const address = addressIn(url);
  return address !== null && !isAllowed(address) ? new PrivateAddressError(url.host).message : null;
}

export function createPoster({ timeoutMs, idleMs = IDLE_MS, ...reach }: PosterOptions): Poster {
  const { isAllowed } = reach;
  const lookup = lookupOf(reach);
  const shared = { maxSockets: CONNECTIONS_OF_A_HOST };
  const keeping = agentsOf({ ...shared, keepAlive: true, maxFreeSockets: 1, timeout: idleMs });
  // A stranger may redirect to another port each time: what is kept for those has no bound.
  const redirected = agentsOf({ ...shared, keepAlive: false });

  function send(url: URL, agents: Agents, body: Buffer, headers: Record<string, string>, signal: AbortSignal) {
    const options: RequestOptions = {
      method: 'POST',
      agent: agents[url.protocol === 'https:' ? 'https:' : 'http:'],
      headers: { ...headers, 'content-length': String(body.length) },
      maxHeaderSize: MOST_HEADER_BYTES,
      signal,
      lookup,
    };
    return answerOf(url, options, body);
  }

  async function follow(from: string, body: Buffer, headers: Record<string, string>, signal: AbortSignal) {
    let at = from;
    for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
      const refusal = refusalOf(at, isAllowed);
      if (refusal !== null) return away(refusal);
      const response = await send(new URL(at), hops === 0 ? keeping : redirected, body, headers, signal);
      const { statusCode: status = 0, headers: answered } = response;
      await drain(response);
      if (!SAME_REQUEST_ELSEWHERE.has(status) || answered.location === undefined) return outcomeOf(status, answered);
      if (!URL.canParse(answered.location, at)) return refused('redirects to what is no URL');
      const next = new URL(answered.location, at);
      if (new URL(at).protocol === 'https:' && next.protocol !== 'https:')
        return refused('redirects from https to http');
      at = next.href;
    }
    return refused(`redirects more than ${MOST_REDIRECTS} times`);
  }

  return {
    async post(url, body, headers, signal) {
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        return await follow(url, body, headers, AbortSignal.any([signal, limit]));
      } catch (error) {
        signal.throwIfAborted();
        return away(limit.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(error));
      }
    },
    close() {
      for (const agents of [keeping, redirected]) for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

type Agents = ReturnType<typeof agentsOf>;
const agentsOf = (options: AgentOptions) => ({ 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) });

const refused = (reason: string): Outcome => ({ kind: 'refused', reason });
const away = (reason: string): Outcome => ({ kind: 'away', reason, retryAfterMs: null });

function outcomeOf(status: number, headers: IncomingMessage['headers']): Outcome {
  if (status >= 200 && status < 300) return { kind: 'taken' };
  const reason = `answered ${status}`;
  if (!AWAY.has(status)) return refused(reason);
  const after = headers['retry-after'] ?? '';
  return { kind: 'away', reason, retryAfterMs: /^\d{1,6}$/.test(after) ? Number(after) * 1000 : null };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof AggregateError && error.message === '' ? reasonOf(error.errors[0]) : error.message;
}

/**
 * To the end, so that the connection can be used again; one that says too much is cut. One that does not come to its end
 * has answered all the same: its status has said what is to be known.
 */
async function drain(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
      if (bytes > MOST_ANSWER_BYTES) break;
    }
  } catch {
    response.destroy();
  }
}
