/** What a command asks the running service, and in which words it says that there was no answer. */
import { z } from 'zod';
import { readingMs } from '../api/taking.ts';
import { ConfigError } from '../config.ts';

/**
 * Like fetch, the body read. An answer begins within a time, and is read for as long as the service goes on sending it.
 * @throws Error that says what is wrong and what to do, in one line
 */
export async function askService(
  url: string,
  { timeoutMs, signal, ...init }: Omit<RequestInit, 'signal'> & { timeoutMs: number; signal: AbortSignal },
): Promise<{ response: Response; bytes: Uint8Array }> {
  const late = new AbortController();
  let patience = timeoutMs;
  const giveUp = (): void => late.abort(new DOMException('no answer', 'TimeoutError'));
  let waiting = setTimeout(giveUp, timeoutMs);
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.any([signal, late.signal]) });
    clearTimeout(waiting);
    patience = readingMs(Number(response.headers.get('content-length')));
    waiting = setTimeout(giveUp, patience);
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
  } catch (cause) {
    throw new Error(reasonOf(url, cause, { timeoutMs: patience, signal }), { cause });
  } finally {
    clearTimeout(waiting);
  }
}

/** What is wrong with the flags of a command, in one line. */
export function flagError(command: string, { issues }: z.ZodError): ConfigError {
  return new ConfigError(
    `${command}: ${issues.map(({ path, message }) => `--${path.join('.')}: ${message}`).join('; ')}`,
  );
}

const refused = z.object({ error: z.string() });

/** In which words the service refused; null where its answer says nothing of the kind. */
export function refusalOf(bytes: Uint8Array): string | null {
  try {
    return refused.parse(JSON.parse(Buffer.from(bytes).toString())).error;
  } catch {
    return null;
  }
}

function reasonOf(
  url: string,
  cause: unknown,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): string {
  if (signal.aborted) return 'stopped before the answer was there';
  if (!(cause instanceof Error)) return String(cause);
  if (cause.name === 'TimeoutError') return `${url} has not answered within ${timeoutMs / 1000} s`;
  const why = cause.cause instanceof Error ? cause.cause.message : cause.message;
  // What fetch says of an answer that broke off.
  if (cause.message === 'terminated') return `${url}: the answer broke off: ${why}`;
  return `no service answers at ${url}: ${why}; start one with "tonstream start", or say where with --host and --port`;
}
