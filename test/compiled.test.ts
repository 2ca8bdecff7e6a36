/** How programs are compiled and started, on a small package of its own. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-compiled-'));
  // For a user who may read it and nothing else.
  chmodSync(home, 0o755);
  for (const folder of ['bin', 'src', 'src/texts', 'streams']) mkdirSync(join(home, folder));
  for (const file of ['package.json', 'bin/compiled.js', 'bin/tonstream.js', 'bin/thread.js'])
    copyFileSync(join(root, file), join(home, file));
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'));
  write('src/texts/greeting.txt', 'hello');
  write('src/main.ts', "import { greet } from './greet.ts';\nprocess.stdout.write(greet('one'));\n");
  write(
    'src/greet.ts',
    `import { readFileSync } from 'node:fs';
     const greeting: string = readFileSync(new URL('texts/greeting.txt', import.meta.url), 'utf8');
     export const greet = (name: string): string => greeting + ' ' + name;`,
  );
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(path: string, text: string): void {
  writeFileSync(join(home, path), text);
}

function start(options: { uid?: number } = {}): Promise<{ status: number | null; printed: string; failed: string }> {
  const child = spawn(process.execPath, [join(home, 'bin/tonstream.js')], { ...options, cwd: '/' });
  let printed = '';
  let failed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    failed += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, printed, failed }));
  });
}

/** Names of what was built, and of what is being built. */
const builds = (): string[] =>
  readdirSync(join(home, '.build')).flatMap((state) => readdirSync(join(home, '.build', state)));

test('what runs is what the sources say at that moment, compiled once', async () => {
  expect(await start()).toEqual({ status: 0, printed: 'hello one', failed: '' });
  expect(await start()).toEqual({ status: 0, printed: 'hello one', failed: '' });
  expect(builds()).toEqual(['service']);
  write('src/main.ts', "import { greet } from './greet.ts';\nprocess.stdout.write(greet('two'));\n");
  expect((await start()).printed).toBe('hello two');
  // The text is read, not compiled.
  write('src/texts/greeting.txt', 'good day');
  expect((await start()).printed).toBe('good day two');
  expect(builds()).toEqual(['service', 'service']);
});

test('packages are those that npm has installed', async () => {
  rmSync(join(home, 'node_modules'));
  for (const folder of ['node_modules', 'node_modules/polite']) mkdirSync(join(home, folder));
  for (const name of ['esbuild', '@esbuild'])
    symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name));
  // As CommonJS packages are, and asking for a module of Node.
  const install = (version: string): void => {
    write('node_modules/polite/package.json', `{"name":"polite","version":"${version}","main":"index.js"}`);
    write('node_modules/polite/index.js', `exports.words = require('node:path').join('please', '${version}');`);
    write('node_modules/.package-lock.json', `{"packages":{"node_modules/polite":{"version":"${version}"}}}`);
  };
  write('src/main.ts', "import { words } from 'polite';\nprocess.stdout.write(words);\n");
  for (const version of ['1.0.0', '1.0.1']) {
    install(version);
    expect(await start()).toEqual({ status: 0, printed: `please/${version}`, failed: '' });
  }
});

test('several that start at once leave one build', async () => {
  const all = await Promise.all([start(), start(), start()]);
  expect(all.map(({ printed }) => printed)).toEqual(['hello one', 'hello one', 'hello one']);
  expect(builds()).toEqual(['service']);
});

test('builds of sources as they were long ago are removed', async () => {
  for (let n = 0; n < 7; n++) {
    mkdirSync(join(home, '.build', `old${n}`), { recursive: true });
  }
  await start();
  expect(readdirSync(join(home, '.build'))).toHaveLength(6);
  expect((await start()).printed).toBe('hello one');
});

test('a thread is of the same build, however the sources change meanwhile', async () => {
  write('streams/worker.ts', "import { greet } from '../src/greet.ts';\nprocess.stdout.write(greet('thread'));\n");
  write(
    'src/main.ts',
    `import { writeFileSync } from 'node:fs';
     import { Worker } from 'node:worker_threads';
     writeFileSync(new URL('greet.ts', import.meta.url), 'export const greet = (): string => "changed";');
     const module = new URL('../streams/worker.ts', import.meta.url).href;
     new Worker(new URL('../bin/thread.js', import.meta.url), { workerData: { module } });`,
  );
  expect(await start()).toEqual({ status: 0, printed: 'hello thread', failed: '' });
});

test('errors name the line of the source', async () => {
  write(
    'src/greet.ts',
    'interface Long {\n  name: string;\n}\nexport function greet(): Long {\n  throw new Error("no");\n}\n',
  );
  const { status, failed } = await start();
  expect(status).toBe(1);
  expect(failed).toContain('Error: no');
  expect(failed).toContain(`${join(home, 'src/greet.ts')}:5:9`);
});

test('sources that do not compile are named, and leave nothing', async () => {
  write('src/greet.ts', 'export const greet = ;');
  const { status, failed } = await start();
  expect(status).toBe(1);
  expect(failed).toContain('src/greet.ts:1:21: ERROR: Unexpected ";"');
  expect(builds()).toEqual([]);
});

test('who may not write is told what to run, and runs what was compiled by another', async () => {
  const other = process.getuid?.() === 0 ? { uid: 65_534 } : {};
  if (other.uid === undefined) chmodSync(home, 0o555);
  const { status, failed } = await start(other);
  expect(status).toBe(1);
  expect(failed).toContain('tonstream is not compiled yet');
  expect(failed).toContain(`run \`node ${join(home, 'bin/tonstream.js')} version\` once as a user who may`);
  chmodSync(home, 0o755);
  await start();
  if (other.uid === undefined) chmodSync(home, 0o555);
  expect(await start(other)).toEqual({ status: 0, printed: 'hello one', failed: '' });
  chmodSync(home, 0o755);
});
