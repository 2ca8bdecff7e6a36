/** Answers with a window against answers from the tables alone, for random requests and boundaries anywhere. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actions } from '../clickhouse/tables/actions.ts';
import { messages } from '../clickhouse/tables/messages.ts';
import { traces } from '../clickhouse/tables/traces.ts';
import { transactions } from '../clickhouse/tables/transactions.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { type Archive, openArchive } from '../src/archive/archive.ts';
import type { ChainSource } from '../src/chain/chain-source.ts';
import {
  type ActionFilter,
  ANY_ACTION,
  ANY_MESSAGE,
  type MessageFilter,
  type TraceFilter,
  type TransactionRecord,
} from '../src/chain/records.ts';
import { readChainView } from '../src/web/chain-view.ts';
import { stepOf } from '../src/window/chunk.ts';
import { KINDS } from '../src/window/kinds.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from './api-server.ts';
import { archiveOf, archiveProblems } from './archived.ts';
import { expectReceivedLater } from './archived-messages.ts';
import { drawn, isLong, random, rounds } from './chance.ts';
import { cutSequence } from './cut-sequence.ts';
import { startProgram } from './program.ts';
import { privateBlocks, requireShelf, shelf } from './shelf.ts';
import { EVERYTHING, listedSteps, wholeSteps } from './whole-steps.ts';
import { pages } from './window-answers.ts';
import { requests } from './window-requests.ts';
import { context, fillDown, type Projected, projectFiles, type Windowed, windowFrom } from './windowed.ts';

/** Requests that are drawn. */
const RUNS = rounds(15, 300);
/** Of these, short ones to each of up to a thousand rows. */
const SHORT_PAGES = rounds(9, 1);
/** Over an archive, at each of several places, and of a window that was filled downwards. */
const RUNS_OF_OTHERS = rounds(5, 100);
/** Transactions read at once where whole steps are: each window in one of these ways, in both in the long run. */
const ENOUGH = [1, 100_000];
/** Steps that are read one by one. */
const ONE_BY_ONE = rounds(30, 100_000);
/** Steps of an archive that are compared with the tables row by row. */
const ARCHIVED_STEPS = rounds(40, 200);
/** Where the window begins, as a share of the steps; in the usual run one of those between. */
const BETWEEN = [0.3, 0.6, 0.9];
const BOUNDARIES = [0, ...(isLong ? BETWEEN : [BETWEEN[random(BETWEEN.length)]]), 0.995];
/** The blocks over which windows of all sizes and archives are looked at in the usual run; over the others, one window. */
const IN_FULL = 'private';
/** Share of the estimated bytes of all steps that a window has room for which takes out the rest. */
const ROOM = 0.75;

/** Answered otherwise once, or by the tables without need; asked of every window. */
const ONCE_WRONG: [string][] = [
  ['/messages?limit=1000&offset=1&sort=desc&only_externals=true'],
  [`/blocks?root_hash=${'7'.repeat(64)}`],
  [`/transactions?hash=${'7'.repeat(64)}`],
  ['/transactions?workchain=0&shard=8000000000000000&seqno=2147483647'],
  [`/actions?account=-1:${'3'.repeat(64)},-1:${'0'.repeat(64)}&limit=11&end_utime=4000000000`],
];

const ARCHIVE_WRITER = fileURLToPath(new URL('./archive-writer.ts', import.meta.url));

const EVERY_ACTION: ActionFilter = { ...ANY_ACTION, sort: 'desc', page: { limit: 1_000, offset: 0 } };

const EVERY_TRACE: TraceFilter = {
  traceIds: [],
  txHashes: [],
  messageHashes: [],
  utime: {},
  ltWindow: {},
  sort: 'desc',
  page: { limit: 1_000, offset: 0 },
};

const EVERY_MESSAGE: MessageFilter = { ...ANY_MESSAGE, sort: 'desc', page: { limit: 1_000, offset: 0 } };

/** Waits for so many lines. */
async function linesFrom({ stdout }: Pick<ChildProcess, 'stdout'>, count: number): Promise<void> {
  if (stdout === null) throw new Error('the process says nothing');
  let read = 0;
  for await (const _ of createInterface({ input: stdout })) if (++read >= count) return;
  throw new Error('the process ended early');
}

/** Behind its first steps, which are as plain as they are many, mainnet has contracts of all kinds. */
const PLAIN_MC_SEQNO = 132;
const FILES: Record<string, (folder: string) => string> = {
  private: privateBlocks,
  mainnet(folder) {
    const whole = join(requireShelf(), 'data/answers/mainnet/blocks.ndjson.gz');
    return isLong ? whole : cutSequence(whole, PLAIN_MC_SEQNO, folder)[1];
  },
};

/** All keys of all ways, and what they lead to. */
function entries({ window }: Windowed): string[][] {
  const view = window.view();
  if (view === null) throw new Error('the window is empty');
  try {
    const range = { low: Buffer.alloc(1), high: null };
    return KINDS.flatMap(({ layouts }) =>
      layouts.map((layout) =>
        Array.from(view.range(layout, range), ({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`),
      ),
    );
  } finally {
    view.done();
  }
}

/** All keys of all ways, and the rows that they lead to. */
function rowsByKey({ window }: Windowed): string[][] {
  const view = window.view();
  if (view === null) throw new Error('the window is empty');
  try {
    const range = { low: Buffer.alloc(1), high: null };
    return KINDS.flatMap((kind) =>
      kind.layouts.map((layout) =>
        Array.from(
          view.range(layout, range),
          ({ key, value }) => `${key.toString('hex')} ${stepOf(value)} ${view.row(kind, value).toString('hex')}`,
        ),
      ),
    );
  } finally {
    view.done();
  }
}

describe.skipIf(shelf === null).each(Object.keys(FILES))('a window over %s blocks', (name) => {
  const inFull = isLong || name === IN_FULL;
  let projected: Projected;
  let tables: ApiServer;
  /** As the listings of the tables have them. */
  let listed: ReturnType<typeof listedSteps>;

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-blocks-'));
    projected = await projectFiles([FILES[name](folder)]).finally(() => rmSync(folder, { recursive: true }));
    tables = await serveApi(projected.tables, { limits: PATIENT_LIMITS });
    listed = listedSteps(projected.tables);
    await listed;
  });

  afterAll(async () => {
    await tables?.close();
    await projected?.remove();
  });

  it('is made of all steps, each after the one before it', () => {
    const { steps } = projected;
    expect(steps.length).toBeGreaterThan(20);
    expect(steps.flatMap(({ step }) => step.rows.of(traces)).length).toBeGreaterThan(20);
    expect(steps.flatMap(({ step }) => step.rows.of(actions)).length).toBeGreaterThan(20);
    expect(steps.map(({ step }) => step.previous)).toEqual([0, ...steps.slice(0, -1).map(({ step }) => step.mcSeqno)]);
  });

  /**
   * Steps as the listings of the tables have them, and as a source gives them, so many transactions at once: all, or
   * where they are read one by one those around this one.
   */
  async function compareSteps(source: ChainSource, enough: number, around: number): Promise<void> {
    const { steps } = projected;
    const from = enough > 1 ? 0 : Math.max(0, Math.min(around, steps.length) - ONE_BY_ONE / 2);
    const some = steps.slice(from, enough > 1 ? undefined : from + ONE_BY_ONE);
    const seqnos = new Set(some.map(({ step }) => step.mcSeqno));
    const expected = new Map([...(await listed)].filter(([mcSeqno]) => seqnos.has(mcSeqno)));
    expect(await wholeSteps(source, some, enough)).toEqual(expected);
  }

  it('gives whole steps as the tables list what is in them', async () => {
    const around = random(projected.steps.length);
    for (const enough of [1, 40, 100_000]) await compareSteps(projected.tables, enough, around);
  });

  async function compare(windowed: Windowed, runs = RUNS): Promise<void> {
    const border = projected.steps.findIndex(({ step }) => step.mcSeqno === windowed.window.state?.first);
    for (const enough of isLong ? ENOUGH : [ENOUGH[random(ENOUGH.length)]])
      await compareSteps(windowed.source, enough, border);
    const server = await serveApi(windowed.source, { limits: PATIENT_LIMITS });
    try {
      const same = fc.asyncProperty(requests(projected.steps, SHORT_PAGES), async (path) => {
        expect(await pages(server.url, path)).toEqual(await pages(tables.url, path));
      });
      // Examples are counted among the runs.
      await fc.assert(same, { numRuns: ONCE_WRONG.length + runs, endOnFailure: true, examples: ONCE_WRONG });
      expect([...server.reported, ...tables.reported]).toEqual([]);
    } finally {
      await server.close();
      await windowed.remove();
    }
  }

  /** What the page at `/` is told; it asks the same source. */
  async function comparePage({ source }: Windowed): Promise<void> {
    const { step } = projected.steps[projected.steps.length - 1];
    const asked = { head: step.mcSeqno, network: step.globalId, testOnly: false, context: context() };
    const told = await readChainView({ ...asked, source });
    expect(told.transactions.length).toBeGreaterThan(0);
    expect(told).toEqual(await readChainView({ ...asked, source: projected.tables }));
  }

  const differences = (archive: Pick<Archive, 'view'>): Promise<string[]> =>
    archiveProblems(archive, projected, ARCHIVED_STEPS);

  /** Over an archive that reaches down to the first step: the tables are not asked for what it has keys for. */
  async function expectAlone({ window, source, asked }: Windowed): Promise<void> {
    const { first = 0 } = window.state ?? {};
    const older = projected.steps.filter(({ step }) => step.mcSeqno < first - 1);
    const wanted = older.flatMap(({ step }) => step.rows.of(transactions)).slice(0, 50);
    expect(wanted.length).toBeGreaterThan(10);
    for (const { account, hash, lt, mcSeqno } of wanted) {
      const has = (rows: readonly TransactionRecord[]): boolean =>
        rows.some(({ transaction }) => transaction.lt === lt && transaction.account.equals(account));
      for (const asks of [{ accounts: [account] }, { hashes: [hash] }, { mcSeqno }]) {
        expect(has((await source.transactions({ ...EVERYTHING, ...asks }, context())).rows)).toBe(true);
      }
      const { steps } = await source.steps({ first: mcSeqno, last: mcSeqno, enough: 1 }, context());
      expect(steps.some((step) => has(step.transactions))).toBe(true);
      expect(await source.accountStates([account], [], 'none', context())).toMatchObject([{ account }]);
      const isThere = await projected.tables.hasMasterchainBlock(mcSeqno, context());
      expect(await source.hasMasterchainBlock(mcSeqno, context())).toBe(isThere);
    }
    const ended = older.flatMap(({ step }) => step.rows.of(actions)).slice(0, 20);
    expect(ended.length).toBeGreaterThan(5);
    for (const { traceId, actionId, endMcSeqno: mcSeqno } of ended) {
      const traceIds = [traceId];
      const [named] = (await source.traces({ ...EVERY_TRACE, traceIds }, context())).rows;
      expect(named.traceId).toEqual(traceId);
      for (const asks of [{ traceIds }, { actionIds: [actionId] }, { mcSeqno }]) {
        const { rows } = await source.actions({ ...EVERY_ACTION, ...asks }, context());
        expect(rows.some((row) => row.actionId.equals(actionId))).toBe(true);
      }
    }
    const shown = older.flatMap(({ step }) => step.rows.of(messages));
    const sent = shown.filter(({ createdLt }) => createdLt !== null).slice(0, 50);
    // External ones that are not in normal form.
    const own = shown.filter(({ createdLt, hashNorm }) => createdLt === null && hashNorm !== null).slice(0, 20);
    if (name === 'private') expect(own.length).toBeGreaterThan(0);
    for (const { hash } of [...sent, ...own]) {
      const { rows } = await source.messages({ ...EVERY_MESSAGE, messageHashes: [hash] }, context());
      expect(rows.map(({ message }) => message.hash)).toEqual([hash]);
    }
    // What has no lt comes before all that has one, or behind it.
    const messageHashes = [...sent.slice(0, 2), ...own.slice(0, 2)].map(({ hash }) => hash);
    for (const sort of ['desc', 'asc'] as const) {
      const listed = async (from: Pick<ChainSource, 'messages'>): Promise<string[]> => {
        const { rows } = await from.messages({ ...EVERY_MESSAGE, messageHashes, sort }, context());
        return rows.map(({ message }) => message.hash.toString('hex'));
      };
      expect(await listed(source)).toEqual(await listed(projected.tables));
    }
    // Who received one from outside the tables are asked.
    for (const { hash } of sent) {
      const joined = await source.transactionsByMessage(
        { messageHashes: [hash], sort: 'desc', page: EVERYTHING.page },
        context(),
      );
      expect(joined.length).toBeGreaterThan(0);
      for (const { transaction } of joined) await source.adjacentTransactions(transaction.hash, undefined, context());
    }
    const known =
      /\.(steps|transactions|transactionsAt|transactionsByMessage|adjacentTransactions|blocks|hasMasterchainBlock|messages|accountStates|traces|actions)$/;
    expect(asked().filter((one) => known.test(one))).toEqual([]);
  }

  function describeArchive(): void {
    it('answers as the tables do over an archive, whatever part of the rest that has', async () => {
      const archived = archiveOf(projected);
      const { archive } = archived;
      const seqnoAt = (share: number): number =>
        projected.steps[Math.floor((projected.steps.length - 1) * share)].step.mcSeqno;
      const over = (share: number) =>
        windowFrom(projected, Math.floor((projected.steps.length - 1) * share), undefined, archive);
      try {
        const large = await over(0.5);
        await archived.fill(large.window, { downTo: seqnoAt(0.25) });
        const { first = 0, head = 0 } = archive.state ?? {};
        expect(first).toBeGreaterThan(projected.steps[0].step.mcSeqno);
        expect(first).toBeLessThanOrEqual(seqnoAt(0.25));
        expect(head).toBeGreaterThanOrEqual(seqnoAt(0.5));
        // Where an archive ends above the first step it is all the same whether it never reached that or gave it up.
        const [neverReached, gaveUp] = isLong ? [true, true] : drawn([true, false], 2);
        if (neverReached) await compare(large, RUNS_OF_OTHERS);
        else await large.remove();
        // The steps between went by without it.
        await compare(await over(0.95), RUNS_OF_OTHERS);
        const small = await over(0.9);
        await archived.fill(small.window);
        expect(archive.state).toMatchObject({ below: null });
        expect(archive.state?.head).toBeGreaterThan(seqnoAt(0.9));
        expect(await differences(archive)).toEqual([]);
        await expectAlone(small);
        await comparePage(small);
        await compare(small, RUNS_OF_OTHERS);
        await expectReceivedLater(projected, archive);
        // With less room than it takes, it has the newest.
        const last = await over(0.8);
        await archived.fill(last.window, { maxBytes: archive.bytes * ROOM });
        expect(archive.state?.first).toBeGreaterThan(projected.steps[0].step.mcSeqno);
        expect(await differences(archive)).toEqual([]);
        if (gaveUp) await compare(last, RUNS_OF_OTHERS);
        else await last.remove();
      } finally {
        await archived.remove();
      }
    });

    it('archives no step of which the tables are still to get some rows', async () => {
      const { steps, clickhouse } = projected;
      const done = steps[Math.floor(steps.length / 2)].step.mcSeqno;
      const query: typeof clickhouse.query = (sql, options) =>
        clickhouse.query(sql.includes('projection_state') ? `SELECT toUInt32(${done})` : sql, options);
      const archived = archiveOf({ clickhouse: { ...clickhouse, query } });
      try {
        const { window } = await windowFrom(projected, Math.floor(steps.length * 0.9));
        await archived.fill(window);
        expect(archived.archive.state).toMatchObject({ head: done, below: null });
      } finally {
        await archived.remove();
      }
    });

    it('is over an archive of whole steps whenever the writer of that is killed', async () => {
      const windowed = await windowFrom(projected, Math.floor(projected.steps.length * 0.6));
      const folder = mkdtempSync(join(tmpdir(), 'tonstream-archive-'));
      const { state } = windowed.window;
      let held = 0;
      const told = JSON.stringify({ ...state, speaks: true, below: null });
      try {
        for (let round = 0; round < rounds(2, 30); round++) {
          const writer = startProgram(ARCHIVE_WRITER, folder, projected.url, projected.clickhouse.database, told);
          const ended = once(writer, 'exit');
          await linesFrom(writer, 1 + random(15));
          writer.kill('SIGKILL');
          await ended;
          const archive = openArchive(folder, transactionForm);
          const { first = 0, head = 0 } = archive.state ?? {};
          held += head + 1 - first;
          if (first <= head) expect(await differences(archive)).toEqual([]);
          await archive.close();
        }
        // One that was killed when it had just begun anew holds nothing.
        expect(held).toBeGreaterThan(0);
      } finally {
        await windowed.remove();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }

  it.each(inFull ? BOUNDARIES : [0.6])('from %f of the steps on answers as the tables do', async (share) => {
    const first = Math.floor(projected.steps.length * share);
    const windowed = await windowFrom(projected, first);
    expect(windowed.window.state?.first).toBe(projected.steps[first].step.mcSeqno);
    await comparePage(windowed);
    await compare(windowed);
    // With everything in the window no page is looked for below it; with less there is something to merge.
    const pagesBelow = windowed
      .asked()
      .filter((asked) => /^below\.(transactions|messages|blocks|traces|actions)$/.test(asked));
    if (share === 0) expect(pagesBelow).toEqual([]);
    else expect(pagesBelow).not.toEqual([]);
  });

  if (inFull) describe('with an archive', describeArchive);

  const whereInFull = inFull ? it : (): void => undefined;

  whereInFull('is the same when it was begun with the newest steps and filled downwards', async () => {
    const count = projected.steps.length;
    const [whole, filled] = [await windowFrom(projected, 0), await windowFrom(projected, count - 2)];
    const halfway = Math.floor(count / 2);
    await fillDown(filled, projected, { from: count - 2, to: halfway, atOnce: 1 });
    const half = await windowFrom(projected, halfway);
    expect(rowsByKey(filled)).toEqual(rowsByKey(half));
    expect(filled.window.state?.below).toEqual(half.window.state?.below);
    await half.remove();
    await fillDown(filled, projected, { from: halfway, to: 0, atOnce: 7 });
    expect(rowsByKey(filled)).toEqual(rowsByKey(whole));
    const { first, head, below } = whole.window.state ?? {};
    expect(filled.window.state).toMatchObject({ first, head, below });
    await whole.remove();
    await compare(filled, RUNS_OF_OTHERS);
  });

  whereInFull('answers as the tables do when it has taken steps out', async () => {
    const all = await windowFrom(projected, 0);
    const bytes = all.window.state?.bytes ?? 0;
    await all.remove();
    const windowed = await windowFrom(projected, 0, bytes * ROOM);
    expect(windowed.window.state?.first).toBeGreaterThan(projected.steps[10].step.mcSeqno);
    expect(windowed.window.state?.bytes).toBeLessThan(bytes);
    // Nothing is left of what is gone, of kinds with several keys a row either.
    const { first } = windowed.window.state ?? {};
    const fresh = await windowFrom(
      projected,
      projected.steps.findIndex(({ step }) => step.mcSeqno === first),
    );
    expect(entries(windowed)).toEqual(entries(fresh));
    await fresh.remove();
    await compare(windowed);
  });
});
