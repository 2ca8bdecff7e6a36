import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressOf } from '../src/chain/address.ts';
import { openEmbeddedLog } from './embedded.ts';
import { EnvelopeError } from './envelope.ts';
import type { EventLog } from './log.ts';
import { createMissingWriter, decodeMissing, encodeMissing, type Missing } from './missing.ts';

const account = addressOf(-1, Buffer.alloc(32, 7));
const hash = Buffer.alloc(32, 9);
let folder: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-missing-'));
  log = openEmbeddedLog({ folder });
});

afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

const stored = (missing: Missing) => ({ ...encodeMissing(missing), offset: 3, time: 0 });

describe('something missing', () => {
  it.each<Missing>([
    { account, hash: null },
    { account, hash },
    { account: null, hash },
  ])('reads back', (missing) => {
    expect(decodeMissing(stored(missing), 't')).toEqual(missing);
  });

  it.each([
    [{ key: 'x' }, 'key'],
    [{ headers: { v: '2' } }, 'v'],
    [{ headers: { v: '1', account: '0:1' } }, 'account'],
  ])('is refused when it is %j', (wrong, field) => {
    const refuse = () => decodeMissing({ ...stored({ account, hash }), ...wrong }, 't');
    expect(refuse).toThrow(EnvelopeError);
    expect(refuse).toThrow(`t, offset 3: ${field}: `);
  });
});

describe('the writer', () => {
  const named = async () => (await log.last('t', 100)).map((record) => decodeMissing(record, 't'));

  it('names each thing once, when it is flushed', async () => {
    const events: string[] = [];
    const writer = createMissingWriter(log, 't', (event) => events.push(event));
    await writer.flush();
    writer.name({ account, hash: null });
    writer.name({ account, hash: null });
    writer.name({ account, hash });
    expect(await named()).toEqual([]);
    await writer.flush();
    writer.name({ account: null, hash });
    await writer.flush();
    expect(await named()).toEqual([
      { account, hash: null },
      { account, hash },
    ]);
    expect(events).toEqual(['named', 'named']);
  });

  it('keeps what could not be written for the next flush', async () => {
    let away = true;
    const fails: EventLog = {
      ...log,
      append: async (...records) => (away ? Promise.reject(new Error('away')) : log.append(...records)),
    };
    const writer = createMissingWriter(fails, 't', () => undefined);
    writer.name({ account, hash: null });
    await expect(writer.flush()).rejects.toThrow('away');
    away = false;
    await writer.flush();
    expect(await named()).toEqual([{ account, hash: null }]);
  });
});
