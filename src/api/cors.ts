import type { Exchange } from './form.ts';

const ALLOWED_HEADERS = [
  'Content-Type',
  'If-None-Match',
  'X-Api-Key',
  'X-Timeout',
  'X-No-Address-Book',
  'X-No-Metadata',
  'X-Debug-Request',
  'X-Actions-Version',
  // Of clients that read server-sent events by themselves, to go on where a stream broke.
  'Last-Event-ID',
  // Of those that clients of TON Center's streams read, with a key as a gateway may want it.
  'Cache-Control',
  'Authorization',
  // Of @ton/ton, which sends it with every call.
  'X-Ton-Client-Version',
].join(', ');

const EXPOSED_HEADERS = 'X-API-Version, Server-timing, Retry-After, ETag';

/** Lets web pages read headers of this answer besides those of all answers. */
export function exposeHeaders(response: Exchange['response'], names: string): void {
  response.setHeader('Access-Control-Expose-Headers', `${EXPOSED_HEADERS}, ${names}`);
}

/** Any web page may read what is served. True for preflight requests, which are answered thereby. */
export function allowOrigins({ request, response }: Exchange): boolean {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
  if (request.method !== 'OPTIONS') return false;
  response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, DELETE, OPTIONS');
  response.setHeader('Access-Control-Allow-Headers', ALLOWED_HEADERS);
  response.setHeader('Access-Control-Max-Age', '86400');
  response.statusCode = 204;
  response.end();
  return true;
}
