import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { follow } from '../../test/followed.ts';
import { content, imported } from '../../test/imported.ts';
import { createRecordedNode, masterKey, type NodeCall, recordedNode } from '../../test/recorded-node.ts';
import { allSteps, changeBlock, readSequence, sequenceFile, writeSequence } from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import { openEmbeddedLog } from '../embedded.ts';
import { type EventLog, LogError } from '../log.ts';
import { topicNames } from '../topics.ts';
import { importFiles } from './import.ts';

const topics = topicNames();
const GENESIS = 'mainnet-genesis_a';
const LOCAL = 'local-ton4j-2024_a';
const EVERSCALE = 'everscale-1459995';
let folder: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-follow-'));
  log = openEmbeddedLog({ folder: join(folder, 'log') });
});

afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

const stepOf = (record: string): number => Number(/"mc":"(\d+)"/.exec(record)?.[1]);

describe.skipIf(shelf === null)('following a recorded chain', () => {
  it.each([GENESIS, LOCAL])('%s: from genesis, the log is the one that an import makes', async (name) => {
    const node = recordedNode(name);
    const run = follow(log, node, { from: 'genesis' });
    await run.until(node.seqnos.at(-1) ?? 0);
    await run.stop();
    expect(await content(log)).toEqual(await imported(name));
    const { rootHash } = await node.zeroState(new AbortController().signal);
    const zeroStates = (await allSteps(log, topics.blocks)).map(({ masterBlock }) => masterBlock?.zeroState);
    expect(zeroStates.every((zeroState) => zeroState?.equals(rootHash))).toBe(true);
  });

  it('goes on behind an import, over sixteen shards', async () => {
    const lines = readSequence(sequenceFile(EVERSCALE));
    const first = lines.filter(({ mc_seqno }) => mc_seqno === 1_459_995);
    await importFiles(log, topics, [writeSequence(join(folder, 'first.ndjson'), first)]);
    const run = follow(log, createRecordedNode(lines), { from: 'head' });
    await run.until(1_459_999);
    await run.stop();
    expect(await content(log)).toEqual(await imported(EVERSCALE));
    expect(run.lines[0].text).toContain('going on with masterchain block 1459996, 4 behind the head; the start "head"');
  });

  it('begins without the block before the first one: a partial step, a warning, then whole steps', async () => {
    const run = follow(log, recordedNode(EVERSCALE), { from: { seqno: 1_459_995 } });
    await run.until(1_459_999);
    await run.stop();
    expect(run.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { text: expect.stringContaining('no server has masterchain block 1459994') },
    ]);
    const whole = await imported(EVERSCALE);
    const after = (records: string[]): string[] => records.filter((record) => stepOf(record) > 1_459_995);
    expect(after(await content(log))).toEqual(after(whole));
    const partial = (await allSteps(log, topics.blocks))[0].blocks.map(({ id }) => `${id.shard}:${id.seqno}`);
    const recorded = whole.filter((record) => stepOf(record) === 1_459_995);
    expect(partial.length).toBeGreaterThan(10);
    expect(partial.every((id) => recorded.some((record) => record.includes(id)))).toBe(true);
  });

  it('appends each step as the chain shows it, and nothing of steps not yet shown', async () => {
    const node = recordedNode(LOCAL, { head: 1 });
    const run = follow(log, node, { from: 'genesis' });
    for (let head = 1; head <= 60; ) {
      await run.until(head);
      expect((await content(log)).map(stepOf).at(-1)).toBe(head);
      head += 1 + (head % 3);
      node.reveal(head);
    }
    await run.stop();
    expect(run.refetched.size).toBe(0);
    const { length } = await content(log);
    expect(await content(log)).toEqual((await imported(LOCAL)).slice(0, length));
    // The poll's answer is the id: nothing is looked up at the head.
    expect(node.calls.get('lookupBlock') ?? 0).toBeLessThan(40);
  });
});

it.skipIf(shelf === null)(
  'says that another ingester writes to the same log; who reads it sees each step once',
  async () => {
    const node = recordedNode(LOCAL, { head: 1 });
    const runs = [follow(log, node, { from: 'genesis' })];
    const said = () => runs.flatMap(({ lines }) => lines.filter(({ level }) => level === 'error'));
    const reach = async (head: number): Promise<void> => {
      node.reveal(head);
      await Promise.all(runs.map((run) => run.until(head)));
    };
    for (const head of [5, 6, 10]) await reach(head);
    expect(said()).toEqual([]);
    runs.push(follow(log, node, { from: 'genesis' }));
    await vi.waitFor(() => expect(runs[1].lines[0].text).toMatch(/^going on with masterchain block 11,/), 60_000);
    for (const head of [11, 12, 20]) await reach(head);
    await Promise.all(runs.map((run) => run.stop()));
    expect(said()[0].text).toBe(
      `another ingester writes to topic ${topics.blocks}, too, which makes it twice as large: end one of them`,
    );
    expect((await allSteps(log, topics.blocks)).map(({ mcSeqno }) => mcSeqno)).toEqual(
      Array.from({ length: 20 }, (_, at) => at + 1),
    );
  },
);

describe.skipIf(shelf === null)('where it begins', () => {
  const from = async (seqno: number): Promise<string[]> =>
    (await imported(GENESIS)).filter((record) => stepOf(record) >= seqno);

  it.each([
    ['the head', 'head', 132],
    ['a seqno', { seqno: 100 }, 100],
    // Generation times of masterchain blocks 52 and 53 in the recorded facts.
    ['a time', { utime: 0 }, 53],
  ] as const)('%s', async (_, start, seqno) => {
    const node = recordedNode(GENESIS);
    const records = await imported(GENESIS);
    const genUtime = (at: number): number =>
      Number(/"ut":"(\d+)"/.exec(records.find((record) => record.startsWith(`${masterKey(at)} `)) ?? '')?.[1]);
    const given = typeof start === 'object' && 'utime' in start ? { utime: genUtime(52) + 1 } : start;
    const run = follow(log, node, { from: given });
    await run.until(132);
    await run.stop();
    expect(genUtime(53)).toBeGreaterThan(genUtime(52));
    expect(await content(log)).toEqual(await from(seqno));
  });

  it('a time before the first block', async () => {
    const run = follow(log, recordedNode(GENESIS), { from: { utime: 1_500_000_000 } });
    await run.until(132);
    await run.stop();
    expect(await content(log)).toEqual(await imported(GENESIS));
  });

  it('a log with steps goes on behind them, and says so when the start is another', async () => {
    const node = recordedNode(GENESIS, { head: 70 });
    const first = follow(log, node, { from: { seqno: 60 } });
    await first.until(70);
    await first.stop();
    node.reveal(132);
    const second = follow(log, node, { from: 'genesis' });
    await second.until(132);
    await second.stop();
    expect(await content(log)).toEqual(await from(60));
    const [{ text }] = second.lines;
    expect(text).toBe(
      'going on with masterchain block 71, 62 behind the head; the start "genesis" is for an empty log, this one begins with step 60',
    );
  });

  it('completes a step that was half written', async () => {
    let appends = 0;
    const failing: EventLog = {
      ...log,
      append: async (topic, records) => {
        if (records.length > 0 && ++appends > 20 && 'seal' in records[0].headers) throw new Error('no space');
        return log.append(topic, records);
      },
    };
    const node = recordedNode(GENESIS);
    await expect(follow(failing, node, { from: { seqno: 90 }, batchBytes: 1 }).ended).rejects.toThrow('no space');
    expect((await content(log)).at(-1)).not.toContain('"seal"');
    const run = follow(log, node, { from: { seqno: 90 } });
    await run.until(132);
    await run.stop();
    expect(await content(log)).toEqual(await from(90));
  });
});

describe.skipIf(shelf === null)('trouble', () => {
  /** Follows the genesis sequence to its end; the log must be the undisturbed one. */
  async function survives(fault: Parameters<typeof recordedNode>[1]): Promise<ReturnType<typeof follow>> {
    const run = follow(log, recordedNode(GENESIS, fault), { from: 'genesis' });
    await run.until(132);
    await run.stop();
    expect(await content(log)).toEqual(await imported(GENESIS));
    return run;
  }

  it('blocks that servers do not have yet', async () => {
    const run = await survives({ fault: ({ method, n }) => (method === 'block' && n < 4 ? 'not_found' : null) });
    expect(run.refetched).toEqual(new Map([['not_found', 3 * 460]]));
    // Just behind the head this is everyday life: no line.
    expect(run.lines.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('no server, from the first call on and then every fifth time', async () => {
    let calls = 0;
    const run = await survives({ fault: () => (++calls < 10 || calls % 5 === 0 ? 'unavailable' : null) });
    expect(run.refetched.get('unavailable')).toBeGreaterThan(100);
    const lines = run.lines.filter(({ level }) => level === 'warn');
    expect(lines).toMatchObject([{ text: expect.stringContaining('no server can answer (asking for the head)') }]);
  });

  it('servers that refuse, end calls, or answer garbage, another block or a wrong id', async () => {
    const wrong = readSequence(sequenceFile(LOCAL)).map(({ boc }) => Buffer.from(boc, 'base64'));
    const answers = ['refused', 'aborted', { bytes: Buffer.from('garbage') }, { bytes: wrong[3] }] as const;
    const other = recordedNode(LOCAL);
    const fault = ({ method, key, n }: NodeCall) => {
      if (method === 'block') return answers[n - 1] ?? null;
      // The id of another chain: it is known to no server, then its block is not the one that was asked for.
      if (method === 'lookupBlock' && n === 1) return { id: other.id(key) };
      return null;
    };
    const run = await survives({ fault });
    expect(run.refetched.get('wrong')).toBeGreaterThanOrEqual(2 * 460);
    expect(run.lines.filter(({ level }) => level === 'warn').map(({ text }) => text)).toEqual([
      expect.stringContaining('no server can answer'),
      expect.stringContaining('a server gave a wrong answer'),
    ]);
  });

  it('a masterchain block of another branch is asked for again', async () => {
    const other = recordedNode(LOCAL);
    const key = masterKey(60);
    const bytes = await other.block(other.id(key), new AbortController().signal);
    let lies = 0;
    const run = await survives({
      fault: ({ method, key: asked, n }) => {
        if (asked !== key || n > 2) return null;
        if (method === 'lookupBlock') return { id: other.id(key) };
        return method === 'block' && ++lies > 0 ? { bytes } : null;
      },
    });
    expect(lies).toBe(2);
    expect(run.refetched).toEqual(new Map([['wrong', 2]]));
    expect(run.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { text: expect.stringContaining('masterchain block 60 does not follow the masterchain block 59') },
    ]);
  });

  it('a block that stays away is an error line with its name; the ingester goes on when it comes', async () => {
    let away = true;
    const lost = '0:8000000000000000:30';
    const node = recordedNode(GENESIS, {
      fault: ({ method, key }) => (away && method === 'block' && key === lost ? 'not_found' : null),
    });
    const run = follow(log, node, {
      from: 'genesis',
      pauses: { missingMs: 1, longestMissingMs: 2, stuckMs: 20, lineMs: 1_000_000 },
    });
    while (!run.lines.some(({ level }) => level === 'error')) await sleep(5);
    const errors = run.lines.filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([{ text: expect.stringMatching(`block ${lost} of step \\d+ has been impossible`) }]);
    const before = await content(log);
    expect(before).toEqual((await imported(GENESIS)).slice(0, before.length));
    expect(before.some((record) => record.startsWith(`${lost} `))).toBe(false);
    away = false;
    await run.until(132);
    await run.stop();
    expect(await content(log)).toEqual(await imported(GENESIS));
  });

  it('a call that never ends holds nobody who stops', async () => {
    const node = recordedNode(GENESIS, {
      fault: ({ method, key }) => (method === 'block' && key === masterKey(50) ? 'stall' : null),
    });
    const run = follow(log, node, { from: 'genesis' });
    await run.until(49);
    await run.stop();
    const records = await content(log);
    expect(records).toEqual((await imported(GENESIS)).slice(0, records.length));
  });

  it('a log that is away for a while', async () => {
    let appends = 0;
    const failing: EventLog = {
      ...log,
      append: async (topic, records) => {
        if (records.length > 0 && ++appends === 3) throw new LogError('unavailable', 'the broker is away');
        // The acknowledgement is lost, the records are not.
        const range = await log.append(topic, records);
        if (records.length > 0 && appends === 5) throw new LogError('unavailable', 'the answer is lost');
        return range;
      },
    };
    const run = follow(failing, recordedNode(GENESIS), { from: 'genesis', batchBytes: 50_000 });
    await run.until(132);
    await run.stop();
    expect(await content(log)).toEqual(await imported(GENESIS));
    expect(run.lines.filter(({ text }) => text.includes('the log cannot be written')).length).toBe(2);
  });
});

it.skipIf(shelf === null)('ends where the log is full: nothing would come of trying again', async () => {
  const full: EventLog = {
    ...log,
    append: async (topic, records) => {
      if (records.length > 0) throw new LogError('full', `topic ${topic} is full`);
      return log.append(topic, records);
    },
  };
  await expect(follow(full, recordedNode(GENESIS), { from: 'genesis' }).ended).rejects.toMatchObject({ code: 'full' });
});

it.skipIf(shelf === null)('a log that has lost all it held is not begun anew, neither by an import', async () => {
  const run = follow(log, recordedNode(GENESIS, { head: 10 }), { from: 'genesis' });
  await run.until(10);
  await run.stop();
  const end = await log.end(topics.blocks);
  // As brokers do whose retention is not that of the log.
  await log.trim(topics.blocks, end);
  const lost = { code: 'trimmed', message: expect.stringContaining(`starts at offset ${end}, 0 is gone`) };
  await expect(follow(log, recordedNode(GENESIS), { from: 'head' }).ended).rejects.toMatchObject(lost);
  await expect(importFiles(log, topics, [sequenceFile(GENESIS)])).rejects.toMatchObject(lost);
  expect(await log.end(topics.blocks)).toBe(end);
});

describe.skipIf(shelf === null)('the wrong chain', () => {
  async function refused(node: ReturnType<typeof recordedNode>, message: RegExp): Promise<void> {
    const before = await content(log);
    const failure = await follow(log, node).ended.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'network', message: expect.stringMatching(message) });
    expect(await content(log)).toEqual(before);
  }

  async function followed(name: string, seqno: number): Promise<void> {
    const run = follow(log, recordedNode(name, { head: seqno }), { from: 'genesis' });
    await run.until(seqno);
    await run.stop();
  }

  it('another zero state', async () => {
    await followed(GENESIS, 10);
    await refused(
      recordedNode(LOCAL),
      /network with zero state [0-9a-f]{64}, the log holds the one of [0-9a-f]{64}\..*--data-dir/,
    );
  });

  it('another chain of the same zero state', async () => {
    await followed(GENESIS, 10);
    const zeroState = await recordedNode(GENESIS).zeroState(new AbortController().signal);
    await refused(
      recordedNode(LOCAL, { zeroState }),
      /masterchain block 10 is not the one the log ends with .*--data-dir/,
    );
  });

  it('another global_id, where the log knows no zero state', async () => {
    const lines = readSequence(sequenceFile(EVERSCALE));
    const first = lines.filter(({ mc_seqno }) => mc_seqno === 1_459_995);
    await importFiles(log, topics, [writeSequence(join(folder, 'first.ndjson'), first)]);
    const others = lines.map((line) =>
      line.workchain === -1 && line.seqno > 1_459_995 ? changeBlock(line, 'network') : line,
    );
    await refused(createRecordedNode(others), /is of network \d+ \(global_id\), the log holds network 42/);
  });
});

describe.skipIf(shelf === null)('bounds', () => {
  it('asks for no more at a time than it is told', async () => {
    const node = recordedNode(GENESIS, { latencyMs: 1 });
    const run = follow(log, node, { from: 'genesis', concurrency: 5 });
    await run.until(132);
    await run.stop();
    expect(node.mostAtOnce).toBe(5);
  });

  it('fetches no further ahead than it is told while the log is slow', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: EventLog = {
      ...log,
      append: async (topic, records) => {
        if (records.length > 0) await gate;
        return log.append(topic, records);
      },
    };
    const node = recordedNode(GENESIS);
    const bytes = 300_000;
    const run = follow(slow, node, { from: 'genesis', ahead: { bytes, steps: 1_000 } });
    const calls = (): number => node.calls.get('block') ?? 0;
    // Many blocks, until no more come.
    for (let fetched = 0; fetched < 20 || calls() > fetched; await sleep(150)) fetched = calls();
    const fetched = calls();
    release();
    await run.until(132);
    await run.stop();
    const sizes = (await allSteps(log, topics.blocks)).flatMap(({ blocks }) => blocks.map(({ boc }) => boc.length));
    const held = sizes.slice(0, fetched).reduce((sum, size) => sum + size, 0);
    // The size of a step is known only when it is there.
    expect(held).toBeLessThan(bytes * 2);
    expect(await content(log)).toEqual(await imported(GENESIS));
  });
});
