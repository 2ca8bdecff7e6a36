import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';
import { describeEventLog, expectNumbered, startWriter, text } from './conformance.ts';
import { numberedRecord } from './conformance-writer.ts';
import { openEmbeddedLog } from './embedded.ts';
import { processStart } from './writer-lock.ts';

const root = mkdtempSync(join(tmpdir(), 'tonstream-log-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const folder = join(root, 'conformance');
describeEventLog('embedded log', {
  open: async () => openEmbeddedLog({ folder }),
  writer: ['embedded', folder],
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
      const { writeNumbered } = await load('./conformance-writer.ts');
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
