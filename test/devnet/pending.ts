/** What a running service tells of messages between being sent and being in the index. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { z } from 'zod';
import * as schemas from '../../src/api/v3/schemas.ts';
import { type Stack, until } from '../stack.ts';

const ROUNDS = 40;
const ACCOUNTS = 12;

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
  return new Set(traces.flatMap(({ external_hash: hash }) => hash ?? []));
}

const counter = (text: string, name: string): number => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? 0);

export function describePending(stack: () => Stack): void {
  it('shows each trace as pending until it shows it as stored, and never as both', async () => {
    const accounts = await senders(stack());
    const open = new Set<string>();
    const levels = new Map<string, Set<string>>();
    let stored = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const isPendingFirst = round % 2 === 0;
      const before = [...open];
      const done = isPendingFirst ? new Set<string>() : await storedOf(stack(), open);
      const pending = await pendingOf(stack(), accounts);
      const shown = new Set(pending.flatMap(({ external_hash: hash }) => hash ?? []));
      for (const { external_hash: hash, transactions = {}, trace_id: id, trace } of pending) {
        if (hash === null) throw new Error('a pending trace that nothing begins');
        open.add(hash);
        const all = Object.values(transactions);
        const seen = levels.get(hash) ?? new Set();
        for (const one of all) seen.add(one.finality);
        levels.set(hash, seen);
        const root = transactions[trace?.tx_hash ?? ''];
        expect(root?.emulated).toBe(id === null);
        expect(all.every(({ trace_external_hash: external }) => external === hash)).toBe(true);
      }
      if (isPendingFirst) {
        const now = await storedOf(stack(), before);
        for (const hash of before) expect(shown.has(hash) || now.has(hash), `${hash} has disappeared`).toBe(true);
      } else for (const hash of done) expect(shown.has(hash), `${hash} is shown twice`).toBe(false);
      for (const hash of await storedOf(stack(), open)) {
        open.delete(hash);
        stored++;
      }
      await sleep(50);
    }
    const count = (level: string): number => [...levels.values()].filter((seen) => seen.has(level)).length;
    process.stdout.write(
      `pending: ${levels.size} traces, ${count('pending')} emulated, ${count('confirmed')} confirmed\n`,
    );
    expect(count('pending')).toBeGreaterThan(0);
    expect(stored).toBeGreaterThan(0);
  });

  it('emulates what then comes true, with its actions', async () => {
    const accounts = await senders(stack());
    const seen = await until('pending traces with actions', async () => {
      const found = await pendingOf(stack(), accounts);
      return found.find(({ trace_id: id, actions = [] }) => id === null && actions.length > 0) ?? null;
    });
    const hash = encodeURIComponent(seen.external_hash ?? '');
    const [real] = await until('the trace in the index', async () => {
      const { traces } = await ask(stack(), `traces?msg_hash=${hash}&include_actions=true`, schemas.traces);
      return traces.length > 0 ? traces : null;
    });
    const kinds = (actions: typeof seen.actions = []) =>
      actions.map(({ type, success }) => `${type} ${success}`).sort();
    expect(kinds(seen.actions)).toEqual(kinds(real.actions));
    const metrics = await (await fetch(`${stack().url}/metrics`)).text();
    const compared = (result: string) => counter(metrics, `tonstream_pending_compared_total\\{result="${result}"\\}`);
    const counts = ['same', 'near', 'other'].map(compared);
    process.stdout.write(`pending: ${counts[0]} as emulated, ${counts[1]} nearly, ${counts[2]} otherwise\n`);
    expect(compared('same')).toBeGreaterThan(0);
    // Of two messages in one block that lead to one account the second finds another balance.
    expect(counts[2]).toBeLessThanOrEqual(Math.ceil((counts[0] + counts[1]) * 0.1));
    const status = z.object({ pending: z.object({ traces: z.number(), confirmed: z.boolean().nullable() }) });
    expect(status.parse(await (await fetch(`${stack().url}/status`)).json()).pending.confirmed).toBe(true);
  });
}
