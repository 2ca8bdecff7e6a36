/**
 * `npm run bench:feed`: the feed over made-up steps, in a process of its own, and WebSocket clients in this one. Prints
 * what was lost, whether it came in order, and how long from the moment a step can be seen to the client. With
 * BENCH_PENDING traces a second (0) everybody listens from pending on, while so many traces of three transactions begin,
 * are confirmed a quarter of a second later, and invalidated after another; what is told of them is counted apart.
 */
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { Registry } from 'prom-client';
import WebSocket from 'ws';
import { encodeStates } from '../../clickhouse/states.ts';
import type { PendingNode } from '../../streams/pending-trace.ts';
import { createFakeSource } from '../../test/fake-source.ts';
import { createKeptPositions } from '../../test/feed-server.ts';
import { createFeedSource } from '../../test/feed-source.ts';
import { madeBlock, madeTransaction } from '../../test/made-chain.ts';
import { readInTurn } from '../api/in-turn.ts';
import { takeUpgrades } from '../api/upgrades.ts';
import { createRenderings } from '../api/v3/render/renderings.ts';
import { addressOf, rawAddress } from '../chain/address.ts';
import type { Finality, TransactionRecord } from '../chain/records.ts';
import { createPendingStore, type PendingStore } from '../pending/store.ts';
import { createHostCounts } from './key-counts.ts';
import { createFeedMetrics } from './metrics.ts';
import { createStreaming } from './streaming.ts';

/** Steps of `perStep` transactions, `steps` of them, `everyMs` apart; accounts in turn out of `accounts`. */
interface Load {
  steps: number;
  perStep: number;
  everyMs: number;
  accounts: number;
}

const addressOfNumber = (n: number) => addressOf(0, createHash('sha256').update(String(n)).digest());
const nowUs = (): number => Math.round((performance.timeOrigin + performance.now()) * 1000);
const SERVED = 'serve';
const PENDING_RATE = Number(process.env.BENCH_PENDING ?? 0);
const LEVEL_MS = 250;
const TRACE_NODES = 3;

if (process.argv[2] === SERVED) await serveLoad();
else await run();

/** The other process: serves, and makes steps when it is told to. */
async function serveLoad(): Promise<void> {
  const steps = new Map<number, TransactionRecord[]>();
  const pending = createPendingStore();
  const listeners: ((from: number, to: number) => void)[] = [];
  let seqno = 0;
  let number = 0;
  const { source } = createFakeSource({
    masterchainInfo: async () => ({ first: madeBlock({ mcSeqno: 1 }), last: madeBlock({ mcSeqno: seqno }) }),
    transactions: async ({ mcSeqno = 0 }) => ({ rows: steps.get(mcSeqno) ?? [], nextCursor: null }),
    blocks: async ({ mcSeqno = 0 }) => ({ rows: steps.has(mcSeqno) ? [madeBlock({ mcSeqno })] : [], nextCursor: null }),
  });
  const streaming = createStreaming({
    source,
    head: {
      get seqno() {
        return seqno;
      },
      onAdvance: (listener) => listeners.push(listener),
    },
    pending,
    globalId: () => -3,
    testnet: () => true,
    renderings: createRenderings({ maxBytes: 0 }),
    queryTimeoutMs: 3000,
    limits: {
      maxConnections: 20_000,
      maxAddresses: 10_000,
      maxSubscribedBytes: 512 * 1024 * 1024,
      queueBytes: 256 * 1024,
      stallMs: 600_000,
      maxMessageBytes: 4 * 1024 * 1024,
    },
    metrics: createFeedMetrics(new Registry()),
    positions: createKeptPositions(),
    keys: createHostCounts().open(),
    report: (error) => process.stderr.write(`${String(error)}\n`),
  });
  const app = express();
  app.use(streaming.router);
  const server = createServer(app);
  takeUpgrades(server, streaming.upgrades, readInTurn(server));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  process.on('message', async ({ steps: count, perStep, everyMs, accounts }: Load) => {
    for (let i = 0; i < count; i++) {
      const mcSeqno = seqno + 1;
      steps.set(
        mcSeqno,
        Array.from({ length: perStep }, () => {
          const account = addressOfNumber(number++ % accounts);
          return madeTransaction({ name: String(number), mcSeqno, transaction: { account, lt: String(nowUs()) } });
        }),
      );
      seqno = mcSeqno;
      for (const listener of listeners) listener(mcSeqno - 1, mcSeqno);
      if (everyMs > 0) await sleep(everyMs);
    }
    process.send?.({ done: true, rss: process.memoryUsage().rss });
  });
  if (PENDING_RATE > 0) announceTraces(pending, () => seqno);
  process.send?.({ port: typeof address === 'object' && address ? address.port : 0 });
}

/** As the tracker would say so, without end: transactions of a recorded chain, in a trace of another message each time. */
function announceTraces(pending: PendingStore, mcSeqno: () => number): void {
  const recorded = createFeedSource('private');
  const records = recorded.steps.flatMap((step) => recorded.transactionsOf(step)).slice(0, TRACE_NODES);
  const nodesAt = (finality: Finality): PendingNode[] =>
    records.map((record) => {
      const { block, mcSeqno: step } = record;
      const states = encodeStates(null, null);
      const transaction = recorded.bagOf(record);
      return { finality, block, blockHash: null, mcSeqno: step, transaction, states, wallet: null };
    });
  const nodes = { pending: nodesAt('pending'), confirmed: nodesAt('confirmed') };
  let number = 0;
  setInterval(() => {
    const hash = createHash('sha256').update(`trace ${number++}`).digest();
    const say = (version: number, level: 'pending' | 'confirmed'): void => {
      const now = Date.now();
      const rest = { globalVersion: 9, isIncomplete: false, classification: 'ok' as const, actions: [] };
      const times = { begunMs: now, changedMs: now };
      const trace = { hashNorm: hash, externalHash: hash, version, ...times, ...rest, nodes: nodes[level] };
      pending.apply({ kind: 'trace', trace }, true, mcSeqno());
    };
    say(1, 'pending');
    setTimeout(() => say(2, 'confirmed'), LEVEL_MS);
    setTimeout(
      () => pending.apply({ kind: 'invalidated', hashNorm: hash, reason: 'expired' }, true, mcSeqno()),
      2 * LEVEL_MS,
    );
  }, 1000 / PENDING_RATE);
}

interface Client {
  socket: WebSocket;
  /** Told below final, or that it is invalidated. */
  unsure: number;
  events: number;
  disordered: number;
  last: number;
  times: number[];
}

async function open(port: number, subscription: object): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/streaming/v2/ws`, { perMessageDeflate: false });
  const client: Client = { socket, unsure: 0, events: 0, disordered: 0, last: 0, times: [] };
  await once(socket, 'open');
  const answered = once(socket, 'message');
  const level = PENDING_RATE > 0 ? { min_finality: 'pending', finality_scope: 'transaction' } : {};
  socket.send(JSON.stringify({ operation: 'subscribe', types: ['transactions'], ...level, ...subscription }));
  await answered;
  socket.on('message', (data: Buffer) => {
    const arrived = nowUs();
    const text = data.toString('latin1');
    if (!text.includes('"finality":"finalized"')) {
      client.unsure++;
      return;
    }
    const at = text.indexOf('"lt":"') + 6;
    if (at < 6) return;
    const lt = Number(text.slice(at, text.indexOf('"', at)));
    client.events++;
    if (lt < client.last) client.disordered++;
    client.last = lt;
    client.times.push((arrived - lt) / 1000);
  });
  return client;
}

async function run(): Promise<void> {
  const child = fork(new URL(import.meta.url), [SERVED], { execArgv: process.execArgv });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const load = async (what: Load): Promise<number> => {
    child.send(what);
    const [{ rss }] = (await once(child, 'message')) as [{ rss: number }];
    return rss;
  };
  const settle = async (clients: readonly Client[], expected: number): Promise<void> => {
    for (let idle = 0; idle < 1_200 && clients.some(({ events }) => events < expected); idle++) await sleep(100);
  };
  const close = async (clients: readonly Client[]): Promise<void> => {
    for (const { socket } of clients) socket.terminate();
    await sleep(200);
  };
  const everything = { everything: true };

  for (const events of [2_000, 10_000, 100_000]) {
    const client = await open(port, everything);
    const began = performance.now();
    await load({ steps: events / 1000, perStep: 1000, everyMs: 0, accounts: 1000 });
    await settle([client], events);
    print(`${events} events at once`, client, events, `${Math.round((performance.now() - began) / 10) / 100} s`);
    await close([client]);
  }

  const quick = await open(port, { addresses: [rawAddress(addressOfNumber(0))] });
  await load({ steps: 300, perStep: 1, everyMs: 0, accounts: 1 });
  await settle([quick], 300);
  print('300 quick states of one account', quick, 300);
  await close([quick]);

  const steady = await Promise.all([open(port, everything), open(port, everything)]);
  await load({ steps: 600, perStep: 20, everyMs: 50, accounts: 1000 });
  await settle(steady, 12_000);
  print('steady 400 events/s', merged(steady), 24_000);
  await close(steady);

  for (const stalled of [false, true]) {
    const clients = await Promise.all(Array.from({ length: 100 }, () => open(port, everything)));
    if (stalled) clients[0].socket.pause();
    const others = clients.slice(1);
    const rss = await load({ steps: 100, perStep: 20, everyMs: 50, accounts: 1000 });
    await settle(others, 2_000);
    const name = stalled ? '99 clients beside a stalled one' : '99 clients, none stalled';
    print(name, merged(others), 99 * 2_000, `server ${Math.round(rss / 1e6)} MB`);
    await close(clients);
  }

  const CONNECTIONS = 10_000;
  const PER_CONNECTION = 10;
  const clients: Client[] = [];
  for (let i = 0; i < CONNECTIONS; i += 100) {
    const some = Array.from({ length: 100 }, (_, k) => {
      const first = (i + k) * PER_CONNECTION;
      const addresses = Array.from({ length: PER_CONNECTION }, (_, a) => rawAddress(addressOfNumber(first + a)));
      return open(port, { addresses });
    });
    clients.push(...(await Promise.all(some)));
  }
  const all = CONNECTIONS * PER_CONNECTION;
  const rss = await load({ steps: 400, perStep: 25, everyMs: 50, accounts: all });
  for (let idle = 0; idle < 1_200 && merged(clients).events < 10_000; idle++) await sleep(100);
  print(
    '10,000 connections, 100,000 addresses, 500 events/s',
    merged(clients),
    10_000,
    `server ${Math.round(rss / 1e6)} MB`,
  );
  child.kill();
  process.exit(0);
}

type Told = Pick<Client, 'events' | 'unsure' | 'disordered' | 'times'>;

function merged(clients: readonly Client[]): Told {
  return {
    events: clients.reduce((sum, { events }) => sum + events, 0),
    unsure: clients.reduce((sum, { unsure }) => sum + unsure, 0),
    disordered: clients.reduce((sum, { disordered }) => sum + disordered, 0),
    times: clients.flatMap(({ times }) => times),
  };
}

function print(name: string, client: Told, expected: number, more = ''): void {
  const times = [...client.times].sort((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(1);
  const lost = expected - client.events;
  const below = PENDING_RATE > 0 ? `, ${client.unsure} told below final` : '';
  process.stdout.write(
    `${name}: ${lost} lost, ${client.disordered} out of order, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms${below} ${more}\n`,
  );
}
