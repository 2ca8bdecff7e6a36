import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { random, rounds } from '../../test/chance.ts';
import { startProgram } from '../../test/program.ts';
import { logContent, sequenceFile } from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import { openEmbeddedLog } from '../embedded.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';
import { importFiles } from './import.ts';

const topics = topicNames();
const NAME = 'mainnet-genesis_a';
const PROGRAM = fileURLToPath(new URL('../../test/follow-process.ts', import.meta.url));
/** Smaller than most steps, so that they are written in several appends. */
const SMALL_BATCH = 4_000;
const ROUNDS = rounds(3, 30);
/** At most before each kill: all together are fewer than the 261 of the sequence, behind which nothing would come. */
const APPENDS = rounds(50, 8);
let folder: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-follow-crash-'));
  log = openEmbeddedLog({ folder: join(folder, 'log') });
});

afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

async function content(of: EventLog): Promise<string[]> {
  const records = await logContent(of, topics.blocks);
  return records.map((record) => record.replace(/,"src":"(file|lite)"/, '').replace(/,"zs":"[0-9a-f]{64}"/, ''));
}

async function undisturbed(): Promise<string[]> {
  const calm = openEmbeddedLog({ folder: join(folder, 'calm') });
  await importFiles(calm, topics, [sequenceFile(NAME)]);
  const records = await content(calm);
  await calm.close();
  return records;
}

function start(mode: 'refuse' | 'stand-by' | 'stop', batchBytes = SMALL_BATCH) {
  const child = startProgram(PROGRAM, join(folder, 'log'), NAME, String(batchBytes), mode);
  const exit = once(child, 'exit');
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => {
    lines.push(line);
    for (const look of [...waiting]) look();
  });
  /** Resolves at the n-th line that fits, or when the process ends. */
  const line = (pattern: RegExp, n = 1): Promise<unknown> =>
    Promise.race([
      exit,
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (lines.filter((text) => pattern.test(text)).length >= n) resolve();
        };
        waiting.add(look);
        look();
      }),
    ]);
  return { child, exit, lines, line };
}

describe.skipIf(shelf === null)('an ingester in another process', () => {
  it('goes on after SIGKILL at any moment: the log is that of an undisturbed run', async () => {
    const expected = await undisturbed();
    let halves = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const { child, exit, line } = start('refuse');
      await line(/^offset/, 1 + random(APPENDS));
      child.kill('SIGKILL');
      await exit;
      const records = await content(log);
      expect(records).toEqual(expected.slice(0, records.length));
      if (records.at(-1)?.includes('"seal"') === false) halves++;
    }
    process.stdout.write(`killed ${ROUNDS} ingesters, ${halves} of them inside a step\n`);
    const { child, exit } = start('refuse', 1_000_000);
    await exit;
    expect(child.exitCode).toBe(0);
    expect(await content(log)).toEqual(expected);
  });

  it('is refused while another one writes, or stands by and takes over when that is killed', async () => {
    const expected = await undisturbed();
    const first = start('stop');
    await first.line(/^offset/);
    const [refused, standing] = [start('refuse'), start('stand-by')];
    await refused.exit;
    expect(refused.lines).toEqual([
      expect.stringMatching(`^writer_busy: topic ton.blocks.v1 of .* is being written by process ${first.child.pid}`),
    ]);
    await standing.line(/^standing by/);
    expect(standing.lines[0]).toContain(`process ${first.child.pid}`);
    first.child.kill('SIGKILL');
    await first.exit;
    await standing.exit;
    expect(standing.child.exitCode).toBe(0);
    expect(standing.lines).toContain('taking over');
    expect(await content(log)).toEqual(expected);
  });
});
