/** `/api/sql` and `/api/sql/schema` over HTTP. */
import express, { type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { MAX_SQL_BYTES, type Parameter } from '../../../clickhouse/reader.ts';
import { readText } from '../body.ts';
import { exposeHeaders } from '../cors.ts';
import { ApiError, sendJson } from '../errors.ts';
import { keyOf, readQuery } from '../request.ts';
import { FORMATS, type FormatName } from './formats.ts';
import type { Outgoing } from './outgoing.ts';
import type { Queries, Question } from './queries.ts';
import { SqlRefusal } from './refusal.ts';

/** A statement, its parameters, and the JSON around them. */
const MAX_BODY_BYTES = 4 * MAX_SQL_BYTES;
const PARAMETER_PREFIX = 'param_';
/** Elements of one parameter. */
const MAX_ELEMENTS = 1_000;

const names = Object.keys(FORMATS) as [FormatName, ...FormatName[]];
/** Of one with more digits some are gone. */
const number = z.number().refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), {
  error: 'give a number beyond 2^53 as text',
});
const scalar = z.union([z.string(), number, z.boolean()]);
const asked = z.strictObject({
  sql: z.string(),
  format: z.enum(names).default('json'),
  limit: z.coerce.number().int().min(1).nullish(),
  as_of: z.coerce.number().int().min(1).max(0xffff_ffff).nullish(),
  params: z
    .record(z.string().regex(/^[A-Za-z]\w{0,60}$/), z.union([scalar, z.array(scalar).max(MAX_ELEMENTS)]))
    .default({}),
});

export interface SqlParts {
  /** What answers; null with SQL off. Rejects while the server is not ready for it. */
  queries: (() => Promise<Queries>) | null;
  /** JSON of the schema. */
  schema: () => Promise<string>;
  outgoing: Pick<Outgoing, 'send'>;
}

export function sqlRouter({ queries, schema, outgoing }: SqlParts): Router {
  const router = express.Router();

  async function answer(request: Request, response: Response, sent: () => Promise<unknown>): Promise<void> {
    if (queries === null) throw new ApiError(404, 'SQL is off: it is on with --sql on');
    const hangUp = new AbortController();
    response.on('close', () => {
      if (!response.writableFinished) hangUp.abort(new Error('the caller has hung up'));
    });
    const question = read(await sent());
    const key = keyOf(request.headers) || (request.socket.remoteAddress ?? '');
    const answering = await queries();
    const told = await answering.answer({ ...question, key, signal: hangUp.signal });
    response.setHeader('Content-Type', told.contentType);
    exposeHeaders(response, 'X-Mc-Seqno, X-Truncated');
    response.setHeader('X-Mc-Seqno', told.mcSeqno);
    response.setHeader('X-Truncated', String(told.truncated));
    response.setHeader('Cache-Control', 'no-store');
    outgoing.send(response, told.body);
  }

  router.get('/api/sql', (request, response) => answer(request, response, async () => membersOfQuery(request.url)));
  router.post('/api/sql', (request, response) =>
    answer(request, response, async () => membersOfBody(await readText(request, MAX_BODY_BYTES), request.url)),
  );
  router.get('/api/sql/schema', async (_request, response) => sendJson(response, 200, await schema()));
  for (const [path, allowed] of [
    ['/api/sql', 'GET, HEAD, POST, OPTIONS'],
    ['/api/sql/schema', 'GET, HEAD, OPTIONS'],
  ]) {
    router.all(path, (_request, response) => {
      response.setHeader('Allow', allowed);
      throw new ApiError(405, 'Method Not Allowed');
    });
  }
  return router;
}

/** Parameters of the query have a prefix there; of a name that comes twice the last value counts. */
function membersOfQuery(url: string): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  const params: Record<string, string> = {};
  for (const [name, values] of readQuery(url)) {
    const value = values[values.length - 1];
    if (name.startsWith(PARAMETER_PREFIX)) params[name.slice(PARAMETER_PREFIX.length)] = value;
    else members[name] = value;
  }
  return { ...members, params };
}

/** JSON with all members, or the statement itself, with the others in the query. */
function membersOfBody(body: string, url: string): unknown {
  if (!body.trimStart().startsWith('{')) return { ...membersOfQuery(url), sql: body };
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new SqlRefusal(422, 'the body is neither a statement nor JSON', { cause });
  }
}

function read(members: unknown): Omit<Question, 'key' | 'signal'> {
  const result = asked.safeParse(members);
  if (!result.success) {
    const [{ path, message }] = result.error.issues;
    throw new SqlRefusal(422, `${path.length === 0 ? 'the request' : path.join('.')}: ${message}`);
  }
  const { sql, format, limit = null, as_of: asOf = null, params } = result.data;
  if (Buffer.byteLength(sql) > MAX_SQL_BYTES) {
    throw new SqlRefusal(413, `the statement is larger than ${MAX_SQL_BYTES} bytes`);
  }
  return { sql, format, limit, asOf, parameters: new Map<string, Parameter>(Object.entries(params)) };
}
