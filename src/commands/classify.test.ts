import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { Builder, toBoc } from '../chain/builder.ts';
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

test.skipIf(shelf === null)('prints numbers with all their digits', async () => {
  const recorded = join(requireShelf(), 'data/traces/0IpCwGaMBpo9nqnjKOiBAnHhawXzcrpRHErKz6LJUFM=.json');
  // What the message library answered: the header of the object, a nonce that no double holds, and that it succeeded.
  const answer = new Builder().bytes(Buffer.alloc(43)).u(0, 6).big(9007199254740993n, 64).u(0x3bbc306b, 32).cell();
  const message = z.looseObject({ opcode: z.literal('0x3cb38090') });
  const body = new Builder().u(0x3cb38090, 32).ref(new Builder().ref(answer).cell()).cell();
  const answered = (_: string, value: unknown) =>
    message.safeParse(value).success ? { ...message.parse(value), body: toBoc(body).toString('base64') } : value;
  const trace: unknown = JSON.parse(await readFile(recorded, 'utf8'), answered);
  const file = join(folder, 'trace.json');
  await writeFile(file, JSON.stringify(trace));
  const { lines } = await run(file);
  expect(lines[0]).toContain('"type":"layerzero_dvn_verify"');
  expect(lines[0]).toContain('"nonce":9007199254740993,');
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
