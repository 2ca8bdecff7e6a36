import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { readerLimits } from '../src/api/sql/limits.ts';
import { readConfig } from '../src/config.ts';
import { canLimitFiles, limitFiles, limitOpenFiles } from '../test/file-limit.ts';
import { startProgram } from '../test/program.ts';
import { type ClickHouse, createClickHouse } from './client.ts';
import { usersXml } from './reader.ts';
import { RowWriter } from './rowbinary.ts';
import { type EmbeddedClickHouse, ServerError, startEmbeddedClickHouse } from './server.ts';
import { KEPT_FREE_BYTES } from './server-config.ts';
import { silent, testServerOptions } from './test-server.ts';

const TEST_PARENT = fileURLToPath(new URL('./test-parent.ts', import.meta.url));
const Count = z.object({ n: z.coerce.number() });

let folder: string;
let server: EmbeddedClickHouse | null;
let parent: ChildProcess | null;
/** The engine of `parent`. */
let orphan: { pid: number; url: string } | null;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tonstream-clickhouse-'));
  server = null;
  parent = null;
  orphan = null;
});

afterEach(async () => {
  parent?.kill('SIGKILL');
  await server?.stop();
  // It takes its time without its parent, and still writes.
  if (orphan) await untilGone(orphan.pid, 60_000);
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function untilGone(pid: number, withinMs: number): Promise<boolean> {
  for (const end = Date.now() + withinMs; Date.now() < end; ) {
    if (!isAlive(pid)) return true;
    await delay(50);
  }
  return false;
}

function connect(url: string): ClickHouse {
  return createClickHouse({ url, database: 'system', logger: silent });
}

async function insertNumber(clickhouse: ClickHouse, value: number): Promise<void> {
  const row = new RowWriter(64);
  row.u32(value);
  await clickhouse.insert('numbered', ['n'], row.take());
}

async function createNumbered(url: string): Promise<ClickHouse> {
  const system = connect(url);
  await system.command('CREATE DATABASE kept');
  await system.close();
  const clickhouse = createClickHouse({ url, database: 'kept', logger: silent });
  await clickhouse.command('CREATE TABLE numbered (n UInt32) ENGINE = MergeTree ORDER BY n');
  return clickhouse;
}

async function count(clickhouse: ClickHouse): Promise<number> {
  const [row] = await clickhouse.json('SELECT count() AS n FROM numbered', Count);
  return row.n;
}

async function startParent(): Promise<{ pid: number; url: string }> {
  parent = startProgram(TEST_PARENT, folder);
  const [line] = await once(parent.stdout!, 'data');
  orphan = z.object({ pid: z.number(), url: z.string() }).parse(JSON.parse(String(line)));
  return orphan;
}

const Text = z.object({ v: z.string() });

describe('the embedded server', () => {
  it('is a ClickHouse of version 25.8 or newer, within its limits, on loopback only', async () => {
    const options = testServerOptions(folder);
    server = await startEmbeddedClickHouse(options);
    const clickhouse = connect(server.url);
    expect(await clickhouse.ping()).toBe(true);
    const [{ v }] = await clickhouse.json('SELECT version() AS v', Text);
    const [major, minor] = v.split('.').map(Number);
    expect(major * 100 + minor).toBeGreaterThanOrEqual(25 * 100 + 8);
    const sql = (name: string) => `SELECT value AS v FROM server_settings WHERE name = '${name}'`;
    expect(await clickhouse.json(sql('max_server_memory_usage'), Text)).toEqual([
      { v: String(options.maxMemoryBytes) },
    ]);
    expect(await clickhouse.json(sql('mark_cache_size'), Text)).toEqual([{ v: String(options.markCacheBytes) }]);
    const kept = 'SELECT toString(keep_free_space) AS v FROM disks';
    expect(await clickhouse.json(kept, Text)).toEqual([{ v: String(KEPT_FREE_BYTES) }]);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await clickhouse.close();
  });

  it('starts in a folder whatever its path is made of', async () => {
    const options = testServerOptions(join(folder, `a&b <c> "d" 'e' f\\n %20 \u00e9`, 'x'.repeat(200)));
    server = await startEmbeddedClickHouse({
      ...options,
      users: usersXml(readerLimits(readConfig([], {}).config), 'u'),
    });
    const clickhouse = await createNumbered(server.url);
    await insertNumber(clickhouse, 7);
    expect(await count(clickhouse)).toBe(1);
    await clickhouse.close();
  });

  it('does mutations and merges with its few background threads', async () => {
    server = await startEmbeddedClickHouse(testServerOptions(folder));
    const clickhouse = await createNumbered(server.url);
    for (let i = 0; i < 5; i++) await insertNumber(clickhouse, i);
    const settings = { mutations_sync: '2' } as const;
    await clickhouse.command('ALTER TABLE numbered DELETE WHERE n < 2', { settings, timeoutMs: 120_000 });
    await clickhouse.command('OPTIMIZE TABLE numbered FINAL', { timeoutMs: 120_000 });
    expect(await count(clickhouse)).toBe(3);
    // Which the engine would make with each merge.
    const statistics =
      "SELECT arrayStringConcat(statistics) AS v FROM system.parts_columns WHERE active AND table = 'numbered'";
    expect(await clickhouse.json(statistics, Text)).toEqual([{ v: '' }]);
    await clickhouse.close();
  });

  it('keeps data and URL over an orderly restart and leaves no process behind', async () => {
    server = await startEmbeddedClickHouse(testServerOptions(folder));
    const { url, pid } = server;
    const before = await createNumbered(url);
    await insertNumber(before, 7);
    await before.close();
    await server.stop();
    expect(isAlive(pid!)).toBe(false);
    expect(server.pid).toBeNull();

    server = await startEmbeddedClickHouse(testServerOptions(folder));
    expect(server.url).toBe(url);
    const after = createClickHouse({ url, database: 'kept', logger: silent });
    expect(await after.json('SELECT n FROM numbered', Count)).toEqual([{ n: 7 }]);
    await after.close();
  });

  it('is restarted after kill -9 with every acknowledged insert', async () => {
    server = await startEmbeddedClickHouse(testServerOptions(folder));
    const clickhouse = await createNumbered(server.url);
    let acknowledged = 0;
    let stopped = false;
    const inserting = (async () => {
      while (!stopped) {
        await insertNumber(clickhouse, acknowledged);
        acknowledged++;
      }
    })();
    while (acknowledged < 5) await Promise.race([delay(5), inserting]);
    const restarted = new Promise<number>((resolve) => server!.onRestart(resolve));
    process.kill(server.pid!, 'SIGKILL');
    await expect(inserting).rejects.toMatchObject({ code: 'connection' });
    stopped = true;
    expect(await restarted).toBe(1);
    expect(server.metrics()).toEqual({ up: true, restarts: 1 });
    expect(acknowledged).toBeGreaterThan(0);
    // The insert that was cut off may be there too.
    const kept = await clickhouse.json('SELECT n FROM numbered ORDER BY n LIMIT 1000000', Count);
    expect(kept.slice(0, acknowledged)).toEqual(Array.from({ length: acknowledged }, (_, n) => ({ n })));
    expect(kept.length - acknowledged).toBeLessThanOrEqual(1);
    await clickhouse.close();
  });

  it.runIf(canLimitFiles)(
    'ends where a write was refused, which the engine takes for done, and keeps what was merged of the rows there were',
    async () => {
      server = await startEmbeddedClickHouse(testServerOptions(folder));
      const clickhouse = await createNumbered(server.url);
      await clickhouse.command('SYSTEM STOP MERGES');
      const fill = 'INSERT INTO numbered SELECT rand() FROM numbers(50000) SETTINGS max_insert_threads = 1';
      for (let n = 0; n < 3; n++) await clickhouse.command(fill);
      limitFiles(server.pid!, 400_000);
      await clickhouse.command('SYSTEM START MERGES');
      await clickhouse.command('OPTIMIZE TABLE numbered FINAL');
      const error = await server.failed;
      expect(error).toMatchObject({ code: 'disk_full', message: expect.stringContaining(`${folder} refused to be`) });
      await clickhouse.close();
      await server.stop();
      server = await startEmbeddedClickHouse(testServerOptions(folder));
      const again = createClickHouse({ url: server.url, database: 'kept', logger: silent });
      expect(await count(again)).toBe(150_000);
      await again.close();
    },
  );

  it.runIf(canLimitFiles)('is not started where too few files may be open', async () => {
    const allow = limitOpenFiles(process.pid, 500);
    try {
      await expect(startEmbeddedClickHouse(testServerOptions(folder))).rejects.toMatchObject({
        code: 'few_files',
        message: expect.stringMatching(/may open 500 files .* at least 1024: raise the limit \(ulimit -n\)/),
      });
    } finally {
      allow();
    }
  });

  it('refuses a second instance in the same process and in another', async () => {
    server = await startEmbeddedClickHouse(testServerOptions(folder));
    const again = startEmbeddedClickHouse(testServerOptions(folder));
    await expect(again).rejects.toMatchObject({ code: 'folder_busy', message: expect.stringContaining(folder) });
    expect(await connect(server.url).ping()).toBe(true);
    await server.stop();

    await startParent();
    // A wait for the lock would not end before the test does.
    const elsewhere = startEmbeddedClickHouse({ ...testServerOptions(folder), lockWaitMs: 3_600_000 });
    const message = expect.stringContaining(`${folder} is in use by process ${parent!.pid}`);
    await expect(elsewhere).rejects.toMatchObject({ code: 'folder_busy', message });
  });

  it('ends with its parent, even when that is killed, and its folder can be used again at once', async () => {
    const engine = await startParent();
    const before = await createNumbered(engine.url);
    await insertNumber(before, 1);
    parent!.kill('SIGKILL');
    await once(parent!, 'exit');
    // The open connection holds the engine back for some seconds: the new start has to wait for the lock.
    server = await startEmbeddedClickHouse(testServerOptions(folder));
    expect(await untilGone(engine.pid, 25_000)).toBe(true);
    const after = createClickHouse({ url: server.url, database: 'kept', logger: silent });
    expect(await count(after)).toBe(1);
    await Promise.all([before.close(), after.close()]);
  });

  it('ends a start whose signal aborts, without a process left', async () => {
    const signal = AbortSignal.timeout(5);
    const start = startEmbeddedClickHouse({ ...testServerOptions(folder), signal });
    await expect(start).rejects.toBeInstanceOf(ServerError);
    server = await startEmbeddedClickHouse(testServerOptions(folder));
    expect(await connect(server.url).ping()).toBe(true);
  });

  it('says what to do where there is no engine', async () => {
    vi.stubEnv('CHDB_LIBCHDB_PATH', join(folder, 'missing.so'));
    const start = startEmbeddedClickHouse(testServerOptions(folder));
    const message = expect.stringMatching(/install a ClickHouse server \(25\.8 or newer\) and set CLICKHOUSE_URL/);
    await expect(start).rejects.toMatchObject({ code: 'unsupported', message });
    vi.unstubAllEnvs();
  });

  it('takes another port when its own is in use', async () => {
    const first = await startEmbeddedClickHouse(testServerOptions(folder));
    await first.stop();
    const squatter = createServer().listen(Number(new URL(first.url).port), '127.0.0.1');
    await once(squatter, 'listening');
    server = await startEmbeddedClickHouse(testServerOptions(folder));
    expect(server.url).not.toBe(first.url);
    squatter.close();
  });

  it('starts however the clock is set meanwhile, and is killed when it does not end in time', async () => {
    const now = Date.now;
    let asked = 0;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000 * asked++);
    server = await startEmbeddedClickHouse({ ...testServerOptions(folder), stopTimeoutMs: 300 }).finally(() =>
      clock.mockRestore(),
    );
    const pid = server.pid!;
    process.kill(pid, 'SIGSTOP');
    await server.stop();
    expect(isAlive(pid)).toBe(false);
  });

  it('says what is wrong when the engine cannot start', async () => {
    const start = startEmbeddedClickHouse({ ...testServerOptions(folder), maxMemoryBytes: Number.NaN });
    await expect(start).rejects.toMatchObject({ code: 'start_failed', message: expect.stringContaining(folder) });
  });
});
