import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { runStart } from './start.ts';

it('refuses a start that cannot be read before anything is started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-start-'));
  try {
    const { config } = readConfig(['--data-dir', folder, '--from', 'yesterday'], {});
    const closers: string[] = [];
    const shutdown = {
      signal: new AbortController().signal,
      onClose: (name: string) => void closers.push(name),
      stop: () => undefined,
      failure: null,
      done: Promise.resolve(0),
    };
    const running = { config, logger: pino({ level: 'silent' }), shutdown, print: () => undefined };
    await expect(runStart(running)).rejects.toThrow('--from: "yesterday" is no start: give head, genesis');
    expect(closers).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
