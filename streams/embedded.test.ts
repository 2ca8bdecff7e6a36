import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';
import { describeEventLog, expectNumbered, startWriter, text } from '../test/log-conformance.ts';
import { numberedRecord } from '../test/log-conformance-writer.ts';
import { openEmbeddedLog } from './embedded.ts';
import { openEnvironment } from './environment.ts';
import { damageOf } from './lmdb-file.ts';
import { processStart } from './writer-lock.ts';

const root = mkdtempSync(join(tmpdir(), 'tonstream-log-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const folder = join(root, 'conformance');
describeEventLog('embedded log', {
  open: async () => openEmbeddedLog({ folder }),
  writer: ['embedded', folder],
});

/** A program with `log`, open on the folder, in a process of its own. @param limit what a shell does before */
function startProgram(folder: string, program: string, limit = '') {
  const url = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const preamble = `
    import { once } from 'node:events';
    import { writeSync } from 'node:fs';
    import { openEmbeddedLog } from ${url('./embedded.ts')};
    import { openEnvironment } from ${url('./environment.ts')};
    const folder = ${JSON.stringify(folder)};
    const log = openEmbeddedLog({ folder });
    const record = { key: 'k', headers: {}, value: Buffer.from('v') };`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', preamble + program];
  return spawn('sh', ['-c', `${limit}\nexec "$0" "$@"`, process.execPath, ...args], {
    stdio: ['pipe', 'pipe', limit === '' ? 'inherit' : 'ignore'],
  });
}

it('an append says why it cannot be on the disk, to who waits for it alone, and the log can be closed then', async () => {
  const place = join(root, 'large');
  const program = `
    const value = Buffer.alloc(100_000);
    const write = (n) => [log.append('t.v1', [{ ...record, value }]), log.noteProgress('g', 't.v1', n)];
    let refusals = [];
    for (let n = 0; n < 40 && refusals.length === 0; n++)
      refusals = (await Promise.allSettled(write(n))).filter(({ status }) => status === 'rejected');
    // A rejection of its own ends the process meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await log.close();
    process.stdout.write([...new Set(refusals.map(({ reason }) => reason.message)), 'closed'].join());
    process.exit();`;
  // No file above 1 MB: what cannot be tried here is a disk that is full.
  const writer = startProgram(place, program, 'ulimit -f 2048');
  const told = `the log in ${place} cannot be written: `;
  expect([`${told}File too large,closed`, `${told}Input/output error, as where the disk is full,closed`]).toContain(
    await readAll(writer.stdout),
  );
});

/** In a meta page: `mm_last_pg`. */
const LAST_PAGE = 144;

it('a file that is none, or was cut off, is refused by name', async () => {
  const place = join(root, 'damaged');
  const log = openEmbeddedLog({ folder: place });
  for (let n = 0; n < 4; n++) await log.append('t.v1', [text('x')]);
  await log.close();
  const file = join(place, 'data.mdb');
  const whole = readFileSync(file);
  const damaged = (how: string) =>
    expect(() => openEmbeddedLog({ folder: place })).toThrow(
      `${file} is damaged: ${how}; bring back a copy of the folder, or begin anew with another data folder`,
    );
  writeFileSync(file, whole.subarray(0, 3 * 4096));
  damaged(`it has 12288 bytes of ${whole.length}: it was cut off`);
  writeFileSync(file, whole.subarray(0, 100));
  damaged('it does not begin as a database does');
  writeFileSync(file, Buffer.alloc(whole.length));
  damaged('it does not begin as a database does');
  // As a power cut may leave it: both meta pages name pages that never came to the disk, what was flushed last is whole.
  const cut = Buffer.from(whole);
  for (const meta of [0, 4096]) cut.writeBigUInt64LE(1_000_000n, meta + LAST_PAGE);
  writeFileSync(file, cut);
  expect(damageOf(file)).toBeNull();
  cut.writeBigUInt64LE(1_000_000n, 2048 + LAST_PAGE);
  writeFileSync(file, cut);
  damaged(`it has ${whole.length} bytes of 4096004096: it was cut off`);
  writeFileSync(file, whole);
  const again = openEmbeddedLog({ folder: place });
  expect(await again.end('t.v1')).toBe(4);
  await again.close();
});

it('a record that is damaged is told of with its folder', async () => {
  const place = join(root, 'damaged-record');
  const log = openEmbeddedLog({ folder: place });
  const marked = 'a record whose bytes are found in the file';
  await log.append('t.v1', [text(marked)]);
  await log.close();
  const file = join(place, 'data.mdb');
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(marked); at >= 0; at = bytes.indexOf(marked, at + 1)) bytes[at] ^= 1;
  writeFileSync(file, bytes);
  const again = openEmbeddedLog({ folder: place });
  await expect(again.get('t.v1', 0)).rejects.toThrow(
    `the log in ${place} is damaged: topic t.v1, offset 0: record is damaged (CRC-32 differs); bring back`,
  );
  await again.close();
});

it('a topic whose offsets have run out takes no more, and what fits before that', async () => {
  const place = join(root, 'full');
  const log = openEmbeddedLog({ folder: place });
  const environment = openEnvironment(place);
  const last = 0xffff_fffe;
  await environment.change('t.v1', (state) => [{ ...state, next: last, low: last }, undefined]);
  const two = [text('a'), text('b')];
  await expect(log.append('t.v1', two)).rejects.toMatchObject({ code: 'full' });
  expect((await log.append('t.v1', [text('a')])).last).toBe(last);
  await expect(log.append('t.v1', [text('b')])).rejects.toMatchObject({ code: 'full' });
  await environment.release();
  await log.close();
});

describe('one writer', () => {
  it('is refused by name while another process writes, and let in when that one is gone', async () => {
    const place = join(root, 'busy');
    const log = openEmbeddedLog({ folder: place });
    const fixture = { open: async () => log, writer: ['embedded', place] };
    const topic = 'busy.v1';
    const writer = startWriter(fixture, topic);
    await writer.acknowledged(1);
    await expect(log.append(topic, [text('x')])).rejects.toMatchObject({
      code: 'writer_busy',
      message: `topic ${topic} of ${place} is being written by process ${writer.child.pid}; stop it first`,
    });
    expect((await log.append('free.v1', [text('x')])).first).toBe(0);
    await writer.kill();
    const end = await log.end(topic);
    expect(await log.append(topic, [text('x')])).toEqual({ first: end, last: end });
    await log.close();
  });

  it('is refused also while the other one stands still in the middle of an append', async () => {
    const place = join(root, 'stopped');
    // In a process of its own: one that waits for the transaction hears nothing any more.
    const contender = startProgram(
      place,
      `
      process.stdout.write('open ');
      await once(process.stdin, 'data');
      const refusal = await log.append('t.v1', [record]).catch((error) => error);
      process.stdout.write(refusal.code + ': ' + refusal.message);
      process.exit();`,
    );
    await once(contender.stdout, 'data');
    const holder = startProgram(
      place,
      `
      await log.append('t.v1', [record]);
      await openEnvironment(folder).change('t.v1', () => {
        writeSync(1, 'inside a transaction');
        process.kill(process.pid, 'SIGSTOP');
      });`,
    );
    await once(holder.stdout, 'data');
    contender.stdin.write('go');
    const answer = await Promise.race([readAll(contender.stdout), sleep(30_000, 'no answer within 30 s')]);
    for (const child of [holder, contender]) child.kill('SIGKILL');
    expect(answer).toBe(`writer_busy: topic t.v1 of ${place} is being written by process ${holder.pid}; stop it first`);
  });

  it('takes over from a process whose pid now belongs to another one', async () => {
    const place = join(root, 'reused');
    const first = openEmbeddedLog({ folder: place });
    await first.append('t.v1', [text('a')]);
    const file = join(place, 't.v1.writer');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    await first.close();
    expect(() => readFileSync(file)).toThrow('ENOENT');
    const parent = { pid: process.ppid, threads: [0] };
    const second = openEmbeddedLog({ folder: place });
    writeFileSync(file, JSON.stringify({ ...parent, started: processStart(process.ppid) }));
    await expect(second.append('t.v1', [text('b')])).rejects.toMatchObject({ code: 'writer_busy' });
    writeFileSync(file, JSON.stringify({ ...parent, started: 'earlier' }));
    expect((await second.append('t.v1', [text('b')])).first).toBe(1);
    await second.close();
  });

  it('shares the log between threads of one process', async () => {
    const place = join(root, 'threads');
    const log = openEmbeddedLog({ folder: place });
    await log.append('t.v1', [numberedRecord(0)]);
    // On Node 20 tsx does not reach a worker through execArgv, so the worker calls it.
    const program = `import('tsx/esm/api').then(async ({ tsImport }) => {
      const load = (name) => tsImport(name, ${JSON.stringify(import.meta.url)});
      const { openEmbeddedLog } = await load('./embedded.ts');
      const { writeNumbered } = await load('../test/log-conformance-writer.ts');
      const log = openEmbeddedLog({ folder: ${JSON.stringify(place)} });
      await writeNumbered(log, 't.v1', 99, () => {});
      await log.close();
    })`;
    const worker = new Worker(program, { eval: true });
    const code = await new Promise((resolve, reject) => {
      worker.on('exit', resolve);
      worker.on('error', reject);
    });
    expect(code).toBe(0);
    expect(await expectNumbered(log, 't.v1')).toBe(100);
    expect(readFileSync(join(place, 't.v1.writer'), 'utf8')).toContain('"threads":[0]');
    await log.close();
  });

  it('wakes a reader in another thread, however seldom that one looks', async () => {
    const place = join(root, 'woken');
    const log = openEmbeddedLog({ folder: place });
    await log.ensureTopic('t.v1');
    const program = `import('tsx/esm/api').then(async ({ tsImport }) => {
      const { parentPort } = require('node:worker_threads');
      const { openEmbeddedLog } = await tsImport('./embedded.ts', ${JSON.stringify(import.meta.url)});
      const log = openEmbeddedLog({ folder: ${JSON.stringify(place)}, pollMs: 2 ** 31 - 1 });
      const reading = log.read('t.v1', 0, { signal: new AbortController().signal });
      const first = reading.next();
      setImmediate(() => parentPort.postMessage('waiting'));
      await first;
      await reading.return();
      await log.close();
      parentPort.postMessage('woken');
    })`;
    const worker = new Worker(program, { eval: true });
    const heard: unknown[] = [];
    worker.on('message', (news: unknown) => {
      heard.push(news);
      if (news === 'waiting') void log.append('t.v1', [text('x')]);
    });
    await new Promise((resolve, reject) => {
      worker.on('exit', resolve);
      worker.on('error', reject);
    });
    expect(heard).toEqual(['waiting', 'woken']);
    await log.close();
  });
});
