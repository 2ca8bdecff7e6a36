import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openEmbeddedLog } from './embedded.ts';
import type { EventLog } from './log.ts';

const folder = mkdtempSync(join(tmpdir(), 'tonstream-mapped-'));
afterAll(() => rmSync(folder, { recursive: true }));

const MB = 1024 * 1024;
const TOPIC = 'ton.blocks.v1';
const RECORDS = 200;

/** Resident bytes of mapped files. */
function mappedBytes(): number {
  return Number(/RssFile:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
}

async function readAll(log: EventLog, maxBytes: number): Promise<number> {
  let sum = 0;
  const { signal } = new AbortController();
  for await (const batch of log.read(TOPIC, 0, { signal, stopAtEnd: true, maxBytes })) {
    for (const { value } of batch) sum += value[7];
  }
  return sum;
}

describe.skipIf(process.platform !== 'linux')('a reader of a large log', () => {
  it('keeps few of its pages in memory, and reads the same again', async () => {
    const log = openEmbeddedLog({ folder });
    await log.ensureTopic(TOPIC);
    for (let n = 0; n < RECORDS; n++) {
      await log.append(TOPIC, [{ key: String(n), value: Buffer.alloc(MB, n), headers: {} }]);
    }
    const wanted = (RECORDS * (RECORDS - 1)) / 2;
    const before = mappedBytes();
    expect(await readAll(log, 4 * MB)).toBe(wanted);
    expect(mappedBytes() - before).toBeLessThan(110 * MB);
    expect(await readAll(log, 4 * MB)).toBe(wanted);
    await log.close();
  });
});
