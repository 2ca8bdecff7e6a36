import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { random, rounds } from '../../test/chance.ts';
import { startProgram } from '../../test/program.ts';
import {
  allSteps,
  logContent,
  readSequence,
  sequenceFile,
  stepOfBlocks,
  writeSequence,
} from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import { openEmbeddedLog } from '../embedded.ts';
import type { EventLog } from '../log.ts';
import { readSteps } from '../steps.ts';
import { topicNames } from '../topics.ts';
import { importFiles } from './import.ts';

const topics = topicNames();
let folder: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-import-'));
  log = openEmbeddedLog({ folder: join(folder, 'log') });
});

afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

/** Steps as the recording says: block key to masterchain seqno. */
function recordedSteps(file: string): Map<string, number | null> {
  return new Map(
    readSequence(file).map(({ workchain, shard, seqno, mc_seqno }) => [`${workchain}:${shard}:${seqno}`, mc_seqno]),
  );
}

describe.skipIf(shelf === null)('recorded sequences', () => {
  const complete = ['mainnet-genesis_a', 'local-ton4j-2024_a', 'everscale-1459995'];

  it.each(complete)('%s: steps as recorded, sealed by their masterchain block; twice changes nothing', async (name) => {
    const file = sequenceFile(name);
    const summary = await importFiles(log, topics, [file]);
    const steps = await allSteps(log, topics.blocks);
    expect(stepOfBlocks(steps)).toEqual(recordedSteps(file));
    expect(steps.every(({ masterBlock, mcSeqno }) => masterBlock?.id.seqno === mcSeqno)).toBe(true);
    expect(summary.blocks).toBe(recordedSteps(file).size);
    const before = await logContent(log, topics.blocks);
    const again = await importFiles(log, topics, [file]);
    expect(again).toMatchObject({ steps: 0, blocks: 0, skipped: summary.blocks });
    expect(await importFiles(log, topics, [file], { loose: true })).toMatchObject({
      blocks: 0,
      skipped: summary.blocks,
    });
    expect(await logContent(log, topics.blocks)).toEqual(before);
  });

  it('gives the same steps with --loose, and without what the lines say of them', async () => {
    const file = sequenceFile('mainnet-genesis_a');
    const lines = readSequence(file).map((line) => ({ ...line, mc_seqno: null }));
    const bare = writeSequence(join(folder, 'bare.ndjson'), lines.reverse());
    await importFiles(log, topics, [bare], { loose: true });
    expect(stepOfBlocks(await allSteps(log, topics.blocks))).toEqual(recordedSteps(file));
  });

  it.each(['mainnet-mc-2660', 'mainnet-mc-2467080_a', 'mainnet-mc-3082181', 'mainnet-shard-571525'])(
    '%s: has holes, is taken with --loose',
    async (name) => {
      const lines = readSequence(sequenceFile(name));
      await importFiles(log, topics, [sequenceFile(name)], { loose: true });
      const steps = await allSteps(log, topics.blocks);
      expect(steps.reduce((sum, { blocks }) => sum + blocks.length, 0)).toBe(lines.length);
      expect(steps.every(({ mcSeqno, masterBlock }) => masterBlock === null || masterBlock.id.seqno === mcSeqno)).toBe(
        true,
      );
    },
  );

  it.each(['mainnet', 'private'])('%s blocks of the recorded answers get the recorded steps', async (name) => {
    const place = join(shelf ?? '', 'data', 'answers', name);
    const mapping = z
      .record(z.string(), z.number())
      .parse(JSON.parse(readFileSync(join(place, 'mapping.json'), 'utf8')));
    await importFiles(log, topics, [join(place, 'blocks.ndjson.gz')], { loose: true });
    const steps = stepOfBlocks(await allSteps(log, topics.blocks));
    expect(new Map(steps)).toEqual(new Map(Object.entries(mapping).map(([key, step]) => [key.toLowerCase(), step])));
  });

  it('takes single blocks and folders; a shard block alone goes behind its master reference', async () => {
    const blocks = join(shelf ?? '', 'data', 'blocks');
    const name = readdirSync(blocks).find((file) => file.endsWith('56703838.boc')) ?? '';
    const facts = readdirSync(blocks).filter((file) => file.startsWith(basename(name, '.boc')));
    expect(facts.length).toBe(2);
    await importFiles(log, topics, [join(blocks, name)], { loose: true });
    const [{ mcSeqno, masterBlock, blocks: found }] = await allSteps(log, topics.blocks);
    expect(masterBlock).toBeNull();
    expect(found[0].boc.equals(readFileSync(join(blocks, name)))).toBe(true);
    expect(mcSeqno).toBeGreaterThan(1);
  });

  it('leaves out and counts shard blocks that no masterchain block commits yet, and takes them later', async () => {
    const lines = readSequence(sequenceFile('mainnet-genesis_a'));
    const cut = lines.findIndex(({ workchain, seqno }) => workchain === -1 && seqno === 60);
    const part = writeSequence(join(folder, 'part.ndjson'), lines.slice(0, cut));
    const open = lines.slice(0, cut).filter(({ mc_seqno }) => mc_seqno === 60).length;
    expect(open).toBeGreaterThan(0);
    expect(await importFiles(log, topics, [part])).toMatchObject({ lastMcSeqno: 59, leftOut: open });
    const rest = await importFiles(log, topics, [sequenceFile('mainnet-genesis_a')]);
    expect(rest).toMatchObject({ firstMcSeqno: 60, lastMcSeqno: 132, leftOut: 0, skipped: cut - open });
    expect(stepOfBlocks(await allSteps(log, topics.blocks))).toEqual(recordedSteps(sequenceFile('mainnet-genesis_a')));
  });

  it('puts aside on the disk what does not fit into memory', async () => {
    const spool = { spoolMemoryBytes: 10_000, spoolFolder: join(folder, 'spool') };
    await importFiles(log, topics, [sequenceFile('local-ton4j-2024_a')], spool);
    expect((await allSteps(log, topics.blocks)).length).toBe(176);
    expect(readdirSync(join(folder, 'spool'))).toEqual([]);
  });

  it('stops at a step when told, and goes on from there', async () => {
    const stop = new AbortController();
    const onProgress = ({ phase }: { phase: string }) => {
      if (phase === 'append') stop.abort();
    };
    const file = sequenceFile('mainnet-genesis_a');
    const options = { signal: stop.signal, onProgress, batchBytes: 100_000 };
    const summary = await importFiles(log, topics, [file], options);
    expect(summary.stopped).toBe(true);
    expect((await allSteps(log, topics.blocks)).at(-1)?.mcSeqno).toBe(summary.lastMcSeqno);
    await importFiles(log, topics, [file]);
    expect(stepOfBlocks(await allSteps(log, topics.blocks))).toEqual(recordedSteps(file));
  });
});

const PROGRAM = fileURLToPath(new URL('../../test/import-process.ts', import.meta.url));
/** Smaller than most steps, so that they are written in several appends. */
const SMALL_BATCH = 4_000;
const ROUNDS = rounds(2, 30);

function startImport(file: string) {
  const child = startProgram(PROGRAM, join(folder, 'log'), String(SMALL_BATCH), file);
  const exit = once(child, 'exit');
  return { child, exit, lines: createInterface({ input: child.stdout }) };
}

describe.skipIf(shelf === null)('an import in another process', () => {
  it('resumes after SIGKILL at any moment: the log is that of an undisturbed run', async () => {
    const file = sequenceFile('mainnet-genesis_a');
    const calm = openEmbeddedLog({ folder: join(folder, 'calm') });
    await importFiles(calm, topics, [file]);
    const expected = await logContent(calm, topics.blocks);
    await calm.close();
    let halves = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const { child, exit, lines } = startImport(file);
      let left = 1 + random(50);
      for await (const _ of lines) if (--left === 0) child.kill('SIGKILL');
      await exit;
      const content = await logContent(log, topics.blocks);
      expect(content).toEqual(expected.slice(0, content.length));
      if (content.at(-1)?.includes('"seal"') === false) halves++;
    }
    process.stdout.write(`killed ${ROUNDS} imports, ${halves} of them inside a step\n`);
    const { child, exit, lines } = startImport(file);
    lines.resume();
    await exit;
    expect(child.exitCode).toBe(0);
    expect(await logContent(log, topics.blocks)).toEqual(expected);
  });

  it('can be followed by a reader of the log', async () => {
    const file = sequenceFile('local-ton4j-2024_a');
    const stop = new AbortController();
    await log.ensureTopic(topics.blocks);
    const { exit, lines } = startImport(file);
    lines.resume();
    const seqnos: number[] = [];
    for await (const steps of readSteps(log, topics.blocks, 0, { signal: stop.signal })) {
      seqnos.push(...steps.map(({ mcSeqno }) => mcSeqno));
      if (seqnos.length >= 176) stop.abort();
    }
    expect(seqnos).toEqual(Array.from({ length: 176 }, (_, at) => at + 1));
    await exit;
  });
});
