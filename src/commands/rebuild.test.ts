import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { createLogger } from '../logger.ts';
import { createShutdown } from '../shutdown.ts';
import { runRebuild } from './rebuild.ts';

test('a folder without a log is not rebuilt, and nothing is made in it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-rebuild-'));
  const dataDir = join(folder, 'mistyped');
  const { config } = readConfig(['--data-dir', dataDir], {});
  const logger = createLogger('silent');
  const shutdown = createShutdown(logger);
  try {
    const running = { config, logger, shutdown, print: () => undefined };
    await expect(runRebuild(running)).rejects.toThrow(`there is no log in ${dataDir}: give the --data-dir`);
    expect(existsSync(dataDir)).toBe(false);
  } finally {
    shutdown.stop('done');
    await shutdown.done;
    rmSync(folder, { recursive: true });
  }
});
