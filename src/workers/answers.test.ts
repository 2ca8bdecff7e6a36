import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createStepRows } from '../../streams/project/step-rows.ts';
import { emptyTables } from '../../test/empty-tables.ts';
import { madeHead } from '../../test/made-chain.ts';
import { transactionForm } from '../api/v3/render/forms.ts';
import { readConfig } from '../config.ts';
import { openWindow, type Window } from '../window/window.ts';
import { type Answers, openAnswers } from './answers.ts';

let dataDir: string;
let window: Window;
let readers: Answers[];
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
  const step = { mcSeqno, previous: mcSeqno - 1, globalId: -217, rootHash, rows: createStepRows(mcSeqno) };
  await window.apply([{ step, nextOffset: mcSeqno }], async () => null);
}

/** A worker's; the tables may have any head. */
function reader(): Answers {
  const { config } = readConfig(['--data-dir', dataDir], {});
  const head = { ...madeHead(0), advance: (...known: unknown[]) => void told.push(known) };
  const opened = openAnswers(config, { ...emptyTables(), head });
  readers.push(opened);
  return opened;
}

it('shows the head of the files from the first moment, as the readers before it do, and what is added', async () => {
  const early = reader();
  expect(early.windowHead()).toBe(0);
  await window.speak(true);
  expect(early.windowHead()).toBe(1);
  await add(2);
  const late = reader();
  expect([early.windowHead(), late.windowHead()]).toEqual([2, 2]);
  expect(told).toEqual([
    [1, -217],
    [2, -217],
    [2, -217],
  ]);
});

it('is silent for all when the files say so', async () => {
  await window.speak(true);
  const both = [reader(), reader()];
  expect(both.map((one) => one.windowHead())).toEqual([1, 1]);
  await window.speak(false);
  expect(both.map((one) => one.windowHead())).toEqual([0, 0]);
});
