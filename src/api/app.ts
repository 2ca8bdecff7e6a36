/** The HTTP front: every path the service answers. Listening is the caller's, with SERVER_OPTIONS of limits.ts. */
import type { RequestListener } from 'node:http';
import express, { type Express, type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Registry } from 'prom-client';
import type { ChainSource } from '../chain/records.ts';
import { createAnswering, type Handler, type KeptBytes } from './answering.ts';
import { documentation } from './documentation.ts';
import { answerErrors, answerFailure, notFound, type Report, sendError, sendJson } from './errors.ts';
import { type ApiLimits, refusedBody } from './limits.ts';
import { openApiDocument } from './openapi.ts';
import { allowOrigins, stampAnswer } from './request.ts';
import type { Route } from './v3/route.ts';
import { v3Routes } from './v3/routes.ts';

/** `degraded`: requests are served, yet something is missing from the answers. */
export type Health = { ok: true; degraded?: string } | { ok: false; reason: string };

export interface AppOptions {
  source: ChainSource;
  /** Whether requests can be served, and why not. */
  health: () => Health | Promise<Health>;
  /** What `/status` prints as JSON. */
  status: () => object | Promise<object>;
  /** Gets the durations of requests and what else is counted of them. */
  metrics: Registry;
  /** What `/metrics` prints; these metrics unless given. */
  printMetrics?: () => Promise<string>;
  limits: ApiLimits;
  /** Whether user-friendly addresses carry the test flag. */
  testnet: () => boolean;
  /** Sees errors the service is to blame for. */
  report: Report;
  /** `X-API-Version`, the version of the TON Center data schema answered in. */
  apiVersion?: string;
  /** Names the state of the source, see AnsweringOptions. */
  version?: () => string;
  /** Memory to answer faster with. */
  kept?: KeptBytes;
  /** Answers `/` and what the page there needs; without it `/` leads to the documentation. */
  web?: Router;
  /** What else is answered, before the 404. */
  routers?: readonly Router[];
}

const BASE = '/api/v3';
/** The service whose contract this is says 1.2.0 when it does not know better. */
const DEFAULT_API_VERSION = '1.2.0';

/**
 * Everything behind the port. Requests for the API's own paths, spelled as they usually are, do not go through express:
 * a small answer that is kept takes half as much CPU time without it (`npm run bench:render`, last lines).
 */
export function createApp(options: AppOptions): RequestListener {
  const { report, limits, apiVersion = DEFAULT_API_VERSION } = options;
  const routes = v3Routes(limits);
  const answer = createAnswering(options);
  const handlers = new Map(routes.map((route) => [route.path.toLowerCase(), answer(route)]));
  const atOnce = new Map([...handlers].map(([path, handler]) => [`${BASE}${path}`, handler]));
  const others = createOthers(options, routes, handlers, apiVersion);
  return (request, response) => {
    const began = performance.now();
    const handler = isRead(request.method) ? atOnce.get(plainPath(request.url ?? '')) : undefined;
    stampAnswer(response, began, apiVersion);
    if (allowOrigins(request, response)) return;
    const refusal = refusedBody(request, limits.maxBodyBytes);
    if (refusal !== null) {
      response.setHeader('Connection', 'close');
      answerFailure(refusal, request, response, report);
      return;
    }
    if (handler === undefined) {
      others(request, response);
      return;
    }
    handler(request, response, began).catch((error) => answerFailure(error, request, response, report));
  };
}

function isRead(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** In lower case, without the query and a slash at the end. */
function plainPath(url: string): string {
  const query = url.indexOf('?');
  const path = (query < 0 ? url : url.slice(0, query)).toLowerCase();
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** The paths that are not the API's own, and the API's in unusual spellings and with other methods. */
function createOthers(
  options: AppOptions,
  routes: Route[],
  handlers: ReadonlyMap<string, Handler>,
  apiVersion: string,
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(BASE, dispatch(handlers));
  serve(app, BASE, redirect);
  app.use(BASE, documentation(openApiDocument(routes, BASE, apiVersion)));
  if (options.web === undefined) serve(app, '/', redirect);
  else app.use(options.web);
  for (const router of options.routers ?? []) app.use(router);
  serviceRoutes(app, options);
  app.use(notFound);
  app.use(answerErrors(options.report));
  return app;
}

/** GET and HEAD go to the handler, any other method to 405. */
function serve(app: Express, path: string, handler: RequestHandler): void {
  app.get(path, handler);
  app.all(path, refuseMethod);
}

const refuseMethod: RequestHandler = (_request, response) => {
  response.setHeader('Allow', 'GET, HEAD, OPTIONS');
  sendError(response, 405, 'Method Not Allowed');
};

/** The same for many paths at once, in any case and with a slash at the end or without. */
function dispatch(handlers: ReadonlyMap<string, Handler>): RequestHandler {
  return (request, response, next) => {
    const handler = handlers.get(plainPath(request.path));
    if (handler === undefined) return next();
    return isRead(request.method)
      ? handler(request, response, performance.now())
      : refuseMethod(request, response, next);
  };
}

function redirect(_request: Request, response: Response): void {
  response.redirect(301, `${BASE}/index.html`);
}

function serviceRoutes(app: Express, { health, status, metrics, printMetrics }: AppOptions): void {
  serve(app, '/healthcheck', async (_request, response) => {
    const state = await health();
    response.type('text/plain').status(state.ok ? 200 : 503);
    response.send(state.ok ? (state.degraded ? `DEGRADED: ${state.degraded}` : 'OK') : state.reason);
  });
  serve(app, '/status', async (_request, response) => sendJson(response, 200, JSON.stringify(await status())));
  serve(app, '/metrics', async (_request, response) => {
    response.setHeader('Content-Type', metrics.contentType);
    response.end(await (printMetrics?.() ?? metrics.metrics()));
  });
}
