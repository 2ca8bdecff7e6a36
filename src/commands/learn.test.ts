import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import { decodeMissing } from '../../streams/missing.ts';
import { topicNames } from '../../streams/topics.ts';
import { runCommand } from '../../test/command-line.ts';
import { addressOf } from '../chain/address.ts';
import { readConfig } from '../config.ts';
import { runLearn } from './learn.ts';

const folder = mkdtempSync(join(tmpdir(), 'tonstream-learn-'));
const { config } = readConfig(['--data-dir', folder, '--log-level', 'silent'], {});
const ELECTOR = addressOf(-1, Buffer.from('33'.repeat(32), 'hex'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('puts addresses in any spelling on the topic of wishes', async () => {
  // The elector, as explorers write it.
  const words = ['Ef8zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM0vF', `-1:${'33'.repeat(32)}`];
  const { printed } = await runCommand((running) => runLearn(running, words), config);
  expect(printed).toContain('2 accounts');
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  const topic = topicNames().wishes;
  expect((await log.last(topic, 10)).map((record) => decodeMissing(record, topic))).toEqual([
    { account: ELECTOR, hash: null },
    { account: ELECTOR, hash: null },
  ]);
  await log.close();
});

it('refuses what is no address', async () => {
  await expect(runCommand((running) => runLearn(running, ['x']), config)).rejects.toThrow('x is no address');
  await expect(runCommand((running) => runLearn(running, []), config)).rejects.toThrow('learn needs addresses');
});
