/** The HTTP front: every path the service answers. Listening is the caller's, with SERVER_OPTIONS of limits.ts. */
import express, { type Express, type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Registry } from 'prom-client';
import type { ChainSource } from '../chain/records.ts';
import { createAnswering, type KeptBytes } from './answering.ts';
import { documentation } from './documentation.ts';
import { answerErrors, notFound, sendError, sendJson } from './errors.ts';
import { type ApiLimits, limitBody } from './limits.ts';
import { openApiDocument } from './openapi.ts';
import { allowOrigins, stampAnswers } from './request.ts';
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
  report: (error: unknown, request: Request) => void;
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

export function createApp(options: AppOptions): Express {
  const apiVersion = options.apiVersion ?? DEFAULT_API_VERSION;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(stampAnswers(apiVersion), allowOrigins, limitBody(options.limits.maxBodyBytes));
  const routes = v3Routes(options.limits);
  const answer = createAnswering(options);
  for (const route of routes) serve(app, `${BASE}${route.path}`, answer(route));
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
  app.all(path, (_request, response) => {
    response.setHeader('Allow', 'GET, HEAD, OPTIONS');
    sendError(response, 405, 'Method Not Allowed');
  });
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
