/** Clients of the soaked service: each asks, waits for the answer, and asks again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { sampledRequests } from '../window-agreement.ts';
import { ask, type Connection, keptConnection, listen } from './asking.ts';
import { checkStep } from './checks.ts';
import type { Journal } from './journal.ts';
import type { Truth } from './truth.ts';

export interface TrafficOptions {
  url: string;
  truth: Truth;
  journal: Journal;
  clients: number;
  /** Milliseconds that a client waits after an answer; 0 unless given. */
  pauseMs?: number;
  seed: number;
  signal: AbortSignal;
}

/** Statuses that the API's own description has besides 200. */
const DOCUMENTED = new Set([404, 422]);
/** The faucet's own limit. */
const DOCUMENTED_OF_GIFTS = new Set([429]);
const SAMPLED = 400;
const SAMPLE_EVERY_MS = 5_000;
/** One request in so many is for something else than the chain. */
const OTHERS_EVERY = 20;
const OTHERS = ['/', '/status', '/healthcheck', '/metrics', '/devnet/faucet', '/api/v3/openapi.json'];
const AGAIN_MS = 100;
const WATCH_PAUSE_MS = 20;

/** Runs until the signal aborts. */
export async function runTraffic(options: TrafficOptions): Promise<void> {
  const { clients } = options;
  const paths = await createPaths(options);
  await Promise.all([
    paths.renew(),
    ...Array.from({ length: clients }, (_, n) => client(options, paths.next, n % 2 === 0 ? 'new' : keptConnection())),
    watchHead(options),
    page(options),
    page(options),
    gifts(options),
  ]);
}

/** Waits, at most until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

async function createPaths({ truth, seed, signal }: TrafficOptions) {
  let paths: string[] = [];
  let round = 0;
  let at = 0;
  const sample = async (): Promise<void> => {
    const steps = await truth.published();
    if (steps.length > 0) paths = sampledRequests(steps, SAMPLED, seed + round++);
  };
  // What is in the log is published a little later.
  for (await sample(); paths.length === 0 && !signal.aborted; await sample()) await pause(AGAIN_MS, signal);
  return {
    async renew() {
      while (!signal.aborted) {
        await pause(SAMPLE_EVERY_MS, signal);
        await sample();
      }
    },
    next(): string {
      at++;
      if (at % OTHERS_EVERY === 0) return OTHERS[Math.floor(Math.random() * OTHERS.length)];
      if (at % OTHERS_EVERY === 1) {
        return `/api/v3/topAccountsByBalance?limit=${1 + (at % 50)}&offset=${Math.floor(Math.random() * 10)}`;
      }
      return `/api/v3${paths[Math.floor(Math.random() * paths.length)]}`;
    },
  };
}

async function client(options: TrafficOptions, next: () => string, connection: Connection): Promise<void> {
  const { signal, pauseMs = 0 } = options;
  while (!signal.aborted) {
    const answered = (await tried(options, next(), connection)) !== null;
    await pause(answered ? pauseMs : AGAIN_MS, signal);
  }
}

/** The answer, noted; null when there was none. With a `body` it is a POST. */
async function tried(
  { url, journal }: TrafficOptions,
  path: string,
  connection: Connection,
  body: string | null = null,
): Promise<string | null> {
  const begun = performance.now();
  const what = `${body === null ? '' : 'POST '}${path.split('?')[0]}`;
  try {
    const { status, text, tookMs } = await ask(`${url}${path}`, connection, body);
    const documented = body === null ? DOCUMENTED : DOCUMENTED_OF_GIFTS;
    if (status === 200 || documented.has(status)) journal.answered(what, status, tookMs);
    else journal.failed(path, `status ${status}: ${text.slice(0, 200)}`, begun);
    return status === 200 ? text : null;
  } catch (error) {
    journal.failed(path, error instanceof Error ? error.message : String(error), begun);
    return null;
  }
}

export const INFO = z.object({ last: z.object({ seqno: z.number() }) });

/**
 * One client that asks for the head on two kept connections and on new ones in turn. Whoever answers, the head must not
 * go back, and the step of the head must be there as a whole on another connection.
 */
async function watchHead(options: TrafficOptions): Promise<void> {
  const { url, truth, journal, pauseMs = 0, signal } = options;
  const ways: { name: string; connection: Connection }[] = [
    { name: 'kept connection 1', connection: keptConnection() },
    { name: 'new connection', connection: 'new' },
    { name: 'kept connection 2', connection: keptConnection() },
  ];
  let before = { seqno: 0, way: '' };
  for (let turn = 0; !signal.aborted; turn++) {
    const { name, connection } = ways[turn % ways.length];
    const text = await tried(options, '/api/v3/masterchainInfo', connection);
    await pause(WATCH_PAUSE_MS + pauseMs / 3, signal);
    if (text === null) continue;
    const { seqno } = INFO.parse(JSON.parse(text)).last;
    journal.count('heads asked for');
    if (seqno < before.seqno) {
      journal.wrong(`the head went back from ${before.seqno} (${before.way}) to ${seqno} (${name})`);
    } else if (seqno > before.seqno && turn % 2 === 0) {
      await truth.until(seqno);
      await checkStep({ url, journal, signal }, truth.step(seqno));
    }
    before = { seqno, way: name };
  }
}

const CHAIN = z.looseObject({ head: z.number().nullable() });

/** A page that is open: what it is told must not go back either. */
async function page({ url, journal, signal }: TrafficOptions): Promise<void> {
  while (!signal.aborted) {
    let head = 0;
    const onEvent = (kind: string, data: string): void => {
      journal.count(`events "${kind}"`);
      if (kind !== 'chain') return;
      const told = CHAIN.parse(JSON.parse(data)).head ?? 0;
      if (told < head) journal.wrong(`a page was told of head ${told} after ${head}`);
      head = told;
    };
    await listen(`${url}/live`, onEvent, signal);
    await pause(AGAIN_MS, signal);
  }
}

const GIFT_EVERY_MS = 2_000;
const FAUCET = z.looseObject({ address: z.string() });

/** Asks the faucet for coins, which a worker asks the main process for. */
async function gifts(options: TrafficOptions): Promise<void> {
  const { signal } = options;
  while (!signal.aborted) {
    await pause(GIFT_EVERY_MS, signal);
    const told = await tried(options, '/devnet/faucet', 'new');
    if (told === null) continue;
    const { address } = FAUCET.parse(JSON.parse(told));
    await tried(options, '/devnet/faucet', 'new', JSON.stringify({ address, amount: '0.1' }));
  }
}
