import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  changeBlock,
  readSequence,
  type SequenceLine,
  sequenceFile,
  writeSequence,
} from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import { openEmbeddedLog } from '../embedded.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';
import { importFiles } from './import.ts';

const topics = topicNames();
let folder: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-refusals-'));
  log = openEmbeddedLog({ folder: join(folder, 'log') });
});

afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

/** Bad input: refused with a code and a line that says why, and nothing of the run is in the log. */
async function refused(files: string[], code: string, message: RegExp | string, loose = false): Promise<void> {
  const end = await log.end(topics.blocks);
  const failure = await importFiles(log, topics, files, { loose }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code });
  expect(String(failure)).toMatch(message);
  expect(String(failure)).not.toContain('\n');
  expect(await log.end(topics.blocks)).toBe(end);
}

describe.skipIf(shelf === null)('bad input', () => {
  const lines: SequenceLine[] = shelf === null ? [] : readSequence(sequenceFile('mainnet-genesis_a')).slice(0, 40);
  const write = (name: string, content: readonly unknown[]) => writeSequence(join(folder, name), content);
  const withLine = (at: number, line: unknown) => lines.map((old, index) => (index === at ? line : old));

  it('a line that is not JSON, or lacks a field', async () => {
    const file = join(folder, 'bad.ndjson');
    writeFileSync(file, `${JSON.stringify(lines[0])}\n{"workchain":\n`);
    await refused([file], 'bad_block', 'bad.ndjson, line 2: the line is not JSON');
    const { boc: _, ...rest } = lines[1];
    await refused([write('short.ndjson', withLine(1, rest))], 'bad_block', /short\.ndjson, line 2: boc: /);
  });

  it('a block that does not fit its id', async () => {
    for (const [field, value] of [
      ['file_hash', '00'.repeat(32)],
      ['root_hash', '00'.repeat(32)],
      ['seqno', 4_000_000],
      ['workchain', 5],
    ] as const) {
      const file = write('wrong.ndjson.gz', withLine(7, { ...lines[7], [field]: value }));
      await refused([file], 'wrong_id', /wrong\.ndjson\.gz, line 8: .* of the block is .*, expected /);
    }
  });

  it('a damaged bag of cells', async () => {
    const bytes = Buffer.from(lines[3].boc, 'base64');
    const file = join(folder, 'cut.boc');
    writeFileSync(file, bytes.subarray(0, bytes.length - 10));
    await refused([file], 'bad_block', /cut\.boc: not a block: boc/);
    writeFileSync(file, '');
    await refused([file], 'bad_block', 'cut.boc: not a block');
  });

  it('a truncated or damaged gzip', async () => {
    const whole = readFileSync(sequenceFile('mainnet-genesis_a'));
    const file = join(folder, 'cut.ndjson.gz');
    writeFileSync(file, whole.subarray(0, 200_000));
    await refused([file], 'unreadable', /cut\.ndjson\.gz, line \d+: cannot be read: unexpected end of file/);
    whole.fill(0, 100_000, 100_100);
    writeFileSync(file, whole);
    await refused([file], 'bad_block', /cut\.ndjson\.gz, line \d+: /);
  });

  it('files that are not there, of another kind, or a folder without blocks', async () => {
    await refused([join(folder, 'none.boc')], 'unreadable', 'none.boc: does not exist');
    writeFileSync(join(folder, 'notes.txt'), 'x');
    await refused([join(folder, 'notes.txt')], 'unreadable', 'notes.txt: is not a .boc');
    await refused([folder], 'unreadable', 'holds no .boc');
  });

  it('a good file before a bad one imports nothing', async () => {
    const good = write('good.ndjson', lines);
    await refused([good, write('zbad.ndjson', [{}])], 'bad_block', 'zbad.ndjson, line 1');
  });

  it('another network, within the files or than the log', async () => {
    await refused(
      [write('mixed.ndjson', withLine(5, changeBlock(lines[5], 'network')))],
      'network',
      /line 6: .*global_id/,
    );
    await importFiles(log, topics, [write('good.ndjson', lines)]);
    await refused([sequenceFile('everscale-1459995')], 'network', /of network 42 .* the log holds network -239/);
  });

  it('a second block under a known id', async () => {
    const changed = changeBlock(lines[5], 'seed');
    expect(changed.root_hash).not.toBe(lines[5].root_hash);
    const other = write('other.ndjson', [changed]);
    const good = write('good.ndjson', lines);
    await refused([good, other], 'conflict', /other\.ndjson, line 1: a second, different block .*good\.ndjson, line 6/);
    await importFiles(log, topics, [good]);
    await refused([other], 'conflict', 'differs from the one the log holds in step');
    await refused([other], 'conflict', 'differs from the one the log holds in step', true);
  });

  it('a block that the references of others contradict', async () => {
    const at = lines.findIndex(({ workchain }) => workchain === 0);
    await refused([write('fork.ndjson', withLine(at, changeBlock(lines[at], 'seed')))], 'conflict', /other hashes/);
  });

  it('a hole, where strict: names the missing block', async () => {
    const at = lines.findIndex(({ workchain, seqno }) => workchain === 0 && seqno === 3);
    const file = write('hole.ndjson', lines.toSpliced(at, 1));
    await refused([file], 'missing', /is not complete: block 0:8000000000000000:3 is missing: block \S+ refers to it/);
    const master = lines.findIndex(({ workchain, seqno }) => workchain === -1 && seqno === 4);
    await refused(
      [write('gap.ndjson', lines.toSpliced(master, 1))],
      'order',
      'masterchain block 4 is missing between 3 and 5',
    );
  });

  it('masterchain blocks that do not follow the log', async () => {
    const whole = readSequence(sequenceFile('mainnet-genesis_a'));
    await importFiles(log, topics, [write('good.ndjson', lines)]);
    const late = write(
      'late.ndjson',
      whole.filter(({ mc_seqno }) => (mc_seqno ?? 0) >= 100),
    );
    await refused([late], 'order', /the log ends with step \d+, the next one given is 100/);
    expect(await importFiles(log, topics, [late], { loose: true })).toMatchObject({
      firstMcSeqno: 100,
      lastMcSeqno: 132,
    });
    const between = write(
      'between.ndjson',
      whole.filter(({ mc_seqno }) => mc_seqno === 90),
    );
    await refused(
      [between],
      'sealed',
      /step 90, .*: begin another log \(another --data-dir, or with brokers another --topic-prefix\) and give all files in one run$/,
      true,
    );
  });

  it('a new block of a sealed step', async () => {
    const at = lines.findIndex(({ workchain, seqno }) => workchain === 0 && seqno === 3);
    await importFiles(log, topics, [write('hole.ndjson', lines.toSpliced(at, 1))], { loose: true });
    await refused([write('one.ndjson', [lines[at]])], 'sealed', 'give all files in one run', true);
  });

  it('a half-written step that these files continue otherwise', async () => {
    const stop = new AbortController();
    const failing: EventLog = {
      ...log,
      append: async (topic, records) => {
        if ((await log.end(topic)) >= 4) throw new Error('no space');
        return log.append(topic, records);
      },
    };
    const file = write('good.ndjson', lines);
    const options = { batchBytes: 1, signal: stop.signal };
    await expect(importFiles(failing, topics, [file], options)).rejects.toThrow('no space');
    const tail = (await log.last(topics.blocks, 1))[0];
    expect(tail.headers.seal).toBeUndefined();
    const step = Number(tail.headers.mc);
    const after = write(
      'after.ndjson',
      lines.filter(({ mc_seqno }) => (mc_seqno ?? 0) > step),
    );
    await refused([after], 'order', 'the log ends inside step', true);
    expect((await importFiles(log, topics, [file])).blocks).toBeGreaterThan(0);
  });
});
