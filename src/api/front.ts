/**
 * The HTTP front: what happens to every request on its way to an operation of an API or to another path, in one place.
 * Listening is the caller's, with SERVER_OPTIONS of limits.ts.
 */
import type { RequestListener, ServerResponse } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express';
import { type AnsweringOptions, createAnswering, type Methods } from './answering.ts';
import { mostBodyBytes, refuseLargeBody, refuseLongTarget, refuseManyHeaders } from './body.ts';
import { allowOrigins } from './cors.ts';
import { documentation } from './documentation.ts';
import { ApiError, answerFailure, type Report } from './errors.ts';
import { type Exchange, PLAIN_FORM } from './form.ts';
import { methodOf, refusedMethod, serveGet } from './methods.ts';
import { openApiDocument } from './openapi.ts';
import { pathOf } from './request.ts';
import type { Api } from './route.ts';

export interface FrontOptions extends AnsweringOptions {
  /** The first one's version is told of other paths, too. */
  apis: readonly [Api, ...Api[]];
  /** What is answered at other paths. */
  others?: readonly Router[];
  /** Sees errors the service is to blame for. */
  report: Report;
}

/**
 * Answers every request. Operations do not go through express: a small answer that is kept takes half as much CPU time
 * without it (`npm run bench:render`, last lines).
 */
export function createFront(options: FrontOptions): RequestListener {
  const { apis, limits, report, others = [] } = options;
  const handlersOf = createAnswering(options);
  const served = apis.map((api) => ({ api, handlers: handlersOf(api) }));
  const elsewhere = express();
  elsewhere.disable('x-powered-by');
  elsewhere.disable('etag');
  elsewhere.set('query parser', false);
  for (const api of apis) describe(elsewhere, api);
  for (const router of others) elsewhere.use(router);
  elsewhere.use((request: Request) => {
    throw new ApiError(404, `Cannot ${request.method} ${request.path}`);
  });
  // Express knows a handler of errors by its four parameters.
  elsewhere.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const { api } = belongsTo(pathOf(request.originalUrl));
    answerFailure(error, { request, response, began: performance.now(), form: api?.form ?? PLAIN_FORM }, report);
  });

  function belongsTo(path: string): Partial<(typeof served)[number]> {
    return served.find(({ api: { base } }) => path === base || path.startsWith(`${base}/`)) ?? {};
  }

  /** Every part of the way, in order; each may answer, or refuse by throwing an ApiError. */
  function answer(exchange: Exchange, methods: Methods | undefined, api: Api | undefined): Promise<void> | void {
    const { request, response } = exchange;
    if (allowOrigins(exchange)) return;
    refuseManyHeaders(request);
    refuseLongTarget(request, api?.most?.urlBytes);
    refuseLargeBody(request, mostBodyBytes(limits, api?.most));
    if (methods === undefined) {
      // Express answers what has no path with a page of its own.
      if (!pathOf(request.url ?? '').startsWith('/')) throw new ApiError(400, 'request target is no path');
      return elsewhere(request, response);
    }
    const handler = methods.get(methodOf(request.method));
    if (handler === undefined) throw refusedMethod(response, [...methods.keys()]);
    return handler(exchange);
  }

  return async (request, response) => {
    const began = performance.now();
    const path = pathOf(request.url ?? '');
    const { api, handlers } = belongsTo(path);
    const exchange: Exchange = { request, response, began, form: api?.form ?? PLAIN_FORM };
    stampAnswer(response, began, (api ?? apis[0]).version);
    try {
      await answer(exchange, handlers?.get(path.slice(api?.base.length)), api);
    } catch (error) {
      answerFailure(error, exchange, report);
    }
  };
}

/** `Server-timing: app;dur=<ms>ms` and `X-API-Version` on whatever answer is sent, by whomever. */
function stampAnswer(response: ServerResponse, began: number, apiVersion: string): void {
  const writeHead = response.writeHead;
  response.writeHead = function stamped(this: ServerResponse, ...parts: Parameters<ServerResponse['writeHead']>) {
    response.setHeader('Server-timing', `app;dur=${(performance.now() - began).toFixed(3)}ms`);
    response.setHeader('X-API-Version', apiVersion);
    return writeHead.apply(this, parts);
  } as ServerResponse['writeHead'];
}

/** The page over an API's document, and the way to it. */
function describe(app: Express, api: Api): void {
  const { base } = api;
  serveGet(app, base, (_request, response) => response.redirect(301, `${base}/index.html`));
  app.use(
    base,
    documentation(() => openApiDocument(api)),
  );
}
