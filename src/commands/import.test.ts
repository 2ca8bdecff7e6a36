import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sequenceFile } from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import { readConfig } from '../config.ts';
import { runImport } from './import.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-import-command-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function run(words: string[], flags: Record<string, unknown> = {}, signal = new AbortController().signal) {
  const { config } = readConfig(['--data-dir', join(folder, 'data')], {});
  const stderr = new PassThrough({ encoding: 'utf8' });
  const printed: string[] = [];
  const code = await runImport(config, words, flags, { print: (line) => printed.push(line), stderr, signal });
  return { code, printed: printed.join('\n'), errors: String(stderr.read() ?? '') };
}

describe('tonstream import', () => {
  it('wants paths', async () => {
    expect(await run([])).toMatchObject({ code: 1, errors: expect.stringContaining('name the files') });
  });

  it('says in one line what is wrong with a file', async () => {
    const file = join(folder, 'noise.boc');
    writeFileSync(file, 'noise');
    const { code, errors } = await run([file]);
    expect(code).toBe(1);
    expect(errors).toMatch(/^tonstream import: .*noise\.boc: not a block: .*; nothing was imported\n$/);
  });

  describe.skipIf(shelf === null)('with recorded blocks', () => {
    it('sums up what it did, and that there was nothing to do', async () => {
      const first = await run([sequenceFile('mainnet-genesis_a')]);
      // A slow machine sees progress there.
      expect(first).toMatchObject({ code: 0, errors: expect.not.stringContaining('tonstream import:') });
      expect(first.printed).toMatch(/^imported 132 steps \(masterchain 1 to 132\), 460 blocks, 1\.6 MB in [\d.]+ s$/);
      const second = await run([sequenceFile('mainnet-genesis_a')]);
      expect(second).toMatchObject({
        code: 0,
        printed: 'nothing new to import\nskipped 460 blocks that the log had already',
      });
    });

    it('tells of shard blocks left out, and takes them with --loose', async () => {
      const words = [sequenceFile('mainnet-shard-571525')];
      expect((await run(words)).printed).toContain('left out 31 shard blocks');
      expect((await run(words, { loose: true })).printed).toContain('31 blocks');
    });

    it('stops when told', async () => {
      const { code, printed } = await run([sequenceFile('mainnet-genesis_a')], {}, AbortSignal.abort());
      expect(code).toBe(1);
      expect(printed).toContain('stopped before the end');
    });
  });
});
