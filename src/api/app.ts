/** Every path the service answers. */
import type { RequestListener } from 'node:http';
import express, { type Router } from 'express';
import type { Registry } from 'prom-client';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Emulator } from '../emulation/emulator.ts';
import type { Knowledge } from '../emulation/knowledge.ts';
import type { Liteservers } from '../node/liteservers.ts';
import type { PendingStore } from '../pending/store.ts';
import type { StateSource } from '../state/source.ts';
import type { Contracts } from './contracts.ts';
import { emulateApi } from './emulate/api.ts';
import { ApiError, type Report, sendJson } from './errors.ts';
import { createFront } from './front.ts';
import type { ApiLimits } from './limits.ts';
import type { Mentions } from './mentions.ts';
import { serveGet } from './methods.ts';
import type { Api, Asker, Route } from './route.ts';
import type { SentMessages } from './sent-messages.ts';
import { v2Api } from './v2/api.ts';
import { createAsked, v3Api } from './v3/api.ts';

/** `degraded`: requests are served, yet something is missing from the answers. */
export type Health = { ok: true; degraded?: string } | { ok: false; reason: string };

export interface AppOptions {
  source: ChainSource;
  liteservers: Liteservers;
  /** States as of the steps that the source shows. */
  states: StateSource;
  /** Runs contracts on them. */
  contracts: Contracts;
  /** External messages that hosts of ours have sent; none are known by default. */
  sent?: SentMessages;
  /** What becomes of sent messages before it is final; nothing by default. */
  pending?: PendingStore;
  /** Hears of the accounts that answers mention; nobody does by default. */
  mentions?: Mentions;
  /** Tells what messages would do on them; the kinds of contracts are asked of `knowledge`. */
  emulator: Emulator;
  knowledge: Knowledge;
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
  /** Names the state of the source, see AnsweringOptions. */
  version?: () => string;
  /** Memory to answer faster with; nothing is kept by default. */
  kept?: KeptBytes;
  /** Answers `/` and what the page there needs; without it `/` leads to the documentation. */
  web?: Router;
  /** Answers the paths of the feed. */
  feed?: Router;
  /** Answer the paths of SQL and of exports. */
  sql?: readonly Router[];
  /** Operations of the v3 API besides those of TON Center. */
  v3Routes?: readonly Route<Asker>[];
  /** APIs besides those of TON Center. */
  apis?: readonly Api[];
}

export interface KeptBytes {
  /** Of whole answers, for as long as the version is the same. */
  answers: number;
  /** Of rendered transactions. */
  renderings: number;
}

/**
 * The listener for an HTTP server: v3, v2, emulation and the other `apis`, the pages, feed and SQL where they are given,
 * and `/healthcheck` (200, also `DEGRADED: …`, or 503), `/status` and `/metrics`. What an operation throws is answered
 * (errors.ts), and reported where the service is to blame. Upgrades to WebSocket are taken apart from it (upgrades.ts).
 */
export function createApp(options: AppOptions): RequestListener {
  const { metrics, limits, report, version, kept, web, feed, sql, apis = [] } = options;
  const v3Options = {
    ...options,
    keptRenderings: kept?.renderings ?? 0,
    ...(options.v3Routes ? { moreRoutes: options.v3Routes } : {}),
  };
  const asked = createAsked(v3Options);
  const v3 = v3Api(v3Options, asked);
  return createFront({
    apis: [v3, v2Api(v3Options), emulateApi(options, asked), ...apis],
    others: [web ?? toDocumentation(v3.base), ...(feed ? [feed] : []), ...(sql ?? []), serviceRoutes(options)],
    metrics,
    limits,
    report,
    ...(version ? { version } : {}),
    keptAnswers: kept?.answers ?? 0,
  });
}

function toDocumentation(base: string): Router {
  const router = express.Router();
  serveGet(router, '/', (_request, response) => response.redirect(301, `${base}/index.html`));
  return router;
}

function serviceRoutes({ health, status, metrics, printMetrics }: AppOptions): Router {
  const router = express.Router();
  serveGet(router, '/healthcheck', async (_request, response) => {
    const state = await health();
    response.type('text/plain').status(state.ok ? 200 : 503);
    response.send(state.ok ? (state.degraded ? `DEGRADED: ${state.degraded}` : 'OK') : state.reason);
  });
  // As v2 tells it, in JSON.
  serveGet(router, '/api/v2/healthcheck', async (_request, response) => {
    const state = await health();
    if (!state.ok) throw new ApiError(503, state.reason);
    sendJson(response, 200, JSON.stringify('OK'));
  });
  serveGet(router, '/status', async (_request, response) => sendJson(response, 200, JSON.stringify(await status())));
  serveGet(router, '/metrics', async (_request, response) => {
    response.setHeader('Content-Type', metrics.contentType);
    response.end(await (printMetrics?.() ?? metrics.metrics()));
  });
  return router;
}
