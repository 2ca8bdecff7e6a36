/**
 * How long a sent message is on its way to whoever waits for it: from sendBoc at the client to the notification that
 * its transactions are pending, confirmed, finalized, over a WebSocket of the feed. Run by `npm run bench:pending`: a
 * devnet with a block every BENCH_BLOCK_MS (400), whose wallets send BENCH_RATE (20) transfers a second through HTTP
 * for BENCH_SECONDS (60); the service, its chain, ClickHouse and the clients share the machine.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { z } from 'zod';
import { readExternalMessage } from '../src/chain/external-message.ts';
import { createCast } from '../src/devnet/actors/cast.ts';
import type { Wallet } from '../src/devnet/actors/wallets.ts';
import { childrenOf } from './process-table.ts';
import { processUsage } from './process-usage.ts';
import { shownHead, startStack, until } from './stack.ts';

const RATE = Number(process.env.BENCH_RATE ?? 20);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
const BLOCK_MS = Number(process.env.BENCH_BLOCK_MS ?? 400);
const SEED = 'bench';
/** As many as a devnet has that sends nothing by itself. */
const TRADERS = 24;
/** Messages that are not counted: code gets compiled. */
const WARM_UP = 100;
const FIRST_STEPS = 5;
/** For the last ones to become final. */
const REST_MS = 5_000;

const LEVELS = ['pending', 'confirmed', 'finalized'] as const;
type Level = (typeof LEVELS)[number];
const NOTIFICATION = z.object({
  type: z.literal('transactions'),
  finality: z.enum(LEVELS),
  trace_external_hash_norm: z.string(),
});
const INVALIDATED = z.object({ type: z.literal('trace_invalidated'), trace_external_hash_norm: z.string() });

const LIFE = z.object({ seen_utime_ms: z.number().nullable(), pending_utime_ms: z.number().nullable() });

interface Sent {
  at: number;
  /** The same by the clock that the service writes times with. */
  atMs: number;
  counted: boolean;
  wallet: Trader;
  heard: Partial<Record<Level | 'invalidated', number>>;
}

interface Trader {
  wallet: Wallet;
  seqno: number;
  isFree: boolean;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function percentile(values: readonly number[], part: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return value === undefined ? 'none' : value.toFixed(0);
}

const flags = ['--devnet-seed', SEED, '--devnet-rate', '0', '--block-time', `${BLOCK_MS}ms`];
const stack = await startStack({ network: 'devnet', flags });
try {
  await until('the first steps', async () => ((await shownHead(stack.url)) >= FIRST_STEPS ? true : null));
  const traders = createCast({ seed: SEED, traders: TRADERS }).traders.map(
    (wallet): Trader => ({ wallet, seqno: 0, isFree: true }),
  );
  const sent = new Map<string, Sent>();
  const answered: number[] = [];
  let refused = 0;

  const socket = new WebSocket(`${stack.url.replace('http', 'ws')}/api/streaming/v2/ws`, { perMessageDeflate: false });
  await once(socket, 'open');
  const addresses = traders.map(({ wallet }) => wallet.address.toRawString());
  socket.send(JSON.stringify({ operation: 'subscribe', types: ['transactions'], addresses, min_finality: 'pending' }));
  const [answer] = await once(socket, 'message');
  if (!/"subscribed"/.test(String(answer))) throw new Error(String(answer));
  socket.on('message', (data) => hear(JSON.parse(String(data)), performance.now()));

  function hear(message: unknown, now: number): void {
    const told = NOTIFICATION.safeParse(message);
    const gone = INVALIDATED.safeParse(message);
    const hash = told.data?.trace_external_hash_norm ?? gone.data?.trace_external_hash_norm;
    const one = hash === undefined ? undefined : sent.get(hash);
    if (one === undefined) return;
    const what = told.data?.finality ?? 'invalidated';
    one.heard[what] ??= now;
    if (what !== 'finalized' && what !== 'invalidated') return;
    if (!one.wallet.isFree && what === 'finalized') one.wallet.seqno++;
    one.wallet.isFree = true;
  }

  async function send(trader: Trader, counted: boolean): Promise<void> {
    const to = traders[(traders.indexOf(trader) + 1) % traders.length].wallet.address;
    const validUntil = Math.floor(Date.now() / 1000) + 60;
    const messages = [{ to, value: 1_000_000n, bounce: false }];
    const boc = trader.wallet.order({ seqno: trader.seqno, validUntil, messages }).toBoc();
    trader.isFree = false;
    const hash = readExternalMessage(boc).hashNorm.toString('base64');
    const at = performance.now();
    sent.set(hash, { at, atMs: Date.now(), counted, wallet: trader, heard: {} });
    const response = await fetch(`${stack.url}/api/v2/sendBoc`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ boc: boc.toString('base64') }),
    });
    await response.text();
    if (response.status === 200) answered.push(performance.now() - at);
    else {
      refused++;
      sent.delete(hash);
      trader.isFree = true;
    }
  }

  /** Where the time of those that were told as pending went. */
  async function printLegs(): Promise<void> {
    const legs: Record<string, number[]> = { 'on the topic': [], told: [], heard: [] };
    for (const [hash, { at, atMs, counted, heard }] of sent) {
      if (!counted || heard.pending === undefined) continue;
      const response = await fetch(`${stack.url}/api/v3/messageTrace?hash=${encodeURIComponent(hash)}`);
      const { seen_utime_ms: seen, pending_utime_ms: told } = LIFE.parse(await response.json());
      if (seen === null || told === null) continue;
      legs['on the topic'].push(seen - atMs);
      legs.told.push(told - seen);
      legs.heard.push(atMs + heard.pending - at - told);
    }
    const text = Object.entries(legs).map(([name, ms]) => `${name} ${percentile(ms, 0.5)}, ${percentile(ms, 0.99)}`);
    print(`from sendBoc, p50 and p99 of each leg in ms: ${text.join('; ')}`);
  }

  const own = childrenOf(process.pid).filter(({ command }) => command.includes('tonstream'));
  const pids = own.flatMap(({ pid }) => [pid, ...childrenOf(pid).map((child) => child.pid)]);
  const cpuMs = (): number => pids.reduce((sum, one) => sum + processUsage(one).cpuMs, 0);
  const cpuBefore = cpuMs();
  const began = performance.now();
  const sending: Promise<void>[] = [];
  let unfree = 0;
  for (let n = 0; n < RATE * SECONDS; n++) {
    await sleep(Math.max(0, began + (n * 1000) / RATE - performance.now()));
    const trader = traders.find(({ isFree }) => isFree);
    if (trader === undefined) unfree++;
    else {
      // Whoever has sent last is asked last.
      traders.push(...traders.splice(traders.indexOf(trader), 1));
      sending.push(send(trader, n >= WARM_UP));
    }
  }
  await Promise.all(sending);
  const seconds = (performance.now() - began) / 1000;
  const cpu = cpuMs() - cpuBefore;
  await sleep(REST_MS);
  socket.close();

  const counted = [...sent.values()].filter((one) => one.counted);
  print(`${sent.size} sent in ${seconds.toFixed(0)} s, ${refused} refused, ${unfree} left out as no wallet was free`);
  print(`sendBoc answered after p50 ${percentile(answered, 0.5)}, p99 ${percentile(answered, 0.99)} ms`);
  for (const level of [...LEVELS, 'invalidated'] as const) {
    const times = counted.flatMap(({ at, heard }) => (heard[level] === undefined ? [] : [heard[level] - at]));
    print(
      `${level}: ${times.length} of ${counted.length}, p50 ${percentile(times, 0.5)}, p99 ${percentile(times, 0.99)} ms`,
    );
  }
  await printLegs();
  print(`CPU of the service and ClickHouse: ${(cpu / sent.size).toFixed(1)} ms a message, idle blocks included`);
} finally {
  await stack.remove();
}
