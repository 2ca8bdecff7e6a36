import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blockFile } from '../../test/recorded-blocks.ts';
import { shelf } from '../../test/shelf.ts';
import { accountStatesAfter, blockTransactions } from './accounts.ts';
import { decodeBlock } from './block.ts';
import { type Boc, openBoc } from './boc.ts';
import { crc32c } from './crc.ts';
import { DecodeError } from './errors.ts';
import { cellHash } from './hash.ts';
import { walkHashmap } from './hashmap.ts';
import { decodeMessage } from './message.ts';
import { serialize, serializeTree, type TreeCell } from './serialize.ts';
import { decodeTransaction } from './transaction.ts';

/** Reads all there is to read, as a projector would. */
function readAll(boc: Boc): void {
  const block = decodeBlock(boc);
  block.valueFlow();
  block.inMsgCount();
  block.outMsgCount();
  block.shardHashes();
  expect(block.header.rootHash.length).toBe(32);
  for (const transaction of blockTransactions(block)) {
    for (const message of [transaction.inMsg, ...transaction.outMsgs]) {
      message?.bodyBoc();
      message?.init?.boc();
      message?.hashNorm();
    }
  }
  accountStatesAfter(block);
}

/** True when the bytes were refused. Anything but a DecodeError fails the test. */
function refused(bytes: Buffer): boolean {
  try {
    readAll(openBoc(bytes));
    return false;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    expect(error.path).toMatch(/^(boc|block)(\/|$)/);
    expect(error.message.startsWith(error.path)).toBe(true);
    return true;
  }
}

/** Makes the checksum right again, so that what is behind it is reached. */
function resealed(bytes: Buffer): Buffer {
  if ((bytes[4] & 0x40) !== 0 && bytes.length > 8) {
    bytes.writeUInt32LE(crc32c(bytes, 0, bytes.length - 4), bytes.length - 4);
  }
  return bytes;
}

const cell = (data: number[], refs: TreeCell[] = [], bits = data.length * 8): TreeCell => ({
  exotic: false,
  levelMask: 0,
  data: Buffer.from(data),
  bits,
  refs,
});

describe.skipIf(shelf === null)('mutated blocks', () => {
  const names = [
    '0_8000000000000000_56703839',
    'mainnet_-1_8000000000000000_1000149',
    '0_8000000000000000_40484416',
    'everscale-42_-1_8000000000000000_1159',
  ];
  const blocks = shelf === null ? [] : names.map((name) => readFileSync(blockFile(name)));
  const block = fc.constantFrom(...blocks);

  test('the blocks themselves are read', () => {
    for (const bytes of blocks) expect(refused(bytes)).toBe(false);
  });

  test('flipped bits', () => {
    let bad = 0;
    const flips = fc.array(fc.nat(), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(block, flips, (bytes, positions) => {
        const copy = Buffer.from(bytes);
        for (const position of positions) copy[position % (copy.length - 4)] ^= 1 << (position % 7);
        if (refused(resealed(copy))) bad++;
      }),
      { numRuns: 400 },
    );
    expect(bad).toBeGreaterThan(50);
  });

  test('a changed descriptor or reference', () => {
    fc.assert(
      fc.property(
        block,
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        fc.constantFrom(-2, -1),
        (bytes, at, value, back) => {
          const { count, pos } = openBoc(bytes);
          const copy = Buffer.from(bytes);
          copy[pos[at % count] + back] = value;
          refused(resealed(copy));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('truncation, at any byte', () => {
    fc.assert(
      fc.property(block, fc.nat(), (bytes, length) => {
        expect(refused(resealed(Buffer.from(bytes.subarray(0, length % bytes.length))))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test('a header of any bytes', () => {
    fc.assert(
      fc.property(block, fc.uint8Array({ minLength: 1, maxLength: 16 }), (bytes, head) => {
        const copy = Buffer.from(bytes);
        copy.set(head, 4);
        refused(resealed(copy));
      }),
      { numRuns: 300 },
    );
  });

  test('cells exchanged for one another', () => {
    fc.assert(
      fc.property(block, fc.nat(), fc.nat(), (bytes, which, other) => {
        const boc = openBoc(bytes);
        const links = boc.refs.subarray(0, boc.refStart[boc.count - 1]);
        const link = which % links.length;
        links[link] = links[link] + 1 + (other % (boc.count - links[link]));
        if (links[link] >= boc.count) return;
        refused(serialize(boc, boc.roots[0]));
      }),
      { numRuns: 300 },
    );
  });

  test('a transaction and a message of any cell of a block', () => {
    const boc = openBoc(blocks[0]);
    let read = 0;
    for (let index = 0; index < boc.count; index++) {
      for (const decode of [() => decodeTransaction(boc, index, 0), () => decodeMessage(boc, index)]) {
        try {
          decode();
          read++;
        } catch (error) {
          if (!(error instanceof DecodeError)) throw error;
        }
      }
    }
    expect(read).toBeGreaterThan(100);
  });
});

test('random bytes behind a right magic', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      expect(refused(Buffer.concat([Buffer.from('b5ee9c72', 'hex'), bytes]))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('a chain of cells deeper than any tree may be', () => {
  const count = 60_000;
  const head = 6 + 9 + 3 + 3;
  const chain = Buffer.alloc(head + count * 5 - 3);
  chain.set(Buffer.from('b5ee9c720303', 'hex'));
  chain.writeUIntBE(count, 6, 3);
  chain.writeUIntBE(1, 9, 3);
  chain.writeUIntBE(count * 5 - 3, 15, 3);
  for (let i = 0; i < count; i++) {
    chain[head + i * 5] = i < count - 1 ? 1 : 0;
    if (i < count - 1) chain.writeUIntBE(i + 1, head + i * 5 + 2, 3);
  }
  expect(() => openBoc(chain)).toThrow(/boc\/cell \d+: deeper than 1024/);
  const boc = openBoc(chain, { maxDepth: 65_000 });
  expect(cellHash(boc, 0).length).toBe(32);
});

/** A dictionary whose forks refer twice to one subtree: 15 cells, 2^15 leaves. */
function bomb(keyBits: number, leaf: TreeCell): TreeCell {
  let node = leaf;
  // hml_short$0 with an empty label: two zero bits and the completion tag.
  for (let i = 0; i < keyBits; i++) node = cell([0b00100000], [node, node], 2);
  return node;
}

test('dictionaries that multiply by sharing subtrees end in an error', () => {
  const boc = openBoc(serializeTree([bomb(256, cell([0b00100000], [], 2))]));
  const leaf = (): void => undefined;
  expect(() => walkHashmap(boc, 0, { keyBits: 256, leaf })).toThrow(/larger than its bag/);
});

/** Resident bytes added by opening and hashing, after what V8 keeps anyway. */
function memoryOf(work: () => unknown): number {
  const before = process.memoryUsage();
  const result = work();
  const after = process.memoryUsage();
  expect(result).toBeDefined();
  return after.arrayBuffers + after.heapUsed - before.arrayBuffers - before.heapUsed;
}

test('one MiB of the smallest cells takes less than 64 MiB', () => {
  const size = 1 << 20;
  const head = 6 + 9 + 3 + 3;
  const count = (size - head) >> 1;
  const bytes = Buffer.alloc(head + count * 2);
  bytes.set(Buffer.from('b5ee9c720303', 'hex'));
  bytes.writeUIntBE(count, 6, 3);
  bytes.writeUIntBE(1, 9, 3);
  bytes.writeUIntBE(count * 2, 15, 3);
  expect(memoryOf(() => openBoc(bytes))).toBeLessThan(64 << 20);
  // Giant counts in a small bag take nothing.
  bytes.writeUIntBE(0xffffff, 6, 3);
  expect(() => openBoc(bytes)).toThrow(/limit|cells/);
});
