import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { transactionForm } from '../api/v3/render/forms.ts';
import { readConfig } from '../config.ts';
import { openWindow, type Window } from '../window/window.ts';
import { openWindowReader, type WindowReader } from './window-reader.ts';

let dataDir: string;
let window: Window;
let readers: WindowReader[];
let told: unknown[][];

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tonstream-reader-'));
  readers = [];
  told = [];
  window = openWindow({ folder: join(dataDir, 'window'), maxBytes: 1024 ** 2, form: transactionForm });
  await add(1);
});
afterEach(async () => {
  for (const reader of readers) await reader.close();
  await window.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function add(mcSeqno: number): Promise<void> {
  const rootHash = Buffer.alloc(32, mcSeqno);
  const none = { blocks: [], accounts: [], codes: [] };
  const step = { mcSeqno, previous: mcSeqno - 1, globalId: -217, rootHash, ...none };
  await window.apply([{ step, nextOffset: mcSeqno }], async () => null);
}

/** A worker's; the tables may have any head. */
function reader(): WindowReader {
  const { config } = readConfig(['--data-dir', dataDir], {});
  const opened = openWindowReader(config, { advance: (...head) => void told.push(head) });
  readers.push(opened);
  return opened;
}

it('shows the head of the files from the first moment, as the readers before it do, and what is added', async () => {
  const early = reader();
  expect(early.head()).toBe(0);
  await window.speak(true);
  expect(early.head()).toBe(1);
  await add(2);
  const late = reader();
  expect([early.head(), late.head()]).toEqual([2, 2]);
  expect(told).toEqual([
    [1, -217],
    [2, -217],
    [2, -217],
  ]);
});

it('is silent for all when the files say so', async () => {
  await window.speak(true);
  const both = [reader(), reader()];
  expect(both.map((one) => one.head())).toEqual([1, 1]);
  await window.speak(false);
  expect(both.map((one) => one.head())).toEqual([0, 0]);
});
