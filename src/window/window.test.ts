import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { blocks } from '../../clickhouse/tables/blocks.ts';
import { transactions } from '../../clickhouse/tables/transactions.ts';
import { emptyTables } from '../../test/empty-tables.ts';
import { startProgram } from '../../test/program.ts';
import { recordedSteps } from '../../test/recorded-steps.ts';
import { shelf } from '../../test/shelf.ts';
import { ANY_MESSAGE, type MessageFilter } from '../chain/records.ts';
import { engineFile, openEngine } from './engine.ts';
import type { TransactionForm } from './form.ts';
import { blockKind, transactionKind } from './kinds.ts';
import { transactionOf } from './rows.ts';
import { createWindowSource } from './source.ts';
import { tableOptions } from './store.ts';
import type { View } from './view.ts';
import { type Arrival, openWindow, type Window } from './window.ts';

const MB = 1024 * 1024;
const WRITER = fileURLToPath(new URL('../../test/window-writer.ts', import.meta.url));

let steps: Arrival[];
let home: string;
const windows: Window[] = [];

function open(name: string, maxBytes = 64 * MB, form?: TransactionForm): Window {
  const window = openWindow({ folder: join(home, name), maxBytes, ...(form ? { form } : {}) });
  windows.push(window);
  return window;
}

/** Long enough to be packed. */
const textOf = (hash: Buffer | undefined, mcSeqno: number | undefined): string =>
  `${mcSeqno} shows ${hash?.toString('hex')} `.repeat(40);

function formOf(version: string): TransactionForm {
  return {
    version,
    dictionary: Buffer.from(`${version} shows`.padEnd(16)),
    of: ({ transaction, mcSeqno }) => Buffer.from(textOf(transaction.hash, mcSeqno)),
    ofAction: ({ actionId, mcSeqno }) => Buffer.from(textOf(actionId, mcSeqno)),
    messageIn: () => null,
  };
}

const nothingBelow = async () => null;
const below = { lt: 5n, utime: 6 };

/** Keys of every table and what they lead to, but for codes, which outlive their step. */
function keys(folder: string): Record<string, string[]> {
  const tables = tableOptions(null).filter(({ name }) => name !== 'codes');
  const snapshot = openEngine(join(home, folder), tableOptions(null)).snapshot();
  const found = tables.map(({ name }): [string, string[]] => {
    const all = snapshot.range(name, { low: Buffer.alloc(1), high: null });
    return [name, Array.from(all, ({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`)];
  });
  snapshot.done();
  return Object.fromEntries(found);
}

/** The transactions of a window, in the order in which they were written. */
function transactionsOf(view: View | null) {
  if (view === null) return [];
  const steps = [...view.steps(0)].flatMap((mcSeqno) => view.rowsOf(transactionKind, mcSeqno));
  return steps.map(({ id, row }) => ({ id, ...transactionOf(id, row) }));
}

beforeAll(async () => {
  if (shelf !== null) steps = await recordedSteps('mainnet-genesis_a');
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-window-'));
});
afterEach(async () => {
  for (const window of windows.splice(0)) await window.close();
  rmSync(home, { recursive: true, force: true });
});

describe.skipIf(shelf === null)('the window', () => {
  it('holds the transactions of its steps, also when it is opened again', async () => {
    const first = open('a');
    expect(await first.apply(steps, nothingBelow)).toBe('begun');
    const state = first.state;
    await first.close();
    const again = open('a');
    expect(again.state).toEqual(state);
    const view = again.view();
    const wanted = steps.flatMap(({ step }) => step.rows.of(transactions));
    const found = transactionsOf(view).map(({ transaction }) => transaction.lt);
    expect(found.toSorted()).toEqual(wanted.map(({ lt }) => lt).toSorted());
    view?.done();
  });

  it('passes over what it has, and goes on behind it', async () => {
    const window = open('a');
    await window.apply(steps.slice(0, 40), nothingBelow);
    const { state } = window;
    expect(await window.apply(steps.slice(10, 40), nothingBelow)).toBe('known');
    expect(window.state).toEqual(state);
    expect(await window.apply(steps.slice(30, 60), nothingBelow)).toBe('added');
    expect(window.state).toMatchObject({ first: steps[0].step.mcSeqno, head: steps[59].step.mcSeqno, nextOffset: 60 });
  });

  it('keeps what was said of its answering while steps were on their way into it', async () => {
    const window = open('a');
    await window.apply(steps.slice(0, 40), nothingBelow);
    for (const [i, speaks] of [true, false, true].entries()) {
      const applying = window.apply([steps[40 + i]], nothingBelow);
      await window.speak(speaks);
      expect(await applying).toBe('added');
      expect(window.state).toMatchObject({ nextOffset: 41 + i, speaks });
    }
  });

  it('is the same whether its first steps were taken out or never came', async () => {
    // Of the size of a few steps, so that steps go all the time.
    const small = open('small', 300_000);
    for (const arrival of steps) await small.apply([arrival], nothingBelow);
    const { first, bytes } = small.state ?? { first: 0, bytes: 0 };
    expect(first).toBeGreaterThan(steps[0].step.mcSeqno);
    expect(bytes).toBeLessThan(300_000);
    const fresh = open('fresh');
    await fresh.apply(
      steps.filter(({ step }) => step.mcSeqno >= first),
      async () => below,
    );
    expect(keys('small')).toEqual(keys('fresh'));
    expect(fresh.state).toMatchObject({ first, below });
    // What it took out it knows the end of.
    const out = steps.filter(({ step }) => step.mcSeqno < first).flatMap(({ step }) => step.rows.of(blocks));
    const ends = out.map(({ endLt }) => endLt.padStart(20, '0')).sort();
    expect(small.state?.below).toEqual({
      lt: BigInt(ends[ends.length - 1]),
      utime: Math.max(...out.map(({ genUtime }) => genUtime)),
    });
  });

  it('takes no more of the disk than it may', async () => {
    const window = open('a', 2 * MB);
    // Many times its size goes through it.
    for (let round = 0; round < 12; round++) {
      for (let i = 0; i < steps.length; i += 4) await window.apply(steps.slice(i, i + 4), nothingBelow);
      await window.clear();
    }
    // lmdb keeps what a commit has freed for a commit or two.
    expect(statSync(engineFile(join(home, 'a'))).size).toBeLessThan(2.5 * 2 * MB);
  });

  it('begins anew behind a hole, with a bound of what is below', async () => {
    const window = open('a');
    await window.apply(steps.slice(0, 40), nothingBelow);
    expect(await window.apply(steps.slice(50, 60), async () => below)).toBe('begun');
    expect(window.state).toMatchObject({ first: steps[50].step.mcSeqno, head: steps[59].step.mcSeqno, below });
    const fresh = open('fresh');
    await fresh.apply(steps.slice(50, 60), nothingBelow);
    expect(keys('a')).toEqual(keys('fresh'));
  });

  it('begins anew with the steps of another network', async () => {
    const window = open('a');
    await window.apply(steps.slice(0, 40), nothingBelow);
    const foreign = steps.slice(40, 42).map(({ step, ...rest }) => ({ ...rest, step: { ...step, globalId: -3 } }));
    expect(await window.apply(foreign, nothingBelow)).toBe('begun');
    expect(window.state).toMatchObject({ first: steps[40].step.mcSeqno, globalId: -3 });
  });

  it('throws away what another version has written', async () => {
    await open('a').apply(steps.slice(0, 40), nothingBelow);
    const engine = openEngine(join(home, 'a'), tableOptions(null));
    const noted = engine.note();
    const state: unknown = JSON.parse(String(noted?.value));
    if (noted) engine.setNote(noted, Buffer.from(JSON.stringify({ ...Object(state), version: 0 })));
    const window = open('a');
    expect(window.state).toBeNull();
    expect(window.view()).toBeNull();
    expect(await window.apply(steps.slice(60, 70), nothingBelow)).toBe('begun');
    const fresh = open('fresh');
    await fresh.apply(steps.slice(60, 70), nothingBelow);
    expect(keys('a')).toEqual(keys('fresh'));
  });

  it('keeps the forms of its transactions, and takes them out with their steps', async () => {
    const window = open('a', 400_000, formOf('1'));
    for (const arrival of steps) await window.apply([arrival], nothingBelow);
    const { first = 0, bytes = 0 } = window.state ?? {};
    expect(first).toBeGreaterThan(steps[0].step.mcSeqno);
    expect(bytes).toBeLessThan(400_000);
    const view = window.view();
    const held = transactionsOf(view);
    expect(held.length).toBeGreaterThan(10);
    for (const { id, transaction, mcSeqno } of held) {
      expect(view?.form(id)?.toString()).toBe(textOf(transaction.hash, mcSeqno));
    }
    const gone = Buffer.from(held[0].id);
    gone.writeUInt32BE(first - 1);
    expect(view?.form(gone)).toBeNull();
    view?.done();
    expect(() => view?.form(held[0].id)).toThrow('has ended');
  });

  it('reads a form once for all messages of its transaction that are on a page', async () => {
    const window = open('a', 64 * MB, formOf('1'));
    await window.apply(steps, nothingBelow);
    const read: string[] = [];
    const counted = {
      view() {
        const view = window.view();
        if (view === null) return null;
        const form = view.form.bind(view);
        view.form = (id) => {
          read.push(id.toString('hex'));
          return form(id);
        };
        return view;
      },
    };
    const everything: MessageFilter = { ...ANY_MESSAGE, sort: 'desc', page: { limit: 1_000, offset: 0 } };
    const context = { signal: new AbortController().signal, timeoutMs: 1_000, formsSuffice: true };
    const { rows } = await createWindowSource(counted, emptyTables()).messages(everything, context);
    expect(rows.length).toBeGreaterThan(new Set(read).size);
    expect(new Set(rows.map(({ form }) => form?.transaction)).size).toBe(new Set(read).size);
    expect(read.length).toBe(new Set(read).size);
  });

  it('throws away what was kept with other forms, or without', async () => {
    for (const [before, after] of [
      [undefined, formOf('1')],
      [formOf('1'), formOf('2')],
      [formOf('2'), undefined],
    ]) {
      const written = open('a', 64 * MB, before);
      await written.apply(steps.slice(0, 20), nothingBelow);
      await written.close();
      const window = open('a', 64 * MB, after);
      expect(window.state).toBeNull();
      expect(window.view()).toBeNull();
      expect(await window.apply(steps.slice(0, 20), nothingBelow)).toBe('begun');
      await window.clear();
      await window.close();
    }
  });

  it('can be written by two that follow the same steps', async () => {
    const [one, other] = [open('a'), open('a')];
    for (let i = 0; i < 60; i++) {
      await Promise.all([one.apply([steps[i]], nothingBelow), other.apply([steps[i]], nothingBelow)]);
    }
    const fresh = open('fresh');
    await fresh.apply(steps.slice(0, 60), nothingBelow);
    expect(keys('a')).toEqual(keys('fresh'));
  });

  it('lets a reader see one moment to its end', async () => {
    const window = open('a', 300_000);
    await window.apply(steps.slice(0, 20), nothingBelow);
    const view = window.view();
    for (const arrival of steps.slice(20)) await window.apply([arrival], nothingBelow);
    const [first, head] = [view?.first ?? 0, view?.head ?? 0];
    expect(head).toBe(steps[19].step.mcSeqno);
    const oldest = steps.find(({ step }) => step.mcSeqno === first)?.step;
    expect(view?.rowsOf(blockKind, first)).toHaveLength(oldest?.rows.of(blocks).length ?? 0);
    const held = steps.slice(0, 20).filter(({ step }) => step.mcSeqno >= first);
    expect(transactionsOf(view)).toHaveLength(held.flatMap(({ step }) => step.rows.of(transactions)).length);
    view?.done();
    expect(window.state?.first).toBeGreaterThan(first);
  });

  it('holds whole steps whenever its writer is killed', async () => {
    let written = 0;
    for (let round = 0; round < 4; round++) {
      const writer = startProgram(WRITER, join(home, 'a'), '400000');
      const ended = once(writer, 'exit');
      await steppedTo(writer, 10 + Math.floor(Math.random() * 60));
      writer.kill('SIGKILL');
      await ended;
      const window = open('a');
      const { first, head } = window.state ?? { first: 0, head: 0 };
      const fresh = open(`fresh${round}`);
      const kept = steps.filter(({ step }) => step.mcSeqno >= first && step.mcSeqno <= head);
      await fresh.apply(kept, nothingBelow);
      written += kept.length;
      expect(keys('a')).toEqual(keys(`fresh${round}`));
      await window.clear();
      await window.close();
    }
    // One that was killed when it had just begun a new round holds nothing.
    expect(written).toBeGreaterThan(0);
  });
});

/** Waits until it has written so many steps. */
async function steppedTo(writer: ChildProcess, count: number): Promise<void> {
  if (writer.stdout === null) throw new Error('the writer says nothing');
  let written = 0;
  for await (const _ of createInterface({ input: writer.stdout })) if (++written >= count) return;
  throw new Error('the writer ended early');
}
