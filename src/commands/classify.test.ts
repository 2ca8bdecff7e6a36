import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { runClassify } from './classify.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'classify-'));
});
afterEach(() => rm(folder, { recursive: true }));

const run = (...files: string[]) => runAt(undefined, ...files);

async function runAt(
  maxBytes: number | undefined,
  ...files: string[]
): Promise<{ code: number; lines: string[]; errors: string }> {
  const lines: string[] = [];
  let errors = '';
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      errors += String(chunk);
      done();
    },
  });
  const code = await runClassify(files, { print: (line) => lines.push(line), stderr }, maxBytes);
  return { code, lines, errors };
}

const told = z.object({
  name: z.string(),
  classification_state: z.string(),
  actions: z.array(
    z.looseObject({ type: z.string(), accounts: z.array(z.string()), _ancestor_type: z.array(z.string()) }),
  ),
});

test.skipIf(shelf === null)('prints a line a file, packed or not', async () => {
  const file = join(requireShelf(), 'data/traces/syn_jetton_transfer.json');
  const packed = join(folder, 'trace.json.gz');
  await writeFile(packed, gzipSync(await readFile(file)));
  const { code, lines } = await run(file, packed);
  expect(code).toBe(0);
  expect(lines[0]).toBe(lines[1]);
  const { name, classification_state, actions } = told.parse(JSON.parse(lines[0]));
  expect([name, classification_state, actions.map(({ type }) => type)]).toEqual([
    'syn_jetton_transfer',
    'ok',
    ['jetton_transfer'],
  ]);
});

test('names the file that it cannot read, and goes on', async () => {
  const file = join(folder, 'trace.json');
  await writeFile(file, '{"format":2}');
  const { code, lines, errors } = await run(file, join(folder, 'missing.json'));
  expect([code, lines]).toEqual([1, []]);
  expect(errors).toMatch(/trace\.json: .*format/);
  expect(errors).toMatch(/missing\.json: ENOENT/);
});

test('reads no more of a file than it may have, packed or not', async () => {
  const [plain, packed, inflated] = ['plain.json', 'packed.json.gz', 'inflated.json.gz'].map((name) =>
    join(folder, name),
  );
  await writeFile(plain, ' '.repeat(1001));
  await writeFile(packed, Buffer.alloc(1001));
  await writeFile(inflated, gzipSync(' '.repeat(1001)));
  const { code, lines, errors } = await runAt(1000, plain, packed, inflated);
  expect([code, lines]).toEqual([1, []]);
  const lineOf = (file: string) => `tonstream classify: ${file}: more than 1000 bytes\n`;
  expect(errors).toBe([plain, packed, inflated].map(lineOf).join(''));
});

test('asks for files', async () => {
  expect(await run()).toEqual({ code: 1, lines: [], errors: 'tonstream classify: name the trace files\n' });
});
