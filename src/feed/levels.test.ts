import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import type { EventLog } from '../../streams/log.ts';
import { describeLevels } from '../../test/feed-levels.ts';
import type { Finality } from '../chain/records.ts';
import { levelOfActions } from './pending-events.ts';

const folder = mkdtempSync(join(tmpdir(), 'tonstream-levels-'));
/** Each test takes a topic, and a log has room for some sixty. */
const logs: EventLog[] = [];
let tests = 0;

beforeAll(() => {
  for (const name of ['one', 'other']) logs.push(openEmbeddedLog({ folder: join(folder, name) }));
});

afterAll(async () => {
  for (const log of logs) await log.close();
  rmSync(folder, { recursive: true, force: true });
});

describeLevels('the log in a folder', () => ({ log: logs[tests++ % logs.length], continuous: false }));

it('counts no notice among what makes actions unsure', () => {
  const node = (finality: Finality, opcode: number | null, sent: number) => ({
    node: { finality },
    transaction: { inMsg: { opcode }, outMsgs: new Array(sent) },
  });
  const notices = [0x7362d09c, 0x05138d91, 0xd53276db];
  const [root, child] = [node('finalized', null, 1), node('confirmed', 1, 3)];
  expect(levelOfActions([root, child, ...notices.map((opcode) => node('pending', opcode, 0))])).toBe('confirmed');
  expect(levelOfActions([root, child, node('pending', 0x7362d09c, 1)])).toBe('pending');
  expect(levelOfActions([root, child, node('pending', 0x178d4519, 0)])).toBe('pending');
});
