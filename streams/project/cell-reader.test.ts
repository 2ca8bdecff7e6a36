import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beginCell } from '@ton/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canonicalBoc } from '../../src/chain/canonical.ts';
import { type CellRecord, encodeCellRecord } from '../cell-record.ts';
import { openEmbeddedLog } from '../embedded.ts';
import { EnvelopeError } from '../envelope.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';
import { type CellReader, createCellReader } from './cell-reader.ts';

const { cells: topic } = topicNames();
const { signal } = new AbortController();
let folder: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-cell-reader-'));
  log = openEmbeddedLog({ folder });
});

afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A library whose number tells it from others. */
function record(after: number, number: number): CellRecord {
  const cell = beginCell().storeUint(number, 64).endCell();
  return {
    kind: 'library',
    hash: cell.hash(),
    account: null,
    lt: null,
    transaction: null,
    mcSeqno: 1,
    after,
    globalId: -3,
    receivedAtMs: 0,
    boc: canonicalBoc(cell.toBoc()),
  };
}

const append = (...afters: number[]) =>
  log.append(
    topic,
    afters.map((after, n) => encodeCellRecord(record(after, n))),
  );

/** Steps by their first offsets; for each the offsets of the records it gets. */
async function take(reader: CellReader, steps: number[], end?: number): Promise<number[][]> {
  const dealt = await reader.take(
    steps.map((firstOffset) => ({ firstOffset })),
    signal,
    end,
  );
  return dealt.map((cells) => cells.map(({ offset }) => offset));
}

const STEPS = [0, 2, 5, 8, 9, 12];
const AFTERS = [0, 3, 4, 5, 9, 9, 10, 13];
/** By the rule: the first step that begins at `after` or behind it. */
const DEALT = [[0], [], [1, 2, 3], [], [4, 5], [6]];

describe('createCellReader', () => {
  it('deals each record to the first step that begins at its place or behind', async () => {
    await append(...AFTERS);
    const reader = createCellReader(log, topic, 0);
    expect(await take(reader, STEPS)).toEqual(DEALT);
    expect(reader.next).toBe(7);
  });

  it.each([1, 2, 4])('deals the same to batches of %i steps, read on or begun anew', async (size) => {
    await append(...AFTERS);
    const reader = createCellReader(log, topic, 0);
    let from = 0;
    for (let at = 0; at < STEPS.length; at += size) {
      const steps = STEPS.slice(at, at + size);
      const anew = createCellReader(log, topic, from);
      const dealt = DEALT.slice(at, at + size);
      expect([await take(reader, steps), await take(anew, steps)]).toEqual([dealt, dealt]);
      expect(anew.next).toBe(reader.next);
      from = reader.next;
    }
  });

  it('deals the same when the records come while the steps are read', async () => {
    const reader = createCellReader(log, topic, 0);
    const dealt: number[][] = [];
    for (const [at, step] of STEPS.entries()) {
      // What was appended when the block at this offset was not: the latest moment for it.
      const before = at === 0 ? -1 : STEPS[at - 1];
      await append(...AFTERS.filter((after) => after > before && after <= step));
      dealt.push(...(await take(reader, [step])));
    }
    expect(dealt).toEqual(DEALT);
  });

  it('keeps records behind one that counts from a later step', async () => {
    await append(5, 1, 6);
    const reader = createCellReader(log, topic, 0);
    expect(await take(reader, [0, 2, 4])).toEqual([[], [], []]);
    expect(reader.next).toBe(0);
    expect(await take(createCellReader(log, topic, 0), [5, 9])).toEqual([[0, 1], [2]]);
  });

  it('takes no more for a repeated batch than was announced', async () => {
    await append(0, 0);
    const first = createCellReader(log, topic, 0);
    expect(await take(first, [0, 3])).toEqual([[0, 1], []]);
    const announced = first.next;
    await append(1, 7);
    const again = createCellReader(log, topic, 0);
    expect(await take(again, [0, 3], announced)).toEqual([[0, 1], []]);
    expect(again.next).toBe(announced);
    expect(await take(again, [7])).toEqual([[2, 3]]);
  });

  it('needs no topic, and no steps', async () => {
    const reader = createCellReader(log, topic, 0);
    expect(await take(reader, [0, 3])).toEqual([[], []]);
    await append(0);
    expect(await take(reader, [])).toEqual([]);
    expect(reader.next).toBe(0);
  });

  it('reads as far as the steps need, whatever lies behind', async () => {
    const reads: number[] = [];
    const read = log.read.bind(log);
    log.read = (name, from, options) => {
      reads.push(from);
      return read(name, from, options);
    };
    await append(0, 9);
    const reader = createCellReader(log, topic, 0);
    for (const step of [0, 3, 6, 8]) await take(reader, [step]);
    expect(reads).toEqual([0]);
    expect(await take(reader, [9])).toEqual([[1]]);
    expect(reads).toEqual([0]);
  });

  it('refuses a topic that ends before what was read of it', async () => {
    await append(0, 0);
    await expect(take(createCellReader(log, topic, 3), [9])).rejects.toThrow(
      /ends at offset 2, the tables have its records up to 3: .*"tonstream rebuild"/,
    );
  });

  it('refuses bytes without the hash of their record', async () => {
    await log.append(topic, [encodeCellRecord({ ...record(0, 1), hash: record(0, 2).hash })]);
    await expect(take(createCellReader(log, topic, 0), [0])).rejects.toThrow(EnvelopeError);
  });

  it('does not take an abort for the end of the topic', async () => {
    await append(0);
    const stop = new AbortController();
    stop.abort();
    await expect(createCellReader(log, topic, 0).take([{ firstOffset: 0 }], stop.signal)).rejects.toThrow(/abort/i);
  });
});
