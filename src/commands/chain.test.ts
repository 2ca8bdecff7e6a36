import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { ingestSettings, writeGlobalConfig } from './chain.ts';
import { writeConfigOut } from './devnet.ts';

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

test('a global config that cannot be written is told of by its flag', async () => {
  const path = join(folder, 'missing', 'network.json');
  await expect(writeConfigOut(path, { globalConfig: '{}' })).rejects.toThrow(`--config-out: ${path} cannot be written`);
});

test('an ingester stands by only where the log tells it of another', () => {
  const words = ['--network', 'testnet'];
  const standBy = { 'stand-by': true };
  expect(ingestSettings(readConfig(words, {}).config, standBy)).toEqual({ from: 'head', standBy: true });
  const { config } = readConfig([...words, '--kafka-brokers', 'kafka:9092'], {});
  expect(ingestSettings(config, {})).toEqual({ from: 'head', standBy: false });
  expect(() => ingestSettings(config, standBy)).toThrow('--stand-by is for the embedded log');
});
