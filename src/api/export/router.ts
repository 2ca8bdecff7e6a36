/** `/api/export/{view}` over HTTP: whole, in parts (RFC 9110, 14), or its head alone. */
import express, { type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { exposeHeaders } from '../cors.ts';
import { ApiError } from '../errors.ts';
import { keyOf, readQuery } from '../request.ts';
import { refusalOf } from '../sql/failures.ts';
import type { Outgoing } from '../sql/outgoing.ts';
import { EXPORT_FORMATS, type Slice, type Slices, SliceTooMuch } from './slices.ts';

/** Digits: of an empty text, which a variable that is not set leaves, a number would be made too. */
const digits = (error: string) => z.string(error).regex(/^\d+$/, error).transform(Number);
const SEQNO = 'give a masterchain seqno';
const seqno = digits(SEQNO).pipe(z.int(SEQNO).max(0xffff_ffff, SEQNO));
const STEPS = 'give how many steps a slice may have';
const asked = z.object({
  from: seqno,
  to: seqno.optional().transform((to) => to ?? null),
  steps: digits(STEPS).pipe(z.int(STEPS).min(1, STEPS)).optional(),
  format: z.enum(EXPORT_FORMATS).default('parquet'),
});

const BASE = '/api/export';

/** @param slices null with SQL off */
export function exportRouter(slices: (() => Promise<Slices>) | null, outgoing: Pick<Outgoing, 'send'>): Router {
  const router = express.Router();
  router.get(`${BASE}/:view`, async (request: Request<{ view: string }>, response) => {
    if (slices === null) throw new ApiError(404, 'exports are off: they are on with --sql on');
    const hangUp = new AbortController();
    response.on('close', () => {
      if (!response.writableFinished) hangUp.abort(new Error('the caller has hung up'));
    });
    const { view } = request.params;
    const question = read(request.url);
    const key = keyOf(request.headers) || (request.socket.remoteAddress ?? '');
    const known = await slices();
    const slice = await known.get({ ...question, view, key, signal: hangUp.signal }).catch((error: unknown) => {
      if (error instanceof SliceTooMuch && error.steps !== null) {
        exposeHeaders(response, 'X-Steps');
        response.setHeader('X-Steps', error.steps);
      }
      throw refusalOf(error);
    });
    const { format, to, steps } = question;
    const place = { path: `${BASE}/${view}`, format, hasEnd: to !== null, steps };
    const part = describe(request, response, slice, place);
    if (part === null || request.method === 'HEAD') response.end();
    else outgoing.send(response, part);
  });
  router.all(`${BASE}/:view`, (_request, response) => {
    response.setHeader('Allow', 'GET, HEAD, OPTIONS');
    throw new ApiError(405, 'Method Not Allowed');
  });
  return router;
}

function read(url: string): z.output<typeof asked> {
  const query = Object.fromEntries([...readQuery(url)].map(([name, values]) => [name, values[values.length - 1]]));
  const result = asked.safeParse(query);
  if (result.success) return result.data;
  const [{ path, message }] = result.error.issues;
  throw new ApiError(422, `${path.join('.')}: ${message}`);
}

interface Place {
  path: string;
  format: string;
  /** Whether the end was named. */
  hasEnd: boolean;
  /** Of a slice at most, where that was named. */
  steps: number | undefined;
}

/** Sets the head of the answer. @returns the bytes that are asked for; null for none */
function describe(
  request: Request,
  response: Response,
  slice: Slice,
  { path, format, hasEnd, steps }: Place,
): Buffer | null {
  const { body, tag, from, to, asked: end } = slice;
  const address = (first: number, last: number): string => `${path}?from=${first}&to=${last}&format=${format}`;
  exposeHeaders(response, 'Accept-Ranges, Content-Location, Content-Range, Link, X-From-Seqno, X-To-Seqno');
  response.setHeader('Content-Type', slice.contentType);
  response.setHeader('ETag', tag);
  response.setHeader('Cache-Control', hasEnd && slice.isFixed ? 'public, max-age=31536000, immutable' : 'no-cache');
  response.setHeader('Content-Location', address(from, to));
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('X-From-Seqno', from);
  response.setHeader('X-To-Seqno', to);
  const cut = steps === undefined ? '' : `&steps=${steps}`;
  if (to < end) response.setHeader('Link', `<${address(to + 1, end)}${cut}>; rel="next"`);
  if (names(request.headers['if-none-match'], tag)) {
    response.status(304);
    return null;
  }
  const { range, 'if-range': ifRange } = request.headers;
  const part = range === undefined || (ifRange !== undefined && ifRange !== tag) ? null : rangeOf(range, body.length);
  if (part === 'none') {
    response.setHeader('Content-Range', `bytes */${body.length}`);
    response.setHeader('Cache-Control', 'no-store');
    throw new ApiError(416, `the slice has ${body.length} bytes`);
  }
  if (part !== null) {
    response.status(206).setHeader('Content-Range', `bytes ${part.first}-${part.last}/${body.length}`);
  }
  // A copy: the slice goes when nobody else has it, however slowly the part is read.
  const sent = part === null ? body : Buffer.from(body.subarray(part.first, part.last + 1));
  response.setHeader('Content-Length', sent.length);
  return sent;
}

function names(header: string | undefined, tag: string): boolean {
  return header?.split(',').some((one) => [tag, `W/${tag}`, '*'].includes(one.trim())) ?? false;
}

/** One range of bytes; null for what is to be answered as if it were not there, which several are. */
function rangeOf(header: string, bytes: number): { first: number; last: number } | 'none' | null {
  const [, low, high] = /^bytes=(\d*)-(\d*)$/.exec(header.trim()) ?? [];
  if (low === undefined || (low === '' && high === '')) return null;
  if (low === '') return Number(high) === 0 ? 'none' : { first: Math.max(0, bytes - Number(high)), last: bytes - 1 };
  const [first, last] = [Number(low), high === '' ? bytes - 1 : Math.min(Number(high), bytes - 1)];
  if (high !== '' && Number(high) < first) return null;
  return first >= bytes ? 'none' : { first, last };
}
