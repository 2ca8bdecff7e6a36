import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Head } from '../../clickhouse/queries/head.ts';
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import { type EventLog, LogError } from '../../streams/log.ts';
import { createStepRows } from '../../streams/project/step-rows.ts';
import type { ProjectedStep } from '../../streams/projected-step.ts';
import { encodeStepRecords } from '../../streams/steps-topic.ts';
import { createWindowFollower, type WindowFollower } from './follow.ts';
import { openWindow, type Window } from './window.ts';

const TOPIC = 'steps';
const BELOW = { lt: '77', utime: 7 };

function stepOf(mcSeqno: number, changes: Partial<ProjectedStep> = {}): ProjectedStep {
  return {
    mcSeqno,
    previous: mcSeqno - 1,
    globalId: -217,
    rootHash: Buffer.alloc(32, mcSeqno),
    rows: createStepRows(mcSeqno),
    ...changes,
  };
}

const stepsUpTo = (last: number, first = 1): ProjectedStep[] =>
  Array.from({ length: last - first + 1 }, (_, i) => stepOf(first + i));

let home: string;
let log: EventLog;
let window: Window;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-follow-'));
  log = openEmbeddedLog({ folder: join(home, 'log') });
  await log.ensureTopic(TOPIC);
  window = openWindow({ folder: join(home, 'window'), maxBytes: 1024 ** 2 });
});
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
  await window.close();
  await log.close();
  rmSync(home, { recursive: true, force: true });
});

let sum = 0;
async function publish(steps: readonly ProjectedStep[]): Promise<void> {
  for (const step of steps) {
    const records = encodeStepRecords(step, sum);
    sum += records.reduce((bytes, { value }) => bytes + value.length, 0);
    await log.append(TOPIC, records);
  }
}

/** Tables that have what they are told to have. */
function tablesUpTo(seqno: number) {
  const tables = { seqno, refreshed: 0, asked: [] as number[] };
  const listeners: Parameters<Head['onAdvance']>[0][] = [];
  const head: Head = {
    get seqno() {
      return tables.seqno;
    },
    get inTables() {
      return tables.seqno;
    },
    globalId: null,
    tables: '',
    belongTo: () => undefined,
    onTables: () => undefined,
    advance(to) {
      const from = tables.seqno;
      tables.seqno = Math.max(from, to);
      if (to > from) for (const listener of listeners) listener(from, to);
    },
    async refresh() {
      tables.refreshed++;
    },
    reach: async () => undefined,
    onAdvance: (listener) => void listeners.push(listener),
    follow: async () => undefined,
  };
  const newestBelow = async () => BELOW;
  const below: ClickHouseSource['below'] = (mcSeqno) => {
    tables.asked.push(mcSeqno);
    // Nothing else is asked of it.
    return new Proxy(unasked, { get: (_, name) => (name === 'newestBelow' ? newestBelow : undefined) });
  };
  return { tables, clickhouse: { head, below } };
}
const unasked: ReturnType<ClickHouseSource['below']> = Object.create(null);

const running: (() => Promise<void>)[] = [];

interface Following {
  follower: WindowFollower;
  tables: ReturnType<typeof tablesUpTo>['tables'];
  head: Head;
  /** Heads that others may be told of. */
  shown: number[];
  warnings: unknown[];
  seen: number[];
  stop(): Promise<void>;
}

interface FollowCase {
  from?: EventLog;
  into?: Window;
  tablesHave?: number;
  tablesId?: string | (() => string);
  masterHash?: (mcSeqno: number) => string | null;
}

function follow(options: FollowCase = {}): Following {
  const { tables, clickhouse } = tablesUpTo(options.tablesHave ?? 1_000);
  const warnings: unknown[] = [];
  const seen: number[] = [];
  const follower = createWindowFollower({
    window: options.into ?? window,
    log: options.from ?? log,
    topic: TOPIC,
    clickhouse,
    tablesId: async () => (typeof options.tablesId === 'function' ? options.tablesId() : (options.tablesId ?? '')),
    tablesEveryMs: 5,
    ...(options.masterHash && { masterHash: async (mcSeqno) => options.masterHash?.(mcSeqno) ?? null }),
    logger: { info: () => undefined, warn: (fields: unknown) => void warnings.push(fields) },
    onSteps: (steps) => seen.push(...steps.map(({ step }) => step.mcSeqno)),
  });
  const shown = [follower.head.seqno];
  follower.head.onAdvance((_, to) => shown.push(to));
  const abort = new AbortController();
  const run = follower.run(abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await run;
  };
  running.push(stop);
  return { follower, tables, head: clickhouse.head, shown, warnings, seen, stop };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    if (tries > 6_000) throw new Error(`gave up waiting: ${what}`);
    await sleep(10);
  }
}

const untilHead = (mcSeqno: number): Promise<void> => until(`step ${mcSeqno}`, () => window.state?.head === mcSeqno);

/** Told of so many steps: which is after the window shows them. */
const untilTold = (seen: readonly number[], count: number): Promise<void> =>
  until(`${count} steps told of`, () => seen.length >= count);

/** Steps up to this one are in the window of a follower that was stopped. */
async function followed(last: number): Promise<void> {
  await publish(stepsUpTo(last));
  const { stop } = follow({ tablesHave: last });
  await until('it speaks', () => window.state?.head === last && window.state.speaks);
  await stop();
}

/** The log, with another way to read for as long as `fails` gives an error. */
function failing(fails: (from: number) => LogError | null): EventLog {
  return {
    ...log,
    read(topic, from, options) {
      const error = fails(from);
      if (error === null) return log.read(topic, from, options);
      return (async function* () {
        yield* [];
        throw error;
      })();
    },
  };
}

describe('a follower', () => {
  it('brings what is there and what comes into the window, each step once, and tells of it', async () => {
    await publish(stepsUpTo(3));
    const { seen, tables, follower } = follow({ tablesHave: 3 });
    await untilHead(3);
    await publish(stepsUpTo(5, 4));
    follower.wake();
    await untilHead(5);
    await untilTold(seen, 5);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(window.state).toMatchObject({ first: 1, head: 5, nextOffset: 5, below: { lt: 77n, utime: 7 } });
    // Published steps are in the tables.
    expect(tables.seqno).toBe(5);
    expect(tables.asked).toEqual([1]);
  });

  it('goes on where it was when it is started again', async () => {
    await followed(3);
    await publish(stepsUpTo(6, 4));
    const { seen, tables } = follow();
    await untilHead(6);
    await untilTold(seen, 3);
    expect(seen).toEqual([4, 5, 6]);
    expect(tables.asked).toEqual([]);
    expect(window.state?.first).toBe(1);
  });

  it('waits for a log that is away, and loses and doubles nothing', async () => {
    await publish(stepsUpTo(2));
    let away = 0;
    const { seen, warnings } = follow({
      from: failing((from) => (from === 2 && away++ < 1 ? new LogError('unavailable', 'the broker is away') : null)),
    });
    await until('the outage', () => warnings.length > 0);
    await publish(stepsUpTo(4, 3));
    await untilHead(4);
    await untilTold(seen, 4);
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(warnings).toEqual([{ err: expect.objectContaining({ code: 'unavailable' }) }]);
    expect(window.state?.first).toBe(1);
  });

  it('begins anew with a step of another network', async () => {
    await publish(stepsUpTo(3));
    follow();
    await untilHead(3);
    await publish([stepOf(4, { globalId: -3 })]);
    await untilHead(4);
    expect(window.state).toMatchObject({ first: 4, head: 4, globalId: -3 });
  });

  it('begins anew behind a hole, with what the tables have below it', async () => {
    await publish(stepsUpTo(3));
    const { tables } = follow();
    await untilHead(3);
    await publish([stepOf(6), stepOf(7)]);
    await untilHead(7);
    expect(window.state).toMatchObject({ first: 6, below: { lt: 77n, utime: 7 } });
    expect(tables.asked).toEqual([1, 6]);
  });

  it('begins anew when the topic was trimmed above it while it was away', async () => {
    await followed(3);
    await publish(stepsUpTo(9, 4));
    await log.trim(TOPIC, 6);
    const { seen, warnings } = follow();
    await untilHead(9);
    await untilTold(seen, 3);
    expect(seen).toEqual([7, 8, 9]);
    expect(window.state).toMatchObject({ first: 7, nextOffset: 9 });
    expect(warnings).toEqual([]);
  });

  it('keeps what it has when only steps that it knows were trimmed', async () => {
    await followed(5);
    await publish([stepOf(6)]);
    await log.trim(TOPIC, 5);
    follow();
    await untilHead(6);
    expect(window.state?.first).toBe(1);
  });

  it('begins anew with steps that tables which were made anew have published, running or not', async () => {
    await publish(stepsUpTo(5));
    const running = follow({ tablesId: 'first' });
    await untilHead(5);
    // A publisher that finds the topic empty begins with a step that follows none.
    await log.trim(TOPIC, 5);
    await publish([stepOf(6, { previous: 0 }), stepOf(7)]);
    await untilHead(7);
    expect(window.state?.first).toBe(6);
    await running.stop();
    await follow({ tablesId: 'first' }).stop();
    expect(window.state).toMatchObject({ first: 6, head: 7, tables: 'first' });
    await log.trim(TOPIC, 7);
    const { stop } = follow({ tablesId: 'second' });
    await until('the steps of other tables gone', () => window.state === null);
    await publish([stepOf(8, { previous: 0 })]);
    await untilHead(8);
    expect(window.state).toMatchObject({ first: 8, tables: 'second' });
    await stop();
  });

  it('forgets the steps of tables that others have taken the place of, also while no further step comes', async () => {
    await publish(stepsUpTo(5));
    let tablesId = 'first';
    const { follower, tables } = follow({ tablesHave: 5, tablesId: () => tablesId });
    await until('it speaks', () => window.state?.head === 5 && window.state.speaks);
    // As a rebuild does it.
    await log.trim(TOPIC, 5);
    tablesId = 'second';
    await until('the steps of other tables gone', () => window.state === null);
    await until('it is silent', () => follower.view() === null);
    tables.seqno = 6;
    await publish([stepOf(6, { previous: 0 })]);
    await until('it speaks again', () => window.state?.speaks === true);
    expect(window.state).toMatchObject({ first: 6, head: 6, tables: 'second' });
  });

  it('forgets steps of another chain, as of a devnet that was brought back from a copy with its tables and its log', async () => {
    await followed(5);
    await log.trim(TOPIC, await log.end(TOPIC));
    const hashOf = (mcSeqno: number): Buffer => Buffer.alloc(32, mcSeqno > 3 ? 100 + mcSeqno : mcSeqno);
    await publish(stepsUpTo(6).map((step) => ({ ...step, rootHash: hashOf(step.mcSeqno) })));
    const { seen, warnings } = follow({ masterHash: (mcSeqno) => hashOf(mcSeqno).toString('hex') });
    await untilTold(seen, 6);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(warnings).toEqual([{ step: 5 }]);
  });

  it('keeps its steps where the tables have the same, or do not know the newest', async () => {
    await followed(5);
    await publish([stepOf(6)]);
    for (const masterHash of [() => stepOf(5).rootHash.toString('hex'), () => null]) {
      const { stop } = follow({ masterHash });
      await untilHead(6);
      await stop();
      expect(window.state?.first).toBe(1);
    }
  });

  it('says that steps of former tables cannot be forgotten, and tries again', async () => {
    await publish(stepsUpTo(5));
    let tablesId = 'first';
    let refused = 0;
    const into: Window = Object.create(window, {
      belongTo: {
        value(id: string) {
          if (id === 'second' && refused++ === 0) throw new Error('no space left on device');
          window.belongTo(id);
        },
      },
    });
    const { warnings } = follow({ into, tablesHave: 5, tablesId: () => tablesId });
    await until('it speaks', () => window.state?.head === 5 && window.state.speaks);
    tablesId = 'second';
    await until('the steps of other tables gone', () => window.state === null);
    expect(warnings).toEqual([{ err: expect.objectContaining({ message: 'no space left on device' }) }]);
  });

  it('shows what the tables have when another process has emptied the files first', async () => {
    await publish(stepsUpTo(5));
    let tablesId = 'first';
    const { follower, head, shown } = follow({ tablesHave: 5, tablesId: () => tablesId });
    await until('it speaks', () => window.state?.head === 5 && window.state.speaks);
    await window.clear();
    tablesId = 'second';
    head.advance(6, -217);
    await until('the head of the tables', () => follower.head.seqno === 6);
    expect(shown.at(-1)).toBe(6);
  });

  it('reads from the new beginning when the topic is trimmed under its hands, without a warning', async () => {
    await publish(stepsUpTo(2));
    let trimmed = 0;
    const { warnings, seen } = follow({
      from: failing((from) => (from === 2 && trimmed++ < 1 ? new LogError('trimmed', 'offset 2 was trimmed') : null)),
    });
    await until('the trim', () => trimmed > 0);
    await publish([stepOf(3)]);
    await untilHead(3);
    await untilTold(seen, 3);
    expect(seen).toEqual([1, 2, 3]);
    expect(warnings).toEqual([]);
  });

  it('reads a topic that was made anew from its beginning', async () => {
    await followed(5);
    await log.close();
    rmSync(join(home, 'log'), { recursive: true });
    log = openEmbeddedLog({ folder: join(home, 'log') });
    await log.ensureTopic(TOPIC);
    await publish([stepOf(5), stepOf(6)]);
    follow();
    await untilHead(6);
    expect(window.state).toMatchObject({ first: 1, nextOffset: 2 });
  });

  it('does not answer from steps of a version it cannot read, and goes on behind them', async () => {
    await publish(stepsUpTo(2));
    const { follower, warnings } = follow({ tablesHave: 2 });
    await until('it speaks', () => window.state?.speaks === true);
    follower.view()?.done();
    const [record] = encodeStepRecords(stepOf(3), sum);
    await log.append(TOPIC, [{ ...record, headers: { ...record.headers, v: '99' } }]);
    await until('the refusal', () => warnings.length > 0);
    expect(warnings[0]).toEqual({ err: expect.objectContaining({ name: 'StepRecordError' }) });
    await until('it is silent', () => window.state?.speaks === false);
    expect(follower.view()).toBeNull();
    expect(window.state?.head).toBe(2);
    // A publisher of this version begins the topic anew.
    await log.trim(TOPIC, await log.end(TOPIC));
    await publish([stepOf(3), stepOf(4)]);
    await untilHead(4);
    expect(window.state?.first).toBe(1);
    follower.view()?.done();
  });

  it('does not answer until the tables have what it has', async () => {
    await followed(4);
    const { follower, tables } = follow({ tablesHave: 2 });
    await until('a few looks at the tables', () => tables.refreshed > 2);
    expect(follower.view()).toBeNull();
    tables.seqno = 4;
    await until('trust', () => {
      const view = follower.view();
      view?.done();
      return view?.head === 4;
    });
  });

  it('answers, for all who read its files, once it has reached the tables, and stays before them for a moment', async () => {
    await followed(3);
    await publish([stepOf(4)]);
    const { head, shown } = follow({ tablesHave: 5 });
    await untilHead(4);
    expect(window.state?.speaks).toBe(false);
    await publish([stepOf(5)]);
    await until('it speaks', () => window.state?.speaks === true);
    head.advance(7);
    await publish([stepOf(6)]);
    await untilHead(6);
    expect(window.state?.speaks).toBe(true);
    // The tables were told of while they answered; now nothing that the window does not show.
    await until('step 6 is shown', () => shown.includes(6));
    expect(shown).toEqual([5, 6]);
  });

  it('is silent while it is far behind the tables, which are told of then', async () => {
    await publish(stepsUpTo(3));
    const { follower, head, shown } = follow({ tablesHave: 3 });
    await until('it speaks', () => window.state?.speaks === true);
    head.advance(3 + 32);
    expect(window.state?.speaks).toBe(true);
    head.advance(3 + 33);
    await until('it is silent', () => window.state?.speaks === false);
    expect(follower.view()).toBeNull();
    head.advance(40);
    expect(shown).toEqual([3, 36, 40]);
    await publish(stepsUpTo(39, 4));
    await untilHead(39);
    expect(window.state?.speaks).toBe(false);
    await publish([stepOf(40), stepOf(41)]);
    await until('it speaks again', () => window.state?.speaks === true);
    await until('step 41 is shown', () => shown.at(-1) === 41);
    expect(shown).toEqual([3, 36, 40, 41]);
  });

  it('does not answer from files of before, whatever they say, until it knows the tables', async () => {
    await followed(3);
    expect(window.state?.speaks).toBe(true);
    await window.close();
    window = openWindow({ folder: join(home, 'window'), maxBytes: 1024 ** 2 });
    expect(window.state).toMatchObject({ head: 3, speaks: false });
  });

  it.each([
    ['for more', { tablesHave: 100 }],
    ['for the tables', { tablesHave: 0 }],
  ])('ends at once when it is stopped while it waits %s', async (_, options) => {
    await publish(stepsUpTo(2));
    const { stop, tables } = follow(options);
    if (options.tablesHave === 0) await until('a look at the tables', () => tables.refreshed > 0);
    else await untilHead(2);
    await stop();
    expect(window.state?.head).toBe(options.tablesHave === 0 ? undefined : 2);
  });

  it('ends at once when it is stopped while it waits after a failure', async () => {
    const { stop, warnings } = follow({ from: failing(() => new LogError('unavailable', 'the broker is away')) });
    await until('a failure', () => warnings.length > 0);
    await stop();
    expect(warnings).toHaveLength(1);
  });
});
