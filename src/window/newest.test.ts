import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Address } from '../chain/model.ts';
import { ID_BYTES, stepOf } from './chunk.ts';
import type { Range } from './engine.ts';
import { encodeRow, keysOf, layoutOf } from './kind.ts';
import { masterKind } from './kinds.ts';
import { createNewest } from './newest.ts';
import type { View } from './view.ts';

const BY_ADDRESS = layoutOf(masterKind, 'address');
const ADDRESSES = Array.from({ length: 6 }, (_, n) => Buffer.alloc(36, n + 1));

/** Which addresses each step has changed, by number. */
type Steps = ReadonlyMap<number, ReadonlySet<number>>;

function rowOf(address: Address, mcSeqno: number): Buffer {
  return encodeRow(masterKind, { address, mcSeqno }, [Buffer.from(`${mcSeqno}`)]);
}

function idOf(mcSeqno: number, address: number): Buffer {
  const id = Buffer.alloc(ID_BYTES);
  id.writeUInt32BE(mcSeqno);
  id[ID_BYTES - 1] = address;
  return id;
}

/** A view of the steps between two; `asked` is told when something is looked up by its address. */
function viewOf(all: Steps, first: number, head: number, asked: () => void): View {
  const held = [...all].filter(([step]) => step >= first && step <= head);
  const rows = held.flatMap(([step, changed]) =>
    [...changed].map((n) => ({ step, n, row: rowOf(ADDRESSES[n], step) })),
  );
  const view: Pick<View, 'first' | 'head' | 'steps' | 'rowsOf' | 'row' | 'range'> = {
    first,
    head,
    steps: (from, reverse) =>
      held
        .map(([step]) => step)
        .filter((step) => step >= from)
        .sort((a, b) => (reverse ? b - a : a - b)),
    rowsOf: (_kind, mcSeqno) =>
      rows.filter(({ step }) => step === mcSeqno).map(({ step, n, row }) => ({ id: idOf(step, n), row })),
    row: (_kind, id) => rowOf(ADDRESSES[id[ID_BYTES - 1]], stepOf(id)),
    range(_layout, { low, high, reverse }: Range) {
      asked();
      const found = rows
        .map(({ step, n, row }) => ({ key: keysOf(BY_ADDRESS, row)[0], value: idOf(step, n) }))
        .filter(({ key }) => key.compare(low) >= 0 && (high === null || key.compare(high) < 0))
        .sort((a, b) => a.key.compare(b.key));
      return reverse ? found.reverse() : found;
    },
  };
  return view as View;
}

function lastIn(all: Steps, first: number, head: number, address: number): number | null {
  const steps = [...all].filter(([step, changed]) => step >= first && step <= head && changed.has(address));
  return steps.length === 0 ? null : Math.max(...steps.map(([step]) => step));
}

describe('the newest row of an address', () => {
  it('is what the view has last, however it moves between questions', () => {
    let remembered = 0;
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.array(fc.nat(5), { maxLength: 2 })), {
      minLength: 1,
      maxLength: 60,
    });
    const question = fc.record({ head: fc.nat(), first: fc.nat(), on: fc.boolean(), address: fc.nat(5) });
    const same = fc.property(steps, fc.array(question, { maxLength: 60 }), (made, questions) => {
      const all = new Map<number, Set<number>>();
      let number = 0;
      for (const [gap, changed] of made) {
        number += gap;
        all.set(number, new Set(changed));
      }
      const numbers = [...all.keys()];
      const newest = createNewest(masterKind);
      let [at, from] = [0, 0];
      for (const { head, first, on, address } of questions) {
        // Mostly it goes on by a few steps; now and then it is an older one, or one that begins somewhere else.
        at = on ? Math.min(numbers.length - 1, at + (head % 4)) : head % numbers.length;
        from = on ? Math.min(at, from + (first % 2)) : first % (at + 1);
        const begin = numbers[from];
        let looked = false;
        const view = viewOf(all, begin, numbers[at], () => {
          looked = true;
        });
        const last = lastIn(all, begin, numbers[at], address);
        const row = newest(view, ADDRESSES[address]);
        expect(row && [row.mcSeqno, String(row.rest)]).toEqual(last && [last, String(last)]);
        if (!looked) remembered++;
      }
    });
    fc.assert(same, { numRuns: 150 });
    expect(remembered).toBeGreaterThan(80);
  });
});
