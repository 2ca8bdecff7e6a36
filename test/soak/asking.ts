/** Requests of the soak's clients, each on a connection of its own or on one that is kept. */
import { Agent, get, request } from 'node:http';

export interface Reply {
  status: number;
  text: string;
  /** Milliseconds. */
  tookMs: number;
}

export type Connection = Agent | 'new';

/** Longer than anything is allowed to take. */
const TIMEOUT_MS = 90_000;
/** The service keeps a connection for 65 s: one that has rested nearly as long may end while it is asked. */
const KEPT_MS = 50_000;

/** One connection that is kept, so that one worker answers. */
export function keptConnection(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1, timeout: KEPT_MS });
}

/** @throws the error of the connection, or of the wait */
export function ask(url: string, connection: Connection, body: string | null = null): Promise<Reply> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { agent: connection === 'new' ? false : connection, method: body === null ? 'GET' : 'POST' },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text, tookMs: performance.now() - begun }),
        );
      },
    );
    sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    sent.on('error', reject);
    sent.end(body ?? undefined);
  });
}

/** Server-sent events until the connection ends or the signal aborts. */
export function listen(url: string, onEvent: (kind: string, data: string) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const sent = get(url, { agent: false, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const events = text.split('\n\n');
        text = events.pop() ?? '';
        for (const event of events) {
          const [, kind, data] = /^event: (.*)\ndata: (.*)$/m.exec(event) ?? [];
          if (kind !== undefined) onEvent(kind, data);
        }
      });
      response.on('close', resolve);
    });
    // The caller listens again: an end is nothing else than a connection that broke.
    sent.on('error', () => resolve());
  });
}
