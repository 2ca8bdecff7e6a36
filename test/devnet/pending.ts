/** What a running service tells of messages between being sent and being in the index. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';
import * as schemas from '../../src/api/v3/schemas.ts';
import { rounds } from '../chance.ts';
import { type Stack, shownHead, until } from '../stack.ts';

const ROUNDS = rounds(12, 40);
/** Between two looks: what is looked at has the processors meanwhile. */
const BETWEEN_MS = 50;
/** Emulated traces that are to be seen. */
const ENOUGH = 8;
const ACCOUNTS = 12;
/** A trace of the traffic is complete by then. */
const STEPS_TO_COME = 4;

async function ask<T extends z.ZodType>(stack: Stack, query: string, shape: T): Promise<z.output<T>> {
  const response = await fetch(`${stack.url}/api/v3/${query}`);
  if (response.status !== 200) throw new Error(`${query}: ${response.status} ${await response.text()}`);
  return shape.parse(await response.json());
}

/** Accounts that send messages of their own. */
async function senders(stack: Stack): Promise<string[]> {
  return until('traces of the traffic', async () => {
    const { traces } = await ask(stack, 'traces?limit=100', schemas.traces);
    const roots = traces.flatMap(({ trace, transactions }) => transactions?.[trace?.tx_hash ?? ''] ?? []);
    const accounts = roots.filter(({ in_msg: message }) => message?.source === null).map(({ account }) => account);
    const found = [...new Set(accounts)].slice(0, ACCOUNTS);
    return found.length >= ACCOUNTS / 3 ? found : null;
  });
}

async function pendingOf(stack: Stack, accounts: readonly string[]) {
  const found = await Promise.all(
    accounts.map((account) => ask(stack, `pendingTraces?account=${account}`, schemas.traces)),
  );
  return found.flatMap(({ traces }) => traces);
}

/** Which of these messages have complete traces in the index. */
async function storedOf(stack: Stack, messages: Iterable<string>): Promise<Set<string>> {
  const hashes = [...messages].map((hash) => `msg_hash=${encodeURIComponent(hash)}`);
  if (hashes.length === 0) return new Set();
  const { traces } = await ask(stack, `traces?limit=1000&${hashes.join('&')}`, schemas.traces);
  const found = traces.flatMap(({ external_hash: hash }) => hash ?? []);
  expect(new Set(found).size, 'a trace is stored twice').toBe(found.length);
  return new Set(found);
}

async function stepsLater({ url }: Stack, steps: number): Promise<void> {
  const seqno = (await shownHead(url)) + steps;
  await until(`step ${seqno}`, async () => ((await shownHead(url)) >= seqno ? true : null));
}

/** A hundredth may come otherwise, and one of fewer: a contract may look at the time, and a block be late. */
const fewOf = (count: number): number => Math.max(1, count * 0.01);

const counter = (text: string, name: string, labels: string): number =>
  Number(new RegExp(`^${name}\\{${labels}\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0);

type Trace = z.output<typeof schemas.traces>['traces'][number];
type Transaction = z.output<typeof schemas.transaction>;
type Node = z.output<typeof schemas.traceNode>;

/** A block may be made some seconds later than was thought, and storage be paid for them by who sends all it has. */
const STORAGE_NANOTONS = 1_000;

/** The transactions of a trace, a parent before its children. */
function inOrder({ trace, transactions = {} }: Trace): Transaction[] {
  const walk = ({ tx_hash: hash, children }: Node): Transaction[] => [transactions[hash], ...children.flatMap(walk)];
  return trace ? walk(trace) : [];
}

/** What must be the same of a transaction that was emulated and of the one that came. */
function factsOf({ account, in_msg: message, description: { compute_ph: compute, action } }: Transaction): string {
  return [account, message?.opcode, compute?.exit_code, compute?.reason, action?.result_code].join(' ');
}

/** Where a trace came otherwise than it was emulated; null for nowhere. */
function differenceOf(emulated: Trace, came: Trace): string | null {
  const [told, real] = [inOrder(emulated), inOrder(came)];
  const show = (one: Transaction | undefined) => (one ? `${factsOf(one)} ${one.in_msg?.value}` : 'nothing');
  for (let i = 0; i < Math.max(told.length, real.length); i++) {
    const [one, other] = [told.at(i), real.at(i)];
    const apart = Math.abs(Number(one?.in_msg?.value ?? 0) - Number(other?.in_msg?.value ?? 0));
    const alike = one && other && factsOf(one) === factsOf(other) && apart <= STORAGE_NANOTONS;
    if (!alike) return `emulated ${show(one)} | came ${show(other)}`;
  }
  return null;
}

/**
 * Whether an account of the trace did something else after the state that the trace was emulated on: which comes first
 * is the block's choice. Told by the transactions that each account had before those of the trace.
 */
function raced(emulated: Trace, came: Trace): boolean {
  const own = (trace: Trace) => new Set(Object.keys(trace.transactions ?? {}));
  const entries = (trace: Trace) =>
    inOrder(trace).flatMap(({ account, prev_trans_hash: before }) =>
      before !== null && own(trace).has(before) ? [] : [[account, before] as const],
    );
  const really = entries(came);
  const told = new Map(entries(emulated));
  const accounts = new Set(really.map(([account]) => account));
  return really.length > accounts.size || really.some(([account, before]) => (told.get(account) ?? before) !== before);
}

/** How traces were emulated, by the messages that begin them. */
const emulated = new Map<string, Trace>();

/** What is shown of the traces of a traffic, asked for again and again. */
function createWatch(stack: Stack) {
  const open = new Set<string>();
  /** Shown neither as pending nor as stored: invalidated. */
  const gone = new Set<string>();
  const levels = new Map<string, Set<string>>();
  let stored = 0;

  function note(pending: readonly Trace[]): Set<string> {
    for (const one of pending) {
      const { external_hash: hash, transactions = {}, trace_id: id, trace } = one;
      if (hash === null) throw new Error('a pending trace that nothing begins');
      if (id === null) emulated.set(hash, one);
      const all = Object.values(transactions);
      const seen = levels.get(hash) ?? new Set();
      for (const { finality } of all) seen.add(finality);
      if (!levels.has(hash)) open.add(hash);
      levels.set(hash, seen);
      expect(transactions[trace?.tx_hash ?? '']?.emulated).toBe(id === null);
      expect(all.every(({ trace_external_hash: external }) => external === hash)).toBe(true);
    }
    return new Set(pending.flatMap(({ external_hash: hash }) => hash ?? []));
  }

  /** Of messages that are known. */
  async function pending(messages: readonly string[]): Promise<Set<string>> {
    if (messages.length === 0) return new Set();
    const query = messages.map((hash) => `ext_msg_hash=${encodeURIComponent(hash)}`).join('&');
    return note((await ask(stack, `pendingTraces?${query}`, schemas.traces)).traces);
  }

  function settle(done: ReadonlySet<string>): void {
    for (const hash of done) if (open.delete(hash)) stored++;
  }

  return {
    open,
    gone,
    levels,
    get stored() {
      return stored;
    },
    discover: async (accounts: readonly string[]) => void note(await pendingOf(stack, accounts)),
    /** Nothing that was shown as pending is nowhere when it is looked for there first, and in the index then. */
    async seeNoGap(): Promise<void> {
      const before = [...open];
      const shown = await pending(before);
      const now = await storedOf(stack, before);
      for (const hash of before) if (!shown.has(hash) && !now.has(hash) && open.delete(hash)) gone.add(hash);
    },
    /** Nothing that is in the index is shown as pending then. */
    async seeNoneTwice(): Promise<void> {
      const before = [...open];
      const done = await storedOf(stack, before);
      const shown = await pending(before);
      for (const hash of done) expect(shown.has(hash), `${hash} is shown twice`).toBe(false);
      settle(done);
    },
  };
}

export function describePending(stack: () => Stack): void {
  it('shows each trace as pending until it shows it as stored, and never as both', async () => {
    const accounts = await senders(stack());
    const watch = createWatch(stack());
    let isOver = false;
    const again = async (look: () => Promise<void>): Promise<void> => {
      for (; !isOver; await sleep(BETWEEN_MS)) if (watch.open.size > 0) await look();
    };
    const looking = (async () => {
      for (let round = 0; round < ROUNDS || emulated.size < ENOUGH || watch.stored === 0; round++) {
        await watch.discover(accounts);
        await sleep(BETWEEN_MS);
      }
    })().finally(() => {
      isOver = true;
    });
    await Promise.all([looking, again(watch.seeNoGap), again(watch.seeNoneTwice)]);
    await stepsLater(stack(), STEPS_TO_COME);
    const { gone, levels } = watch;
    expect([...(await storedOf(stack(), gone))], 'stored after it was shown nowhere').toEqual([]);
    const count = (level: string): number => [...levels.values()].filter((seen) => seen.has(level)).length;
    process.stdout.write(
      `pending: ${levels.size} traces, ${count('pending')} emulated, ${count('confirmed')} confirmed, ${gone.size} gone\n`,
    );
    expect(count('pending')).toBeGreaterThan(0);
  });

  it('emulates what then comes true, with its actions', async () => {
    const accounts = await senders(stack());
    const told = new Map<string, Trace>();
    // Some never come, and some come otherwise: they race with others.
    const seen = await until('a pending trace with actions in the index', async () => {
      for (const one of await pendingOf(stack(), accounts)) {
        if (one.trace_id === null && one.actions?.length) told.set(one.external_hash ?? '', one);
      }
      for (const external of await storedOf(stack(), told.keys())) {
        const one = told.get(external);
        const query = `traces?msg_hash=${encodeURIComponent(external)}&include_actions=true`;
        const [stored] = (await ask(stack(), query, schemas.traces)).traces;
        if (one !== undefined && !raced(one, stored)) return one;
        told.delete(external);
      }
      return null;
    });
    const hash = encodeURIComponent(seen.external_hash ?? '');
    const kinds = (actions: typeof seen.actions = []) =>
      actions.map(({ type, success }) => `${type} ${success}`).sort();
    const query = `traces?msg_hash=${hash}&include_actions=true`;
    // What no block had shown before, an item of the first state, is asked for, and its traces are told again then.
    await until('the trace as it was emulated', async () => {
      const { actions } = (await ask(stack(), query, schemas.traces)).traces[0];
      return isDeepStrictEqual(kinds(actions), kinds(seen.actions)) ? true : null;
    });
    // The index may have it before it is told of here.
    const life = await until('all that is told of it', async () => {
      const found = await ask(stack(), `messageTrace?hash=${hash}`, schemas.messageTrace);
      return found.finalized_utime_ms === null ? null : found;
    });
    expect(life).toMatchObject({ stage: 'complete', invalidated_utime_ms: null });
    const { seen_utime_ms: sent, pending_utime_ms: begun, finalized_utime_ms: final } = life;
    expect([sent, begun, final].every((time) => time !== null)).toBe(true);
    const times = [sent, begun, life.confirmed_utime_ms, final].filter((time) => time !== null);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const status = z.object({ pending: z.object({ traces: z.number(), confirmed: z.boolean().nullable() }) });
    expect(status.parse(await (await fetch(`${stack().url}/status`)).json()).pending.confirmed).toBe(true);
  });

  it('emulates as the chain then does, where nothing else comes between', async () => {
    await stepsLater(stack(), STEPS_TO_COME);
    const hashes = [...emulated.keys()].map((hash) => `msg_hash=${encodeURIComponent(hash)}`);
    const { traces } = await ask(stack(), `traces?limit=1000&${hashes.join('&')}`, schemas.traces);
    const counts = { same: 0, raced: 0, other: 0 };
    for (const came of traces) {
      const told = emulated.get(came.external_hash ?? '');
      if (told === undefined) throw new Error('a trace that was not asked for');
      const difference = differenceOf(told, came);
      const kind = raced(told, came) ? 'raced' : difference === null ? 'same' : 'other';
      counts[kind]++;
      if (difference !== null) process.stdout.write(`pending, ${kind}: ${came.external_hash} ${difference}\n`);
    }
    process.stdout.write(`pending: ${JSON.stringify(counts)} of ${emulated.size} emulated traces\n`);
    expect(counts.same + counts.raced).toBeGreaterThan(0);
    expect(counts.other).toBeLessThanOrEqual(fewOf(counts.same + counts.other));
    // The service has compared more of them: all that it emulated.
    const metrics = await (await fetch(`${stack().url}/metrics`)).text();
    const [same, near, other] = ['same', 'near', 'other'].map((result) =>
      counter(metrics, 'tonstream_pending_compared_total', `result="${result}",raced="false"`),
    );
    process.stdout.write(`pending: of those that raced none ${same} same, ${near} nearly, ${other} other\n`);
    const counted = metrics.split('\n').filter((line) => /^tonstream_pending_(messages|invalidated)_total/.test(line));
    process.stdout.write(`pending: ${counted.join(', ').replaceAll('tonstream_pending_', '')}\n`);
    expect(other).toBeLessThanOrEqual(fewOf(same + near + other));
  });
}
