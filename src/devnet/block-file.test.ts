import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { canLimitFiles, limitFiles, unlimitFiles } from '../../test/file-limit.ts';
import { openBlockFile } from './block-file.ts';
import type { ProducedBlock } from './model.ts';

const ZERO = Buffer.alloc(32, 7);
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'devnet-blocks-'));
  path = join(folder, 'blocks');
});
afterEach(() => rmSync(folder, { recursive: true }));

const block = (seqno: number): ProducedBlock => ({
  workchain: -1,
  shard: '8000000000000000',
  seqno,
  rootHash: Buffer.alloc(32, seqno),
  fileHash: Buffer.alloc(32, seqno),
  startLt: 1n,
  endLt: 2n,
  genUtime: 3,
  mcSeqno: seqno,
  transactions: 0,
  bytes: Buffer.alloc(200, seqno),
});

/** Makes a file of steps 1 to 3, and tells where each begins. */
function threeSteps(): number[] {
  const file = openBlockFile(folder, ZERO, () => undefined);
  const begins = [1, 2, 3].map((seqno) => {
    const at = readFileSync(path).length;
    file.append([block(seqno)]);
    return at;
  });
  file.close();
  return begins;
}

function found(): number[] {
  const seqnos: number[] = [];
  openBlockFile(folder, ZERO, ({ seqno }) => void seqnos.push(seqno)).close();
  return seqnos;
}

function flip(at: number): void {
  const bytes = readFileSync(path);
  bytes[at] ^= 0xff;
  writeFileSync(path, bytes);
}

test('a step that a killed process left unfinished at the end is cut off, wherever it was cut', () => {
  const [, , third] = threeSteps();
  const whole = readFileSync(path);
  for (const left of [1, 15, 16, 100, whole.length - third - 1]) {
    writeFileSync(path, whole);
    truncateSync(path, third + left);
    expect(found()).toEqual([1, 2]);
    expect(readFileSync(path)).toHaveLength(third);
  }
});

test('what a power cut left as zeros at the end is cut off', () => {
  const [, , third] = threeSteps();
  const whole = readFileSync(path);
  writeFileSync(path, whole.fill(0, third));
  expect(found()).toEqual([1, 2]);
});

test.each([
  ['its mark', 0],
  ['its number of blocks', 5],
  ['its length', 9],
  ['the length of a block', 16 + 109],
])('damage of a step before the last one, in %s, is refused by file and place; no step is cut off for it', (_, at) => {
  const [, second] = threeSteps();
  const size = readFileSync(path).length;
  flip(second + at);
  expect(found).toThrow(`${path} is damaged at byte ${second}`);
  expect(readFileSync(path)).toHaveLength(size);
});

test.runIf(canLimitFiles)(
  'a step that cannot be written is refused by file, and is not there at the next start',
  () => {
    threeSteps();
    const file = openBlockFile(folder, ZERO, () => undefined);
    const large = { ...block(4), bytes: Buffer.alloc(2_000_000, 4) };
    limitFiles(process.pid, 1_000_000);
    try {
      expect(() => file.append([large])).toThrow(`${path} cannot be written: EFBIG`);
    } finally {
      unlimitFiles(process.pid);
    }
    file.close();
    expect(found()).toEqual([1, 2, 3]);
  },
);
