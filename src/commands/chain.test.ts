import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { writeGlobalConfig } from './chain.ts';

const folder = mkdtempSync(join(tmpdir(), 'tonstream-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a global config that is written again is whole for those who are reading it', async () => {
  const path = join(folder, 'network.json');
  await writeGlobalConfig(path, { globalConfig: '{"old":1}' });
  const reader = openSync(path, 'r');
  await writeGlobalConfig(path, { globalConfig: '{"new":1}' });
  expect(readFileSync(reader, 'utf8')).toBe('{"old":1}\n');
  expect(readFileSync(path, 'utf8')).toBe('{"new":1}\n');
  expect(readdirSync(folder)).toEqual(['network.json']);
});

test('what is no file is written to and stays what it is', async () => {
  await writeGlobalConfig('/dev/null', { globalConfig: '{}' });
  expect(readFileSync('/dev/null', 'utf8')).toBe('');
});
