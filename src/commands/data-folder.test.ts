import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeDataFolder } from './data-folder.ts';

it('a data folder that cannot be is refused by the name of its setting', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-data-'));
  try {
    const dataDir = join(folder, 'a', 'b');
    for (let times = 0; times < 2; times++) makeDataFolder({ dataDir });
    expect(statSync(dataDir).isDirectory()).toBe(true);
    const file = join(folder, 'file');
    writeFileSync(file, '', { mode: 0o777 });
    for (const place of [file, join(file, 'a')])
      expect(() => makeDataFolder({ dataDir: place })).toThrow(`--data-dir: ${place} cannot be written to: E`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it.runIf(process.platform === 'linux')(
  'one that its file system says ENOENT to is refused, not tried without end',
  () => {
    expect(() => makeDataFolder({ dataDir: '/proc/tonstream/data' })).toThrow(/cannot be written to: ENOENT/);
  },
);
