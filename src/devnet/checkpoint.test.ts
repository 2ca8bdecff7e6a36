import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { canLimitFiles, limitFiles, unlimitFiles } from '../../test/file-limit.ts';
import { Builder, type Cell } from '../chain/builder.ts';
import { readCheckpoint, writeCheckpoint } from './checkpoint.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'devnet-checkpoint-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const cell = (value: number): Cell => new Builder().u(value, 32).cell();
const hashes = (roots: readonly Cell[] | undefined) => roots?.map((root) => root.hash().toString('hex'));

test('the newest that is not ahead of the blocks is read, its roots in order; two are kept', () => {
  for (const mcSeqno of [5, 10, 15]) writeCheckpoint(folder, { mcSeqno, roots: [cell(mcSeqno), cell(1)] });
  expect(readdirSync(folder).sort()).toEqual(['states-10.boc', 'states-15.boc']);
  expect(readCheckpoint(folder, 15)?.mcSeqno).toBe(15);
  expect(readCheckpoint(folder, 14)?.mcSeqno).toBe(10);
  expect(readCheckpoint(folder, 9)).toBeNull();
  expect(hashes(readCheckpoint(folder, 99)?.roots)).toEqual(hashes([cell(15), cell(1)]));
});

test('for a damaged one the one before it is read', () => {
  for (const mcSeqno of [5, 10]) writeCheckpoint(folder, { mcSeqno, roots: [cell(mcSeqno)] });
  truncateSync(join(folder, 'states-10.boc'), 9);
  expect(readCheckpoint(folder, 10)?.mcSeqno).toBe(5);
});

test('what a write that did not end left behind goes with the next one', () => {
  mkdirSync(join(folder, 'states-5.boc'));
  expect(() => writeCheckpoint(folder, { mcSeqno: 5, roots: [cell(5)] })).toThrow();
  expect(readdirSync(folder)).toHaveLength(2);
  rmSync(join(folder, 'states-5.boc'), { recursive: true });
  writeCheckpoint(folder, { mcSeqno: 6, roots: [cell(6)] });
  expect(readdirSync(folder)).toEqual(['states-6.boc']);
});

test.runIf(canLimitFiles)('one that the disk refuses is refused by file', () => {
  limitFiles(process.pid, 10);
  try {
    const write = () => writeCheckpoint(folder, { mcSeqno: 5, roots: [cell(5)] });
    expect(write).toThrow(`${join(folder, 'states.part')} cannot be written: EFBIG`);
  } finally {
    unlimitFiles(process.pid);
  }
});
