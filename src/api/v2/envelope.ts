/**
 * The form of the v2 API: `{"ok":true,"result":…,"@extra":…}`, refusals with `error` and `code`, and calls by name as in
 * JSON-RPC, whose answers have `jsonrpc` and `id` besides.
 */
import { z } from 'zod';
import { BodyError } from '../body.ts';
import { ApiError } from '../errors.ts';
import { writeExactly } from '../exact-json.ts';
import type { Exchange, Failure, Form } from '../form.ts';
import { nodeFailure } from '../node-failures.ts';
import { pathOf } from '../request.ts';
import type { CallsByName } from '../route.ts';
import { ParameterError } from './route.ts';

const refusalType = z
  .object({ ok: z.literal(false), error: z.string(), code: z.int(), '@extra': z.string() })
  .meta({ id: 'Error' });

export const ENVELOPE: Form = {
  answer: (json, exchange) => {
    const tail = `,"@extra":${JSON.stringify(extraOf(exchange))}${callOf(exchange)}}`;
    return Buffer.concat([Buffer.from('{"ok":true,"result":'), json, Buffer.from(tail)]);
  },
  answerType: (type) => z.object({ ok: z.literal(true), result: type, '@extra': z.string() }),
  refusal: (failure, exchange) => {
    const { text, result } = textOf(failure, exchange);
    const head = JSON.stringify({ ok: false, error: text, ...(result && { result }), code: failure.status });
    return `${head.slice(0, -1)},"@extra":"_"${callOf(exchange)}}`;
  },
  refusalType,
  failure(error, { request }) {
    if (!(error instanceof BodyError || error instanceof ParameterError)) return nodeFailure(error);
    const form = request.method === 'POST' ? 'post' : 'get';
    return { status: error.status, text: `failed to parse ${form} request: ${error.message}`, internal: false };
  },
};

/** Unix seconds, the servers that were asked, and how long it took: `<seconds>:_:<milliseconds>`. */
function extraOf({ began }: Exchange): string {
  return `${Math.floor(Date.now() / 1000)}:_:${(performance.now() - began).toFixed(3)}`;
}

/** `,"jsonrpc":"2.0","id":<as sent>`, whatever its type, where a call by name is answered. */
function callOf({ call }: Exchange): string {
  if (call === undefined) return '';
  const sent = identified.safeParse(call);
  const id = sent.success && sent.data.id !== undefined ? `,"id":${writeExactly(sent.data.id)}` : '';
  return `,"jsonrpc":"2.0"${id}`;
}

const identified = z.looseObject({ id: z.unknown() });

const RATE_LIMIT = 'Ratelimit exceed';

/** The words that clients know for what any API refuses. */
function textOf({ status, text }: Failure, { request }: Exchange): { text: string; result?: string } {
  if (status === 404 && text.startsWith('Cannot ')) return { text: 'Not Found' };
  if (status === 405) {
    const { method, url = '' } = request;
    const isCall = pathOf(url).endsWith(JSON_RPC.path.toLowerCase());
    return { text: isCall ? `method ${method} is not supported` : `unsupported http method: ${method}` };
  }
  // Some clients look for it in `error`, others in `result`.
  if (status === 429) return { text: RATE_LIMIT, result: RATE_LIMIT };
  return { text };
}

const envelope = z.looseObject({
  method: z.string(),
  // Nothing, null and an empty list are the same.
  params: z
    .union([z.looseObject({}), z.null(), z.array(z.never()).length(0)])
    .optional()
    .transform((params) => (Array.isArray(params) ? {} : (params ?? {}))),
});

/** `POST /api/v2/jsonRPC` with `{"jsonrpc":"2.0","id":…,"method":"<operation>","params":{…}}`. */
export const JSON_RPC: CallsByName = {
  path: '/jsonRPC',
  tag: 'json rpc',
  summary: 'Calls an operation by its name, with its parameters as members of `params`',
  read(body) {
    const call = envelope.safeParse(body);
    if (call.success) return { name: call.data.method, parameters: call.data.params };
    const inParams = call.error.issues.some(({ path }) => path[0] === 'params');
    throw new ApiError(422, inParams ? 'params must contain an object' : 'method required');
  },
  unknown: () => new ApiError(422, 'Unknown method'),
};
