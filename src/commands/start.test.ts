import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { listen } from '../listen.ts';
import { runStart } from './start.ts';

it('refuses a start that cannot be read before anything is started', () =>
  expectRefused(['--from', 'yesterday'], '--from: "yesterday" is no start: give head, genesis'));

it('refuses a port that is in use before anything is started', async () => {
  const server = createServer();
  const port = await listen(server, '127.0.0.1', 0);
  try {
    await expectRefused(['--port', String(port)], `port ${port} of 127.0.0.1 is in use`);
  } finally {
    server.close();
  }
});

async function expectRefused(flags: readonly string[], why: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-start-'));
  try {
    const { config } = readConfig(['--data-dir', folder, ...flags], {});
    const closers: string[] = [];
    const shutdown = {
      signal: new AbortController().signal,
      onClose: (name: string) => void closers.push(name),
      stop: () => undefined,
      failure: null,
      done: Promise.resolve(0),
    };
    const running = { config, logger: pino({ level: 'silent' }), shutdown, print: () => undefined };
    await expect(runStart(running)).rejects.toThrow(why);
    expect(closers).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
