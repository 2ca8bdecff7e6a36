/** The page at `/` with the events that keep it up to date at `/live`, and the pages about one thing each. */
import express, { type RequestHandler, type Router } from 'express';
import type { Head } from '../../clickhouse/queries/head.ts';
import { sendError } from '../api/errors.ts';
import { serveGet } from '../api/methods.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Status } from '../status.ts';
import { asset, readAsset, sendPage } from './assets.ts';
import { FINDERS, withFacts } from './facts.ts';
import { createPush, type Push } from './push.ts';
import { createWatch } from './watch.ts';

export interface WebOptions {
  source: ChainSource;
  /** What `/status` prints. */
  status: () => Promise<Status>;
  /** Of the source: the page is made anew with each advance. */
  head: Pick<Head, 'seqno' | 'onAdvance'>;
  /** Of the network; null before there is a step. */
  globalId: () => number | null;
  /** Whether user-friendly addresses carry the test flag. */
  testnet: () => boolean;
  /** The chain that is followed, as the setting names it; `none` when blocks are imported. A file is not shown. */
  network: string;
  /** Milliseconds for each query. */
  queryTimeoutMs: number;
  /** Largest `limit` of the API: the pages ask for no more. */
  maxRows: number;
  /** Sees what keeps the page from being up to date. */
  report: (error: unknown) => void;
  /** Differ from the defaults below in tests only. */
  limits?: Partial<WebLimits>;
}

export interface WebLimits {
  /** Pages open at the same time. */
  maxListeners: number;
  beatMs: number;
  stallMs: number;
  chainEveryMs: number;
  statusEveryMs: number;
}

export interface Web {
  router: Router;
  /** Ends every open page's events and takes no more. */
  close(): void;
}

const DEFAULT_LIMITS: WebLimits = {
  maxListeners: 500,
  beatMs: 5_000,
  stallMs: 20_000,
  chainEveryMs: 250,
  statusEveryMs: 1_000,
};

const FILES = [
  'account-page.js',
  'actions.js',
  'ask.js',
  'block-page.js',
  'chain.js',
  'chart.js',
  'charts-page.js',
  'day.js',
  'elements.js',
  'explorer.css',
  'explorer.js',
  'format.js',
  'icon.svg',
  'jetton-page.js',
  'layout.js',
  'links.js',
  'lists.css',
  'live.js',
  'main.js',
  'pipeline-page.js',
  'search.js',
  'series.js',
  'sql-page.js',
  'status.js',
  'style.css',
  'tools.css',
  'top-pages.js',
  'trace-graph.js',
  'trace-layout.js',
  'transaction-page.js',
  'words.js',
];
/** What has a page of its own; the page asks the API for it. */
const ABOUT = ['tx', 'account', 'jetton', 'block', 'top', 'charts', 'sql', 'pipeline'];
/** What a page about no one thing is called when nothing is named. */
const USUAL = { top: 'accounts', charts: 'hour', sql: 'editor', pipeline: 'now' };
/** A path or an address that stands for a network is not for every visitor to see. */
const NAMED = new Set(['none', 'devnet', 'mainnet', 'testnet']);
const RETRY_SECONDS = 10;

export function createWeb(options: WebOptions): Web {
  const { maxListeners, beatMs, stallMs, ...pace } = { ...DEFAULT_LIMITS, ...options.limits };
  const push = createPush({ maxListeners, beatMs, stallMs, onListeners: (count) => watch.set(count > 0) });
  const watch = createWatch({ ...options, ...pace, push });
  push.publish('service', { network: NAMED.has(options.network) ? options.network : 'custom' });
  // The pages' links are relative, and their scripts read the path as it is written here.
  const router = express.Router({ caseSensitive: true });
  serveGet(router, '/', asset('index.html', Buffer.from(pageOf('index.html', options))));
  for (const about of ABOUT) serveGet(router, `/${about}/:subject`, pageAbout(about, options));
  for (const [about, subject] of Object.entries(USUAL)) {
    serveGet(router, `/${about}`, ({ path }, response) =>
      response.redirect(302, path.endsWith('/') ? subject : `${about}/${subject}`),
    );
  }
  for (const name of FILES) serveGet(router, `/web/${name}`, asset(name));
  serveGet(router, '/live', live(push));
  return {
    router,
    close: () => push.close(),
  };
}

/** A page that says how many rows its scripts may ask for at once. */
const pageOf = (name: string, { maxRows }: WebOptions): string =>
  readAsset(name)
    .toString()
    .replace(/(?<=<meta name="most-rows" content=")\d+/, String(maxRows));

/** What is looked up in advance is for browsers without scripts: a page is shown without it rather than not at all. */
function pageAbout(about: string, options: WebOptions): RequestHandler {
  const { source, queryTimeoutMs, report } = options;
  const html = pageOf('explorer.html', options);
  const find = FINDERS[about];
  return async (request, response) => {
    const subject = String(request.params.subject);
    // What the page loads lies one folder above it: of a path that ends with a slash, in no folder at all.
    if (request.path.endsWith('/')) {
      response.redirect(302, `../${encodeURIComponent(subject)}`);
      return;
    }
    const hangUp = new AbortController();
    response.on('close', () => hangUp.abort());
    const context = { signal: hangUp.signal, timeoutMs: queryTimeoutMs };
    const facts = await find?.(subject, source, context).catch((error: unknown) => {
      if (!hangUp.signal.aborted) report(error);
      return null;
    });
    sendPage(request, response, facts ? withFacts(html, facts) : html);
  };
}

/** `text/event-stream`; 503 when there are listeners enough. A HEAD request gets the head and is no listener. */
function live(push: Push): RequestHandler {
  return (request, response) => {
    if (!push.open) {
      response.setHeader('Retry-After', RETRY_SECONDS);
      sendError(response, 503, 'as many pages are open as the service keeps up to date');
      return;
    }
    response.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
    response.setHeader('Cache-Control', 'no-store');
    // Proxies of the nginx kind would hold events back to fill a buffer.
    response.setHeader('X-Accel-Buffering', 'no');
    // A line that carried events is not used again, so ending the events ends it.
    response.setHeader('Connection', 'close');
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    response.flushHeaders();
    push.join(response);
  };
}
