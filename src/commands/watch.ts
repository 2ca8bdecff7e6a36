import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { parseStart, StartPointError } from '../../streams/ingest/follow-start.ts';
import { errorMessage } from '../chain/errors.ts';
import { type Config, settings } from '../config.ts';
import { httpUrl } from '../listen.ts';
import type { ImportIo } from './import.ts';

const PATH = '/api/streaming/v2/sse';
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** A line comes at least every 15 s; a connection without one is dead. */
const SILENCE_MS = 40_000;
const NANO_DIGITS = 9;

const amount = z.string().nullish();
const address = z.string().nullish();
const transaction = z.object({
  account: z.string(),
  hash: z.string(),
  lt: z.string(),
  now: z.number(),
  in_msg: z.object({ source: address, value: amount }).nullable(),
  out_msgs: z.array(z.object({ destination: address, value: amount })),
  description: z.object({ aborted: z.boolean().nullish() }),
});
const block = z.object({
  workchain: z.number(),
  shard: z.string(),
  seqno: z.number(),
  gen_utime: z.string(),
  tx_count: z.number(),
});
const notification = z.object({
  type: z.string(),
  cursor: z.string().optional(),
  transactions: z.array(transaction).optional(),
  block: block.optional(),
});
type Notification = z.output<typeof notification>;
const refused = z.object({ error: z.string(), oldest_cursor: z.string().optional() });

export interface WatchIo extends Pick<ImportIo, 'print'> {
  stderr?: { write(text: string): unknown };
  /** Ends it. */
  signal: AbortSignal;
}

/**
 * `tonstream watch [ADDRESS…]`: prints the transactions of accounts, or all transactions and blocks, as they become
 * final; a client of the feed like any other. It connects again when the connection breaks and goes on where it was.
 * `--from` begins at a masterchain seqno, a time or a cursor.
 * @returns the exit code: 0 when it was stopped, 1 when the service refused
 */
export async function runWatch(
  { host, port, from }: Pick<Config, 'host' | 'port' | 'from'>,
  addresses: readonly string[],
  { print, stderr = process.stderr, signal }: WatchIo,
): Promise<number> {
  const url = `${httpUrl(host, port)}${PATH}`;
  const wanted =
    addresses.length > 0
      ? { types: ['transactions'], addresses }
      : { types: ['transactions', 'block'], everything: true };
  let start = startOf(from);
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      for await (const told of listen(url, { ...wanted, ...start, with_cursor: true }, signal)) {
        pause = FIRST_PAUSE_MS;
        for (const line of linesOf(told)) print(line);
        if (told.cursor !== undefined) start = { from_cursor: told.cursor };
      }
    } catch (error) {
      if (signal.aborted) break;
      if (error instanceof Refused) {
        stderr.write(`tonstream watch: ${error.message}\n`);
        return 1;
      }
      stderr.write(`tonstream watch: ${url}: ${reasonOf(error)}; trying again\n`);
    }
    await sleep(pause, undefined, { signal }).catch(() => undefined);
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  }
  if ('from_cursor' in start) {
    const words = [...addresses, ...placeFlags({ host, port }), '--from', start.from_cursor];
    print(`to go on: tonstream watch ${words.join(' ')}`);
  }
  return 0;
}

/** The flags that lead to the same service from anywhere; none where they are the default ones. */
function placeFlags(place: Pick<Config, 'host' | 'port'>): string[] {
  return (['host', 'port'] as const).flatMap((name) => {
    const { flag, schema } = settings[name];
    return place[name] === schema.parse(undefined) ? [] : [`--${flag}`, String(place[name])];
  });
}

/** The service will not give another answer. */
class Refused extends Error {
  override name = 'Refused';
}

type Start = Record<string, string | number>;

function startOf(from: string | undefined): Start {
  if (from === undefined) return {};
  if (from === '0') return { from_mc_seqno: 0 };
  try {
    const start = parseStart(from);
    if (start === 'head') return {};
    if (start === 'genesis') return { from_mc_seqno: 0 };
    return 'seqno' in start ? { from_mc_seqno: start.seqno } : { from_utime: start.utime };
  } catch (error) {
    if (error instanceof StartPointError) return { from_cursor: from };
    throw error;
  }
}

async function* listen(url: string, body: object, signal: AbortSignal): AsyncGenerator<Notification> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error('nothing came for too long')), SILENCE_MS);
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (response.status >= 400 && response.status < 500) throw new Refused(await refusal(response));
    if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      timer.refresh();
      text += decoder.decode(chunk, { stream: true });
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      for (const frame of frames) {
        // What comes before anything was heard is not lost either.
        const begun = /^id: (.*)\nevent: connected$/m.exec(frame)?.[1];
        if (begun !== undefined) yield { type: 'connected', cursor: begun };
        const data = /^event: event\ndata: (.*)$/m.exec(frame)?.[1];
        if (data !== undefined) yield notification.parse(JSON.parse(data));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

async function refusal(response: Response): Promise<string> {
  const told = refused.safeParse(await response.json().catch(() => null));
  if (!told.success) return `HTTP ${response.status}`;
  const { error, oldest_cursor: oldest } = told.data;
  return oldest === undefined ? error : `${error}; the oldest one is ${oldest}`;
}

function reasonOf(error: unknown): string {
  if (error instanceof TypeError) return 'nothing listens there';
  return errorMessage(error);
}

function linesOf({ type, transactions = [], block: made }: Notification): string[] {
  if (type === 'caught_up') return ['— up to date —'];
  if (made !== undefined) {
    const { workchain, shard, seqno, gen_utime: utime, tx_count: count } = made;
    return [`${timeText(Number(utime))}  block ${workchain}:${shard}:${seqno}, ${count} transactions`];
  }
  return transactions.map(({ account, hash, now, in_msg: received, out_msgs: sent, description }) => {
    const parts = [`${timeText(now)}  ${account}`];
    if (received?.source) parts.push(`got ${coinText(received.value)} from ${received.source}`);
    else if (received !== null) parts.push('got an external message');
    for (const { destination, value } of sent) if (destination) parts.push(`sent ${coinText(value)} to ${destination}`);
    if (description.aborted === true) parts.push('aborted');
    return [...parts, hash].join('  ');
  });
}

function timeText(utime: number): string {
  return new Date(utime * 1000).toISOString().replace('T', ' ').slice(0, 19);
}

function coinText(nanotons: string | null | undefined): string {
  const digits = (nanotons ?? '0').padStart(NANO_DIGITS + 1, '0');
  const rest = digits.slice(-NANO_DIGITS).replace(/0+$/, '');
  return `${digits.slice(0, -NANO_DIGITS)}${rest === '' ? '' : `.${rest}`} TON`;
}
