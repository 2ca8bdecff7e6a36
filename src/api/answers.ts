/** What a route answered, and how it reaches a client: whole, packed, or as "still the same". */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { acceptedEncoding, type Compression, type Encoding, PACKED_FROM_BYTES } from './compression.ts';
import { sendJson } from './errors.ts';
import type { Exchange } from './form.ts';
import type { Untaken } from './untaken.ts';

/** A 200 answer. It may go to several clients, so nobody changes it. */
export interface Answer {
  json: Buffer;
  /** Value of the `ETag` header; null when the answer has none. */
  tag: string | null;
  /** Packed once for all who want it so; null when it had to go out plain. */
  packed: Map<Encoding, Promise<Buffer | null>>;
}

/** @param tagged whether clients may ask if it is still the same */
export function makeAnswer(json: string | Buffer, tagged: boolean): Answer {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json;
  return { json: bytes, tag: tagged ? tagOf(bytes) : null, packed: new Map() };
}

/**
 * Made of the bytes, so an answer that changes (a message that is received later) changes its tag, and every process
 * and every start gives the same one. Weak, as it stands for the plain and the packed form alike (RFC 9110, 8.8.1).
 */
function tagOf(json: Buffer): string {
  return `W/"${hash('sha256', json, 'base64url').slice(0, 22)}"`;
}

/** Whether `If-None-Match` names the tag, by the weak comparison (RFC 9110, 13.1.2). */
function isKnown(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const opaque = tag.slice(2);
  return header.split(',').some((word) => {
    const known = word.trim();
    return known === '*' || known === tag || known === opaque;
  });
}

/** Sends what was answered in the form of its API. A hang-up in the meantime is not an error. */
export async function sendAnswer(
  answered: Answer,
  exchange: Exchange,
  { compression, untaken }: { compression: Compression; untaken: Untaken },
): Promise<void> {
  const { request, response, form } = exchange;
  if (response.destroyed) return;
  const answer = form.answer ? makeAnswer(form.answer(answered.json, exchange), answered.tag !== null) : answered;
  response.setHeader('Vary', 'Accept-Encoding');
  if (answer.tag !== null) {
    response.setHeader('ETag', answer.tag);
    // It may be kept, and is to be asked for again each time.
    response.setHeader('Cache-Control', 'no-cache');
    if (isKnown(request.headers['if-none-match'], answer.tag)) {
      response.statusCode = 304;
      response.end();
      return;
    }
  }
  const encoding = answer.json.length < PACKED_FROM_BYTES ? null : encodingFor(request);
  const packed = encoding === null ? null : await pack(answer, encoding, compression);
  if (response.destroyed) return;
  if (packed !== null && encoding !== null) response.setHeader('Content-Encoding', encoding);
  const body = packed ?? answer.json;
  sendJson(response, 200, body);
  untaken.watch(response, body.length);
}

function encodingFor(request: IncomingMessage): Encoding | null {
  const accepted = request.headers['accept-encoding'];
  return acceptedEncoding(Array.isArray(accepted) ? accepted.join(',') : accepted);
}

/** Null is not remembered: the next client may find a free place. */
async function pack(answer: Answer, encoding: Encoding, compression: Compression): Promise<Buffer | null> {
  const known = answer.packed.get(encoding);
  if (known !== undefined) return known;
  const packing = compression.pack(answer.json, encoding);
  if (packing !== null) answer.packed.set(encoding, packing);
  return packing;
}
